import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import PurlDownloads

/// `Content-Digest` of a response that carries a part of the file (RFC 9530 §2).
@Suite("What a response says of the part that it carries", .timeLimit(.minutes(2)))
struct PartDigestTests {
    let fixture: DownloadFixture
    private static let content = GeneratedContent(size: 8 << 20, seed: 7)
    private static let other = GeneratedContent(size: 8 << 20, seed: 8)
    private static let reply = Reply.generated(content).entityTag("\"v1\"")

    init() throws { fixture = try DownloadFixture() }

    /// The bytes that a request asks for.
    private static func range(_ request: ReceivedRequest) -> Range<Int>? {
        let numbers = (request.fields["Range"] ?? "").dropFirst("bytes=".count).split(separator: "-").map {
            Int($0) ?? 0
        }
        return numbers.first.map { $0..<(numbers.count > 1 ? numbers[1] + 1 : content.size) }
    }

    /// A server that names the right digest of each part. Some of the requests for parts receive other bytes.
    private func route(_ isWrong: @escaping @Sendable (_ number: Int) -> Bool) -> URL {
        let count = Mutex(0)
        return fixture.server.route(
            "/f",
            .computed { request in
                guard let range = Self.range(request) else { return Self.reply }
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                let reply = isWrong(number) ? Reply.generated(Self.other).entityTag("\"v1\"") : Self.reply
                return reply.field("Content-Digest", Self.content.digestField(of: range))
            })
    }

    private func downloader(_ url: URL, connections: ConnectionCount) -> Downloader {
        var configuration = fixture.configuration()
        configuration.connections = connections
        return Downloader(url: url, configuration: configuration)
    }

    @Test("Right parts count")
    func right() async throws {
        let downloader = downloader(route { _ in false }, connections: 4)
        downloader.start()
        #expect(try Self.content.matches(fileAt: try await downloader.file()))
    }

    @Test("A wrong part is requested again", arguments: [1, 2, 3])
    func wrong(number: Int) async throws {
        let downloader = downloader(route { $0 == number }, connections: 4)
        downloader.start()
        #expect(try Self.content.matches(fileAt: try await downloader.file()))
    }

    @Test("Parts that name the digest of the whole name none of their own, and count")
    func ofTheWhole() async throws {
        let reply = Self.reply.field("Content-Digest", Self.content.digestField)
        let downloader = downloader(fixture.server.route("/f", reply), connections: 4)
        downloader.start()
        #expect(try Self.content.matches(fileAt: try await downloader.file()))
    }

    @Test("Parts that are wrong each time end the download, with a sentence that names them")
    func alwaysWrong() async throws {
        let downloader = downloader(route { _ in true }, connections: 4)
        downloader.start()
        let error = try #require(await downloader.failure())
        #expect(error.code == .badServerResponse)
        #expect(error.failureSentence.contains("have another digest than it has sent"), "\(error.failureSentence)")
        #expect(fixture.names(in: fixture.finished).isEmpty)
    }

    @Test("The rest that one connection brings is requested again, too, and what was there before stays")
    func rest() async throws {
        let parts = route { $0 == 1 }
        let whole = Self.reply.cut(afterBytes: 3_000_000)
        let url = fixture.server.route("/g", whole.switching(after: 1, to: .redirect(to: parts.path)))
        let downloader = downloader(url, connections: 1)
        downloader.start()
        #expect(try Self.content.matches(fileAt: try await downloader.file()))
        #expect(
            fixture.server.requests.filter { $0.target == "/f" }.map { $0.fields["Range"] } == [
                "bytes=3000000-", "bytes=3000000-",
            ])
    }

    @Test("A rest that is wrong each time ends the download")
    func alwaysWrongRest() async throws {
        let whole = Self.reply.cut(afterBytes: 3_000_000)
        let wrong = Reply.generated(Self.other).entityTag("\"v1\"")
            .field("Content-Digest", Self.content.digestField(of: 3_000_000..<Self.content.size))
        let downloader = downloader(
            fixture.server.route("/f", whole.switching(after: 1, to: wrong)), connections: 1)
        downloader.start()
        let error = try #require(await downloader.failure())
        #expect(error.code == .badServerResponse)
        #expect(fixture.names(in: fixture.finished).isEmpty)
        #expect(downloader.bytesReceived == 3_000_000)
    }
}

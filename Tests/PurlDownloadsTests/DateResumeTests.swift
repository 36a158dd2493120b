import Foundation
import Purl
import PurlDownloads
import PurlTesting
import Testing

/// RFC 9110 §15.3.7: a 206 to `If-Range` need not repeat the date that names the version.
@Suite("A server that has only dates, and does not repeat them", .timeLimit(.minutes(5)))
struct DateResumeTests {
    private static let mebi = 1 << 20

    let fixture: DownloadFixture
    let content = GeneratedContent(size: 6 * mebi, seed: 7)

    init() throws { fixture = try DownloadFixture() }

    private func reply(_ content: GeneratedContent) -> Reply {
        // A day later: the date is a strong one.
        .generated(content).lastModified(Date(timeIntervalSince1970: 784_111_777))
            .field("Date", "Mon, 07 Nov 1994 08:49:37 GMT")
    }

    /// What is left of an earlier attempt, and the requests that bring the rest of `content`.
    private func resume(after count: Int, _ content: GeneratedContent) async throws -> (left: Int64, file: URL) {
        let gate = ServerGate()
        let url = fixture.server.route("/f", reply(self.content).stalled(afterBytes: count, until: gate))
        try await fixture.leave(count, of: url, gate: gate)
        gate.open()
        let whole = reply(content)
        _ = fixture.server.route(
            "/f",
            .computed { request in
                request.fields["Range"] == nil ? whole : whole.replacingField("Last-Modified", nil)
            })
        let downloader = fixture.downloader(url)
        let left = downloader.bytesReceived
        downloader.start()
        return (left, try await downloader.file())
    }

    @Test("The rest is requested with a mebibyte that is there, which has to agree")
    func agrees() async throws {
        let (left, file) = try await resume(after: 4 * Self.mebi, content)
        #expect(try content.matches(fileAt: file))
        #expect(fixture.ranges == ["bytes=\(left)-", "bytes=\(left - Int64(Self.mebi))-"])
    }

    @Test("Where it does not agree, the whole is requested, and nothing is mixed")
    func disagrees() async throws {
        let other = GeneratedContent(size: 6 * Self.mebi, seed: 8)
        let (left, file) = try await resume(after: 4 * Self.mebi, other)
        #expect(try other.matches(fileAt: file))
        #expect(fixture.ranges == ["bytes=\(left)-", "bytes=\(left - Int64(Self.mebi))-", ""])
    }

    @Test("What is no more than that mebibyte is not worth a comparison")
    func short() async throws {
        let (left, file) = try await resume(after: 1000, content)
        #expect(try content.matches(fileAt: file))
        #expect(fixture.ranges == ["bytes=\(left)-", ""])
    }
}

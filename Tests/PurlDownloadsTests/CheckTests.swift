import Foundation
import PurlHTTP
import PurlTesting
import Testing

@testable import PurlDownloads

@Suite("Checking what came", .timeLimit(.minutes(3)))
struct CheckTests {
    let yard: Yard
    let content = GeneratedContent(size: 60_000, seed: 4)
    let digest: [UInt8]

    init() throws {
        yard = try Yard()
        var state = SHA256()
        state.update(content.data.bytes)
        digest = state.finalize()
    }

    private var sha256: String { SHA256.hexadecimal(digest) }
    private var right: String { "sha-256=:\(Data(digest).base64EncodedString()):" }
    private var wrong: String { "sha-256=:\(Data(repeating: 7, count: 32).base64EncodedString()):" }
    private var wrongHex: String { String(repeating: "07", count: 32) }
    private var reply: Reply { .generated(content).entityTag("\"v1\"") }

    private func expectMismatch(_ downloader: Downloader) async throws {
        let error = try #require(await downloader.failure())
        #expect(error.code == .cannotDecodeContentData)
        #expect(error.localizedDescription.contains(sha256))
        await downloader.waitUntilIdle()
        #expect(yard.names(in: yard.finished).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: yard.partial(downloader).path))
        #expect(!FileManager.default.fileExists(atPath: yard.record(downloader).path))
        #expect(downloader.bytesReceived == 0)
    }

    @Test("The digest the user expects is checked, in either case of letters", arguments: [false, true])
    func expected(isUpperCase: Bool) async throws {
        let text = isUpperCase ? sha256.uppercased() : sha256
        let downloader = yard.downloader(yard.server.route("/f", reply), sha256: text)
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
    }

    @Test("A file of many pieces is digested piece by piece, until somebody stops it")
    func pieces() throws {
        let content = GeneratedContent(size: 2_500_000, seed: 4)
        var state = SHA256()
        state.update(content.data.bytes)
        let file = yard.folder.appendingPathComponent("long")
        try content.data.write(to: file)
        let digest = try FileDigest.sha256(fileAt: file) { false }
        #expect(digest == SHA256.hexadecimal(state.finalize()))
        #expect(try FileDigest.sha256(fileAt: file) { true } == nil)
    }

    @Test("A file that is not the expected one is deleted")
    func unexpected() async throws {
        let downloader = yard.downloader(yard.server.route("/f", reply), sha256: wrongHex)
        downloader.start()
        try await expectMismatch(downloader)
        #expect(yard.server.requests.count == 1)
    }

    @Test(
        "A text that is no digest is refused without a request",
        arguments: ["", "12", String(repeating: "x", count: 64)])
    func noDigest(text: String) async throws {
        let downloader = yard.downloader(yard.server.route("/f", reply), sha256: text)
        downloader.start()
        #expect(await downloader.failure()?.code == .cannotDecodeContentData)
        #expect(yard.server.requests.isEmpty)
    }

    @Test("The server's digests are checked", arguments: ["Repr-Digest", "Content-Digest"])
    func serverDigest(field: String) async throws {
        let good = yard.downloader(yard.server.route("/good", reply.field(field, right)))
        good.start()
        #expect(try content.matches(fileAt: try await good.file()))
        try FileManager.default.removeItem(at: yard.finished)

        let bad = yard.downloader(yard.server.route("/bad", reply.field(field, wrong)))
        bad.start()
        try await expectMismatch(bad)
    }

    @Test("Repr-Digest goes before Content-Digest, and the user before both")
    func precedence() async throws {
        let both = reply.field("Repr-Digest", right).field("Content-Digest", wrong)
        let first = yard.downloader(yard.server.route("/a", both))
        first.start()
        _ = try await first.file()
        let neither = reply.field("Repr-Digest", wrong).field("Content-Digest", wrong)
        let second = yard.downloader(yard.server.route("/b", neither), sha256: sha256)
        second.start()
        _ = try await second.file()
    }

    @Test("The Content-Digest of a part says nothing about the whole")
    func partDigest() async throws {
        let url = yard.server.route("/f", reply.cut(afterBytes: 20_000, times: 1).field("Content-Digest", wrong))
        let downloader = yard.downloader(url)
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
    }

    @Test("The Repr-Digest of a part does", arguments: [true, false])
    func wholeDigestOfAPart(isRight: Bool) async throws {
        let rest = reply.field("Repr-Digest", isRight ? right : wrong)
        let url = yard.server.route("/f", reply.cut(afterBytes: 20_000).switching(after: 1, to: rest))
        let downloader = yard.downloader(url)
        downloader.start()
        if isRight {
            #expect(try content.matches(fileAt: try await downloader.file()))
        } else {
            try await expectMismatch(downloader)
        }
        #expect(yard.ranges == ["", "bytes=20000-"])
    }

    @Test("The digest of an earlier part of the same version counts, that of another version does not")
    func versions() async throws {
        let first = reply.field("Repr-Digest", wrong).cut(afterBytes: 20_000)
        let same = yard.downloader(yard.server.route("/same", first.switching(after: 1, to: reply)))
        same.start()
        try await expectMismatch(same)
        let next = reply.entityTag("\"v2\"")
        let other = yard.downloader(yard.server.route("/other", first.switching(after: 1, to: next)))
        other.start()
        #expect(try content.matches(fileAt: try await other.file()))
    }

    @Test(
        "Other algorithms and broken fields are passed over",
        arguments: ["sha-512=:AAAA:", "nonsense", "sha-256=:AA==:"])
    func ignored(value: String) async throws {
        let downloader = yard.downloader(yard.server.route("/f", reply.field("Repr-Digest", value)))
        downloader.start()
        _ = try await downloader.file()
    }

    @Test("After a mismatch, asking again gets the whole anew")
    func again() async throws {
        let bad = reply.field("Repr-Digest", wrong)
        let downloader = yard.downloader(yard.server.route("/f", bad.switching(after: 1, to: reply)))
        downloader.start()
        try await expectMismatch(downloader)
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
        #expect(yard.ranges == ["", ""])
    }

    @Test("A finished file is checked before it is taken for the expected one")
    func finishedBefore() async throws {
        let url = yard.server.route("/f", reply)
        let first = yard.downloader(url)
        first.start()
        let file = try await first.file()
        let right = yard.downloader(url, sha256: sha256)
        right.start()
        _ = try await right.file()
        #expect(yard.server.requests.count == 1)

        try Data("something else".utf8).write(to: file)
        let replaced = yard.downloader(url, sha256: sha256)
        replaced.start()
        #expect(try content.matches(fileAt: try await replaced.file()))
        #expect(yard.server.requests.count == 2)
    }
}

import Foundation
import Purl
import PurlTesting
import Testing

@testable import PurlDownloads

@Suite("Checking the file", .timeLimit(.minutes(3)))
struct CheckTests {
    let fixture: DownloadFixture
    let content = GeneratedContent(size: 60_000, seed: 4)

    init() throws { fixture = try DownloadFixture() }

    private var sha256: String { content.sha256 }
    private var right: String { content.digestField }
    private var wrong: String { "sha-256=:\(Data(repeating: 7, count: 32).base64EncodedString()):" }
    private var wrongHex: String { String(repeating: "07", count: 32) }
    private var reply: Reply { .generated(content).entityTag("\"v1\"") }

    private func expectMismatch(_ downloader: Downloader) async throws {
        let error = try #require(await downloader.failure())
        #expect(error.code == .badServerResponse)
        #expect(error.unexpectedSHA256 == sha256)
        #expect(error.httpStatusCode == nil)
        #expect(error.failureSentence.contains(sha256))
        #expect(error.localizedDescription == error.failureSentence)
        // The server would send the same again.
        #expect(RetryPolicy().delay(afterFailures: 1, error: error, response: nil) == nil)
        // The bytes go before the failure is reported: the program may end then.
        #expect(fixture.names(in: fixture.finished).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: fixture.partial(downloader).path))
        #expect(!FileManager.default.fileExists(atPath: fixture.record(downloader).path))
        #expect(downloader.bytesReceived == 0)
    }

    @Test("The digest the user expects is checked, in either case of letters", arguments: [false, true])
    func expected(isUpperCase: Bool) async throws {
        let text = isUpperCase ? sha256.uppercased() : sha256
        let downloader = fixture.downloader(fixture.server.route("/f", reply), sha256: text)
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
    }

    @Test("A long file is digested in pieces, and the digest can be stopped")
    func pieces() throws {
        let content = GeneratedContent(size: 2_500_000, seed: 4)
        let file = fixture.folder.appendingPathComponent("long")
        try content.data.write(to: file)
        let digest = try FileDigest.sha256(fileAt: file) { false }
        #expect(digest == content.sha256)
        #expect(try FileDigest.sha256(fileAt: file) { true } == nil)
    }

    @Test("A file that is not the expected one is deleted")
    func unexpected() async throws {
        let downloader = fixture.downloader(fixture.server.route("/f", reply), sha256: wrongHex)
        downloader.start()
        try await expectMismatch(downloader)
        #expect(fixture.server.requests.count == 1)
    }

    @Test(
        "A text that is not a digest fails without a request",
        arguments: ["", "12", String(repeating: "x", count: 64)])
    func noDigest(text: String) async throws {
        let downloader = fixture.downloader(fixture.server.route("/f", reply), sha256: text)
        downloader.start()
        let error = try #require(await downloader.failure())
        #expect(error.code == .unknown)
        #expect(error.localizedDescription == "“\(text)” is not a SHA-256, which has 64 hexadecimal digits.")
        #expect(error.unexpectedSHA256 == nil)
        #expect(fixture.server.requests.isEmpty)
    }

    @Test("The server's digests are checked", arguments: ["Repr-Digest", "Content-Digest"])
    func serverDigest(field: String) async throws {
        let good = fixture.downloader(fixture.server.route("/good", reply.field(field, right)))
        good.start()
        #expect(try content.matches(fileAt: try await good.file()))
        try FileManager.default.removeItem(at: fixture.finished)

        let bad = fixture.downloader(fixture.server.route("/bad", reply.field(field, wrong)))
        bad.start()
        try await expectMismatch(bad)
    }

    @Test("Repr-Digest takes precedence over Content-Digest, and the user's digest over both")
    func precedence() async throws {
        let both = reply.field("Repr-Digest", right).field("Content-Digest", wrong)
        let first = fixture.downloader(fixture.server.route("/a", both))
        first.start()
        _ = try await first.file()
        let neither = reply.field("Repr-Digest", wrong).field("Content-Digest", wrong)
        let second = fixture.downloader(fixture.server.route("/b", neither), sha256: sha256)
        second.start()
        _ = try await second.file()
    }

    @Test("The Content-Digest of a 200 response is checked when the rest came later, in another process too")
    func remembered() async throws {
        let gate = ServerGate()
        let first = reply.field("Content-Digest", wrong).stalled(afterBytes: 20_000, until: gate)
        let url = fixture.server.route("/f", first.switching(after: 1, to: reply))
        try await fixture.leave(20_000, of: url, gate: gate)
        let downloader = fixture.downloader(url)
        downloader.start()
        try await expectMismatch(downloader)
        #expect(fixture.ranges == ["bytes=20000-"])
    }

    @Test(
        "The digest of the file is that of the representation, or of a whole content, when neither is coded",
        arguments: [
            (200, ["Repr-Digest"], "", true), (206, ["Repr-Digest"], "", true), (200, ["Content-Digest"], "", true),
            (206, ["Content-Digest"], "", false), (200, ["Repr-Digest"], "identity", true),
            (200, ["Repr-Digest"], "gzip", false), (200, ["Content-Digest"], "GZIP", false), (200, [], "", false),
            (206, ["Unencoded-Digest"], "", true), (200, ["Unencoded-Digest"], "gzip", true),
        ])
    func fileDigest(status: Int, digests: [String], coding: String, isKnown: Bool) throws {
        var fields = Dictionary(uniqueKeysWithValues: digests.map { ($0, right) })
        if !coding.isEmpty { fields["Content-Encoding"] = coding }
        let url = fixture.server.url("/f")
        let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: fields)
        #expect(try #require(response).fileSHA256() == (isKnown ? sha256 : nil))
    }

    @Test("Where a coding is the file's, the digests of what is sent are, too, and that of what it unpacks to is not")
    func codedFileDigest() throws {
        let url = fixture.server.url("/f")
        for (field, isKnown) in [("Repr-Digest", true), ("Content-Digest", true), ("Unencoded-Digest", false)] {
            let response = HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: nil, headerFields: [field: right, "Content-Encoding": "gzip"])
            #expect(try #require(response).fileSHA256(.asSent) == (isKnown ? sha256 : nil))
        }
    }

    @Test("The Repr-Digest of a 206 response is checked", arguments: [true, false])
    func wholeDigestOfAPart(isRight: Bool) async throws {
        let rest = reply.field("Repr-Digest", isRight ? right : wrong)
        let url = fixture.server.route("/f", reply.cut(afterBytes: 20_000).switching(after: 1, to: rest))
        let downloader = fixture.downloader(url)
        downloader.start()
        if isRight {
            #expect(try content.matches(fileAt: try await downloader.file()))
        } else {
            try await expectMismatch(downloader)
        }
        #expect(fixture.ranges == ["", "bytes=20000-"])
    }

    @Test("The digest of an earlier response is checked for the same version, and dropped for another")
    func versions() async throws {
        let first = reply.field("Repr-Digest", wrong).cut(afterBytes: 20_000)
        let same = fixture.downloader(fixture.server.route("/same", first.switching(after: 1, to: reply)))
        same.start()
        try await expectMismatch(same)
        let next = reply.entityTag("\"v2\"")
        let other = fixture.downloader(fixture.server.route("/other", first.switching(after: 1, to: next)))
        other.start()
        #expect(try content.matches(fileAt: try await other.file()))
    }

    @Test(
        "Other algorithms and malformed fields are ignored",
        arguments: ["sha-512=:AAAA:", "nonsense", "sha-256=:AA==:"])
    func ignored(value: String) async throws {
        let downloader = fixture.downloader(fixture.server.route("/f", reply.field("Repr-Digest", value)))
        downloader.start()
        _ = try await downloader.file()
    }

    @Test("Starting again after a mismatch downloads the whole file")
    func again() async throws {
        let bad = reply.field("Repr-Digest", wrong)
        let downloader = fixture.downloader(fixture.server.route("/f", bad.switching(after: 1, to: reply)))
        downloader.start()
        try await expectMismatch(downloader)
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
        #expect(fixture.ranges == ["", ""])
    }

    @Test("A finished file is checked against the expected digest before it is reused")
    func finishedBefore() async throws {
        let url = fixture.server.route("/f", reply)
        let first = fixture.downloader(url)
        first.start()
        let file = try await first.file()
        let right = fixture.downloader(url, sha256: sha256)
        right.start()
        _ = try await right.file()
        #expect(fixture.server.requests.count == 1)

        try Data("something else".utf8).write(to: file)
        let replaced = fixture.downloader(url, sha256: sha256)
        replaced.start()
        #expect(try content.matches(fileAt: try await replaced.file()))
        #expect(fixture.server.requests.count == 2)
    }
}

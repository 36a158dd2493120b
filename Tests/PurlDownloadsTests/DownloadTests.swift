import Foundation
import Purl
import PurlDownloads
import PurlTesting
import Testing

@Suite("Downloading a file", .timeLimit(.minutes(3)))
struct DownloadTests {
    let fixture: DownloadFixture
    let content = GeneratedContent(size: 300_000, seed: 3)

    init() throws { fixture = try DownloadFixture() }

    private var reply: Reply { .generated(content).entityTag("\"v1\"") }

    @Test("The finished file is named by its URL's digest, and no unfinished files remain")
    func whole() async throws {
        let url = fixture.server.route("/film.mp4", reply)
        let downloader = fixture.downloader(url)
        #expect(downloader.state.kind == .waiting)
        downloader.start()
        let file = try await downloader.file()
        #expect(file.lastPathComponent == "\(downloader.key).mp4")
        #expect(downloader.key.count == 64)
        #expect(try content.matches(fileAt: file))
        #expect(downloader.bytesReceived == 300_000)
        #expect(downloader.totalBytes == 300_000)
        #expect(fixture.names(in: fixture.finished) == ["\(downloader.key).mp4"])
        await downloader.waitUntilIdle()
        #expect(fixture.names(in: fixture.unfinished).isEmpty)
    }

    @Test("What a process was writing when it was killed is removed, too")
    func remainders() async throws {
        let downloader = fixture.downloader(fixture.server.route("/film", reply))
        try FileManager.default.createDirectory(at: fixture.unfinished, withIntermediateDirectories: true)
        for file in [fixture.item(downloader), fixture.record(downloader)] {
            try Data("half".utf8).write(to: file.appendingPathExtension("new"))
        }
        downloader.start()
        _ = try await downloader.file()
        await downloader.waitUntilIdle()
        #expect(fixture.names(in: fixture.unfinished).isEmpty)
    }

    @Test("An empty file is downloaded")
    func empty() async throws {
        let downloader = fixture.downloader(fixture.server.route("/empty", .bytes(Data())))
        downloader.start()
        let file = try await downloader.file()
        #expect(try Data(contentsOf: file).isEmpty)
        #expect(fixture.names(in: fixture.unfinished).isEmpty)
    }

    @Test("A body without a length is downloaded completely")
    func chunked() async throws {
        let downloader = fixture.downloader(fixture.server.route("/f", reply.chunked()))
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
        #expect(downloader.totalBytes == 300_000)
    }

    @Test(
        "Only a plain path extension becomes part of the name",
        arguments: [
            ("/a.tar.gz", ".gz"), ("/a", ""), ("/a.", ""), ("/a.averylongtype", ""), ("/a.b%2Fc", ""),
            ("/a.t%20x", ""), ("/a.resume", ""), ("/a.item", ""), ("/a.NEW", ""), ("/a.copy", ""), ("/..", ""),
            ("/a.%C3%A9", ""), ("/a.7z?x=y.zip", ".7z"),
        ])
    func names(path: String, suffix: String) async throws {
        let url = try #require(URL(string: path, relativeTo: fixture.server.url)?.absoluteURL)
        fixture.server.fallback(reply)
        let downloader = fixture.downloader(url)
        downloader.start()
        let file = try await downloader.file()
        #expect(file.lastPathComponent == downloader.key + suffix)
        #expect(file.deletingLastPathComponent().path == fixture.finished.path)
    }

    @Test("Two URLs with the same last component are two files")
    func sameLastComponent() async throws {
        let other = GeneratedContent(size: 1000, seed: 9)
        let first = fixture.server.route("/a/f.bin", reply)
        let second = fixture.server.route("/b/f.bin", .generated(other))
        let manager = fixture.manager()
        #expect(try content.matches(fileAt: try await manager.download(first).file()))
        #expect(try other.matches(fileAt: try await manager.download(second).file()))
        #expect(fixture.names(in: fixture.finished).count == 2)
    }

    @Test("A finished file finishes the download without a request")
    func finishedBefore() async throws {
        let url = fixture.server.route("/f", reply)
        let first = fixture.downloader(url)
        first.start()
        let file = try await first.file()

        let second = fixture.downloader(url)
        second.start()
        #expect(second.state.kind == .finished)
        var events: [String] = []
        for await event in second.events { events.append(event.text) }
        #expect(events == ["finished", "progress 300000/300000", "succeeded 300000"])
        #expect(try await second.file().path == file.path)
        #expect(fixture.server.requests.count == 1)
        #expect(fixture.manager().finishedFile(for: url)?.path == file.path)
    }

    @Test("Unfinished files beside a finished one are removed")
    func leftovers() async throws {
        let url = fixture.server.route("/f", reply)
        let first = fixture.downloader(url)
        first.start()
        _ = try await first.file()
        try Data("old".utf8).write(to: fixture.partial(first))
        try Data("old".utf8).write(to: fixture.record(first))
        let second = fixture.downloader(url)
        second.start()
        _ = try await second.file()
        await second.waitUntilIdle()
        #expect(fixture.names(in: fixture.unfinished).isEmpty)
        #expect(fixture.server.requests.count == 1)
    }

    @Test("After a lost connection only the missing bytes are requested")
    func cut() async throws {
        let url = fixture.server.route("/f", reply.cut(afterBytes: 100_000, times: 1))
        let downloader = fixture.downloader(url)
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
        #expect(fixture.ranges == ["", "bytes=100000-"])
        #expect(fixture.server.requests.last?.fields["If-Range"] == "\"v1\"")
    }

    @Test("A download of a changed resource starts over and never mixes versions")
    func changed() async throws {
        let other = GeneratedContent(size: 200_000, seed: 8)
        let second = Reply.generated(other).entityTag("\"v2\"")
        let url = fixture.server.route("/f", reply.cut(afterBytes: 100_000).switching(after: 1, to: second))
        let downloader = fixture.downloader(url)
        downloader.start()
        #expect(try other.matches(fileAt: try await downloader.file()))
        #expect(downloader.totalBytes == 200_000)
        #expect(fixture.ranges == ["", "bytes=100000-"])
    }

    @Test(
        "A wrong response to a range request never yields a wrong file",
        arguments: [
            "no ranges", "no validator", "weak validator", "416", "wrong start", "wrong length",
        ])
    func wrongRest(what: String) async throws {
        let first = reply.cut(afterBytes: 100_000)
        let rest: Reply =
            switch what {
            case "no ranges": reply.ignoringRange()
            case "416": .sequence([reply.rangeNotSatisfiable(), reply])
            case "wrong start": reply.contentRange(.shifted(by: 1), times: 1)
            case "wrong length": reply.contentRange(.total(300_001), times: 1)
            default: reply
            }
        let script = first.switching(after: 1, to: rest)
        let url =
            switch what {
            case "no validator": fixture.server.route("/f", script.replacingField("ETag", nil))
            case "weak validator": fixture.server.route("/f", script.replacingField("ETag", "W/\"v1\""))
            default: fixture.server.route("/f", script)
            }
        let downloader = fixture.downloader(url)
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
    }

    @Test("A body shorter than its Content-Length fails")
    func shortBody() async throws {
        let url = fixture.server.route("/f", reply.replacingField("Content-Length", "300001").closingConnection())
        let downloader = fixture.downloader(url, retries: 0)
        downloader.start()
        #expect(await downloader.failure()?.code == .networkConnectionLost)
        #expect(fixture.names(in: fixture.finished).isEmpty)
    }

    @Test(
        "A status other than 200 and 206 fails with the matching code",
        arguments: [
            (401, URLError.Code.userAuthenticationRequired), (403, .noPermissionsToReadFile),
            (404, .fileDoesNotExist), (410, .fileDoesNotExist), (400, .badServerResponse), (204, .badServerResponse),
            (300, .badServerResponse), (500, .badServerResponse), (503, .badServerResponse),
        ])
    func status(status: Int, code: URLError.Code) async throws {
        let url = fixture.server.route("/f", Reply.text("This is not the file.").status(status))
        let downloader = fixture.downloader(url, retries: 0)
        downloader.start()
        let error = try #require(await downloader.failure())
        #expect(error.code == code)
        #expect(error.httpStatusCode == status)
        #expect(error.failureSentence.contains("\(status)"))
        #expect(error.localizedDescription == error.failureSentence)
        #expect(error.failingURL == url)
        #expect(fixture.names(in: fixture.finished).isEmpty)
    }

    @Test("An error page keeps the bytes on disk, and the next start resumes with them")
    func errorPage() async throws {
        let missing = Reply.text("Come back later.").status(404)
        let url = fixture.server.route("/f", .sequence([reply.cut(afterBytes: 100_000), missing, reply]))
        let downloader = fixture.downloader(url)
        downloader.start()
        #expect(await downloader.failure()?.httpStatusCode == 404)
        #expect(downloader.bytesReceived == 100_000)
        await downloader.waitUntilIdle()
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
        #expect(fixture.ranges == ["", "bytes=100000-", "bytes=100000-"])
    }

    @Test("An unsupported URL fails with a description", arguments: ["https://localhost/f", "ftp://localhost/f"])
    func unsupported(text: String) async throws {
        let downloader = fixture.downloader(try #require(URL(string: text)))
        downloader.start()
        let error = try #require(await downloader.failure())
        #expect(error.code == .unsupportedURL)
        #expect(!error.failureSentence.isEmpty)
    }
}

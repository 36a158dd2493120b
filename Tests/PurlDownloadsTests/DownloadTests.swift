import Foundation
import PurlDownloads
import PurlTesting
import Testing

@Suite("Getting a file", .timeLimit(.minutes(3)))
struct DownloadTests {
    let yard: Yard
    let content = GeneratedContent(size: 300_000, seed: 3)

    init() throws { yard = try Yard() }

    private var reply: Reply { .generated(content).entityTag("\"v1\"") }

    @Test("A file comes whole, under the digest of its URL, and nothing unfinished stays")
    func whole() async throws {
        let url = yard.server.route("/film.mp4", reply)
        let downloader = yard.downloader(url)
        #expect(downloader.state.kind == .waiting)
        downloader.start()
        let file = try await downloader.file()
        #expect(file.lastPathComponent == "\(downloader.key).mp4")
        #expect(downloader.key.count == 64)
        #expect(try content.matches(fileAt: file))
        #expect(downloader.bytesReceived == 300_000)
        #expect(downloader.totalBytes == 300_000)
        #expect(yard.names(in: yard.finished) == ["\(downloader.key).mp4"])
        await downloader.waitUntilIdle()
        #expect(yard.names(in: yard.unfinished).isEmpty)
    }

    @Test("An empty file is a file")
    func empty() async throws {
        let downloader = yard.downloader(yard.server.route("/empty", .bytes(Data())))
        downloader.start()
        let file = try await downloader.file()
        #expect(try Data(contentsOf: file).isEmpty)
        #expect(yard.names(in: yard.unfinished).isEmpty)
    }

    @Test("A body without a length comes whole")
    func chunked() async throws {
        let downloader = yard.downloader(yard.server.route("/f", reply.chunked()))
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
        #expect(downloader.totalBytes == 300_000)
    }

    @Test(
        "Only a plain type becomes part of the name",
        arguments: [
            ("/a.tar.gz", ".gz"), ("/a", ""), ("/a.", ""), ("/a.averylongtype", ""), ("/a.b%2Fc", ""),
            ("/a.t%20x", ""), ("/a.resume", ""), ("/a.item", ""), ("/a.NEW", ""), ("/a.copy", ""), ("/..", ""),
            ("/a.%C3%A9", ""), ("/a.7z?x=y.zip", ".7z"),
        ])
    func names(path: String, suffix: String) async throws {
        let url = try #require(URL(string: path, relativeTo: yard.server.url)?.absoluteURL)
        yard.server.fallback(reply)
        let downloader = yard.downloader(url)
        downloader.start()
        let file = try await downloader.file()
        #expect(file.lastPathComponent == downloader.key + suffix)
        #expect(file.deletingLastPathComponent().path == yard.finished.path)
    }

    @Test("Two URLs with the same last component are two files")
    func sameLastComponent() async throws {
        let other = GeneratedContent(size: 1000, seed: 9)
        let first = yard.server.route("/a/f.bin", reply)
        let second = yard.server.route("/b/f.bin", .generated(other))
        let manager = yard.manager()
        #expect(try content.matches(fileAt: try await manager.download(first).file()))
        #expect(try other.matches(fileAt: try await manager.download(second).file()))
        #expect(yard.names(in: yard.finished).count == 2)
    }

    @Test("A finished file is reported without a request")
    func finishedBefore() async throws {
        let url = yard.server.route("/f", reply)
        let first = yard.downloader(url)
        first.start()
        let file = try await first.file()

        let second = yard.downloader(url)
        second.start()
        #expect(second.state.kind == .finished)
        var events: [String] = []
        for await event in second.events { events.append(event.text) }
        #expect(events == ["finished", "progress 300000/300000", "succeeded 300000"])
        #expect(try await second.file().path == file.path)
        #expect(yard.server.requests.count == 1)
        #expect(yard.manager().finishedFile(for: url)?.path == file.path)
    }

    @Test("What a process left that ended while it moved the file is tidied up")
    func leftovers() async throws {
        let url = yard.server.route("/f", reply)
        let first = yard.downloader(url)
        first.start()
        _ = try await first.file()
        try Data("old".utf8).write(to: yard.partial(first))
        try Data("old".utf8).write(to: yard.record(first))
        let second = yard.downloader(url)
        second.start()
        _ = try await second.file()
        await second.waitUntilIdle()
        #expect(yard.names(in: yard.unfinished).isEmpty)
        #expect(yard.server.requests.count == 1)
    }

    @Test("A cut connection costs only what was not received")
    func cut() async throws {
        let url = yard.server.route("/f", reply.cut(afterBytes: 100_000, times: 1))
        let downloader = yard.downloader(url)
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
        #expect(yard.ranges == ["", "bytes=100000-"])
        #expect(yard.server.requests.last?.fields["If-Range"] == "\"v1\"")
    }

    @Test("A resource that changed starts over, and its versions are never mixed")
    func changed() async throws {
        let other = GeneratedContent(size: 200_000, seed: 8)
        let second = Reply.generated(other).entityTag("\"v2\"")
        let url = yard.server.route("/f", reply.cut(afterBytes: 100_000).switching(after: 1, to: second))
        let downloader = yard.downloader(url)
        downloader.start()
        #expect(try other.matches(fileAt: try await downloader.file()))
        #expect(downloader.totalBytes == 200_000)
        #expect(yard.ranges == ["", "bytes=100000-"])
    }

    @Test(
        "Whatever the server gets wrong about the rest, the file is right",
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
            case "no validator": yard.server.route("/f", script.replacingField("ETag", nil))
            case "weak validator": yard.server.route("/f", script.replacingField("ETag", "W/\"v1\""))
            default: yard.server.route("/f", script)
            }
        let downloader = yard.downloader(url)
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
    }

    @Test("A body shorter than announced is no file")
    func shortBody() async throws {
        let url = yard.server.route("/f", reply.replacingField("Content-Length", "300001").closingConnection())
        let downloader = yard.downloader(url, retries: 0)
        downloader.start()
        #expect(await downloader.failure()?.code == .networkConnectionLost)
        #expect(yard.names(in: yard.finished).isEmpty)
    }

    @Test(
        "A status that is not the file fails, with the code that says so",
        arguments: [
            (401, URLError.Code.userAuthenticationRequired), (403, .noPermissionsToReadFile),
            (404, .fileDoesNotExist), (410, .fileDoesNotExist), (400, .badServerResponse), (204, .badServerResponse),
            (300, .badServerResponse), (500, .badServerResponse), (503, .badServerResponse),
        ])
    func status(status: Int, code: URLError.Code) async throws {
        let url = yard.server.route("/f", Reply.text("This is not the file.").status(status))
        let downloader = yard.downloader(url, retries: 0)
        downloader.start()
        let error = try #require(await downloader.failure())
        #expect(error.code == code)
        #expect(error.httpStatusCode == status)
        #expect(error.localizedDescription.contains("\(status)"))
        #expect(error.failingURL == url)
        #expect(yard.names(in: yard.finished).isEmpty)
    }

    @Test("An error page leaves the bytes that are there, and asking again goes on with them")
    func errorPage() async throws {
        let missing = Reply.text("Come back later.").status(404)
        let url = yard.server.route("/f", .sequence([reply.cut(afterBytes: 100_000), missing, reply]))
        let downloader = yard.downloader(url)
        downloader.start()
        #expect(await downloader.failure()?.httpStatusCode == 404)
        #expect(downloader.bytesReceived == 100_000)
        await downloader.waitUntilIdle()
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
        #expect(yard.ranges == ["", "bytes=100000-", "bytes=100000-"])
    }

    @Test("A URL that cannot be loaded fails with a sentence", arguments: ["https://localhost/f", "ftp://localhost/f"])
    func unsupported(text: String) async throws {
        let downloader = yard.downloader(try #require(URL(string: text)))
        downloader.start()
        let error = try #require(await downloader.failure())
        #expect(error.code == .unsupportedURL)
        #expect(!error.localizedDescription.isEmpty)
    }
}

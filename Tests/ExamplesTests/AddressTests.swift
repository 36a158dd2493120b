import Foundation
import PurlTesting
import Testing

@Suite("An example with a URL", .timeLimit(.minutes(5)))
struct AddressTests {
    private let content = GeneratedContent(size: 300_000)
    private let folder = TemporaryFolder()
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    @Test("PauseAndResume starts at once and saves under the suggested name")
    func pauseAndResume() async throws {
        let url = server.route(
            "/7", .generated(content).field("Content-Disposition", "attachment; filename=\"report.pdf\""))
        let (code, lines) = try await ExampleProcess.run("PauseAndResume", [url.absoluteString, "."], in: folder)
        #expect(code == 0)
        #expect(lines.last == "finished")
        #expect(try content.matches(fileAt: folder.file("report.pdf")))
    }

    @Test("PauseAndResume saves no error page")
    func errorPage() async throws {
        let url = server.route("/gone", .text("gone").status(404))
        let example = try ExampleProcess("PauseAndResume", [url.absoluteString, "."], in: folder)
        for await line in example.lines where line == "failed" { example.type("q") }
        #expect(await example.exitCode == 0)
        #expect(!FileManager.default.fileExists(atPath: folder.file("gone").path))
    }

    @Test("BackgroundDownload moves the file to the folder")
    func backgroundDownload() async throws {
        let url = server.route("/film", .generated(content).entityTag("\"v1\""))
        let (code, lines) = try await ExampleProcess.run(
            "BackgroundDownload", [url.absoluteString, "."], typed: ["b"], in: folder)
        #expect(code == 0)
        #expect(lines.last == "notification: finished")
        #expect(try content.matches(fileAt: folder.file("1")))
    }

    @Test("DataTaskToFile writes the file with each implementation", arguments: ["handle", "stream", "sink"])
    func dataTaskToFile(way: String) async throws {
        let url = server.route("/film", .generated(content).entityTag("\"v1\""))
        let (code, lines) = try await ExampleProcess.run(
            "DataTaskToFile", [way, url.absoluteString, "film"], typed: ["s"], in: folder)
        #expect(code == 0)
        #expect(lines.suffix(2) == ["finished", "session closed"])
        #expect(try content.matches(fileAt: folder.file("film")))
    }

    @Test("DownloadCenter downloads all files into the folder under different names")
    func downloadCenter() async throws {
        let urls = ["/a/film.mp4", "/b/film.mp4"].map { server.route($0, .generated(content).entityTag("\"v1\"")) }
        let (code, lines) = try await ExampleProcess.run(
            "DownloadCenter", ["files"] + urls.map(\.absoluteString), in: folder)
        #expect(code == 0)
        let files = lines.suffix(2).compactMap { $0.split(separator: ": ").last.map(String.init) }
        #expect(Set(files).count == 2)
        for file in files { #expect(try content.matches(fileAt: URL(fileURLWithPath: file))) }
    }

    @Test("DownloadCenter restores the list at the next launch")
    func downloadCenterRelaunch() async throws {
        let url = server.route(
            "/film.mp4", .generated(content).entityTag("\"v1\"").stalled(afterBytes: 90_000, times: 1))
        let first = try ExampleProcess("DownloadCenter", ["files", url.absoluteString], in: folder)
        await server.wait { $0.requests.first?.bytesSent == 90_000 }
        first.type("q")
        #expect(await first.exitCode == 0)

        let (code, lines) = try await ExampleProcess.run("DownloadCenter", ["files"], typed: ["1"], in: folder)
        #expect(code == 0)
        #expect(lines.dropFirst().first?.hasSuffix("waiting      film.mp4") == true)
        let file = lines.last?.split(separator: ": ").last.map(String.init) ?? ""
        #expect(try content.matches(fileAt: URL(fileURLWithPath: file)))
    }

    @Test(
        "OfflineResume requests the typed address, percent-encoded once",
        arguments: [
            ("a/影 片", "/a/%E5%BD%B1%20%E7%89%87"),
            ("a/%E5%BD%B1", "/a/%E5%BD%B1"),
            ("影%20片?名=甲%26乙", "/%E5%BD%B1%20%E7%89%87?%E5%90%8D=%E7%94%B2%26%E4%B9%99"),
            ("100%?x=5%", "/100%25?x=5%25"),
        ])
    func offlineResume(typed: String, target: String) async throws {
        server.fallback(.generated(content).entityTag("\"v1\""))
        let (code, lines) = try await ExampleProcess.run(
            "OfflineResume", ["\(server.url)\(typed)", "film"], typed: [""], in: folder)
        #expect(code == 0)
        #expect(lines.last == "finished")
        #expect(server.requests.map(\.target) == [target])
        #expect(try content.matches(fileAt: folder.file("film")))
    }
}

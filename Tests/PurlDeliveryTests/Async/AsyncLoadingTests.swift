import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The async methods of a session", .timeLimit(.minutes(5)))
struct AsyncLoadingTests {
    private let sandbox = Sandbox()
    private let content = GeneratedContent(size: 1_500_000, seed: 31)

    private func makeServer() throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.route("/file", .generated(content))
        server.route("/moved", .redirect(302, to: "/file"))
        server.route("/empty", .status(204))
        server.route("/cut", .generated(content).cut(afterBytes: 1_000))
        server.route("/echo", .echo)
        return server
    }

    @Test("data(from:) and data(for:) return the body and the response")
    func data() async throws {
        let server = try makeServer()
        let session = sandbox.session()
        let (fromURL, response) = try await session.data(from: server.url("/moved"))
        #expect(fromURL == content.data)
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(response.url == server.url("/file"))
        var request = URLRequest(url: server.url("/echo"))
        request.httpMethod = "POST"
        request.httpBody = Data("body".utf8)
        let (forRequest, _) = try await session.data(for: request)
        #expect(String(decoding: forRequest, as: UTF8.self).hasPrefix("POST /echo HTTP/1.1\r\n"))
        #expect(String(decoding: forRequest, as: UTF8.self).hasSuffix("\r\n\r\nbody"))
    }

    @Test("An empty body is returned as empty data")
    func emptyBody() async throws {
        let server = try makeServer()
        let (data, response) = try await sandbox.session().data(from: server.url("/empty"))
        #expect(data.isEmpty)
        #expect((response as? HTTPURLResponse)?.statusCode == 204)
    }

    @Test("The file of an awaited download stays until the caller removes it", arguments: ["url", "request"])
    func downloadedFile(_ way: String) async throws {
        let server = try makeServer()
        let session = sandbox.session()
        let (file, response) =
            way == "url"
            ? try await session.download(from: server.url("/moved"))
            : try await session.download(for: URLRequest(url: server.url("/moved")))
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        // The session does not touch the file afterwards.
        #expect(await SessionTasks.unfinished(of: session).isEmpty)
        session.finishTasksAndInvalidate()
        await server.waitUntilDisconnected()
        #expect(try content.matches(fileAt: file))
        try FileManager.default.removeItem(at: file)
        #expect(sandbox.partialNames == [])
    }

    /// A delegate that takes every file that it receives away.
    private final class Taker: NSObject, URLSessionDownloadDelegate, Sendable {
        let witness = Witness()

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            try? FileManager.default.removeItem(at: location)
            witness.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location)
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
            totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
        ) {
            witness.urlSession(
                session, downloadTask: downloadTask, didWriteData: bytesWritten,
                totalBytesWritten: totalBytesWritten, totalBytesExpectedToWrite: totalBytesExpectedToWrite)
        }
    }

    @Test(
        "The file of an awaited download is its caller's: no delegate receives it",
        arguments: ["url", "request", "data"])
    func callersFile(_ way: String) async throws {
        let server = try makeServer()
        server.route("/big", .generated(content).entityTag("\"v1\"").cut(afterBytes: 600_000, times: 1))
        let (own, sessions) = (Taker(), Taker())
        let session = sandbox.session(sessions)
        let file: URL
        switch way {
        case "url": (file, _) = try await session.download(from: server.url("/moved"), delegate: own)
        case "request":
            (file, _) = try await session.download(for: URLRequest(url: server.url("/moved")), delegate: own)
        default:
            let error = await #expect(throws: URLError.self) { try await session.download(from: server.url("/big")) }
            (file, _) = try await session.download(
                resumeFrom: try #require(error?.downloadTaskResumeData), delegate: own)
        }
        #expect(try content.matches(fileAt: file))
        try FileManager.default.removeItem(at: file)
        #expect(await SessionTasks.unfinished(of: session).isEmpty)
        for events in [own.witness.events, sessions.witness.events] {
            #expect(!events.contains { if case .file = $0 { true } else { false } })
        }
        #expect(own.witness.events.contains { if case .wrote = $0 { true } else { false } })
    }

    @Test("download(resumeFrom:) loads the missing bytes and returns the whole file")
    func resumedDownload() async throws {
        let server = try makeServer()
        server.route("/big", .generated(content).entityTag("\"v1\"").cut(afterBytes: 600_000, times: 1))
        let session = sandbox.session()
        let error = await #expect(throws: URLError.self) { try await session.download(from: server.url("/big")) }
        #expect(error?.code == .networkConnectionLost)
        let resumeData = try #require(error?.downloadTaskResumeData)
        let (file, response) = try await session.download(resumeFrom: resumeData)
        #expect(try content.matches(fileAt: file))
        #expect((response as? HTTPURLResponse)?.statusCode == 206)
        #expect(server.requests.map { $0.fields["Range"] } == [nil, "bytes=600000-"])
        try FileManager.default.removeItem(at: file)
        #expect(sandbox.partialNames == [])
    }

    @Test("Resume data that is used twice leaves the file of the first download alone")
    func resumeDataUsedTwice() async throws {
        let server = try makeServer()
        let tagged = Reply.generated(content).entityTag("\"v1\"")
        server.route("/big", .sequence([tagged.cut(afterBytes: 600_000), tagged, tagged.cut(afterBytes: 700_000)]))
        let session = sandbox.session()
        let error = await #expect(throws: URLError.self) { try await session.download(from: server.url("/big")) }
        let resumeData = try #require(error?.downloadTaskResumeData)
        let (file, _) = try await session.download(resumeFrom: resumeData)
        await #expect(throws: URLError.self) { try await session.download(resumeFrom: resumeData) }
        #expect(try content.matches(fileAt: file))
        #expect(server.requests.map { $0.fields["Range"] } == [nil, "bytes=600000-", nil])
    }

    @Test("download(resumeFrom:) throws for data that is no resume data")
    func badResumeData() async throws {
        let session = sandbox.session()
        let error = await #expect(throws: URLError.self) { try await session.download(resumeFrom: Data("no".utf8)) }
        #expect(error?.code == .cannotDecodeRawData)
    }

    @Test("A failed transfer throws its URLError", arguments: ["/cut", "https:", "refused"])
    func failures(_ what: String) async throws {
        let server = try makeServer()
        let (url, code): (URL, URLError.Code) =
            switch what {
            case "/cut": (server.url("/cut"), .networkConnectionLost)
            case "https:": (try #require(URL(string: "https://127.0.0.1:1/")), .unsupportedURL)
            // Port 1 is closed. The port of a stopped server may already belong to another one.
            default: (try #require(URL(string: "http://127.0.0.1:1/")), .cannotConnectToHost)
            }
        let session = sandbox.session()
        let errors = [
            await #expect(throws: URLError.self) { try await session.data(from: url) },
            await #expect(throws: URLError.self) { try await session.download(from: url) },
        ]
        for error in errors {
            #expect(error?.code == code)
            #expect(error?.failingURL == url)
            #expect(error?.failureSentence.isEmpty == false)
        }
        #expect(sandbox.partialNames == [])
    }

    @Test("64 concurrent calls each return their own body")
    func concurrent() async throws {
        let server = try makeServer()
        let contents = (0..<64).map { GeneratedContent(size: 20_000 + $0, seed: UInt64($0)) }
        for (index, content) in contents.enumerated() { server.route("/\(index)", .generated(content)) }
        let session = sandbox.session()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for (index, content) in contents.enumerated() {
                group.addTask {
                    let url = server.url("/\(index)")
                    guard index.isMultiple(of: 4) else { return try await session.data(from: url).0 == content.data }
                    let (file, _) = try await session.download(from: url)
                    defer { try? FileManager.default.removeItem(at: file) }
                    return try content.matches(fileAt: file)
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
        #expect(server.requests.count == 64)
        #expect(server.acceptedConnections <= 6)
        #expect(sandbox.partialNames == [])
    }

    // MARK: Delegates

    @Test("The delegate of an async call decides on its redirects")
    func redirectDelegate() async throws {
        let server = try makeServer()
        let (sessions, stays) = (Witness(), Witness(redirect: { _ in nil }))
        let elsewhere = server.url("/echo")
        let goesElsewhere = Witness(redirect: { _ in URLRequest(url: elsewhere) })
        let session = sandbox.session(sessions)
        let (_, stayed) = try await session.data(from: server.url("/moved"), delegate: stays)
        #expect((stayed as? HTTPURLResponse)?.statusCode == 302)
        let (file, went) = try await session.download(from: server.url("/moved"), delegate: goesElsewhere)
        #expect(went.url == elsewhere)
        try FileManager.default.removeItem(at: file)
        for delegate in [stays, goesElsewhere] { #expect(delegate.events.first == .redirect(302, to: "/file")) }
        #expect(sessions.events == [])
        let (data, _) = try await session.data(from: server.url("/moved"))
        #expect(data == content.data)
        #expect(sessions.events == [.redirect(302, to: "/file")])
    }

    @Test("The delegate of an async call is released when the call has returned")
    func releasedDelegate() async throws {
        let server = try makeServer()
        let session = sandbox.session()
        weak var weakDelegate: Witness?
        do {
            let delegate = Witness()
            weakDelegate = delegate
            _ = try await session.data(from: server.url("/moved"), delegate: delegate)
        }
        await NetworkThread.settle { weakDelegate == nil }
        #expect(weakDelegate == nil)
    }
}

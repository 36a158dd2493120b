import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Failures of a download and of its resumption keep the resume data", .timeLimit(.minutes(5)))
struct ResumeFailureTests {
    private let sandbox = Sandbox()

    // MARK: The request for the rest fails

    @Test(
        "An error response to the range request is not appended, and its error keeps the resume data",
        arguments: [204, 304, 400, 401, 403, 404, 410, 500, 502, 503])
    func errorPage(status: Int) async throws {
        let paused = try await PausedDownload()
        paused.answer(.text("try again later").status(status))
        let before = try Data(contentsOf: paused.partial)
        let outcome = await paused.resume()
        expectError(outcome.error, .badServerResponse, about: paused.server.url(PausedDownload.path))
        #expect(outcome.events == [.completed(.badServerResponse)])
        #expect(outcome.error?.failureSentence.contains("\(status)") == true)
        #expect(try Data(contentsOf: paused.partial) == before)

        let blob = try #require(outcome.error?.downloadTaskResumeData)
        paused.answer(paused.sameResource)
        let second = await paused.resume(blob)
        #expect(second.file == paused.content.data)
        #expect(second.resumedAt == [100_000])
        #expect(paused.sandbox.partialNames == [])
    }

    @Test("An error after a part that does not match keeps the received bytes")
    func errorAfterUnusablePart() async throws {
        let paused = try await PausedDownload()
        paused.answer(.sequence([paused.sameResource.contentRange(.missing), .status(503)]))
        let outcome = await paused.resume()
        expectError(outcome.error, .badServerResponse, about: paused.server.url(PausedDownload.path))
        paused.answer(paused.sameResource)
        let second = await paused.resume(try #require(outcome.error?.downloadTaskResumeData))
        #expect(second.file == paused.content.data)
        #expect(second.resumedAt == [100_000])
    }

    @Test("A refused connection keeps the resume data")
    func refusedConnection() async throws {
        let paused = try await PausedDownload()
        let url = paused.server.url(PausedDownload.path)
        paused.server.stop()
        let outcome = await paused.resume()
        expectError(outcome.error, .cannotConnectToHost, about: url)
        #expect(outcome.events == [.completed(.cannotConnectToHost)])
        #expect(posixCode(outcome.error) == Int(ECONNREFUSED))
        #expect(outcome.error?.downloadTaskResumeData == paused.blob)
        #expect(paused.sandbox.partialNames.count == 1)
    }

    @Test("A download resumes after the server was restarted")
    func restartedServer() async throws {
        let path = sandbox.file("s").path
        let url = try #require(URL(string: "http+unix://\(path.replacingOccurrences(of: "/", with: "%2F"))/file"))
        let paused = try await PausedDownload(from: LoopbackServer(.unix(path: path)), in: sandbox) { reply in
            reply.entityTag(PausedDownload.tag)
        } request: { _ in
            URLRequest(url: url)
        }
        paused.server.stop()
        let refused = await paused.resume()
        expectError(refused.error, .cannotConnectToHost, about: url)
        let server = try LoopbackServer(.unix(path: path))
        server.route(PausedDownload.path, paused.sameResource)
        let outcome = await paused.resume(try #require(refused.error?.downloadTaskResumeData))
        #expect(outcome.file == paused.content.data)
        #expect(server.requests.map { $0.fields["Range"] } == ["bytes=100000-"])
        server.stop()
    }

    @Test(
        "A connection lost before the rest keeps the resume data",
        arguments: [Reply.Phase.beforeHead, .midHead, .afterBodyBytes(0)])
    func lostConnection(moment: Reply.Phase) async throws {
        let paused = try await PausedDownload()
        paused.answer(paused.sameResource.cut(at: moment, times: 1))
        let outcome = await paused.resume()
        expectError(outcome.error, .networkConnectionLost, about: paused.server.url(PausedDownload.path))
        let second = await paused.resume(try #require(outcome.error?.downloadTaskResumeData))
        #expect(second.file == paused.content.data)
        #expect(second.resumedAt == [100_000])
    }

    @Test("A newer version that breaks off is resumed as the newer version")
    func newerVersion() async throws {
        let paused = try await PausedDownload()
        let newer = GeneratedContent(size: 250_000, seed: 9)
        paused.answer(.generated(newer).entityTag("\"v2\"").cut(afterBytes: 60_000, times: 1))
        let lost = await paused.resume()
        #expect(lost.resumedAt == [0])
        expectError(lost.error, .networkConnectionLost, about: paused.server.url(PausedDownload.path))
        let outcome = await paused.resume(try #require(lost.error?.downloadTaskResumeData))
        #expect(outcome.file == newer.data)
        #expect(outcome.resumedAt == [60_000])
        #expect(paused.server.requests.map { $0.fields["If-Range"] } == ["\"v1\"", "\"v2\""])
    }

    // MARK: A transfer fails in the middle

    enum Fault: CaseIterable, Sendable {
        case cut, reset, noProgress, tooLong

        var code: URLError.Code {
            switch self {
            case .cut, .reset: .networkConnectionLost
            case .noProgress, .tooLong: .timedOut
            }
        }

        func configure(_ configuration: URLSessionConfiguration) {
            switch self {
            case .cut, .reset: break
            case .noProgress: configuration.timeoutIntervalForRequest = 20
            case .tooLong: configuration.timeoutIntervalForResource = 40
            }
        }
    }

    @Test("The error of a failed transfer has usable resume data", arguments: Fault.allCases)
    func usableResumeData(_ fault: Fault) throws {
        try Simulation(1).run { world in
            let (gate, sandbox) = (ServerGate(), Sandbox())
            let content = GeneratedContent(size: 300_000, seed: 3)
            let server = world.server("mirror.example")
            let good = Reply.generated(content).entityTag("\"v1\"")
            let bad = good.stalled(afterBytes: 100_000, until: gate)
            let url = server.route(
                "/file", fault == .cut ? bad.cut(afterBytes: 100_000) : bad.reset(afterBytes: 100_000))
            let witness = Witness()
            let session = sandbox.session(witness, fault.configure)
            let task = session.downloadTask(with: url).resumed()
            await witness.wait { $0.contains(.wrote(100_000, of: 300_000)) }
            if fault.code == .networkConnectionLost { gate.open() }
            await witness.completion()
            gate.open()
            let error = try #require(witness.error(of: task))
            expectError(error, fault.code, about: url)
            #expect(task.error as? URLError == error)
            let blob = try #require(error.downloadTaskResumeData)
            #expect(error.userInfo[NSURLSessionDownloadTaskResumeData] as? Data == blob)
            #expect(error.userInfo[URLSessionDownloadTaskResumeData] as? Data == blob)
            #expect(sandbox.partialNames.count == 1)
            session.invalidateAndCancel()

            server.route("/file", good)
            let next = Witness()
            let second = sandbox.session(next).downloadTask(withResumeData: blob).resumed()
            await next.completion()
            #expect(next.file(of: second) == content.data)
            #expect(next.events.first == .resumed(at: 100_000, of: 300_000))
            #expect(sandbox.partialNames == [])
        }
    }

    @Test("Repeated cuts are resumed from the errors inside the completion")
    func cutsInCompletion() async throws {
        let content = GeneratedContent(size: 300_000, seed: 3)
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content).entityTag("\"v1\"").cut(afterBytes: 30_000, times: 9))
        let session = sandbox.session()
        let file = await withCheckedContinuation { continuation in
            ResumingLoader(session) { continuation.resume(returning: $0) }.start(url)
        }
        #expect(file == content.data)
        #expect(server.requests.map { $0.fields["Range"] } == [nil] + (1...9).map { "bytes=\($0 * 30_000)-" })
        // The file is removed when the handler has returned; this call comes after it.
        await withCheckedContinuation { continuation in
            session.getAllTasks { _ in continuation.resume() }
        }
        #expect(sandbox.partialNames == [])
    }

    /// Resumes as long as the errors have resume data.
    private final class ResumingLoader: Sendable {
        private let session: URLSession
        private let end: @Sendable (Data?) -> Void

        init(_ session: URLSession, end: @escaping @Sendable (Data?) -> Void) {
            self.session = session
            self.end = end
        }

        func start(_ url: URL) {
            session.downloadTask(with: url, completionHandler: handle).resume()
        }

        private func handle(_ file: URL?, _: URLResponse?, _ error: (any Error)?) {
            if let blob = (error as? URLError)?.downloadTaskResumeData {
                session.downloadTask(withResumeData: blob, completionHandler: handle).resume()
            } else {
                end(file.flatMap { try? Data(contentsOf: $0) })
            }
        }
    }

    @Test("Repeated cuts are resumed from the errors of download(from:)")
    func cutsAsync() async throws {
        let content = GeneratedContent(size: 300_000, seed: 3)
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content).entityTag("\"v1\"").cut(afterBytes: 30_000, times: 9))
        let session = sandbox.session()
        var error = await #expect(throws: URLError.self) { try await session.download(from: url) }
        for _ in 1..<9 {
            expectError(error, .networkConnectionLost, about: url)
            let blob = try #require(error?.downloadTaskResumeData)
            error = await #expect(throws: URLError.self) { try await session.download(resumeFrom: blob) }
        }
        let (file, response) = try await session.download(
            resumeFrom: try #require(error?.downloadTaskResumeData))
        #expect(try content.matches(fileAt: file))
        #expect((response as? HTTPURLResponse)?.statusCode == 206)
        #expect(server.requests.map { $0.fields["Range"] } == [nil] + (1...9).map { "bytes=\($0 * 30_000)-" })
        #expect(sandbox.partialNames == [file.lastPathComponent])
    }

    @Test("A malformed chunk keeps the bytes before it")
    func malformedChunk() async throws {
        let content = GeneratedContent(size: 300_000, seed: 3)
        let server = try LoopbackServer()
        var raw = Data("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nETag: \"v1\"\r\n".utf8)
        raw += Data("Accept-Ranges: bytes\r\n\r\n186a0\r\n".utf8) + content.bytes(0..<100_000) + Data("\r\nzz\r\n".utf8)
        let url = server.route("/file", .raw([raw], then: .keepOpen))
        let session = sandbox.session()
        let error = await #expect(throws: URLError.self) { try await session.download(from: url) }
        expectError(error, .cannotDecodeRawData, about: url)
        server.route("/file", .generated(content).entityTag("\"v1\""))
        let blob = try #require(error?.downloadTaskResumeData)
        let (file, _) = try await session.download(resumeFrom: blob)
        #expect(try content.matches(fileAt: file))
    }
}

import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@testable import SessionFixtures

/// A delegate that lets another request be loaded when a delayed task begins: what arrives is of that one.
@Suite("The request that a delegate wants in place of a task's", .timeLimit(.minutes(5)))
struct NewRequestTests {
    /// Two resources of one length and one tag, which tells versions of one resource apart and no more.
    private struct Stage: Sendable {
        let world: World
        let server: Server
        let first = GeneratedContent(size: 60_000, seed: 1)
        let second = GeneratedContent(size: 60_000, seed: 2)
        let delegate: Delegate
        let session: URLSession
        let partials: URL

        init(_ world: World, _ change: @escaping @Sendable (inout URLRequest, Server) -> Void) {
            self.world = world
            let server = world.server("mirror.example")
            self.server = server
            server.route("/first", .generated(first).entityTag("\"1\"").throttled(bytesPerSecond: 20_000))
            server.route("/second", .generated(second).entityTag("\"1\"").throttled(bytesPerSecond: 20_000))
            delegate = Delegate { change(&$0, server) }
            partials = world.computer("desk").home.appendingPathComponent("Partials", isDirectory: true)
            let configuration = URLSessionConfiguration.ephemeral
            configuration.partialDownloadsDirectory = partials
            configuration.resumableUploads = .always
            session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        }

        /// Resumes a task, which the delegate is asked about a second later.
        func resumeDelayed(_ task: URLSessionTask) {
            task.earliestBeginDate = world.date.addingTimeInterval(1)
            task.resume()
        }

        /// Stops a download in the middle of its file.
        func stopHalfway(_ task: URLSessionDownloadTask) async throws -> Data? {
            while task.countOfBytesReceived < 20_000 { try await world.sleep(for: .milliseconds(100)) }
            return await task.cancelByProducingResumeData()
        }

        /// Stops a download of the first resource in the middle, and lets it continue with the delegate's request.
        func continueFirst() async throws {
            let first = session.downloadTask(with: server.url("/first"))
            first.resume()
            let data = try #require(try await stopHalfway(first))
            let task = session.downloadTask(withResumeData: data)
            resumeDelayed(task)
            try await end(of: task)
        }

        func end(of task: URLSessionTask) async throws {
            while task.state != .completed { try await world.sleep(for: .seconds(1)) }
            session.finishTasksAndInvalidate()
            try await world.sleep(for: .seconds(1))
        }
    }

    private final class Delegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
        let file = LockedValue<Data?>(nil)
        let offset = LockedValue<Int64?>(nil)
        private let change: @Sendable (inout URLRequest) -> Void

        init(_ change: @escaping @Sendable (inout URLRequest) -> Void) { self.change = change }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
            completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
        ) {
            var request = request
            change(&request)
            completionHandler(.useNewRequest, request)
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
            expectedTotalBytes: Int64
        ) {
            offset.withLock { $0 = fileOffset }
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            let data = try? Data(contentsOf: location)
            file.withLock { $0 = data }
        }
    }

    private func simulate(
        _ change: @escaping @Sendable (inout URLRequest, Server) -> Void,
        _ body: @escaping @Sendable (Stage) async throws -> Void
    ) throws {
        try Simulation(1).run { world in try await body(Stage(world, change)) }
    }

    private static let secondURL: @Sendable (inout URLRequest, Server) -> Void = { $0.url = $1.url("/second") }

    @Test("A download with resume data of another resource loads all of the new one")
    func resumedAsAnother() throws {
        try simulate(Self.secondURL) { stage in
            try await stage.continueFirst()
            #expect(stage.delegate.file.withLock { $0 } == stage.second.data)
            #expect(stage.server.requests.map(\.path) == ["/first", "/second"])
            #expect(stage.server.requests.last?.fields["Range"] == nil)
            #expect((try? FileManager.default.contentsOfDirectory(atPath: stage.partials.path)) == [])
        }
    }

    @Test("A new request for the same resource resumes")
    func resumedWithAnotherField() throws {
        try simulate { request, _ in
            request.setValue("Bearer 2", forHTTPHeaderField: "Authorization")
        } _: { stage in
            try await stage.continueFirst()
            #expect(stage.delegate.file.withLock { $0 } == stage.first.data)
            #expect(try #require(stage.delegate.offset.withLock { $0 }) >= 20_000)
            #expect(stage.server.requests.last?.fields["Authorization"] == "Bearer 2")
        }
    }

    @Test("Resume data is of the new request")
    func resumeData() throws {
        try simulate(Self.secondURL) { stage in
            let first = stage.session.downloadTask(with: stage.server.url("/first"))
            stage.resumeDelayed(first)
            let data = try #require(try await stage.stopHalfway(first))
            let task = stage.session.downloadTask(withResumeData: data)
            #expect(task.originalRequest?.url == stage.server.url("/second"))
            task.resume()
            try await stage.end(of: task)
            #expect(stage.delegate.file.withLock { $0 } == stage.second.data)
            #expect(try #require(stage.delegate.offset.withLock { $0 }) >= 20_000)
        }
    }

    @Test("A new request that cannot be resumed gives no resume data", arguments: ["POST", "Range"])
    func withoutResumeData(reason: String) throws {
        try simulate { request, _ in
            if reason == "POST" {
                request.httpMethod = "POST"
            } else {
                request.setValue("bytes=0-49999", forHTTPHeaderField: "Range")
            }
        } _: { stage in
            let task = stage.session.downloadTask(with: stage.server.url("/first"))
            stage.resumeDelayed(task)
            #expect(try await stage.stopHalfway(task) == nil)
            try await stage.end(of: task)
        }
    }

    @Test("A sink's bytes are those of the new request: the task's own begins at its beginning")
    func sink() throws {
        try simulate(Self.secondURL) { stage in
            let file = stage.world.computer("desk").home.appendingPathComponent("film")
            let url = stage.server.url("/first")
            let first = stage.session.dataTask(with: url, writingTo: FileHandleSink(fileAt: file))
            stage.resumeDelayed(first)
            while first.countOfBytesReceived < 20_000 { try await stage.world.sleep(for: .milliseconds(100)) }
            first.cancel()
            try await stage.world.sleep(for: .seconds(1))
            let task = stage.session.dataTask(with: url, writingTo: FileHandleSink(fileAt: file))
            task.resume()
            try await stage.end(of: task)
            #expect(try Data(contentsOf: file) == stage.first.data)
        }
    }

    @Test("An upload that is stopped resumes where the new request has sent its beginning")
    func upload() throws {
        try simulate { request, server in
            request.url = server.url("/new")
        } _: { stage in
            let target = UploadTarget()
            stage.world.network.bytesPerSecond = 20_000
            for path in ["/files", "/new"] { stage.server.route(path, method: "PUT", .upload(to: target)) }
            var request = URLRequest(url: stage.server.url("/files"))
            request.httpMethod = "PUT"
            let first = stage.session.uploadTask(with: request, from: stage.first.data)
            stage.resumeDelayed(first)
            await stage.server.wait { $0.requests.contains { $0.path == "/new" } }
            try await stage.world.sleep(for: .seconds(1))
            let data = try #require(await first.cancelByProducingResumeData())
            let task = stage.session.uploadTask(withResumeData: data)
            #expect(task.originalRequest?.url == stage.server.url("/new"))
            task.resume()
            try await stage.end(of: task)
            #expect(target.uploads.last?.content == stage.first.data)
            #expect(!stage.server.requests.contains { $0.path == "/files" })
        }
    }

    @Test("A WebSocket's handshake is a GET, whatever the new request is (RFC 6455 §4.1)")
    func webSocket() throws {
        try simulate { request, _ in
            request.httpMethod = "POST"
            request.httpBody = Data("body".utf8)
        } _: { stage in
            stage.server.route("/chat", .webSocket(.listening.text("hello").close(1000)))
            let url = try #require(URL(string: "ws://mirror.example/chat"))
            let task = stage.session.webSocketTask(with: url)
            stage.resumeDelayed(task)
            guard case .string("hello") = try await task.receive() else {
                Issue.record("another message")
                return
            }
            #expect(stage.server.requests.map(\.method) == ["GET"])
            #expect(stage.server.requests.map(\.body) == [Data()])
            task.cancel(with: .normalClosure, reason: nil)
            try await stage.end(of: task)
        }
    }
}

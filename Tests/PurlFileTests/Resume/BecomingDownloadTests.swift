import Foundation
import PurlTesting
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("A data task that becomes a download", .timeLimit(.minutes(5)))
struct BecomingDownloadTests {
    private let sandbox = Sandbox()
    private let content = GeneratedContent(size: 300_000, seed: 3)

    /// A delegate that makes a data task a download, and acts on the data task in between: the download runs already,
    /// and `didBecome` has not been called.
    private final class ActingDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
        let act: @Sendable (URLSessionDataTask) -> Void
        let end = AsyncStream<URLError?>.makeStream()

        init(act: @escaping @Sendable (URLSessionDataTask) -> Void) { self.act = act }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            completionHandler(.becomeDownload)
            while !dataTask.isOver { NetworkThread.waitUntilSettled() }
            act(dataTask)
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {}

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            end.continuation.yield(error as? URLError)
        }
    }

    @Test("Cancelling the data task before didBecome cancels the download")
    func cancelledBeforeCall() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content).stalled(afterBytes: 100_000))
        let delegate = ActingDelegate { $0.cancel() }
        let session = sandbox.session(delegate)
        session.dataTask(with: url).resume()
        var ends = delegate.end.stream.makeAsyncIterator()
        #expect(await ends.next()??.code == .cancelled)
        session.invalidateAndCancel()
        await server.waitUntilDisconnected()
    }

    @Test("Suspending the data task before didBecome suspends the download")
    func suspendedBeforeCall() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        let url = server.route("/file", .generated(content).stalled(afterBytes: 100_000, until: gate))
        let delegate = ActingDelegate { $0.suspend() }
        let session = sandbox.session(delegate)
        session.dataTask(with: url).resume()
        await gate.reached()
        var download: URLSessionDownloadTask?
        while download == nil, !Task.isCancelled { download = await session.tasks.2.first }
        #expect(download?.state == .suspended)
        gate.open()
        download?.resume()
        var ends = delegate.end.stream.makeAsyncIterator()
        #expect(await ends.next() == .some(nil))
    }

    /// A delegate that makes data tasks downloads, keeps the new task and records the names of all calls.
    private final class BecomesDownload: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
        let calls = Mutex<[String]>([])
        let download = Mutex<URLSessionDownloadTask?>(nil)
        let file = Mutex<Data?>(nil)
        let error = Mutex<URLError?>(nil)
        private let reachedStream = AsyncStream<Int64>.makeStream()
        private let endStream = AsyncStream<Void>.makeStream()

        var reached: AsyncStream<Int64> { reachedStream.stream }
        var end: AsyncStream<Void> { endStream.stream }

        private func append(_ call: String, _ task: URLSessionTask) {
            calls.withLock { calls in
                let line = "\(task.taskIdentifier) \(call)"
                if calls.last != line { calls.append(line) }
            }
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            append("response", dataTask)
            completionHandler(.becomeDownload)
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
        ) {
            append("became", dataTask)
            download.withLock { $0 = downloadTask }
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            append("data", dataTask)
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
            totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
        ) {
            append("wrote", downloadTask)
            reachedStream.continuation.yield(totalBytesWritten)
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            append("file", downloadTask)
            file.withLock { $0 = try? Data(contentsOf: location) }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            append("completed", task)
            self.error.withLock { $0 = error as? URLError }
            endStream.continuation.yield()
        }
    }

    @Test("The download receives the file and the completion")
    func newTask() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content).entityTag("\"v1\""))
        let turner = BecomesDownload()
        let session = sandbox.session(turner)
        let task = session.dataTask(with: url)
        task.taskDescription = "mine"
        task.resume()
        for await _ in turner.end.prefix(1) {}
        let download = try #require(turner.download.withLock { $0 })
        #expect(turner.calls.withLock { $0 } == ["1 response", "1 became", "2 wrote", "2 file", "2 completed"])
        #expect(turner.file.withLock { $0 } == content.data)
        #expect(turner.error.withLock { $0 } == nil)
        #expect(download.originalRequest?.url == url)
        #expect((download.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(download.countOfBytesReceived == 300_000)
        #expect(download.taskDescription == "mine")
        #expect(task.state == .completed)
        #expect(task.error == nil)
        #expect(server.requests.count == 1)
        #expect(sandbox.partialNames == [])
    }

    @Test("The calls come in order: response, didBecome, file, completion")
    func order() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content))
        let witness = Witness(disposition: .becomeDownload)
        sandbox.session(witness).dataTask(with: url).resume()
        await witness.completion()
        #expect(
            witness.events == [
                .response(200), .becameDownload, .wrote(300_000, of: 300_000), .file(300_000), .completed(nil),
            ])
    }

    @Test("The download can be cancelled, with and without resume data", arguments: [true, false])
    func cancelled(producingResumeData: Bool) async throws {
        let server = try LoopbackServer()
        let good = Reply.generated(content).entityTag("\"v1\"")
        let url = server.route("/file", good.stalled(afterBytes: 100_000))
        let turner = BecomesDownload()
        let session = sandbox.session(turner)
        let task = session.dataTask(with: url).resumed()
        _ = await turner.reached.first { $0 == 100_000 }
        let download = try #require(turner.download.withLock { $0 })
        // The data task has completed: cancelling it has no effect.
        task.cancel()
        var blob: Data?
        if producingResumeData {
            blob = await download.cancelByProducingResumeData()
            #expect(blob != nil)
        } else {
            download.cancel()
        }
        for await _ in turner.end.prefix(1) {}
        expectError(turner.error.withLock { $0 }, .cancelled, about: url)
        #expect(turner.calls.withLock { $0 } == ["1 response", "1 became", "2 wrote", "2 completed"])
        #expect(sandbox.partialNames.count == (producingResumeData ? 1 : 0))
        session.invalidateAndCancel()

        guard let blob else { return }
        server.route("/file", good)
        let (file, _) = try await sandbox.session().download(resumeFrom: blob)
        #expect(try content.matches(fileAt: file))
        #expect(server.requests.map { $0.fields["Range"] } == [nil, "bytes=100000-"])
    }

    @Test("A lost connection gives the download's error resume data")
    func lostConnection() async throws {
        let server = try LoopbackServer()
        let good = Reply.generated(content).entityTag("\"v1\"")
        let url = server.route("/file", good.cut(afterBytes: 100_000, times: 1))
        let turner = BecomesDownload()
        let session = sandbox.session(turner)
        session.dataTask(with: url).resume()
        for await _ in turner.end.prefix(1) {}
        let error = try #require(turner.error.withLock { $0 })
        expectError(error, .networkConnectionLost, about: url)
        let (file, _) = try await session.download(resumeFrom: try #require(error.downloadTaskResumeData))
        #expect(try content.matches(fileAt: file))
    }

    @Test("An empty body becomes an empty file")
    func emptyBody() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .bytes(Data()))
        let witness = Witness(disposition: .becomeDownload)
        sandbox.session(witness).dataTask(with: url).resume()
        await witness.completion()
        #expect(witness.events == [.response(200), .becameDownload, .file(0), .completed(nil)])
        #expect(sandbox.partialNames == [])
    }
}

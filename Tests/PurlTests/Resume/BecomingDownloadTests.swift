import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

/// A data task whose delegate answers the response with `.becomeDownload` ends silently, and a download task goes on
/// with the same response.
@Suite(.timeLimit(.minutes(5))) struct BecomingDownloadTests {
    private let content = GeneratedContent(size: 300_000, seed: 3)

    /// A delegate that turns a data task into a download, and does something to the data task in the moment between: the
    /// download goes on already, and nobody has been told of it.
    private final class Interloper: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
        let act: @Sendable (URLSessionDataTask) -> Void
        let end = AsyncStream<URLError?>.makeStream()

        init(act: @escaping @Sendable (URLSessionDataTask) -> Void) { self.act = act }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            completionHandler(.becomeDownload)
            while dataTask.state != .completed { sched_yield() }
            act(dataTask)
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {}

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            end.continuation.yield(error as? URLError)
        }
    }

    @Test func cancellingTheDataTaskBeforeTheDelegateKnowsOfTheDownloadCancelsTheDownload() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content).stalled(afterBytes: 100_000))
        let sandbox = try Sandbox()
        let delegate = Interloper { $0.cancel() }
        let session = sandbox.session(delegate)
        session.dataTask(with: url).resume()
        var ends = delegate.end.stream.makeAsyncIterator()
        #expect(await ends.next()??.code == .cancelled)
        session.invalidateAndCancel()
        await server.waitUntilDisconnected()
    }

    @Test func suspendingTheDataTaskBeforeTheDelegateKnowsOfTheDownloadSuspendsTheDownload() async throws {
        let server = try LoopbackServer()
        let gate = Gate()
        let url = server.route("/file", .generated(content).stalled(afterBytes: 100_000, until: gate))
        let sandbox = try Sandbox()
        let delegate = Interloper { $0.suspend() }
        let session = sandbox.session(delegate)
        session.dataTask(with: url).resume()
        await gate.reached()
        var download: URLSessionDownloadTask?
        while download == nil { download = await session.tasks.2.first }
        #expect(download?.state == .suspended)
        gate.open()
        download?.resume()
        var ends = delegate.end.stream.makeAsyncIterator()
        #expect(await ends.next() == .some(nil))
        session.invalidateAndCancel()
    }

    /// A delegate that turns data tasks into downloads, keeps the new task and notes the names of all calls.
    private final class Turner: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
        let calls = Mutex<[String]>([])
        let download = Mutex<URLSessionDownloadTask?>(nil)
        let file = Mutex<Data?>(nil)
        let error = Mutex<URLError?>(nil)
        private let reachedStream = AsyncStream<Int64>.makeStream()
        private let endStream = AsyncStream<Void>.makeStream()

        var reached: AsyncStream<Int64> { reachedStream.stream }
        var end: AsyncStream<Void> { endStream.stream }

        private func note(_ call: String, _ task: URLSessionTask) {
            calls.withLock { calls in
                let line = "\(task.taskIdentifier) \(call)"
                if calls.last != line { calls.append(line) }
            }
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            note("response", dataTask)
            completionHandler(.becomeDownload)
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
        ) {
            note("became", dataTask)
            download.withLock { $0 = downloadTask }
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            note("data", dataTask)
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
            totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
        ) {
            note("wrote", downloadTask)
            reachedStream.continuation.yield(totalBytesWritten)
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            note("file", downloadTask)
            file.withLock { $0 = try? Data(contentsOf: location) }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            note("completed", task)
            self.error.withLock { $0 = error as? URLError }
            endStream.continuation.yield()
        }
    }

    @Test func theNewTaskGetsTheFileAndTheCompletion() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content).entityTag("\"v1\""))
        let sandbox = try Sandbox()
        let turner = Turner()
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
        session.invalidateAndCancel()
    }

    @Test func theWitnessSeesTheOrder() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content))
        let sandbox = try Sandbox()
        let witness = Witness(disposition: .becomeDownload)
        let session = sandbox.session(witness)
        session.dataTask(with: url).resume()
        await witness.completion()
        #expect(
            witness.events == [
                .response(200), .becameDownload, .wrote(300_000, of: 300_000), .file(300_000), .completed(nil),
            ])
        session.invalidateAndCancel()
    }

    @Test(arguments: [true, false]) func theNewTaskCanBeStopped(producingResumeData: Bool) async throws {
        let server = try LoopbackServer()
        let good = Reply.generated(content).entityTag("\"v1\"")
        let url = server.route("/file", good.stalled(afterBytes: 100_000))
        let sandbox = try Sandbox()
        let turner = Turner()
        let session = sandbox.session(turner)
        let task = session.dataTask(with: url)
        task.resume()
        _ = await turner.reached.first { $0 == 100_000 }
        let download = try #require(turner.download.withLock { $0 })
        // The old task is over: cancelling it does nothing.
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
        let second = sandbox.session()
        let (file, _) = try await second.download(resumeFrom: blob)
        #expect(try content.matches(fileAt: file))
        #expect(server.requests.map { $0.fields["Range"] } == [nil, "bytes=100000-"])
        second.invalidateAndCancel()
    }

    @Test func aLostConnectionGivesTheNewTaskResumeData() async throws {
        let server = try LoopbackServer()
        let good = Reply.generated(content).entityTag("\"v1\"")
        let url = server.route("/file", good.cut(afterBytes: 100_000, times: 1))
        let sandbox = try Sandbox()
        let turner = Turner()
        let session = sandbox.session(turner)
        session.dataTask(with: url).resume()
        for await _ in turner.end.prefix(1) {}
        let error = try #require(turner.error.withLock { $0 })
        expectError(error, .networkConnectionLost, about: url)
        let (file, _) = try await session.download(resumeFrom: try #require(error.downloadTaskResumeData))
        #expect(try content.matches(fileAt: file))
        session.invalidateAndCancel()
    }

    @Test func anEmptyBodyBecomesAnEmptyFile() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .bytes(Data()))
        let sandbox = try Sandbox()
        let witness = Witness(disposition: .becomeDownload)
        let session = sandbox.session(witness)
        session.dataTask(with: url).resume()
        await witness.completion()
        #expect(witness.events == [.response(200), .becameDownload, .file(0), .completed(nil)])
        #expect(sandbox.partialNames == [])
        session.invalidateAndCancel()
    }
}

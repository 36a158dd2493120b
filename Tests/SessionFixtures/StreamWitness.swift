import Foundation
import Purl
import PurlTesting
import Synchronization

/// A delegate that records the calls about stream tasks, in order.
final class StreamWitness: NSObject, RecordingDelegate, URLSessionStreamDelegate, URLSessionDataDelegate, Sendable {
    enum Event: DelegateCall {
        case readClosed
        case writeClosed
        case captured
        case waiting
        case response(Int)
        case becameStream
        case metrics(transactions: Int)
        case completed(URLError.Code?)
        case invalid
        /// An event in a handler of the test.
        case handler(String)

        var isCompletion: Bool { if case .completed = self { true } else { false } }
    }

    /// The streams that the delegate received.
    struct CapturedStreams: @unchecked Sendable {
        // Passed from the delegate queue to the test, which alone uses them.
        var input: InputStream?
        var output: OutputStream?
    }

    let record = CallRecord<Event>()
    private let streams = Mutex(CapturedStreams())
    private let successor = Mutex<URLSessionStreamTask?>(nil)
    private let disposition: URLSession.ResponseDisposition

    init(_ disposition: URLSession.ResponseDisposition = .becomeStream) {
        self.disposition = disposition
    }

    /// The streams that were captured.
    var captured: CapturedStreams { streams.withLock { $0 } }
    /// The streams that were captured, which the witness then releases.
    func takeCaptured() -> CapturedStreams {
        streams.withLock { streams in
            defer { streams = CapturedStreams() }
            return streams
        }
    }
    /// The stream task that a data task became.
    var streamTask: URLSessionStreamTask? { successor.withLock { $0 } }

    func append(_ text: String) { record.append(.handler(text)) }

    func wait(for event: Event) async { await wait { $0.contains(event) } }

    /// Returns when the streams were captured.
    func capture() async { await wait(for: .captured) }

    func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) {
        record.append(.readClosed)
    }

    func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) {
        record.append(.writeClosed)
    }

    func urlSession(
        _ session: URLSession, streamTask: URLSessionStreamTask, didBecome inputStream: InputStream,
        outputStream: OutputStream
    ) {
        let both = CapturedStreams(input: inputStream, output: outputStream)
        streams.withLock { $0 = both }
        record.append(
            streamTask.state == .completed ? .captured : .handler("captured in the state \(streamTask.state)"))
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        record.append(.waiting)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        record.append(.response((response as? HTTPURLResponse)?.statusCode ?? 0))
        completionHandler(disposition)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask) {
        successor.withLock { $0 = streamTask }
        record.append(.becameStream)
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { record.append(.invalid) }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        record.append(.metrics(transactions: metrics.transactionMetrics.count), of: task, metrics)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        record.complete(task, error)
    }
}

/// A server that speaks raw bytes, a session and a delegate for one test of streams.
struct StreamStage {
    let server: LoopbackServer
    let sandbox: Sandbox
    let witness: StreamWitness
    let session: URLSession

    init(
        _ script: StreamScript? = .echo, _ disposition: URLSession.ResponseDisposition = .becomeStream,
        on transport: LoopbackServer.Transport = .ipv4, queue: OperationQueue? = nil,
        _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws {
        server = try await LoopbackServer.started(transport, stream: script)
        sandbox = Sandbox()
        witness = StreamWitness(disposition)
        session = sandbox.session(witness, queue: queue, change)
    }

    /// A task that has been resumed.
    func open() -> URLSessionStreamTask {
        let task = make()
        task.resume()
        return task
    }

    func make() -> URLSessionStreamTask {
        session.streamTask(withHostName: "127.0.0.1", port: Int(server.port))
    }

    /// The server's side of the first stream, once it fulfils the condition.
    func stream(
        until condition: @escaping @Sendable (ReceivedStream) -> Bool = { $0.ending != nil }
    ) async -> ReceivedStream? {
        await server.wait { record in record.streams.first.map(condition) ?? false }
        return server.streams.first
    }
}

extension URLSessionStreamTask {
    func write(_ text: String) async throws {
        try await write(Data(text.utf8), timeout: 0)
    }

    /// Exactly so many bytes, as text.
    func text(_ count: Int) async throws -> String? {
        try await readData(ofMinLength: count, maxLength: count, timeout: 0).0.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// Everything to the end of the stream.
    func rest() async throws -> Data {
        var all = Data()
        while true {
            let (bytes, isLast) = try await readData(ofMinLength: 1, maxLength: 1 << 20, timeout: 0)
            if let bytes { all += bytes }
            if isLast { return all }
        }
    }
}

import Foundation
import Purl
internal import PurlIO
import Synchronization

/// What a connection besides the leader has done: for who shows it.
package enum RangeRequestEvent: Sendable {
    /// It has received a response, which is accepted or not.
    case response(HTTPURLResponse, isAccepted: Bool)
    /// - Parameter metrics: They tell whether the request was sent.
    case completion((any Error)?, URLSessionTaskMetrics?)
}

/// One connection besides the leader: a task that requests a range, proves that the response is that range of the version,
/// and only then lets its bytes into the file.
final class RangeRequest: NSObject, URLSessionDataDelegate {
    /// How it has ended.
    struct End: Sendable {
        /// What the response means; `nil` when there was none.
        var verdict: RangeProof.Verdict?
        /// The response that is the failure.
        var refusal: HTTPURLResponse?
        var error: (any Error)?
        /// How many bytes have been received.
        var received: Int64 = 0
        /// Whether it was not needed any more.
        var isCancelled = false
        /// Whether the bytes have another digest than the response has said.
        var isDamaged = false
        /// Whether the response had more bytes than the range, or fewer and an end, so that none of them need be the range's.
        var hasOtherLength = false

        /// Whether it has brought more than a few of the range's bytes. A server that breaks each connection after some does
        /// not deserve a request for each of them.
        func isUseful(for range: Range<Int64>) -> Bool {
            received > min(Self.few, Int64(range.count) / 16)
        }

        private static let few: Int64 = 64 << 10
    }

    let reader: RangePlan.Reader
    let range: Range<Int64>
    /// Which of the file's servers is asked.
    let number: RangeServers.Number
    /// Its number among the connections that are open.
    let connection: Int
    private let server: RangeServers.Server
    private let total: Int64
    private let file: RangedFile
    private let generation: RangedFile.Generation
    private let sink: RangeSink
    private let task: URLSessionDataTask
    private let onExchange: @Sendable (URLSessionTask, RangeRequestEvent) -> Void
    private let onProof: @Sendable (RangeProof, URLRequest?) -> Void
    private let completion: @Sendable (RangeRequest, End) -> Void
    private let end = Mutex(End())
    /// What the response says of its bytes.
    private let claim = Mutex<PartDigest?>(nil)
    private let wholeDigest: String?
    private let metrics = Mutex<URLSessionTaskMetrics?>(nil)

    /// - Parameters:
    ///   - total: The length of the whole.
    ///   - connection: Its number among the connections that are open.
    ///   - wholeDigest: What the server has said of the whole. One that says the same of a part has not digested that.
    ///   - onExchange: Called with what the connection does.
    ///   - onProof: Called when the response has proved to be the range, with the version's proof and the last request.
    ///   - onOver: Called when the connection is not needed any more.
    ///   - completion: Called once, at the end.
    init(
        _ range: Range<Int64>, of total: Int64, by reader: RangePlan.Reader, from server: RangeServers.Server,
        _ number: RangeServers.Number, of file: RangedFile, in generation: RangedFile.Generation, session: URLSession,
        over connection: Int, wholeDigest: String?,
        onExchange: @escaping @Sendable (URLSessionTask, RangeRequestEvent) -> Void,
        onProgress: @escaping @Sendable () -> Void, onProof: @escaping @Sendable (RangeProof, URLRequest?) -> Void,
        completion: @escaping @Sendable (RangeRequest, End) -> Void
    ) {
        self.reader = reader
        self.range = range
        self.total = total
        self.server = server
        self.number = number
        self.connection = connection
        self.onExchange = onExchange
        self.onProof = onProof
        self.completion = completion
        (self.file, self.generation) = (file, generation)
        self.wholeDigest = wholeDigest
        sink = RangeSink(file, reader, generation, count: Int64(range.count), onProgress: onProgress)
        let request =
            server.proof?.request(for: range, like: server.request)
            ?? RangeProof.request(for: range, like: server.request)
        task = session.dataTask(with: request, writingTo: sink)
        super.init()
        task.delegate = self
        sink.setOnOver { [weak self] in self?.cancel() }
    }

    func start() { task.resume() }

    func cancel() {
        end.withLock { $0.isCancelled = true }
        task.cancel()
    }

    // MARK: URLSessionDataDelegate

    /// The range is asked for where the whole has come from, and nowhere else; of a mirror, where its first response comes from.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        let isFollowed = server.proof == nil && !server.refuses(response, request)
        completionHandler(isFollowed ? request : nil)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let response = response as? HTTPURLResponse
        let proof = server.proof ?? response.flatMap { RangeProof(foundIn: $0, total: total) }
        let verdict =
            response.map { proof?.verdict(on: $0, to: range) ?? RangeProof.verdict(onStatus: $0.statusCode) }
            ?? .unproven
        end.withLock { end in
            end.verdict = verdict
            if verdict != .proven { end.refusal = response }
        }
        if let response { onExchange(dataTask, .response(response, isAccepted: verdict == .proven)) }
        guard verdict == .proven, let proof else { return completionHandler(.cancel) }
        let claim = response.flatMap { PartDigest(of: $0) }.flatMap { $0.sha256 == wholeDigest ? nil : $0 }
        if claim != nil || response?.expectedContentLength == NSURLSessionTransferSizeUnknown {
            self.claim.withLock { $0 = claim }
            // A part of it could not be compared, nor taken back: what is left of it is requested anew.
            guard file.keepWhole(range, by: reader, in: generation) else {
                end.withLock { $0.isCancelled = true }
                return completionHandler(.cancel)
            }
        }
        onProof(proof, dataTask.currentRequest)
        completionHandler(.allow)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        self.metrics.withLock { $0 = metrics }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        onExchange(task, .completion(error, metrics.withLock { $0 }))
        let end = self.end.withLock { end in
            end.error = error
            end.received = sink.received
            // Only its length tells that a response without one is not the range.
            let isShort = error == nil && end.received < range.count && !end.isCancelled
            if end.verdict == .proven, sink.isExceeded || isShort {
                end.verdict = .unproven
                end.hasOtherLength = true
            }
            return end
        }
        guard end.verdict == .proven, end.received == range.count, let claim = claim.withLock({ $0 }),
            claim.bytes == range
        else {
            return completion(self, end)
        }
        Worker.shared.run(on: .downloads) { [self] in
            var end = end
            end.isDamaged = !file.has(claim)
            completion(self, end)
        }
    }
}

/// Takes the bytes of one range, and drops what follows them.
private final class RangeSink: PipedSink, PartSink {
    private struct State {
        var received: Int64 = 0
        var isExceeded = false
        var onOver: (@Sendable () -> Void)?
    }

    private let file: RangedFile
    private let reader: RangePlan.Reader
    private let generation: RangedFile.Generation
    /// How many bytes the range has.
    private let count: Int64
    private let onProgress: @Sendable () -> Void
    private let state = Mutex(State())

    init(
        _ file: RangedFile, _ reader: RangePlan.Reader, _ generation: RangedFile.Generation,
        count: Int64, onProgress: @escaping @Sendable () -> Void
    ) {
        self.count = count
        self.file = file
        self.reader = reader
        self.generation = generation
        self.onProgress = onProgress
    }

    /// - Parameter onOver: Called when no more bytes are needed.
    func setOnOver(_ onOver: @escaping @Sendable () -> Void) {
        state.withLock { $0.onOver = onOver }
    }

    var received: Int64 { state.withLock { $0.received } }

    /// Whether the response had more bytes than the range.
    var isExceeded: Bool { state.withLock { $0.isExceeded } }

    var length: Int64 { received }

    func append(_ data: Data) throws {
        let data = data.prefix(accept(data.count))
        try append(data.count, try file.place(data, by: reader, in: generation))
    }

    func append(_ count: Int, from pipe: ContentPipe) throws {
        let accepted = accept(count)
        let placed = try file.place(accepted, from: pipe, by: reader, in: generation)
        if accepted < count { _ = try pipe.bytes(count - accepted) }
        try append(accepted, placed)
    }

    /// How many of the next bytes belong to the range.
    private func accept(_ next: Int) -> Int {
        state.withLock { state in
            let accepted = Int(min(Int64(next), count - state.received))
            if accepted < next { state.isExceeded = true }
            return accepted
        }
    }

    private func append(_ count: Int, _ placed: RangedFile.Placed) throws {
        let onOver = state.withLock { state in
            state.received += Int64(count)
            return placed == .continues ? nil : state.onOver
        }
        onProgress()
        onOver?()
    }

    /// The task's own bytes cannot be taken back: what is there proves itself by its place in the plan.
    func truncate(to length: Int64) {
        state.withLock { $0.received = length }
    }

    func bytes(in range: Range<Int64>) -> Data { Data() }
    func synchronize() {}
    func loadRecord() -> Data? { nil }
    func saveRecord(_ record: Data?) {}
    func close() {}
}

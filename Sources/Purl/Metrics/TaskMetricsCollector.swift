import Foundation
internal import PurlHTTP
internal import PurlIO

/// The requests of one task, in the order in which they were made. Kept only where a delegate may want to hear.
@NetworkActor
final class TaskMetricsCollector {
    private var earlier: [TransactionMetricsCollector] = []
    /// The request of the moment.
    private(set) var current: TransactionMetricsCollector

    init(_ request: URLRequest) {
        current = TransactionMetricsCollector(request)
    }

    /// A request is about to be made: a new record, unless the last one's has not gone out yet.
    func begin(_ request: URLRequest) {
        guard current.hasBegun else { return }
        current.markEnd()
        earlier.append(current)
        current = TransactionMetricsCollector(request)
    }

    /// All of them, at the task's end.
    func finish() -> [TransactionMetricsCollector.Values] {
        current.markEnd()
        return (earlier + [current]).map(\.values)
    }
}

/// What is taken down of one request while it is under way: moments of the loop's clock and counts, nothing that costs
/// anything. Dates are made of them when somebody is told.
@NetworkActor
final class TransactionMetricsCollector {
    struct Values: Sendable {
        /// Once it has been sent, its fields are those of the wire.
        var request: URLRequest
        var response: URLResponse?
        var source = URLSessionTaskMetrics.ResourceFetchType.networkLoad
        var fetchStart: MonotonicTime
        /// Absent on a connection that was there already.
        var dial: DialTimes?
        var requestStart: MonotonicTime?
        var requestEnd: MonotonicTime?
        var responseStart: MonotonicTime?
        var responseEnd: MonotonicTime?
        var requestHeadBytes: Int64 = 0
        var requestBodyBytes: Int64 = 0
        var requestContentBytes: Int64 = 0
        var responseHeadBytes: Int64 = 0
        var responseBodyBytes: Int64 = 0
        var responseContentBytes: Int64 = 0
        var isReused = false
        var isProxied = false
        var local: SocketAddress?
        var remote: SocketAddress?
        /// It went over a connection.
        var wasSent = false
    }

    private(set) var values: Values

    init(_ request: URLRequest) {
        values = Values(request: request, fetchStart: EventLoop.shared.now)
    }

    /// It has been sent, or answered without.
    var hasBegun: Bool { values.requestStart != nil }

    // MARK: What the transfer notes

    /// The connection is there; the request goes out now.
    ///
    /// - Parameter fields: Those of the request; `nil` where something else than a request goes out.
    func markRequestStart(on connection: HTTPConnection, fields: HeaderFields?) {
        if let fields { values.request.replaceFields(with: fields) }
        values.requestStart = EventLoop.shared.now
        values.wasSent = true
        values.isReused = connection.isReused
        values.isProxied = connection.leadsToProxy
        values.dial = connection.isReused ? nil : connection.dialTimes
        (values.local, values.remote) = connection.ends
    }

    /// No connection was made.
    func markFailedDial(_ times: DialTimes?) {
        values.dial = times
    }

    func setResponse(_ response: URLResponse) {
        values.response = response
    }

    /// Bytes of the body as the user gets them.
    func addContentBytes(_ count: Int) {
        values.responseContentBytes += Int64(count)
    }

    /// Bytes of a stream came.
    func addStreamBytesReceived(_ count: Int) {
        if values.responseStart == nil { values.responseStart = EventLoop.shared.now }
        values.responseBodyBytes += Int64(count)
        values.responseContentBytes += Int64(count)
    }

    /// Bytes of a stream went out.
    func addStreamBytesSent(_ count: Int) {
        values.requestBodyBytes += Int64(count)
        values.requestContentBytes += Int64(count)
    }

    /// The answer was here all the time.
    func setLocalResponse(_ response: URLResponse, from source: URLSessionTaskMetrics.ResourceFetchType) {
        let now = EventLoop.shared.now
        values.response = response
        values.source = source
        values.requestStart = now
        values.requestEnd = now
        values.responseStart = now
    }

    // MARK: What the connection notes

    func setSent(_ message: OutgoingMessage, content: Int) {
        values.requestHeadBytes = Int64(message.headSent)
        values.requestBodyBytes = message.bodySent
        values.requestContentBytes += Int64(content)
        if message.isSent, values.requestEnd == nil { values.requestEnd = EventLoop.shared.now }
    }

    func addHeadBytes(_ count: Int) {
        guard count > 0 else { return }
        values.responseHeadBytes += Int64(count)
        if values.responseStart == nil { values.responseStart = EventLoop.shared.now }
    }

    /// What came was not the response yet.
    func restartResponse() {
        values.responseStart = nil
    }

    func addBodyBytes(_ count: Int) {
        values.responseBodyBytes += Int64(count)
    }

    /// The exchange is over, however it ended.
    func markEnd() {
        if values.responseStart != nil, values.responseEnd == nil { values.responseEnd = EventLoop.shared.now }
    }
}

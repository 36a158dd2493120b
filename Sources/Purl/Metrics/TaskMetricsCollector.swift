import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// Collects the metrics of a task's transactions, in their order. A task without a delegate has none.
@NetworkActor
final class TaskMetricsCollector {
    private var earlier: [TransactionMetricsCollector] = []
    /// The current transaction's.
    private(set) var current: TransactionMetricsCollector

    init(_ request: URLRequest) {
        current = TransactionMetricsCollector(request)
    }

    /// Begins a transaction for a request, unless the last one's request has not been sent yet.
    func begin(_ request: URLRequest) {
        guard current.hasBegun else { return }
        current.markEnd()
        earlier.append(current)
        current = TransactionMetricsCollector(request)
    }

    /// The metrics of all transactions, at the task's end.
    func finish() -> [TransactionMetricsCollector.Values] {
        current.markEnd()
        return (earlier + [current]).map(\.values)
    }
}

/// Collects the metrics of one transaction: times of the loop's clock and counts, which cost next to nothing. They
/// become dates in `URLSessionTaskMetrics`.
@NetworkActor
final class TransactionMetricsCollector: ExchangeObserver {
    struct Values: Sendable {
        /// Once it has been sent, with the fields that were sent.
        var request: URLRequest
        var response: URLResponse?
        var source = URLSessionTaskMetrics.ResourceFetchType.networkLoad
        var fetchStart: MonotonicTime
        /// `nil` on a reused connection.
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
        var isMultipath = false
        var security: TLSHandshakeResult?
        /// `nil` on a reused connection.
        var handshake: (start: MonotonicTime, end: MonotonicTime)?
        var local: SocketAddress?
        var remote: SocketAddress?
        /// Whether it went over a connection.
        var wasSent = false
    }

    private(set) var values: Values

    init(_ request: URLRequest) {
        values = Values(request: request, fetchStart: EventLoop.shared.now)
    }

    /// Whether it has been sent, or answered without a connection.
    var hasBegun: Bool { values.requestStart != nil }

    // MARK: From the transfer

    /// The request is being sent now.
    ///
    /// - Parameter fields: The request's; `nil` where no request is sent.
    func markRequestStart(on connection: HTTPConnection, fields: HeaderFields?) {
        if let fields { values.request.replaceFields(with: fields) }
        values.requestStart = EventLoop.shared.now
        values.wasSent = true
        values.isReused = connection.isReused
        values.isProxied = connection.leadsToProxy
        values.isMultipath = connection.isMultipath
        values.dial = connection.isReused ? nil : connection.dialTimes
        (values.local, values.remote) = connection.ends
        if let security = connection.security { setSecurity(security, isNew: !connection.isReused) }
    }

    /// The connection is secure.
    ///
    /// - Parameter isNew: It became so for this transaction.
    func setSecurity(_ security: ConnectionSecurity, isNew: Bool) {
        values.security = security.result
        values.handshake = isNew ? (security.start, security.end) : nil
    }

    /// No connection was made.
    ///
    /// - Parameter times: When the attempts began.
    func markFailedDial(_ times: DialTimes?) {
        values.dial = times
    }

    func setResponse(_ response: URLResponse) {
        values.response = response
    }

    /// Adds bytes of the body as they are delivered.
    func addContentBytes(_ count: Int) {
        values.responseContentBytes += Int64(count)
    }

    /// Adds bytes that a stream has received.
    func addStreamBytesReceived(_ count: Int) {
        if values.responseStart == nil { values.responseStart = EventLoop.shared.now }
        values.responseBodyBytes += Int64(count)
        values.responseContentBytes += Int64(count)
    }

    /// Adds bytes that a stream has sent.
    func addStreamBytesSent(_ count: Int) {
        values.requestBodyBytes += Int64(count)
        values.requestContentBytes += Int64(count)
    }

    /// The response did not need a connection.
    func setLocalResponse(_ response: URLResponse, from source: URLSessionTaskMetrics.ResourceFetchType) {
        let now = EventLoop.shared.now
        values.response = response
        values.source = source
        values.requestStart = now
        values.requestEnd = now
        values.responseStart = now
    }

    // MARK: ExchangeObserver

    func exchangeDidSend(_ sent: SentBytes, content: Int) {
        values.requestHeadBytes = Int64(sent.head)
        values.requestBodyBytes = sent.body
        values.requestContentBytes += Int64(content)
        if sent.isComplete, values.requestEnd == nil { values.requestEnd = EventLoop.shared.now }
    }

    func exchangeDidReceiveHead(bytes count: Int) {
        guard count > 0 else { return }
        values.responseHeadBytes += Int64(count)
        if values.responseStart == nil { values.responseStart = EventLoop.shared.now }
    }

    func exchangeDidReceive(_ head: ResponseHead) {}

    func exchangeWillReceiveAnotherResponse() {
        values.responseStart = nil
    }

    func exchangeDidReceiveBody(bytes count: Int, content: UnsafeRawBufferPointer) {
        values.responseBodyBytes += Int64(count)
    }

    func exchangeDidMoveBody(bytes count: Int) {
        values.responseBodyBytes += Int64(count)
    }

    func exchangeDidEnd(_ end: ExchangeEnd) {
        switch end {
        case .finished, .switched, .failed, .surrendered: markEnd()
        // The transfer has abandoned it, and marks the end where it is one.
        case .abandoned: break
        }
    }

    /// The exchange has ended.
    func markEnd() {
        if values.responseStart != nil, values.responseEnd == nil { values.responseEnd = EventLoop.shared.now }
    }
}

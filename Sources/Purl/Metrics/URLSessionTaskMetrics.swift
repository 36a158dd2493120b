import Foundation
internal import PurlIO

/// The metrics of a task: its requests, one after another, and how long the task took.
///
/// The delegate receives them in `urlSession(_:task:didFinishCollecting:)` right before the task's last call.
/// Immutable, which is what makes `@unchecked Sendable` true for the class itself.
open class URLSessionTaskMetrics: NSObject, @unchecked Sendable {
    /// Where a response came from.
    public enum ResourceFetchType: Int, Sendable {
        /// From a ``URLProtocol``, for instance.
        case unknown = 0
        /// From a server.
        case networkLoad = 1
        /// Pushed by a server; not with HTTP/1.1.
        @available(swift, deprecated: 6.1, message: "Server push is not supported")
        case serverPush = 2
        /// From the cache.
        case localCache = 3
    }

    /// How a name was looked up.
    public enum DomainResolutionProtocol: Int, Sendable {
        /// Unknown. Always the case here: the system's resolver does not report it.
        case unknown = 0
        /// Over UDP.
        case udp = 1
        /// Over TCP.
        case tcp = 2
        /// Over TLS.
        case tls = 3
        /// Over HTTPS.
        case https = 4
    }

    /// One for each request, in order: redirects that were followed, requests sent again with credentials or because an
    /// idle connection had been closed, and the last one. A response from the cache has one, too.
    public let transactionMetrics: [URLSessionTaskTransactionMetrics]
    /// From the creation of the task to its end.
    public let taskInterval: DateInterval
    /// How many redirects were followed.
    public let redirectCount: Int

    init(
        _ transactions: [TransactionMetricsCollector.Values], created: MonotonicTime, ended: MonotonicTime,
        redirects: Int
    ) {
        let clock = WallClock()
        transactionMetrics = transactions.map { URLSessionTaskTransactionMetrics($0, notBefore: created, clock) }
        let start = clock.date(of: created)
        taskInterval = DateInterval(start: start, end: max(start, clock.date(of: ended)))
        redirectCount = redirects
    }

    open override var description: String {
        let lines = transactionMetrics.map { "\n    \($0)" }.joined()
        return "\(super.description) { \(taskInterval.duration) s, redirects: \(redirectCount) }\(lines)"
    }
}

/// The metrics of one request and its response.
///
/// The dates that are not `nil` are in the order in which they are declared. For a reused connection there was no
/// look-up and no connecting: those four are `nil`. So are the dates of what did not happen because the transfer failed
/// before. The counts are what went over the wire. Immutable, which is what makes `@unchecked Sendable` true for the
/// class itself.
open class URLSessionTaskTransactionMetrics: NSObject, @unchecked Sendable {
    private let values: TransactionMetricsCollector.Values

    /// The request; once it was sent, with the header fields that went over the wire.
    public let request: URLRequest
    /// The response; `nil` when none came.
    public let response: URLResponse?

    /// A connection was requested.
    public let fetchStartDate: Date?
    /// The look-up of the host began. For an address in digits it ended at once.
    public let domainLookupStartDate: Date?
    /// The look-up of the host ended.
    public let domainLookupEndDate: Date?
    /// The first attempt to connect began.
    public let connectStartDate: Date?
    /// The TLS handshake began; `nil` for a plain connection.
    public let secureConnectionStartDate: Date?
    /// The TLS handshake ended, before the delegate was asked whether the server is trusted; `nil` for a plain connection.
    public let secureConnectionEndDate: Date?
    /// The connection was established, for a secure one with its handshake.
    public let connectEndDate: Date?
    /// The first byte of the request was sent.
    public let requestStartDate: Date?
    /// The last byte of the request was handed to the system, or the response began before it was.
    public let requestEndDate: Date?
    /// The first byte of the response arrived; interim responses do not count.
    public let responseStartDate: Date?
    /// The last byte of the response arrived, or the connection was lost.
    public let responseEndDate: Date?

    init(_ values: TransactionMetricsCollector.Values, notBefore created: MonotonicTime, _ clock: WallClock) {
        self.values = values
        request = values.request
        response = values.response
        // The loop's clock stands still while it runs callbacks, so a time may seem to be before the task was created.
        var latest = created
        func next(_ moment: MonotonicTime?) -> Date? {
            guard let moment else { return nil }
            latest = max(latest, moment)
            return clock.date(of: latest)
        }
        fetchStartDate = next(values.fetchStart)
        domainLookupStartDate = next(values.dial?.lookupStart)
        domainLookupEndDate = next(values.dial?.lookupEnd)
        connectStartDate = next(values.dial?.connectStart)
        // A stream becomes secure after its connection was used.
        let precedes = values.handshake.map { $0.start <= values.requestStart ?? $0.start } ?? false
        let handshake = precedes ? values.handshake : nil
        secureConnectionStartDate =
            next(handshake?.start) ?? values.handshake.map { clock.date(of: max(created, $0.start)) }
        secureConnectionEndDate = next(handshake?.end) ?? values.handshake.map { clock.date(of: max(created, $0.end)) }
        connectEndDate = next(values.dial?.connectEnd)
        requestStartDate = next(values.requestStart)
        let requestEnd = values.requestEnd ?? values.responseStart
        requestEndDate = next(requestEnd.map { min($0, values.responseStart ?? $0) })
        responseStartDate = next(values.responseStart)
        responseEndDate = next(values.responseEnd)
    }

    /// The body's bytes, without chunk framing.
    public var countOfRequestBodyBytesBeforeEncoding: Int64 { values.requestContentBytes }
    /// The body's bytes on the wire, chunk framing included.
    public var countOfRequestBodyBytesSent: Int64 { values.requestBodyBytes }
    /// The head's bytes on the wire.
    public var countOfRequestHeaderBytesSent: Int64 { values.requestHeadBytes }
    /// The body's bytes as they were delivered: without chunk framing and content coding. Zero for a response that was
    /// not delivered, such as that of a redirect that was followed.
    public var countOfResponseBodyBytesAfterDecoding: Int64 { values.responseContentBytes }
    /// The body's bytes on the wire, chunk framing and content coding included.
    public var countOfResponseBodyBytesReceived: Int64 { values.responseBodyBytes }
    /// The head's bytes on the wire, those of interim responses included.
    public var countOfResponseHeaderBytesReceived: Int64 { values.responseHeadBytes }

    /// "http/1.1"; `nil` when nothing was sent.
    public var networkProtocolName: String? { values.wasSent ? "http/1.1" : nil }
    /// The server's address in digits; a proxy's, when there is one. `nil` without a connection, and for a Unix-domain
    /// socket.
    public var remoteAddress: String? { values.remote?.host }
    /// The port of ``remoteAddress``.
    public var remotePort: String? { values.remote?.port.map { "\($0)" } }
    /// This side's address in digits.
    public var localAddress: String? { values.local?.host }
    /// The port of ``localAddress``.
    public var localPort: String? { values.local?.port.map { "\($0)" } }

    /// The cipher suite; `nil` for a plain connection, and for a suite that has no name here.
    public var negotiatedTLSCipherSuite: tls_ciphersuite_t? { values.security?.cipherSuite }
    /// The version of TLS; `nil` for a plain connection.
    public var negotiatedTLSProtocolVersion: tls_protocol_version_t? { values.security?.version }

    /// Always false: a socket does not know what it runs over.
    public var isCellular: Bool { false }
    /// Always false: a socket does not know what it runs over.
    public var isExpensive: Bool { false }
    /// Always false: a socket does not know what it runs over.
    public var isConstrained: Bool { false }
    /// The request went to a proxy.
    public var isProxyConnection: Bool { values.isProxied }
    /// The connection had carried a request before.
    public var isReusedConnection: Bool { values.isReused }
    /// The connection spoke Multipath TCP; see ``URLSessionConfiguration/multipathServiceType``.
    public var isMultipath: Bool { values.isMultipath }
    /// Where the response came from.
    public var resourceFetchType: URLSessionTaskMetrics.ResourceFetchType { values.source }
    /// Always unknown: the system's resolver does not report it.
    public var domainResolutionProtocol: URLSessionTaskMetrics.DomainResolutionProtocol { .unknown }

    open override var description: String {
        let status = (response as? HTTPURLResponse).map { "\($0.statusCode)" } ?? "no response"
        let connection = isReusedConnection ? "reused" : "new"
        let end = responseEndDate ?? responseStartDate ?? requestEndDate ?? requestStartDate ?? fetchStartDate
        let seconds = zip([end], [fetchStartDate]).map { $0?.timeIntervalSince($1 ?? .distantPast) ?? 0 }.first ?? 0
        return "\(super.description) { \(request.summary): \(status), \(resourceFetchType), \(seconds) s, "
            + "\(connection) connection to \(remoteAddress ?? "nowhere"):\(remotePort ?? "") }"
    }
}

/// Converts times of the monotonic clock to dates. All dates of one task are made with one of these, so that setting
/// the system's clock meanwhile does not change their distances.
struct WallClock: Sendable {
    private let date: Date
    private let moment: MonotonicTime

    init() {
        date = .current
        moment = .current
    }

    func date(of moment: MonotonicTime) -> Date {
        let (seconds, attoseconds) = (moment - self.moment).components
        return date + (Double(seconds) + Double(attoseconds) * 1e-18)
    }
}

import Foundation
internal import PurlIO

/// How one request went, and its response.
///
/// The dates that are there are in the order in which they are declared. A connection that was there already was not
/// looked up and not connected: then those four are `nil`. What did not come about, because the transfer failed before,
/// is `nil` as well. The counts are what went over the wire. Immutable, which is what makes `@unchecked Sendable` true
/// for the class itself.
open class URLSessionTaskTransactionMetrics: NSObject, @unchecked Sendable {
    private let values: TransactionRecord.Values

    /// The request; once it was sent, with the header fields that went over the wire.
    public let request: URLRequest
    /// The response; `nil` when none came.
    public let response: URLResponse?

    /// The request's turn came: a connection for it was asked for.
    public let fetchStartDate: Date?
    /// The look-up of the host began. For an address in digits it ended at once.
    public let domainLookupStartDate: Date?
    /// The addresses were there.
    public let domainLookupEndDate: Date?
    /// The first attempt to connect began.
    public let connectStartDate: Date?
    /// Always `nil`: there is no TLS.
    public let secureConnectionStartDate: Date?
    /// Always `nil`: there is no TLS.
    public let secureConnectionEndDate: Date?
    /// The connection was made.
    public let connectEndDate: Date?
    /// The request began to go out.
    public let requestStartDate: Date?
    /// The last byte of the request was handed to the system, or the response began before it was.
    public let requestEndDate: Date?
    /// The first byte of the response was here; interim responses do not count.
    public let responseStartDate: Date?
    /// The last byte of the response was here, or the connection was lost.
    public let responseEndDate: Date?

    init(_ values: TransactionRecord.Values, notBefore created: MonotonicTime, _ clock: WallClock) {
        self.values = values
        request = values.request
        response = values.response
        // The loop's clock stands still while it runs callbacks, so a moment may seem to lie before the task was made.
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
        secureConnectionStartDate = nil
        secureConnectionEndDate = nil
        connectEndDate = next(values.dial?.connectEnd)
        requestStartDate = next(values.requestStart)
        let requestEnd = values.requestEnd ?? values.responseStart
        requestEndDate = next(requestEnd.map { min($0, values.responseStart ?? $0) })
        responseStartDate = next(values.responseStart)
        responseEndDate = next(values.responseEnd)
    }

    /// The body's bytes, before chunks were made of them.
    public var countOfRequestBodyBytesBeforeEncoding: Int64 { values.requestContentBytes }
    /// The body's bytes on the wire, chunk framing included.
    public var countOfRequestBodyBytesSent: Int64 { values.requestBodyBytes }
    /// The head's bytes on the wire.
    public var countOfRequestHeaderBytesSent: Int64 { values.requestHeadBytes }
    /// The body's bytes as they were handed on: without chunk framing and content coding. Zero for a response that
    /// nobody was given, as that of a redirect that was followed.
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

    /// Always `nil`: there is no TLS.
    public var negotiatedTLSCipherSuite: tls_ciphersuite_t? { nil }
    /// Always `nil`: there is no TLS.
    public var negotiatedTLSProtocolVersion: tls_protocol_version_t? { nil }

    /// Always false: a socket does not tell what it runs over.
    public var isCellular: Bool { false }
    /// Always false: a socket does not tell what it runs over.
    public var isExpensive: Bool { false }
    /// Always false: a socket does not tell what it runs over.
    public var isConstrained: Bool { false }
    /// The request went to a proxy.
    public var isProxyConnection: Bool { values.isProxied }
    /// The connection had carried a request before.
    public var isReusedConnection: Bool { values.isReused }
    /// Always false: connections are plain TCP, or Unix-domain sockets.
    public var isMultipath: Bool { false }
    /// Where the response came from.
    public var resourceFetchType: URLSessionTaskMetrics.ResourceFetchType { values.source }
    /// Always unknown: the system's resolver does not say.
    public var domainResolutionProtocol: URLSessionTaskMetrics.DomainResolutionProtocol { .unknown }

    open override var description: String {
        let status = (response as? HTTPURLResponse).map { "\($0.statusCode)" } ?? "no response"
        let connection = isReusedConnection ? "reused" : "new"
        let end = responseEndDate ?? responseStartDate ?? requestEndDate ?? requestStartDate ?? fetchStartDate
        let seconds = zip([end], [fetchStartDate]).map { $0?.timeIntervalSince($1 ?? .distantPast) ?? 0 }.first ?? 0
        return "<\(Self.self)> { \(request.summary): \(status), \(resourceFetchType), \(seconds) s, "
            + "\(connection) connection to \(remoteAddress ?? "nowhere"):\(remotePort ?? "") }"
    }
}

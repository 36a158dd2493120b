import Foundation
internal import PurlHTTP

/// A request to load a URL: its method, header fields, body and cache policy.
///
/// A value type: a task keeps its own copy, so later changes do not reach the task.
public struct URLRequest: Hashable, Sendable {
    /// How a request uses the cache. It counts for data tasks of sessions with a ``URLSessionConfiguration/urlCache``;
    /// other tasks load, except with `returnCacheDataDontLoad`, with which they fail.
    public enum CachePolicy: UInt, Sendable {
        /// The rules of HTTP (RFC 9111). A request with this policy has its session's
        /// ``URLSessionConfiguration/requestCachePolicy``.
        case useProtocolCachePolicy = 0
        /// The response is loaded from the server, and replaces the stored one.
        case reloadIgnoringLocalCacheData = 1
        /// A stored response is used, however old; without one the request is loaded.
        case returnCacheDataElseLoad = 2
        /// A stored response is used, however old; without one the task fails with `URLError.resourceUnavailable`.
        case returnCacheDataDontLoad = 3
        /// The response is loaded from the server, past the caches on the way (`Cache-Control: no-cache`).
        case reloadIgnoringLocalAndRemoteCacheData = 4
        /// A stored response is used once the server has confirmed it; one without validators is loaded again.
        case reloadRevalidatingCacheData = 5

        /// The older name of ``reloadIgnoringLocalCacheData``.
        public static var reloadIgnoringCacheData: CachePolicy { .reloadIgnoringLocalCacheData }
    }

    /// The kind of traffic a request belongs to. A hint only: plain sockets make no difference between them.
    public enum NetworkServiceType: UInt, Sendable {
        case `default` = 0
        case voip = 1
        case video = 2
        case background = 3
        case voice = 4
        case responsiveData = 6
        case avStreaming = 8
        case responsiveAV = 9
        case networkServiceTypeCallSignaling = 11

        /// The newer name of ``networkServiceTypeCallSignaling``.
        public static var callSignaling: NetworkServiceType { .networkServiceTypeCallSignaling }
    }

    /// The default time-out of a request, in seconds.
    static let defaultTimeoutInterval: TimeInterval = 60

    /// The URL to load. The initialiser makes a relative URL absolute; one that is set later stays relative to its base.
    public var url: URL? {
        get { content.values.url }
        set { change { $0.url = newValue } }
    }
    /// How the request uses the cache.
    public var cachePolicy: CachePolicy {
        get { content.values.cachePolicy }
        set { change { $0.cachePolicy = newValue } }
    }
    /// How long, in seconds, the transfer may make no progress before it fails with `URLError.timedOut`.
    /// At its default of 60 the session's `timeoutIntervalForRequest` counts instead. Zero means no limit.
    public var timeoutInterval: TimeInterval {
        get { content.values.timeoutInterval }
        set { change { $0.timeoutInterval = newValue } }
    }
    /// The document this request is part of. Kept, not interpreted.
    public var mainDocumentURL: URL? {
        get { content.values.mainDocumentURL }
        set { change { $0.mainDocumentURL = newValue } }
    }
    /// The kind of traffic. A hint only.
    public var networkServiceType: NetworkServiceType {
        get { content.values.networkServiceType }
        set { change { $0.networkServiceType = newValue } }
    }
    /// Whether a cellular interface may be used. Kept without effect; a socket on Linux does not know its interface.
    public var allowsCellularAccess: Bool {
        get { content.values.allowsCellularAccess }
        set { change { $0.allowsCellularAccess = newValue } }
    }
    /// Whether cookies are sent with the request and stored from its response. `true` by default.
    public var httpShouldHandleCookies: Bool {
        get { content.values.httpShouldHandleCookies }
        set { change { $0.httpShouldHandleCookies = newValue } }
    }
    /// Whether the request may be sent before the responses to earlier ones. Kept without effect; Purl does not
    /// pipeline.
    public var httpShouldUsePipelining: Bool {
        get { content.values.httpShouldUsePipelining }
        set { change { $0.httpShouldUsePipelining = newValue } }
    }

    /// What Purl keeps without effect.
    var hints: RequestHints {
        get { content.values.hints }
        set { change { $0.hints = newValue } }
    }

    /// The properties of ``URLProtocol/setProperty(_:forKey:in:)``; no part of the request's identity.
    var properties: [String: any Sendable] {
        get { content.values.properties }
        set { change { $0.properties = newValue } }
    }

    private struct Values: Sendable {
        var url: URL?
        var cachePolicy: CachePolicy
        var timeoutInterval: TimeInterval
        var mainDocumentURL: URL?
        var networkServiceType: NetworkServiceType = .default
        var allowsCellularAccess = true
        var httpShouldHandleCookies = true
        var httpShouldUsePipelining = false
        var hints = RequestHints()
        var properties: [String: any Sendable] = [:]
        var method = RequestMethod.get
        var body: Body?
        /// `nil` when none has ever been set.
        var fields: [HeaderLine]?

        func position(of field: String) -> Int? { fields?.firstIndex { $0.isNamed(field) } }

        /// Sets a field, whose first spelling stays. A value that would end the field's line is not taken.
        mutating func set(_ value: String?, for field: String) {
            guard let value else {
                if let position = position(of: field) { fields?.remove(at: position) }
                return
            }
            guard HeaderLine.mayHave(value) else { return }
            if let position = position(of: field) {
                fields?[position].value = value
            } else {
                fields = fields ?? []
                fields?.append(HeaderLine(name: field, value: value))
            }
        }

        /// Adds to a field. A value that would end the field's line is not taken.
        mutating func add(_ value: String, to field: String) {
            guard let position = position(of: field), let line = fields?[position] else {
                return set(value, for: field)
            }
            set("\(line.value),\(value)", for: field)
        }
    }

    /// The values, which copies share until one changes: a request is copied far more often than it is changed.
    private final class Content: Sendable {
        let values: Values

        init(_ values: Values) { self.values = values }
    }

    private var content: Content

    private mutating func change(_ body: (inout Values) -> Void) {
        var values = content.values
        body(&values)
        content = Content(values)
    }

    private var body: Body? {
        get { content.values.body }
        set { change { $0.body = newValue } }
    }

    private var fields: [HeaderLine] { content.values.fields ?? [] }

    /// The request method.
    var method: RequestMethod { content.values.method }

    /// What ``httpMethod`` keeps in capitals whatever the case it is set in.
    private static var methodsInCapitals: [RequestMethod] { [.get, .head, .post, .put, .delete, .connect] }

    private enum Body: Sendable {
        case data(Data)
        case stream(BodyStream)
    }

    /// One header field in the program's spelling.
    private struct HeaderLine: Sendable {
        var name: String
        var value: String

        func isNamed(_ other: String) -> Bool {
            name.utf8.elementsEqual(other.utf8) || name.lowercased() == other.lowercased()
        }

        /// Whether `value` stays within its field: CR, LF and NUL do not, except where a line is folded (RFC 9112 §5.2).
        static func mayHave(_ value: String) -> Bool {
            !breaksLine(value) || !breaksLine(unfolded(value))
        }

        private static func breaksLine(_ value: String) -> Bool {
            value.utf8.contains { $0 == 0x00 || $0 == 0x0A || $0 == 0x0D }
        }

        /// The value in one line. RFC 9112 §5.2: a client sends no folded lines.
        static func unfolded(_ value: String) -> String {
            guard value.utf8.contains(UInt8(ascii: "\r")) else { return value }
            return value.replacingOccurrences(of: "\r\n ", with: " ").replacingOccurrences(of: "\r\n\t", with: " ")
        }
    }

    /// Makes a GET request for `url`.
    ///
    /// - Parameters:
    ///   - url: The URL to load. A relative one is made absolute.
    ///   - cachePolicy: How the request uses the cache.
    ///   - timeoutInterval: The longest time without progress, in seconds.
    public init(
        url: URL,
        cachePolicy: CachePolicy = .useProtocolCachePolicy,
        timeoutInterval: TimeInterval = 60.0
    ) {
        content = Content(Values(url: url.absoluteURL, cachePolicy: cachePolicy, timeoutInterval: timeoutInterval))
    }

    /// A request without a URL, in place of one that could not be read.
    static var unreadable: URLRequest {
        var request = URLRequest(url: URL(fileURLWithPath: "/"))
        request.url = nil
        return request
    }

    /// The request method, "GET" unless set. `nil` sets it back to "GET".
    ///
    /// Methods are case-sensitive (RFC 9110 §9.1), but "get", "head", "post", "put", "delete" and "connect" are
    /// converted to capitals.
    public var httpMethod: String? {
        get { method.name }
        set {
            let method = newValue.map { RequestMethod($0) } ?? .get
            let capitals = RequestMethod(method.name.uppercased())
            change { $0.method = Self.methodsInCapitals.contains(capitals) ? capitals : method }
        }
    }

    /// The body to send, as a whole. Its `Content-Length` is computed. Setting it, also to `nil`, removes
    /// ``httpBodyStream``.
    public var httpBody: Data? {
        get {
            guard case .data(let data) = body else { return nil }
            return data
        }
        set { body = newValue.map { .data($0) } }
    }

    /// A stream to read the body from while it is sent. Setting it, also to `nil`, removes ``httpBody``.
    ///
    /// The transfer opens the stream if need be, reads it to its end on a thread of its own, as fast as the server
    /// accepts it, and closes it. The program may not use it meanwhile, and no other task can send it again. If the
    /// body is needed once more, after a redirect for instance, the delegate is asked for a new stream with
    /// `urlSession(_:task:needNewBodyStream:)`.
    ///
    /// A `Content-Length` of the request's own is taken for the stream's length: a stream that has more or less fails
    /// with `URLError.dataLengthExceedsMaximum` or `.requestBodyStreamExhausted`. Without one the body is sent in
    /// chunks (RFC 9112 §7.1).
    public var httpBodyStream: InputStream? {
        get { bodyStream?.stream }
        set {
            // The same stream keeps its state: read from, or not.
            if let newValue, newValue === bodyStream?.stream { return }
            body = newValue.map { .stream(BodyStream($0)) }
        }
    }

    /// The stream, with whether it has been read from.
    var bodyStream: BodyStream? {
        guard case .stream(let stream) = body else { return nil }
        return stream
    }

    /// All header fields, by name as written; `nil` when none has ever been set. Values that
    /// ``setValue(_:forHTTPHeaderField:)`` does not take are left out.
    public var allHTTPHeaderFields: [String: String]? {
        get {
            content.values.fields.map { Dictionary($0.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }) }
        }
        set {
            change { values in
                values.fields = newValue.map { _ in [] }
                for (name, value) in (newValue ?? [:]).sorted(by: { $0.key < $1.key }) { values.set(value, for: name) }
            }
        }
    }

    /// The value of a header field; names compare without regard to case (RFC 9110 §5.1).
    ///
    /// - Parameter field: The field's name.
    public func value(forHTTPHeaderField field: String) -> String? {
        fields.first { $0.isNamed(field) }?.value
    }

    /// Sets a header field, replacing its value; `nil` removes it. A field that is there keeps the spelling of its name.
    ///
    /// A value with CR, LF or NUL, which could end the field and begin another, is not taken: the field stays as it is. CR LF
    /// with a blank or a tab after it is taken as a folded line, and sent as one blank (RFC 9112 §5.2).
    ///
    /// - Parameter field: The field's name.
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {
        change { $0.set(value, for: field) }
    }

    /// Adds to a header field: an existing value is kept, with a comma between (RFC 9110 §5.3). A value that
    /// ``setValue(_:forHTTPHeaderField:)`` does not take is not added.
    ///
    /// - Parameters:
    ///   - value: The value to add.
    ///   - field: The field's name.
    public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {
        change { $0.add(value, to: field) }
    }

    /// Replaces all fields by those of a message.
    mutating func replaceFields(with sent: HeaderFields) {
        let lines = sent.map { HeaderLine(name: $0.name, value: $0.value) }
        change { $0.fields = lines }
    }

    /// Takes over the fields that it was sent with, but for those that were added for that one time. Sent again, perhaps to
    /// another server or by another login, it would carry them as its own.
    mutating func adoptFields(of sent: HeaderFields) {
        var fields = sent
        for name in Self.fieldsOfOneSending where value(forHTTPHeaderField: name.text) == nil {
            fields.removeAll(name)
        }
        replaceFields(with: fields)
    }

    private static let fieldsOfOneSending: [FieldName] = [
        .authorization, .contentLength, .cookie, .expect, .host, .ifMatch, .ifModifiedSince, .ifNoneMatch, .ifRange,
        .proxyAuthorization, .range, .transferEncoding,
    ]

    /// Removes header fields.
    mutating func removeFields(_ names: [FieldName]) {
        for name in names { setValue(nil, forHTTPHeaderField: name.text) }
    }

    /// Whether it has any header fields.
    var hasFields: Bool { !fields.isEmpty }

    /// The header fields in the order in which they were set, each in one line.
    var headerLines: [(name: String, value: String)] {
        fields.map { ($0.name, HeaderLine.unfolded($0.value)) }
    }

    /// Whether two requests load the same in the same way: URL, document, method, cache policy, body stream, and whether
    /// cookies and cellular interfaces are used. Streams are equal to themselves alone. Header fields, ``httpBody``,
    /// time-out, kind of traffic and pipelining do not count, as in Foundation.
    ///
    /// - Parameter rhs: Another request.
    public static func == (lhs: URLRequest, rhs: URLRequest) -> Bool {
        if lhs.content === rhs.content { return true }
        return lhs.url == rhs.url && lhs.mainDocumentURL == rhs.mainDocumentURL && lhs.method == rhs.method
            && lhs.cachePolicy == rhs.cachePolicy && lhs.allowsCellularAccess == rhs.allowsCellularAccess
            && lhs.httpShouldHandleCookies == rhs.httpShouldHandleCookies && lhs.httpBodyStream === rhs.httpBodyStream
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(url)
        hasher.combine(mainDocumentURL)
        hasher.combine(method)
        hasher.combine(allowsCellularAccess)
        hasher.combine(httpShouldHandleCookies)
        hasher.combine(httpBodyStream.map { ObjectIdentifier($0) })
    }
}

extension URLRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The URL, its password hidden.
    public var description: String { url.map { URLPassword.hidden(in: $0.description) } ?? "url: nil" }

    public var debugDescription: String { description }

    /// The method and the URL, for descriptions of tasks.
    var summary: String { "\(method) \(description)" }

    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "url": url as Any, "cachePolicy": cachePolicy, "timeoutInterval": timeoutInterval,
                "mainDocumentURL": mainDocumentURL as Any, "networkServiceType": networkServiceType,
                "allowsCellularAccess": allowsCellularAccess, "httpShouldHandleCookies": httpShouldHandleCookies,
                "httpShouldUsePipelining": httpShouldUsePipelining,
                "httpMethod": method.name,
                "allHTTPHeaderFields": allHTTPHeaderFields as Any, "httpBody": httpBody as Any,
                "httpBodyStream": httpBodyStream as Any,
            ],
            displayStyle: .struct
        )
    }
}

extension HeaderFields {
    /// The value of `User-Agent` where the program sets none.
    static let standardUserAgent = "Purl/1.0"
}

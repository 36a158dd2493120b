import Foundation

/// A request as an object, for code that has not moved to ``URLRequest``. ``URLRequest/init(referencing:)`` gives the
/// value.
///
/// Like ``URLRequest`` it is not changed once made; ``NSMutableURLRequest`` can be.
open class NSURLRequest: NSObject, NSSecureCoding, NSCopying, NSMutableCopying {
    public typealias CachePolicy = URLRequest.CachePolicy
    public typealias NetworkServiceType = URLRequest.NetworkServiceType
    public typealias Attribution = URLRequest.Attribution

    /// The request as a value. Only ``NSMutableURLRequest`` changes it.
    final fileprivate(set) var value: URLRequest

    /// Makes an object of a request.
    public init(_ request: URLRequest) { value = request }

    /// Makes a GET request for `url` with the policy and the time-out that a ``URLRequest`` has by default.
    ///
    /// - Parameter url: The URL to load.
    public convenience init(url: URL) {
        self.init(url: url, cachePolicy: .useProtocolCachePolicy, timeoutInterval: URLRequest.defaultTimeoutInterval)
    }

    /// Makes a GET request for `url`.
    ///
    /// - Parameters:
    ///   - url: The URL to load.
    ///   - cachePolicy: What a cache may answer.
    ///   - timeoutInterval: The longest time without progress, in seconds.
    public init(url: URL, cachePolicy: NSURLRequest.CachePolicy, timeoutInterval: TimeInterval) {
        value = URLRequest(url: url, cachePolicy: cachePolicy, timeoutInterval: timeoutInterval)
    }

    /// See ``URLRequest/url``.
    open internal(set) var url: URL? {
        get { value.url }
        set { value.url = newValue }
    }
    /// See ``URLRequest/mainDocumentURL``.
    open internal(set) var mainDocumentURL: URL? {
        get { value.mainDocumentURL }
        set { value.mainDocumentURL = newValue }
    }
    /// See ``URLRequest/cachePolicy``.
    open internal(set) var cachePolicy: NSURLRequest.CachePolicy {
        get { value.cachePolicy }
        set { value.cachePolicy = newValue }
    }
    /// See ``URLRequest/timeoutInterval``.
    open internal(set) var timeoutInterval: TimeInterval {
        get { value.timeoutInterval }
        set { value.timeoutInterval = newValue }
    }
    /// See ``URLRequest/httpMethod``.
    open internal(set) var httpMethod: String? {
        get { value.httpMethod }
        set { value.httpMethod = newValue }
    }
    /// See ``URLRequest/allHTTPHeaderFields``.
    open internal(set) var allHTTPHeaderFields: [String: String]? {
        get { value.allHTTPHeaderFields }
        set { value.allHTTPHeaderFields = newValue }
    }
    /// See ``URLRequest/httpBody``.
    open internal(set) var httpBody: Data? {
        get { value.httpBody }
        set { value.httpBody = newValue }
    }
    /// See ``URLRequest/httpBodyStream``.
    open internal(set) var httpBodyStream: InputStream? {
        get { value.httpBodyStream }
        set { value.httpBodyStream = newValue }
    }
    /// See ``URLRequest/networkServiceType``.
    open internal(set) var networkServiceType: NSURLRequest.NetworkServiceType {
        get { value.networkServiceType }
        set { value.networkServiceType = newValue }
    }
    /// See ``URLRequest/allowsCellularAccess``.
    open internal(set) var allowsCellularAccess: Bool {
        get { value.allowsCellularAccess }
        set { value.allowsCellularAccess = newValue }
    }
    /// See ``URLRequest/httpShouldHandleCookies``.
    open internal(set) var httpShouldHandleCookies: Bool {
        get { value.httpShouldHandleCookies }
        set { value.httpShouldHandleCookies = newValue }
    }
    /// See ``URLRequest/httpShouldUsePipelining``.
    open internal(set) var httpShouldUsePipelining: Bool {
        get { value.httpShouldUsePipelining }
        set { value.httpShouldUsePipelining = newValue }
    }
    /// See ``URLRequest/allowsExpensiveNetworkAccess``.
    open internal(set) var allowsExpensiveNetworkAccess: Bool {
        get { value.allowsExpensiveNetworkAccess }
        set { value.allowsExpensiveNetworkAccess = newValue }
    }
    /// See ``URLRequest/allowsConstrainedNetworkAccess``.
    open internal(set) var allowsConstrainedNetworkAccess: Bool {
        get { value.allowsConstrainedNetworkAccess }
        set { value.allowsConstrainedNetworkAccess = newValue }
    }
    /// See ``URLRequest/allowsUltraConstrainedNetworkAccess``.
    open internal(set) var allowsUltraConstrainedNetworkAccess: Bool {
        get { value.allowsUltraConstrainedNetworkAccess }
        set { value.allowsUltraConstrainedNetworkAccess = newValue }
    }
    /// See ``URLRequest/requiresDNSSECValidation``.
    open internal(set) var requiresDNSSECValidation: Bool {
        get { value.requiresDNSSECValidation }
        set { value.requiresDNSSECValidation = newValue }
    }
    /// See ``URLRequest/assumesHTTP3Capable``.
    open internal(set) var assumesHTTP3Capable: Bool {
        get { value.assumesHTTP3Capable }
        set { value.assumesHTTP3Capable = newValue }
    }
    /// See ``URLRequest/allowsPersistentDNS``.
    open internal(set) var allowsPersistentDNS: Bool {
        get { value.allowsPersistentDNS }
        set { value.allowsPersistentDNS = newValue }
    }
    /// See ``URLRequest/attribution``.
    open internal(set) var attribution: NSURLRequest.Attribution {
        get { value.attribution }
        set { value.attribution = newValue }
    }
    /// See ``URLRequest/cookiePartitionIdentifier``.
    open internal(set) var cookiePartitionIdentifier: String? {
        get { value.cookiePartitionIdentifier }
        set { value.cookiePartitionIdentifier = newValue }
    }

    /// The value of a header field; names compare without regard to case (RFC 9110 §5.1).
    ///
    /// - Parameter field: The field's name.
    open func value(forHTTPHeaderField field: String) -> String? { value.value(forHTTPHeaderField: field) }

    open override var description: String { "\(super.description) { URL: \(url?.shownText ?? "(null)") }" }

    // MARK: NSSecureCoding

    open class var supportsSecureCoding: Bool { true }

    /// Reads a request from an archive; `nil` when it holds none.
    ///
    /// - Parameter aDecoder: The archive.
    public required init?(coder aDecoder: NSCoder) {
        guard let blob = aDecoder.decodeObject(of: NSData.self, forKey: "request"),
            let stored = try? PropertyListDecoder().decode(StoredRequest.self, from: blob as Data)
        else { return nil }
        value = stored.request ?? .unreadable
    }

    /// Writes the request to an archive, without a body stream, which cannot be kept.
    ///
    /// - Parameter aCoder: The archive.
    open func encode(with aCoder: NSCoder) {
        guard let blob = try? PropertyListEncoder().encode(StoredRequest(value)) else { return }
        aCoder.encode(blob as NSData, forKey: "request")
    }

    // MARK: Copies

    open override func copy() -> Any { copy(with: nil) }

    /// A request that does not change: this one, unless it can be changed.
    ///
    /// - Parameter zone: Ignored.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func mutableCopy() -> Any { mutableCopy(with: nil) }

    /// An equal ``NSMutableURLRequest``.
    ///
    /// - Parameter zone: Ignored.
    open func mutableCopy(with zone: NSZone? = nil) -> Any { NSMutableURLRequest(value) }

    // MARK: Equality

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NSURLRequest else { return false }
        return other === self || other.value == value
    }

    open override var hash: Int { value.hashValue }
}

/// A mutable request is a subclass, and nothing guards its state.
@available(*, unavailable)
extension NSURLRequest: @unchecked Sendable {}

extension URLRequest: ReferenceConvertible {
    public typealias ReferenceType = NSURLRequest

    /// Makes a value of a request object's current state. (`request as URLRequest` works with Foundation's own types
    /// only.)
    ///
    /// - Parameter request: The object.
    public init(referencing request: NSURLRequest) { self = request.value }

    public func _bridgeToObjectiveC() -> NSURLRequest { NSURLRequest(self) }

    public static func _forceBridgeFromObjectiveC(_ source: NSURLRequest, result: inout URLRequest?) {
        result = source.value
    }

    public static func _conditionallyBridgeFromObjectiveC(_ source: NSURLRequest, result: inout URLRequest?) -> Bool {
        result = source.value
        return true
    }

    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSURLRequest?) -> URLRequest {
        source?.value ?? .unreadable
    }
}

/// A request as an object that can be changed, for code that has not moved to ``URLRequest``.
///
/// A task takes a ``URLRequest``: `session.dataTask(with: URLRequest(referencing: request))`. Later changes of the
/// object do not reach the task. One thread at a time may use it.
open class NSMutableURLRequest: NSURLRequest {
    public override init(_ request: URLRequest) { super.init(request) }

    public convenience init(url: URL) {
        self.init(url: url, cachePolicy: .useProtocolCachePolicy, timeoutInterval: URLRequest.defaultTimeoutInterval)
    }

    public override init(url: URL, cachePolicy: NSURLRequest.CachePolicy, timeoutInterval: TimeInterval) {
        super.init(url: url, cachePolicy: cachePolicy, timeoutInterval: timeoutInterval)
    }

    public required init?(coder aDecoder: NSCoder) { super.init(coder: aDecoder) }

    open override var url: URL? {
        get { super.url }
        set { super.url = newValue }
    }
    open override var mainDocumentURL: URL? {
        get { super.mainDocumentURL }
        set { super.mainDocumentURL = newValue }
    }
    open override var cachePolicy: NSURLRequest.CachePolicy {
        get { super.cachePolicy }
        set { super.cachePolicy = newValue }
    }
    open override var timeoutInterval: TimeInterval {
        get { super.timeoutInterval }
        set { super.timeoutInterval = newValue }
    }
    open override var httpMethod: String? {
        get { super.httpMethod }
        set { super.httpMethod = newValue }
    }
    open override var allHTTPHeaderFields: [String: String]? {
        get { super.allHTTPHeaderFields }
        set { super.allHTTPHeaderFields = newValue }
    }
    open override var httpBody: Data? {
        get { super.httpBody }
        set { super.httpBody = newValue }
    }
    open override var httpBodyStream: InputStream? {
        get { super.httpBodyStream }
        set { super.httpBodyStream = newValue }
    }
    open override var networkServiceType: NSURLRequest.NetworkServiceType {
        get { super.networkServiceType }
        set { super.networkServiceType = newValue }
    }
    open override var allowsCellularAccess: Bool {
        get { super.allowsCellularAccess }
        set { super.allowsCellularAccess = newValue }
    }
    open override var httpShouldHandleCookies: Bool {
        get { super.httpShouldHandleCookies }
        set { super.httpShouldHandleCookies = newValue }
    }
    open override var httpShouldUsePipelining: Bool {
        get { super.httpShouldUsePipelining }
        set { super.httpShouldUsePipelining = newValue }
    }
    open override var allowsExpensiveNetworkAccess: Bool {
        get { super.allowsExpensiveNetworkAccess }
        set { super.allowsExpensiveNetworkAccess = newValue }
    }
    open override var allowsConstrainedNetworkAccess: Bool {
        get { super.allowsConstrainedNetworkAccess }
        set { super.allowsConstrainedNetworkAccess = newValue }
    }
    open override var allowsUltraConstrainedNetworkAccess: Bool {
        get { super.allowsUltraConstrainedNetworkAccess }
        set { super.allowsUltraConstrainedNetworkAccess = newValue }
    }
    open override var requiresDNSSECValidation: Bool {
        get { super.requiresDNSSECValidation }
        set { super.requiresDNSSECValidation = newValue }
    }
    open override var assumesHTTP3Capable: Bool {
        get { super.assumesHTTP3Capable }
        set { super.assumesHTTP3Capable = newValue }
    }
    open override var allowsPersistentDNS: Bool {
        get { super.allowsPersistentDNS }
        set { super.allowsPersistentDNS = newValue }
    }
    open override var attribution: NSURLRequest.Attribution {
        get { super.attribution }
        set { super.attribution = newValue }
    }
    open override var cookiePartitionIdentifier: String? {
        get { super.cookiePartitionIdentifier }
        set { super.cookiePartitionIdentifier = newValue }
    }

    /// Sets a header field, replacing its value; `nil` removes it.
    ///
    /// - Parameter field: The field's name.
    open func setValue(_ value: String?, forHTTPHeaderField field: String) {
        self.value.setValue(value, forHTTPHeaderField: field)
    }

    /// Adds to a header field: an existing value is kept, with a comma between (RFC 9110 §5.3).
    ///
    /// - Parameters:
    ///   - value: The value to add.
    ///   - field: The field's name.
    open func addValue(_ value: String, forHTTPHeaderField field: String) {
        self.value.addValue(value, forHTTPHeaderField: field)
    }

    /// Changes the request as a value.
    func change(_ body: (inout URLRequest) -> Void) {
        body(&value)
    }

    /// An equal ``NSURLRequest``, which does not change.
    ///
    /// - Parameter zone: Ignored.
    open override func copy(with zone: NSZone? = nil) -> Any { NSURLRequest(value) }
}

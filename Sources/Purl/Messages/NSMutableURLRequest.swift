import Foundation

/// A request as an object that can be changed, for code that has not moved to ``URLRequest``.
///
/// A task takes a ``URLRequest``: `session.dataTask(with: URLRequest(referencing: request))`. What is changed afterwards
/// changes nothing for the task. One thread at a time may use it.
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

    /// Sets a header field, replacing what it had; `nil` removes it.
    open func setValue(_ value: String?, forHTTPHeaderField field: String) {
        self.value.setValue(value, forHTTPHeaderField: field)
    }

    /// Adds to a header field: a value that is there already is kept, with a comma between (RFC 9110 §5.3).
    open func addValue(_ value: String, forHTTPHeaderField field: String) {
        self.value.addValue(value, forHTTPHeaderField: field)
    }

    /// An equal ``NSURLRequest``, which does not change.
    open override func copy(with zone: NSZone? = nil) -> Any { NSURLRequest(value) }
}

import Foundation
internal import PurlHTTP

/// The head of an HTTP response: status and header fields.
///
/// Immutable after initialisation. The header fields stay as the bytes the server sent until one is read.
open class HTTPURLResponse: URLResponse, @unchecked Sendable {
    /// The three-digit status code (RFC 9110 §15).
    public let statusCode: Int
    private let version: String?
    /// The header fields, in the bytes the server sent.
    let fields: HeaderFields
    /// Whether the body is delivered without its content coding.
    private let isDecoded: Bool
    /// Whether a server has sent it in a message: then a transfer coding decides where the body ends (RFC 9112 §6.3).
    private let isReceived: Bool

    /// Makes a response, for tests and for protocols that load without a server.
    ///
    /// - Parameters:
    ///   - url: The URL of the request.
    ///   - httpVersion: "HTTP/1.1", for instance.
    public init?(url: URL, statusCode: Int, httpVersion: String?, headerFields: [String: String]?) {
        self.statusCode = statusCode
        version = httpVersion
        var fields = HeaderFields()
        for (name, value) in (headerFields ?? [:]).sorted(by: { $0.key < $1.key }) {
            fields.append(FieldName(name), value)
        }
        self.fields = fields
        isDecoded = false
        isReceived = false
        super.init(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
    }

    /// A response with the head that a server sent.
    ///
    /// - Parameter content: What is delivered of its body, where that has a content coding.
    init(url: URL, head: ResponseHead, _ content: CodedContent = .decoded) {
        statusCode = head.status
        version = head.version == .http1_0 ? "HTTP/1.0" : "HTTP/1.1"
        fields = head.fields
        isDecoded = CodedBody(content.contentHead(head)) != nil
        isReceived = true
        super.init(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
    }

    /// The head as a server sends it.
    var head: ResponseHead {
        ResponseHead(version: version == "HTTP/1.0" ? .http1_0 : .http1_1, status: statusCode, fields: fields)
    }

    /// All header fields; the values of a repeated field are joined with ", " (RFC 9110 §5.3).
    ///
    /// The keys of common fields have their standard spelling, `Content-Length` for a `content-length`; those that begin with
    /// `X-` that of the server, and all others a capital at the beginning of each word. ``value(forHTTPHeaderField:)``
    /// ignores the case.
    public var allHeaderFields: [AnyHashable: Any] { stringFields }

    /// ``allHeaderFields`` as strings.
    var stringFields: [String: String] {
        var dictionary: [String: String] = [:]
        var spelling: [FieldName: String] = [:]
        for field in fields {
            let key = spelling[FieldName(field.name)] ?? FieldSpelling.standard(field.name)
            spelling[FieldName(field.name)] = key
            dictionary[key] = dictionary[key].map { "\($0), \(field.value)" } ?? field.value
        }
        return dictionary
    }

    /// The value of a header field; names compare without regard to case.
    ///
    /// - Parameter field: The field's name.
    public func value(forHTTPHeaderField field: String) -> String? {
        fields[FieldName(field)]
    }

    /// The reason phrase of RFC 9110 §15 for a status code, else what its first digit means.
    open class func localizedString(forStatusCode statusCode: Int) -> String {
        let reason = ResponseHead.standardReason(for: statusCode)
        if !reason.isEmpty { return reason }
        switch statusCode {
        case 100...199: return "Informational"
        case 200...299: return "Success"
        case 300...399: return "Redirection"
        case 400...499: return "Client Error"
        default: return "Server Error"
        }
    }

    /// The media type of `Content-Type` in lower case, without parameters; an invalid value unchanged.
    open override var mimeType: String? {
        guard let field = fields[.contentType] else { return nil }
        if let type = MediaType(field) { return type.essence }
        let text = field.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
        return text.isEmpty ? nil : text
    }

    open override var textEncodingName: String? {
        fields[.contentType].flatMap(MediaType.init)?.charset?.lowercased()
    }

    /// The value of `Content-Length`, or −1 (`NSURLSessionTransferSizeUnknown`) without a valid one. It is −1 too in a
    /// session's response whose coding the session has undone: the length of what it delivers is another one.
    open override var expectedContentLength: Int64 {
        guard !isDecoded, !(isReceived && fields.contains(.transferEncoding)),
            let text = fields.values(of: .contentLength).first, let length = Int64(text), length >= 0
        else { return NSURLSessionTransferSizeUnknown }
        return length
    }

    open override var suggestedFilename: String? {
        SuggestedFilename.choose(contentDisposition: fields[.contentDisposition], url: url)
    }

    // MARK: NSSecureCoding

    public required init?(coder aDecoder: NSCoder) {
        statusCode = aDecoder.decodeInteger(forKey: "statusCode")
        version = aDecoder.decodeObject(of: NSString.self, forKey: "httpVersion") as String?
        let names = aDecoder.decodeObject(of: [NSArray.self, NSString.self], forKey: "names") as? [String] ?? []
        let values = aDecoder.decodeObject(of: [NSArray.self, NSString.self], forKey: "values") as? [String] ?? []
        var fields = HeaderFields()
        for (name, value) in zip(names, values) {
            fields.append(FieldName(name), value)
        }
        self.fields = fields
        isDecoded = aDecoder.decodeBool(forKey: "isDecoded")
        isReceived = aDecoder.decodeBool(forKey: "isReceived")
        super.init(coder: aDecoder)
    }

    open override func encode(with aCoder: NSCoder) {
        super.encode(with: aCoder)
        aCoder.encode(statusCode, forKey: "statusCode")
        aCoder.encode(isDecoded, forKey: "isDecoded")
        aCoder.encode(isReceived, forKey: "isReceived")
        aCoder.encode(version as NSString?, forKey: "httpVersion")
        aCoder.encode(fields.map(\.name) as NSArray, forKey: "names")
        aCoder.encode(fields.map(\.value) as NSArray, forKey: "values")
    }

    open override func isEqual(_ value: Any?) -> Bool {
        guard let other = value as? HTTPURLResponse else { return false }
        return other === self
            || (url == other.url && statusCode == other.statusCode && stringFields == other.stringFields)
    }

    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(url)
        hasher.combine(statusCode)
        return hasher.finalize()
    }

    open override var description: String {
        let lines = stringFields.sorted { $0.key < $1.key }.map { name, value in
            "   \"\(name)\" = \(name == "Content-Type" ? "\"\(value)\"" : URLPassword.hidden(in: value));\n"
        }
        return "<\(type(of: self)) \(Unmanaged.passUnretained(self).toOpaque())> "
            + "{ URL: \(url?.shownText ?? "(null)") }{ status: \(statusCode), headers {\n\(lines.joined())} }"
    }
}

/// The length of a body when it is not known: −1.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let NSURLSessionTransferSizeUnknown: Int64 = -1

/// The spelling of the keys of `allHeaderFields`, as in Foundation: a `content-length` is found as `Content-Length`.
private enum FieldSpelling {
    private static let known: Set<FieldName> = [
        .acceptRanges, .age, .allow, .authenticationInfo, .cacheControl, .connection, .contentDisposition,
        .contentEncoding, .contentLanguage, .contentLength, .contentLocation, .contentRange, .contentType, .date, .etag,
        .expires, .keepAlive, .lastModified, .link, .location, .pragma, .proxyAuthenticate, .retryAfter, .server,
        .setCookie, .strictTransportSecurity, .trailer, .transferEncoding, .upgrade, .vary, .via, .warning,
        .wwwAuthenticate,
    ]

    /// A common name as its standard has it; one that begins with "X-" as it is; any other with capitals.
    static func standard(_ name: String) -> String {
        if let index = known.firstIndex(of: FieldName(name)) { return known[index].text }
        return name.prefix(2).lowercased() == "x-" ? name : name.capitalized
    }
}

import Foundation
internal import PurlHTTP

/// The head of a response: its URL, its media type and the length of its body.
///
/// Immutable after initialisation, which is what makes `@unchecked Sendable` true for the class itself.
open class URLResponse: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    private let responseURL: URL?
    private let mediaType: String?
    private let length: Int64
    private let encoding: String?

    /// Makes a response.
    ///
    /// - Parameters:
    ///   - url: The URL of the request.
    ///   - mimeType: The media type without parameters.
    ///   - length: The length of the body in bytes; −1 when unknown.
    ///   - name: The name of the text encoding, as the server sent it.
    public init(url: URL, mimeType: String?, expectedContentLength length: Int, textEncodingName name: String?) {
        responseURL = url
        mediaType = mimeType
        self.length = Int64(length)
        encoding = name
    }

    /// The URL of the request: after redirects, of the last one.
    open var url: URL? { responseURL }
    /// The media type in lower case, without parameters.
    open var mimeType: String? { mediaType }
    /// The length of the body in bytes, or −1 (`NSURLSessionTransferSizeUnknown`) when the server did not send it.
    open var expectedContentLength: Int64 { length }
    /// The character encoding's name as the server sent it.
    open var textEncodingName: String? { encoding }

    /// A name under which the body may be saved: always a single path component, whatever the server sent.
    ///
    /// Taken from `Content-Disposition` (RFC 6266), else the URL's last path component, else its host, else "Unknown".
    open var suggestedFilename: String? {
        SuggestedFilename.choose(contentDisposition: nil, url: url)
    }

    // MARK: NSSecureCoding, NSCopying

    public static var supportsSecureCoding: Bool { true }

    public required init?(coder aDecoder: NSCoder) {
        responseURL = aDecoder.decodeObject(of: NSURL.self, forKey: "url") as URL?
        mediaType = aDecoder.decodeObject(of: NSString.self, forKey: "mimeType") as String?
        length = aDecoder.decodeInt64(forKey: "expectedContentLength")
        encoding = aDecoder.decodeObject(of: NSString.self, forKey: "textEncodingName") as String?
    }

    open func encode(with aCoder: NSCoder) {
        aCoder.encode(responseURL as NSURL?, forKey: "url")
        aCoder.encode(mediaType as NSString?, forKey: "mimeType")
        aCoder.encode(length, forKey: "expectedContentLength")
        aCoder.encode(encoding as NSString?, forKey: "textEncodingName")
    }

    open override func copy() -> Any { copy(with: nil) }

    /// Returns the response itself: it never changes.
    ///
    /// - Parameter zone: Ignored.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ value: Any?) -> Bool {
        guard let other = value as? URLResponse, type(of: other) == type(of: self) else { return false }
        return other === self
            || (url == other.url && mimeType == other.mimeType && textEncodingName == other.textEncodingName
                && expectedContentLength == other.expectedContentLength)
    }

    open override var description: String {
        "<\(Self.self)> { URL: \(url?.absoluteString ?? "nil") } { MIME type: \(mimeType ?? "unknown"), "
            + "length: \(expectedContentLength) }"
    }

    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(url)
        hasher.combine(mimeType)
        hasher.combine(expectedContentLength)
        return hasher.finalize()
    }
}

/// The name under which a body may be saved.
///
/// What the server sends is untrusted (RFC 6266 §4.3): the result is always one path component, without separators and
/// control characters, and is neither "." nor "..".
enum SuggestedFilename {
    static func choose(contentDisposition: String?, url: URL?) -> String {
        let offered = [
            contentDisposition.flatMap(ContentDisposition.init)?.filename,
            url.flatMap { DataURL.matches($0) ? nil : $0.lastPathComponent },
            url?.host(percentEncoded: false),
        ]
        for case let name? in offered {
            if let safe = singleComponent(name) { return safe }
        }
        return "Unknown"
    }

    /// The part of `name` that can be one path component; `nil` when nothing is left.
    private static func singleComponent(_ name: String) -> String? {
        // A backslash separates on other systems, and a server there may send a whole path.
        let last = name.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last ?? ""
        let scalars = last.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
        var text = String(String.UnicodeScalarView(scalars)).trimmingCharacters(in: .whitespaces)
        // NAME_MAX is 255 bytes; the ends of long names are kept because the extension is there.
        while text.utf8.count > 255 { text.removeFirst() }
        return text.isEmpty || text.allSatisfy { $0 == "." } ? nil : text
    }
}

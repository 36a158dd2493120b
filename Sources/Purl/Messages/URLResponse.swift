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

    /// A name under which the body may be saved: always a single path component, whatever the server sent. Slashes in it
    /// have become underscores.
    ///
    /// It does not begin with a dot or a dash, has no control and no format characters, and at most 255 bytes of UTF-8: see
    /// <doc:FilesAndNames>.
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
        "\(super.description) { URL: \(url?.shownText ?? "(null)") } { MIME type: \(mimeType ?? "(null)"), "
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
/// What the server sends is untrusted (RFC 6266 §4.3): the result is always a name that `SafeFilename` has made, in which
/// separators have become underscores.
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

    /// The name as a safe one; `nil` when it has nothing but dots and separators.
    private static func singleComponent(_ name: String) -> String? {
        let separators = "./\\".unicodeScalars
        guard name.unicodeScalars.contains(where: { !separators.contains($0) && !$0.properties.isWhitespace }) else {
            return nil
        }
        return SafeFilename.make(from: name)
    }
}

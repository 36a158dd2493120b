/// The directives of `Cache-Control` in a request or a response (RFC 9111 §5.2, RFC 5861, RFC 8246).
///
/// Seconds are 0 to 2,147,483,648: a larger number counts as that (RFC 9111 §1.2.2). Of a repeated directive the first
/// counts.
package struct CacheControl: Sendable, Hashable {
    /// How stale a response the client accepts.
    package enum MaxStale: Sendable, Hashable {
        /// However stale.
        case any
        case seconds(Int64)
    }

    /// The largest number of seconds.
    package static let maximumSeconds: Int64 = 2_147_483_648

    /// `max-age`; 0 when its value is broken, which makes a response stale (RFC 9111 §4.2.1).
    package private(set) var maxAge: Int64?
    /// `s-maxage`, for shared caches only.
    package private(set) var sharedMaxAge: Int64?
    /// `max-stale`; nil also when its value is broken.
    package private(set) var maxStale: MaxStale?
    /// `min-fresh`; nil also when its value is broken.
    package private(set) var minFresh: Int64?
    /// `stale-if-error`; nil also when its value is broken.
    package private(set) var staleIfError: Int64?
    /// `stale-while-revalidate`; nil also when its value is broken.
    package private(set) var staleWhileRevalidate: Int64?
    /// `no-cache`, with or without the names of fields.
    package private(set) var noCache = false
    /// `no-store`
    package private(set) var noStore = false
    /// `no-transform`
    package private(set) var noTransform = false
    /// `only-if-cached`
    package private(set) var onlyIfCached = false
    /// `must-revalidate`
    package private(set) var mustRevalidate = false
    /// `proxy-revalidate`, for shared caches only.
    package private(set) var proxyRevalidate = false
    /// `must-understand`
    package private(set) var mustUnderstand = false
    /// `private`, with or without the names of fields.
    package private(set) var isPrivate = false
    /// `public`
    package private(set) var isPublic = false
    /// `immutable`
    package private(set) var immutable = false

    /// The directives of all lines of `Cache-Control`; unknown ones are skipped.
    package init(_ fields: HeaderFields) {
        guard fields.mayContain(.cacheControl) else { return }
        for line in fields.lines where fields.matches(line, .cacheControl) {
            var scanner = ListScanner(line.value)
            while let range = scanner.next(in: fields.bytes) {
                let element = fields.bytes[range]
                if take(plain: element) { continue }
                if let parameter = FieldParameter(element: element) {
                    take(parameter.name, parameter.value)
                } else {
                    take(String(fieldBytes: element).asciiLowercased, nil)
                }
            }
        }
    }

    /// The directives of a request: without `Cache-Control`, `Pragma: no-cache` means `no-cache` (RFC 9111 §5.4).
    package init(request fields: HeaderFields) {
        self.init(fields)
        if fields.mayContain(.pragma), !fields.contains(.cacheControl), fields.hasToken("no-cache", in: .pragma) {
            noCache = true
        }
    }

    /// Takes a directive that most responses have, in its usual spelling. False for any other.
    private mutating func take(plain element: ArraySlice<UInt8>) -> Bool {
        switch element.count {
        case 8 where element.elementsEqual("no-store".utf8): noStore = true
        case 8 where element.elementsEqual("no-cache".utf8): noCache = true
        case 7 where element.elementsEqual("private".utf8): isPrivate = true
        case 6 where element.elementsEqual("public".utf8): isPublic = true
        default: return false
        }
        return true
    }

    private mutating func take(_ name: String, _ value: String?) {
        let seconds = value.flatMap { CacheControl.seconds($0) }
        switch name {
        case "max-age": maxAge = maxAge ?? seconds ?? 0
        case "s-maxage": sharedMaxAge = sharedMaxAge ?? seconds ?? 0
        case "max-stale": maxStale = maxStale ?? (value == nil ? .any : seconds.map { .seconds($0) })
        case "min-fresh": minFresh = minFresh ?? seconds
        case "stale-if-error": staleIfError = staleIfError ?? seconds
        case "stale-while-revalidate": staleWhileRevalidate = staleWhileRevalidate ?? seconds
        case "no-cache": noCache = true
        case "no-store": noStore = true
        case "no-transform": noTransform = true
        case "only-if-cached": onlyIfCached = true
        case "must-revalidate": mustRevalidate = true
        case "proxy-revalidate": proxyRevalidate = true
        case "must-understand": mustUnderstand = true
        case "private": isPrivate = true
        case "public": isPublic = true
        case "immutable": immutable = true
        default: break
        }
    }

    /// A number of seconds, the largest one when it does not fit; nil for text that is not a number.
    static func seconds(_ text: String) -> Int64? {
        let digits = Array(text.utf8)
        guard !digits.isEmpty, digits.allSatisfy({ $0.digitValue != nil }) else { return nil }
        return min(Int64(digits: digits) ?? maximumSeconds, maximumSeconds)
    }
}

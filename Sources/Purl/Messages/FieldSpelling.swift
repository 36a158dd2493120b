internal import PurlHTTP

/// How the keys of `allHeaderFields` are spelled: fields that everybody knows in their standard form, so that a
/// `content-length` is found as `Content-Length`; all others as the server spelled them.
enum FieldSpelling {
    private static let known: Set<FieldName> = [
        .acceptRanges, .age, .allow, .authenticationInfo, .cacheControl, .connection, .contentDisposition,
        .contentEncoding, .contentLanguage, .contentLength, .contentLocation, .contentRange, .contentType, .date, .etag,
        .expires, .keepAlive, .lastModified, .link, .location, .pragma, .proxyAuthenticate, .retryAfter, .server,
        .setCookie, .strictTransportSecurity, .trailer, .transferEncoding, .upgrade, .vary, .via, .warning,
        .wwwAuthenticate,
    ]

    /// The standard spelling of a name; the name itself when it has none.
    static func standard(_ name: String) -> String {
        known.firstIndex(of: FieldName(name)).map { known[$0].text } ?? name
    }
}

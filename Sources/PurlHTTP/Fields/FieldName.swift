/// The name of a header or trailer field. It keeps the case it was written in for output;
/// equality and hashing ignore the case of ASCII letters (RFC 9110 §5.1).
package struct FieldName: Sendable {
    /// The name as it goes on the wire.
    package let text: String

    /// A name with the given spelling. Any text is accepted; encoding rejects what is not a token.
    package init(_ name: String) {
        text = name
    }
}

extension FieldName: Hashable {
    package static func == (left: FieldName, right: FieldName) -> Bool {
        left.text.equalsIgnoringCase(right.text)
    }

    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte.lowercased) }
        // No byte of UTF-8 is 0xFF, so names cannot run into what is hashed next.
        hasher.combine(0xFF as UInt8)
    }
}

extension FieldName: ExpressibleByStringLiteral, CustomStringConvertible {
    package init(stringLiteral name: String) {
        text = name
    }

    package var description: String { text }
}

/// The names that Purl uses. Computed, not stored: a literal is free, a stored global costs a check per use.
extension FieldName {
    /// `Accept`
    package static var accept: FieldName { "Accept" }
    /// `Accept-Encoding`
    package static var acceptEncoding: FieldName { "Accept-Encoding" }
    /// `Accept-Ranges`
    package static var acceptRanges: FieldName { "Accept-Ranges" }
    /// `Age`
    package static var age: FieldName { "Age" }
    /// `Allow`
    package static var allow: FieldName { "Allow" }
    /// `Authentication-Info`
    package static var authenticationInfo: FieldName { "Authentication-Info" }
    /// `Authorization`
    package static var authorization: FieldName { "Authorization" }
    /// `Cache-Control`
    package static var cacheControl: FieldName { "Cache-Control" }
    /// `Connection`
    package static var connection: FieldName { "Connection" }
    /// `Content-Disposition`
    package static var contentDisposition: FieldName { "Content-Disposition" }
    /// `Content-Encoding`
    package static var contentEncoding: FieldName { "Content-Encoding" }
    /// `Content-Language`
    package static var contentLanguage: FieldName { "Content-Language" }
    /// `Content-Length`
    package static var contentLength: FieldName { "Content-Length" }
    /// `Content-Location`
    package static var contentLocation: FieldName { "Content-Location" }
    /// `Content-Range`
    package static var contentRange: FieldName { "Content-Range" }
    /// `Content-Type`
    package static var contentType: FieldName { "Content-Type" }
    /// `Cookie`
    package static var cookie: FieldName { "Cookie" }
    /// `Date`
    package static var date: FieldName { "Date" }
    /// `ETag`
    package static var etag: FieldName { "ETag" }
    /// `Expect`
    package static var expect: FieldName { "Expect" }
    /// `Expires`
    package static var expires: FieldName { "Expires" }
    /// `Host`
    package static var host: FieldName { "Host" }
    /// `If-Match`
    package static var ifMatch: FieldName { "If-Match" }
    /// `If-Modified-Since`
    package static var ifModifiedSince: FieldName { "If-Modified-Since" }
    /// `If-None-Match`
    package static var ifNoneMatch: FieldName { "If-None-Match" }
    /// `If-Range`
    package static var ifRange: FieldName { "If-Range" }
    /// `Keep-Alive`
    package static var keepAlive: FieldName { "Keep-Alive" }
    /// `Last-Modified`
    package static var lastModified: FieldName { "Last-Modified" }
    /// `Link`
    package static var link: FieldName { "Link" }
    /// `Location`
    package static var location: FieldName { "Location" }
    /// `Pragma`
    package static var pragma: FieldName { "Pragma" }
    /// `Proxy-Authenticate`
    package static var proxyAuthenticate: FieldName { "Proxy-Authenticate" }
    /// `Proxy-Authentication-Info`
    package static var proxyAuthenticationInfo: FieldName { "Proxy-Authentication-Info" }
    /// `Proxy-Authorization`
    package static var proxyAuthorization: FieldName { "Proxy-Authorization" }
    /// `Proxy-Connection`
    package static var proxyConnection: FieldName { "Proxy-Connection" }
    /// `Range`
    package static var range: FieldName { "Range" }
    /// `Retry-After`
    package static var retryAfter: FieldName { "Retry-After" }
    /// `Sec-WebSocket-Accept`
    package static var secWebSocketAccept: FieldName { "Sec-WebSocket-Accept" }
    /// `Sec-WebSocket-Extensions`
    package static var secWebSocketExtensions: FieldName { "Sec-WebSocket-Extensions" }
    /// `Sec-WebSocket-Key`
    package static var secWebSocketKey: FieldName { "Sec-WebSocket-Key" }
    /// `Sec-WebSocket-Protocol`
    package static var secWebSocketProtocol: FieldName { "Sec-WebSocket-Protocol" }
    /// `Sec-WebSocket-Version`
    package static var secWebSocketVersion: FieldName { "Sec-WebSocket-Version" }
    /// `Server`
    package static var server: FieldName { "Server" }
    /// `Set-Cookie`
    package static var setCookie: FieldName { "Set-Cookie" }
    /// `Strict-Transport-Security`
    package static var strictTransportSecurity: FieldName { "Strict-Transport-Security" }
    /// `TE`
    package static var te: FieldName { "TE" }
    /// `Trailer`
    package static var trailer: FieldName { "Trailer" }
    /// `Transfer-Encoding`
    package static var transferEncoding: FieldName { "Transfer-Encoding" }
    /// `Upgrade`
    package static var upgrade: FieldName { "Upgrade" }
    /// `Upload-Complete`
    package static var uploadComplete: FieldName { "Upload-Complete" }
    /// `Upload-Draft-Interop-Version`
    package static var uploadDraftInteropVersion: FieldName { "Upload-Draft-Interop-Version" }
    /// `Upload-Incomplete`
    package static var uploadIncomplete: FieldName { "Upload-Incomplete" }
    /// `Upload-Length`
    package static var uploadLength: FieldName { "Upload-Length" }
    /// `Upload-Limit`
    package static var uploadLimit: FieldName { "Upload-Limit" }
    /// `Upload-Offset`
    package static var uploadOffset: FieldName { "Upload-Offset" }
    /// `User-Agent`
    package static var userAgent: FieldName { "User-Agent" }
    /// `Vary`
    package static var vary: FieldName { "Vary" }
    /// `Via`
    package static var via: FieldName { "Via" }
    /// `Warning`
    package static var warning: FieldName { "Warning" }
    /// `WWW-Authenticate`
    package static var wwwAuthenticate: FieldName { "WWW-Authenticate" }
}

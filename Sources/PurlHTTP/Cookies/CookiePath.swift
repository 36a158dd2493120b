/// Which paths a cookie's path covers (RFC 6265bis §5.1.4).
package enum CookiePath {
    /// The path of a cookie whose server named none, or none that begins with "/": the request's without its last part.
    package static func standard(for requestPath: String) -> String {
        guard requestPath.utf8.first == slash, let last = requestPath.utf8.lastIndex(of: slash),
            last != requestPath.utf8.startIndex
        else { return "/" }
        return String(requestPath[..<last])
    }

    /// Whether a cookie of `path` goes with a request for `requestPath`. Both are percent-encoded; case counts.
    package static func covers(_ path: String, request requestPath: String) -> Bool {
        let (cookie, request) = (path.utf8, requestPath.utf8)
        guard request.starts(with: cookie) else { return false }
        return request.count == cookie.count || cookie.last == slash
            || request.dropFirst(cookie.count).first == slash
    }

    private static var slash: UInt8 { UInt8(ascii: "/") }
}

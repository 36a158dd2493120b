extension HeaderFields {
    /// What the `Set-Cookie` lines say, in their order; lines that have to be ignored are left out.
    package var setCookies: [SetCookie] {
        lines.compactMap { matches($0, .setCookie) ? SetCookie(bytes[$0.value]) : nil }
    }
}

extension SetCookie {
    /// The cookies of several `Set-Cookie` lines that somebody has joined with commas, which RFC 9110 §5.3 warns of.
    ///
    /// Dates and values have commas of their own. A comma divides where a name and "=" follow it.
    package static func list(joined text: String) -> [SetCookie] {
        let bytes = Array(text.utf8)
        var cookies: [SetCookie] = []
        var start = 0
        for index in bytes.indices where bytes[index] == .comma && beginsPair(bytes[(index + 1)...]) {
            if let cookie = SetCookie(bytes[start..<index]) { cookies.append(cookie) }
            start = index + 1
        }
        if let cookie = SetCookie(bytes[start...]) { cookies.append(cookie) }
        return cookies
    }

    private static func beginsPair(_ rest: ArraySlice<UInt8>) -> Bool {
        let text = rest.drop(while: \.isBlank)
        guard let end = text.firstIndex(where: { !$0.isTokenByte }), end > text.startIndex else { return false }
        return text[end...].first { !$0.isBlank } == .equals
    }
}

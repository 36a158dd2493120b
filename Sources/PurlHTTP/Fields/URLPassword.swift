/// Hides the passwords of URLs in texts that are shown: messages, sentences of errors, descriptions.
package enum URLPassword {
    /// What stands for a password.
    package static let placeholder = "•••"

    /// `text` with the password of each URL in it replaced: `http://u:p@host/` becomes `http://u:•••@host/`.
    ///
    /// A URL is a word with "//". Only its authority (RFC 3986 §3.2) is looked at: its path and query stay.
    package static func hidden(in text: String) -> String {
        let bytes = Array(text.utf8)
        guard bytes.contains(at) else { return text }
        var shown: [UInt8] = []
        for word in bytes.split(separator: blank, omittingEmptySubsequences: false) {
            if !shown.isEmpty || word.startIndex > 0 { shown.append(blank) }
            shown += hidden(inWord: word)
        }
        return String(decoding: shown, as: UTF8.self)
    }

    private static let at = UInt8(ascii: "@")
    private static let blank = UInt8(ascii: " ")
    private static let slash = UInt8(ascii: "/")
    private static let endOfAuthority: [UInt8] = [slash, UInt8(ascii: "?"), UInt8(ascii: "#")]

    private static func hidden(inWord word: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let slashes = word.indices.dropLast().first(where: { word[$0] == slash && word[$0 + 1] == slash }) else {
            return word
        }
        let authority = word[(slashes + 2)...].prefix { !endOfAuthority.contains($0) }
        guard let end = authority.lastIndex(of: at), let colon = authority[..<end].firstIndex(of: UInt8(ascii: ":"))
        else {
            return word
        }
        return word[...colon] + placeholder.utf8 + word[end...]
    }
}

import Foundation

/// Addresses with characters that a request line cannot carry: Chinese, blanks, quotes.
enum Address {
    /// The URL of a typed or pasted text, parts of which may be encoded: `/电影/a%20b`.
    ///
    /// Characters outside ASCII become UTF-8, percent-encoded; parts that are encoded stay as they are. `URL(string:)`
    /// alone would encode the percent signs of such a mixture a second time.
    static func typed(_ text: String) -> URL? {
        var allowed = CharacterSet(charactersIn: "-._~:/?#[]@!$&'()*+,;=%")
        allowed.insert(charactersIn: "0"..."9")
        allowed.insert(charactersIn: "a"..."z")
        allowed.insert(charactersIn: "A"..."Z")
        // A percent sign without two hexadecimal digits stands for itself.
        let text = text.replacing(/%(?![0-9A-Fa-f]{2})/, with: "%25")
        return text.addingPercentEncoding(withAllowedCharacters: allowed).flatMap { URL(string: $0) }
    }

    /// An address made of components. A `&` or `=` inside a value is encoded; concatenated as text it would end the value.
    static func made(of path: String, query: KeyValuePairs<String, String>, on server: URL) -> URL? {
        var parts = URLComponents(url: server, resolvingAgainstBaseURL: true)
        parts?.path = path
        parts?.queryItems = query.map { URLQueryItem(name: $0.key, value: $0.value) }
        return parts?.url
    }

    /// The decoded path and query, for display.
    static func readable(_ url: URL) -> String {
        let query = url.query(percentEncoded: false).map { "?\($0)" } ?? ""
        return url.path(percentEncoded: false) + query
    }
}

import Foundation
internal import PurlHTTP

/// Chooses the name under which a body may be saved.
///
/// The server's word is untrusted (RFC 6266 §4.3): whatever it says, the result is one path component, without
/// separators, control characters or a meaning of its own ("." and "..").
enum SuggestedFilename {
    static func choose(contentDisposition: String?, url: URL?) -> String {
        let offered = [
            contentDisposition.flatMap(ContentDisposition.init)?.filename,
            url.flatMap { DataURL.isOne($0) ? nil : $0.lastPathComponent },
            url?.host(percentEncoded: false),
        ]
        for case let name? in offered {
            if let safe = singleComponent(name) { return safe }
        }
        return "Unknown"
    }

    /// The part of `name` that can stand as one path component, nil when nothing is left.
    private static func singleComponent(_ name: String) -> String? {
        // A backslash separates on other systems, and a server that runs there may send a whole path.
        let last = name.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last ?? ""
        let scalars = last.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
        var text = String(String.UnicodeScalarView(scalars)).trimmingCharacters(in: .whitespaces)
        // NAME_MAX is 255 bytes; the ends of long names are kept because the extension is there.
        while text.utf8.count > 255 { text.removeFirst() }
        return text.isEmpty || text.allSatisfy { $0 == "." } ? nil : text
    }
}

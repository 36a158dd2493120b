import Foundation
import Purl

/// Names for files whose name the user did not choose.
enum FileName {
    /// What the URL alone suggests.
    static func suggested(by url: URL) -> String {
        let response = URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
        return safe(response.suggestedFilename ?? "")
    }

    /// A suggestion, made fit to be saved under: it does not become a hidden file, is not taken for an option, and
    /// leaves room for the endings of the parts. It is one path component already.
    static func safe(_ suggestion: String) -> String {
        var name = String(suggestion.drop { $0 == "." || $0 == "-" })
        // 255 bytes is what file systems take. The end is kept, because that is where the extension is.
        while name.utf8.count > 255 - PartFiles.longestEnding { name.removeFirst() }
        return name.isEmpty ? "download" : name
    }

    /// Whether a name that the user chose is one path component under which a download can be saved.
    static func isPlain(_ name: String) -> Bool {
        !name.isEmpty && name != "." && name != ".." && name.utf8.count <= 255 - PartFiles.longestEnding
            && !name.unicodeScalars.contains { $0 == "/" || $0.properties.generalCategory == .control }
    }
}

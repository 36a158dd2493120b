import Foundation

/// The URL that is recorded with bytes of several servers. Only a checksum tells whether they belong together, so it is a part of
/// that URL, as a fragment, which no server is sent: a download that does not expect this checksum does not resume them.
package enum JoinedBytes {
    private static let mark = "sha256="
    private static let markLength = mark.utf8.count + 64

    /// - Parameter sha256: 64 hexadecimal digits.
    package static func url(of url: URL, under sha256: String) -> URL {
        let text = url.absoluteString
        return URL(string: text + (text.contains("#") ? ";" : "#") + mark + sha256) ?? url
    }

    /// The URL that is marked; a URL without the mark is its own origin.
    package static func origin(of url: URL) -> URL { parts(of: url)?.origin ?? url }

    /// The checksum in the mark; `nil` without one.
    static func sha256(in url: URL) -> String? { parts(of: url)?.sha256 }

    private static func parts(of url: URL) -> (origin: URL, sha256: String)? {
        let text = url.absoluteString
        let end = text.suffix(markLength)
        guard end.hasPrefix(mark), FileDigest.isHexadecimal(String(end.dropFirst(mark.count))) else { return nil }
        let rest = text.dropLast(markLength)
        guard rest.last == "#" || rest.last == ";", let origin = URL(string: String(rest.dropLast())) else {
            return nil
        }
        return (origin, String(end.dropFirst(mark.count)))
    }
}

import Foundation

/// One URL to load, and what was said about its file.
struct Order: Equatable, Sendable {
    /// What to load: a URL with a scheme.
    let url: URL
    /// Where to save; `nil` leaves the choice to the server.
    var output: String?
    /// What the file must be.
    var checksum: Checksum?

    /// A word as a URL; `nil` when it is something else.
    static func url(_ word: String) -> URL? {
        guard word.contains("://"), let url = URL(string: word), url.scheme != nil else { return nil }
        return url
    }
}

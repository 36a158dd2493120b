import Foundation
internal import PurlIO

/// What a background session's folder depends on.
struct BackgroundSettings: Sendable {
    /// The session's identifier.
    let identifier: String
    /// The folder in which sessions have their folders; `nil` for one in the user's data directory.
    let directory: URL?
    /// The container that the program shares with others: they find each other's sessions.
    let sharedContainerIdentifier: String?
    /// Where the session's partial files lie; `nil` for a folder inside its own.
    let partialsFolder: URL?
    let files: any FileLayer
}

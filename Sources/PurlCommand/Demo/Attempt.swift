import Foundation
import Purl

/// One attempt at a download, when it is over.
struct Attempt: Sendable {
    /// The status the server answered with.
    var status: Int?
    /// Where the whole file was put; `nil` while it is not whole.
    var file: URL?
    /// Why it ended early.
    var error: URLError?
    /// What it takes to go on.
    var resumeData: Data?
}

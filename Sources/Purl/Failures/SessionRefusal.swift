import Foundation
internal import PurlIO

/// Why a background session cannot have its folder.
enum SessionRefusal: Error {
    /// A session with the identifier exists: here or in another process.
    case inUse(identifier: String)
    case file(FileFailure)
    /// Another user could have written the tasks.
    case untrusted(URL, Distrust)
}

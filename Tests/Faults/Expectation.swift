internal import Foundation

/// What the user has to see in the end.
enum Expectation: Sendable {
    /// The task succeeds with this status and body; without a body, that of the stage.
    case success(status: Int = 200, Data? = nil)
    /// It fails with this code; the error speaks of the URL, or of this one instead.
    case failure(URLError.Code, at: String? = nil)
    /// What the user does comes too late or just in time: both are right.
    case either(URLError.Code)
    /// The failure is that of the user's own code, as it was thrown.
    case foreign

    /// A success with a text for a body.
    static func text(_ text: String, status: Int = 200) -> Expectation {
        .success(status: status, Data(text.utf8))
    }
}

import Foundation
import Purl

/// What is on disk of a file that is to be continued.
struct FilePart: Sendable, Equatable {
    /// How many bytes there are.
    var size: Int64
    /// The `ETag` of the response that they came with, if it had one.
    var entityTag: String?
}

/// What is to be done with a response to a request for the rest.
enum AnswerPlan: Sendable, Equatable {
    /// The body is appended to what is on disk.
    case append
    /// The body is the whole file: what is on disk is removed first.
    case startOver
    /// The file is complete: the body is not part of it.
    case complete
    /// The body is of no use. What is on disk stays as it is.
    case leave
}

/// What both the exercise and its solution can do.
protocol RestRequests {
    /// The request for the rest of a file, or for all of it where the rest cannot be asked for.
    static func request(for url: URL, continuing part: FilePart) -> URLRequest
    /// What the response to this request means.
    static func plan(for response: HTTPURLResponse, continuing part: FilePart) -> AnswerPlan
}

/// Exercise 6: asks for the rest of a file, and reads the answer.
///
/// Here it is done as the recipe does it. `request` is to ask on a condition, and only if there is a strong tag. `plan` is to
/// append nothing but a 206 that begins at the right byte and has the right tag.
enum Exercise6: RestRequests {
    static func request(for url: URL, continuing part: FilePart) -> URLRequest {
        var request = URLRequest(url: url)
        if part.size > 0 { request.setValue("bytes=\(part.size)-", forHTTPHeaderField: "Range") }
        return request
    }

    static func plan(for response: HTTPURLResponse, continuing part: FilePart) -> AnswerPlan {
        .append
    }
}

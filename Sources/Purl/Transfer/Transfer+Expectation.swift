import Foundation
internal import PurlHTTP

/// What becomes of a request that expected a 100 (RFC 9110 §10.1.1).
extension Transfer {
    /// The request again, without the expectation that the server, or somebody on the way to it, does not know; `nil` when
    /// that was not the matter, or when the body cannot be sent once more.
    func requestWithoutExpectation(after head: ResponseHead) -> URLRequest? {
        guard head.status == 417, request.value(forHTTPHeaderField: "Expect") != nil, canSendBodyAgain else {
            return nil
        }
        var next = request
        next.setValue(nil, forHTTPHeaderField: "Expect")
        return next
    }
}

import Foundation
internal import PurlHTTP

extension Resumability {
    /// The validator that identifies the bytes of this response beyond doubt; `nil` when the transfer cannot be resumed: it
    /// has to be a GET without a body and without a range of the user's own, and ``validator(of:)`` has to find one.
    static func validator(for request: URLRequest, response head: ResponseHead) -> String? {
        allowsResuming(request) ? validator(of: head) : nil
    }

    /// Whether it is a GET without a body and without a range of the user's own.
    static func allowsResuming(_ request: URLRequest) -> Bool {
        request.method == .get && request.httpBody == nil && request.httpBodyStream == nil
            && request.value(forHTTPHeaderField: "Range") == nil
    }
}

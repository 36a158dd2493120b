import Foundation
internal import PurlHTTP

/// A response, and where its body comes from.
struct Answer {
    /// What the user is shown.
    let response: URLResponse
    /// What the rules go by. One that did not come by HTTP is treated as a 200.
    let head: ResponseHead
    let framing: BodyFraming
    let source: any ResponseSource
}

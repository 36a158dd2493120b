import Foundation
internal import PurlHTTP

/// A request under way, as its connection sees it.
struct Exchange {
    let head: RequestHead
    /// The request as it is recorded.
    var request: ReceivedRequest
    /// What the script answers.
    let reply: ResolvedReply
    /// Whether the request's end has been seen.
    var bodyIsComplete = false

    /// Whether another request can follow on the connection, as far as the client is concerned.
    var mayBeFollowed: Bool { bodyIsComplete && ConnectionReuse.isAllowed(after: head) }

    /// The request as the server got it.
    var echo: Data {
        var text = "\(head.method) \(head.target) \(head.version)\r\n"
        for field in head.fields { text += "\(field.name): \(field.value)\r\n" }
        return Data((text + "\r\n").utf8) + request.body
    }
}

import Foundation
internal import PurlHTTP
internal import PurlIO

/// A request on its way to the server behind this one.
struct ForwardedRequest: Sendable {
    let method: RequestMethod
    /// What is sent.
    let bytes: [UInt8]
    /// What is recorded: the client's own words, but for how the body is sent.
    let recorded: Data

    init(_ request: ReceivedRequest, to upstream: Endpoint) {
        method = RequestMethod(request.method)
        let framing: Set<String> = ["connection", "transfer-encoding", "content-length", "expect", "host"]
        let fields = request.fields.filter { !framing.contains($0.name.lowercased()) }
        var head = "\(request.method) \(request.target) HTTP/1.1\r\n"
        let host = request.fields["Host"].map { "Host: \($0)\r\n" } ?? ""
        var rest = fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        if !request.body.isEmpty { rest += "Content-Length: \(request.body.count)\r\n" }
        recorded = Data((head + host + rest + "\r\n").utf8) + request.body
        head += "Host: \(upstream)\r\nConnection: close\r\n" + rest + "\r\n"
        bytes = [UInt8](head.utf8) + request.body
    }
}

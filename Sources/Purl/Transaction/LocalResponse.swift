import Foundation
internal import PurlHTTP

/// A response whose content is complete in memory: a stored one, or one that this process makes.
struct LocalResponse {
    let response: URLResponse
    let head: ResponseHead
    let framing: BodyFraming
    let content: Data
    let provenance: ResponseDecision.Provenance

    init(
        _ response: URLResponse, _ head: ResponseHead, _ framing: BodyFraming, _ content: Data,
        from provenance: ResponseDecision.Provenance
    ) {
        self.response = response
        self.head = head
        self.framing = framing
        self.content = content
        self.provenance = provenance
    }

    /// A response from the cache.
    ///
    /// - Parameter age: RFC 9111 §5.1: how old it is, unless the server has just confirmed it.
    static func stored(_ stored: CachedURLResponse, age: Int64?, at url: URL) -> LocalResponse {
        var response = stored.response
        var head = ResponseHead(status: 200)
        if let http = response as? HTTPURLResponse {
            head = http.head
            head.fields = stored.rules?.fields ?? head.fields
            if let age { head.fields[.age] = String(age) }
            response = HTTPURLResponse(url: url, head: head)
        }
        return LocalResponse(response, head, .length(Int64(stored.data.count)), stored.data, from: .cache)
    }

    /// RFC 9111 §5.2.1.7: nothing that is stored satisfies the request.
    static func gatewayTimeout(at url: URL) -> LocalResponse {
        let head = ResponseHead(status: 504, fields: ["Content-Length": "0"])
        return LocalResponse(HTTPURLResponse(url: url, head: head), head, .length(0), Data(), from: .cache)
    }
}

import Foundation

/// A protocol that answers for hosts that end with ".stub". The path decides how.
final class StandIn: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool {
        request.url?.host?.hasSuffix(".stub") ?? false
    }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        switch request.url?.path {
        case "/fails":
            client?.urlProtocol(self, didFailWithError: URLError(.cannotParseResponse))
        case "/own-error":
            client?.urlProtocol(self, didFailWithError: NSError(domain: "mine", code: 7))
        case "/late":
            respond(200)
            send("some")
            client?.urlProtocol(self, didFailWithError: URLError(.networkConnectionLost))
        case "/pieces":
            respond(200)
            for piece in ["one ", "two ", "three"] { send(piece) }
            client?.urlProtocolDidFinishLoading(self)
        case "/request":
            respond(200)
            let fields = ["X-Session", "X-Own"].map { request.value(forHTTPHeaderField: $0) ?? "none" }
            let note = Self.property(forKey: "note", in: request) as? String ?? "none"
            send("\(request.httpMethod ?? "nil") \(fields.joined(separator: " ")) \(note)")
            client?.urlProtocolDidFinishLoading(self)
        case "/redirect":
            guard let url = request.url, let next = URL(string: "http://other.stub/pieces"),
                let response = HTTPURLResponse(
                    url: url, statusCode: 302, httpVersion: "HTTP/1.1", headerFields: ["Location": next.absoluteString])
            else { return }
            client?.urlProtocol(self, wasRedirectedTo: URLRequest(url: next), redirectResponse: response)
        case let path:
            respond(path == "/404" ? 404 : 200)
            send("hello")
            client?.urlProtocolDidFinishLoading(self)
        }
    }

    override func stopLoading() {}

    private func respond(_ status: Int) {
        guard let url = request.url,
            let response = HTTPURLResponse(
                url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: ["Content-Type": "text/plain"])
        else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    }

    private func send(_ text: String) {
        client?.urlProtocol(self, didLoad: Data(text.utf8))
    }
}

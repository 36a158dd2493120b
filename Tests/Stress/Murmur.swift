import Foundation
import Purl

/// Answers for one host, in pieces.
final class Murmur: URLProtocol {
    static let url = URL(string: "http://murmur.invalid/file")

    override class func canInit(with request: URLRequest) -> Bool { request.url?.host() == "murmur.invalid" }

    override func startLoading() {
        guard let url = request.url,
            let response = HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["Cache-Control": "max-age=60"])
        else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .allowed)
        for word in ["a ", "few ", "words"] { client?.urlProtocol(self, didLoad: Data(word.utf8)) }
        client?.urlProtocolDidFinishLoading(self)
    }
}

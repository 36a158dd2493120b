import Foundation
import Purl
import PurlTesting

extension Scene {
    /// A response that is stored, used, validated, and used again.
    static let caching = Scene("caching", "A response that is stored, used and validated") { stage in
        let url = stage.server.route(
            "/news", .text("hello").entityTag("\"v1\"").field("Cache-Control", "max-age=60"))
        let session = URLSession(
            configuration: stage.configuration, delegate: SceneDelegate(), delegateQueue: nil)
        for (count, pause) in [Duration.seconds(10), .seconds(90), .zero].enumerated() {
            session.dataTask(with: url).resume()
            await stage.waitFor(.didComplete, times: count + 1)
            stage.turnClock(by: pause)
        }
        session.finishTasksAndInvalidate()
    }

    /// A wrong password, the right one, and a request that carries it at once.
    static let authentication = Scene("authentication", "A wrong password, and the right one") { stage in
        let url = stage.server.route(
            "/letters",
            .computed { request in
                guard request.fields["Authorization"] == "Basic cmVhZGVyOm9wZW4=" else {
                    return .status(401).field("WWW-Authenticate", "Basic realm=\"letters\"")
                }
                return .text("Dear reader")
            })
        let session = URLSession(
            configuration: stage.configuration, delegate: SceneDelegate(passwords: ["guess", "open"]),
            delegateQueue: nil)
        for count in 1...2 {
            session.dataTask(with: url).resume()
            await stage.waitFor(.didComplete, times: count)
            stage.turnClock(by: .seconds(3))
        }
        session.finishTasksAndInvalidate()
    }

    /// An upload whose connection is lost, and which is resumed where the server has it.
    static let resumableUpload = Scene("resumable-upload", "An upload that is cut off and resumed") { stage in
        let target = UploadTarget()
        target.fault(.connection(.cut), at: .offset(1000))
        let url = stage.server.route("/photos", .upload(to: target))
        let configuration = stage.configuration
        configuration.resumableUploads = .always
        let session = URLSession(configuration: configuration, delegate: SceneDelegate(), delegateQueue: nil)
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        session.uploadTask(with: request, from: GeneratedContent(size: 3000).data).resume()
        await stage.waitFor(.didComplete)
        session.finishTasksAndInvalidate()
    }

    /// A request that a proxy forwards.
    static let proxy = Scene("proxy", "A request through a proxy") { stage in
        stage.server.fallback(.text("forwarded"))
        let configuration = stage.configuration
        configuration.connectionProxyDictionary = [
            kCFNetworkProxiesHTTPEnable: 1, kCFNetworkProxiesHTTPProxy: "proxy.test",
            kCFNetworkProxiesHTTPPort: 3128,
        ]
        let session = URLSession(configuration: configuration, delegate: SceneDelegate(), delegateQueue: nil)
        guard let url = URL(string: "http://www.example/page") else { return }
        session.dataTask(with: url).resume()
        await stage.waitFor(.didComplete)
        session.finishTasksAndInvalidate()
    }

    /// A request that a protocol of the program's loads.
    static let stub = Scene("stub", "A request that a URLProtocol loads") { stage in
        let configuration = stage.configuration
        configuration.protocolClasses = [GreetingProtocol.self]
        let session = URLSession(configuration: configuration, delegate: SceneDelegate(), delegateQueue: nil)
        guard let url = URL(string: "http://api.example/greeting") else { return }
        session.dataTask(with: url).resume()
        await stage.waitFor(.didComplete)
        session.finishTasksAndInvalidate()
    }
}

/// Loads every request with the same response.
private final class GreetingProtocol: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { true }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        guard let url = request.url,
            let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: nil)
        else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: Data("hello".utf8))
        client?.urlProtocolDidFinishLoading(self)
    }

    override func stopLoading() {}
}

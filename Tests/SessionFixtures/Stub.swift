import Foundation
import Purl
import Synchronization
import Testing

/// A protocol that answers by a test's script; each URL has a host of its own.
final class Stub: URLProtocol {
    typealias Script = @Sendable (Stub) -> Void

    private struct Story {
        let script: Script
        let calls = EventLog<String>()
    }

    private static let stories = Mutex<[String: Story]>([:])

    /// A URL that is answered by a script.
    static func url(_ path: String = "/file", _ script: @escaping Script) throws -> URL {
        let host = "\(UUID().uuidString.lowercased()).invalid"
        stories.withLock { $0[host] = Story(script: script) }
        return try #require(URL(string: "http://\(host)\(path)"))
    }

    /// Answers with one response and its content.
    static func url(
        _ content: String, status: Int = 200, _ fields: [String: String] = [:], path: String = "/file"
    ) throws -> URL {
        try url(path) { stub in
            stub.respond(status, fields)
            stub.send(content)
            stub.finish()
        }
    }

    /// The methods that were called for a URL's host.
    static func calls(_ url: URL) -> [String] { story(url)?.calls.events ?? [] }

    /// Returns when `count` methods have been called for a URL's host.
    static func wait(for count: Int, _ url: URL) async {
        await story(url)?.calls.wait { $0.count >= count }
    }

    private static func story(_ url: URL?) -> Story? { stories.withLock { $0[url?.host() ?? ""] } }

    // MARK: For scripts

    func respond(
        _ status: Int = 200, _ fields: [String: String] = [:], storing policy: URLCache.StoragePolicy = .notAllowed
    ) {
        guard let url = request.url,
            let response = HTTPURLResponse(
                url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
        else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: policy)
    }

    func send(_ content: String) { client?.urlProtocol(self, didLoad: Data(content.utf8)) }

    func finish() { client?.urlProtocolDidFinishLoading(self) }

    func fail(_ error: any Error) { client?.urlProtocol(self, didFailWithError: error) }

    // MARK: URLProtocol

    override class func canInit(with request: URLRequest) -> Bool {
        story(request.url) != nil
    }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        let story = Self.story(request.url)
        story?.calls.append("start")
        story?.script(self)
    }

    override func stopLoading() {
        Self.story(request.url)?.calls.append("stop")
    }
}

extension URLSessionConfiguration {
    /// Loads every request with `Stub`.
    func stub() { protocolClasses = [Stub.self] }
}

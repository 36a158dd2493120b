import Foundation
import Purl
import PurlSimulation
import PurlTesting

/// A delegate that records the calls about WebSocket tasks, in order.
final class WebSocketWitness: NSObject, RecordingDelegate, URLSessionWebSocketDelegate, Sendable {
    enum Event: DelegateCall {
        case opened(String?)
        case closed(Int, String?)
        case challenge(String)
        case redirect(Int, to: String)
        case metrics(transactions: Int)
        case completed(URLError.Code?)

        var isCompletion: Bool { if case .completed = self { true } else { false } }
    }

    let record = CallRecord<Event>()
    private let credential: URLCredential?

    init(credential: URLCredential? = nil) {
        self.credential = credential
    }

    /// Returns when the connection is open, or has failed.
    func opening() async {
        await wait { events in
            events.contains {
                switch $0 {
                case .opened, .completed: true
                case .closed, .challenge, .redirect, .metrics: false
                }
            }
        }
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        record.append(.opened(`protocol`))
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        record.append(.closed(closeCode.rawValue, reason.map { String(decoding: $0, as: UTF8.self) }))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        record.append(.challenge(challenge.protectionSpace.realm ?? ""))
        completionHandler(credential == nil ? .performDefaultHandling : .useCredential, credential)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        record.append(.redirect(response.statusCode, to: request.url?.absoluteString ?? ""))
        completionHandler(request)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        record.append(.metrics(transactions: metrics.transactionMetrics.count), of: task, metrics)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        record.complete(task, error)
    }
}

/// A server, a session and a delegate for one test of WebSockets.
struct WebSocketStage {
    let server: LoopbackServer
    let sandbox: Sandbox
    let witness: WebSocketWitness
    let session: URLSession

    init(
        _ script: WebSocketScript = .echo, credential: URLCredential? = nil, proxy: LoopbackServer? = nil,
        in world: World? = nil, _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws {
        if let proxy {
            server = proxy
        } else {
            let simulated = world?.server("127.0.0.1", port: 8080).server
            server = if let simulated { simulated } else { try await LoopbackServer.started() }
            server.route("/ws", .webSocket(script))
        }
        sandbox = Sandbox()
        witness = WebSocketWitness(credential: credential)
        session = sandbox.session(witness, change)
    }

    func url(_ path: String = "/ws") throws -> URL { try server.webSocketURL(path) }

    /// A task that has been resumed.
    func open(_ path: String = "/ws", protocols: [String] = []) throws -> URLSessionWebSocketTask {
        let task = session.webSocketTask(with: try url(path), protocols: protocols).resumed()
        return task
    }
}

extension LoopbackServer {
    /// A `ws:` URL of this server.
    func webSocketURL(_ path: String) throws -> URL {
        guard let url = URL(string: "ws://127.0.0.1:\(port)\(path)") else { throw URLError(.badURL) }
        return url
    }

    /// Returns the first WebSocket connection, once it fulfils the condition.
    func waitForWebSocket(until condition: @escaping @Sendable (ReceivedWebSocket) -> Bool) async -> ReceivedWebSocket?
    {
        await wait { record in record.webSockets.first.map(condition) ?? false }
        return webSockets.first
    }
}

extension URLSessionWebSocketTask.Message {
    var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    var data: Data? {
        if case .data(let data) = self { data } else { nil }
    }
}

/// The code of the error that `work` throws.
func errorCode(_ work: () async throws -> Void) async -> URLError.Code? {
    do {
        try await work()
        return nil
    } catch {
        return (error as? URLError)?.code
    }
}

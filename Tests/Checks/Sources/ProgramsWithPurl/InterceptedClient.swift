import Foundation
import PurlTesting
import Synchronization

#if PURL
    import Purl
#else
    import FoundationNetworking
#endif

/// Changes requests before they are sent, and decides whether one that failed is sent again.
protocol RequestInterceptor: Sendable {
    func adapt(_ request: URLRequest) async throws -> URLRequest
    func shouldRetry(_ request: URLRequest, after result: APIClient.Result, attempt: Int) async throws -> Bool
}

/// A client whose session has one delegate for all tasks, and whose requests pass through an interceptor.
final class APIClient: Sendable {
    typealias Result = Swift.Result<(Data, HTTPURLResponse), any Error>

    private let session: URLSession
    private let delegate = SessionDelegate()
    private let interceptor: (any RequestInterceptor)?

    init(interceptor: (any RequestInterceptor)? = nil) {
        self.interceptor = interceptor
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["Accept": "application/json", "X-Client": "shop/1.2"]
        configuration.timeoutIntervalForRequest = 20
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    deinit { session.invalidateAndCancel() }

    func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        for attempt in 1... {
            let adapted = try await interceptor?.adapt(request) ?? request
            let result: Result
            do {
                result = .success(try await delegate.load(session.dataTask(with: adapted)))
            } catch {
                result = .failure(error)
            }
            guard try await interceptor?.shouldRetry(adapted, after: result, attempt: attempt) == true else {
                return try result.get()
            }
        }
        throw CancellationError()
    }
}

/// Collects what the tasks receive, follows redirects to the same server only, and knows the password of the reports.
private final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
    private struct Load {
        let continuation: CheckedContinuation<(Data, HTTPURLResponse), any Error>
        var data = Data()
    }

    private let loads = Mutex<[Int: Load]>([:])

    func load(_ task: URLSessionDataTask) async throws -> (Data, HTTPURLResponse) {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                loads.withLock { $0[task.taskIdentifier] = Load(continuation: continuation) }
                task.resume()
            }
        } onCancel: {
            task.cancel()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        loads.withLock { $0[dataTask.taskIdentifier]?.data.append(data) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let load = loads.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        if let response = task.response as? HTTPURLResponse, error == nil {
            load.continuation.resume(returning: (load.data, response))
        } else {
            load.continuation.resume(throwing: error ?? URLError(.badServerResponse))
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(request.url?.host == task.originalRequest?.url?.host ? request : nil)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let space = challenge.protectionSpace
        guard space.authenticationMethod == NSURLAuthenticationMethodHTTPBasic, space.realm == "reports",
            challenge.previousFailureCount == 0
        else { return completionHandler(.performDefaultHandling, nil) }
        completionHandler(.useCredential, URLCredential(user: "ada", password: "lovelace", persistence: .none))
    }
}

/// Adds the token to requests for `/v1`, fetches a new one when it has expired, and repeats what may succeed later.
private actor ShopInterceptor: RequestInterceptor {
    private let tokenURL: URL
    private let login = APIClient()
    private var token = "expired"
    private var refresh: Task<String, any Error>?
    private(set) var attempts: [String: Int] = [:]

    init(tokenURL: URL) {
        self.tokenURL = tokenURL
    }

    func adapt(_ request: URLRequest) -> URLRequest {
        attempts[request.url?.path ?? "", default: 0] += 1
        guard request.url?.path.hasPrefix("/v1/") == true else { return request }
        var request = request
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        return request
    }

    func shouldRetry(_ request: URLRequest, after result: APIClient.Result, attempt: Int) async throws -> Bool {
        guard attempt < 3 else { return false }
        switch result {
        case .success((_, let response)) where response.statusCode == 401:
            try await refreshToken(usedBy: request)
            return true
        case .success((_, let response)) where response.statusCode == 503:
            let seconds = response.value(forHTTPHeaderField: "Retry-After").flatMap(Double.init) ?? 1
            try await ContinuousClock().sleep(for: .seconds(seconds))
            return true
        case .success:
            return false
        case .failure(let error):
            return [.cannotConnectToHost, .networkConnectionLost, .timedOut].contains((error as? URLError)?.code)
        }
    }

    /// Requests that fail side by side share one refresh; one that used an older token needs none.
    private func refreshToken(usedBy request: URLRequest) async throws {
        guard request.value(forHTTPHeaderField: "Authorization") == "Bearer \(token)" else { return }
        let running =
            refresh
            ?? Task { [login, tokenURL] in
                var request = URLRequest(url: tokenURL)
                request.httpMethod = "POST"
                request.httpBody = Data("grant_type=refresh_token".utf8)
                let (data, _) = try await login.send(request)
                return String(decoding: data, as: UTF8.self)
            }
        refresh = running
        defer { refresh = nil }
        token = try await running.value
    }
}

@Sendable func interceptedClient() async throws -> String {
    let server = try LoopbackServer()
    let tokenURL = server.route("/token", .text("fresh"))
    let items = server.route(
        "/v1/items",
        .computed { request in
            guard request.fields["Authorization"] == "Bearer fresh" else {
                // Neither has the new token yet.
                await server.wait { $0.requests.count { $0.path == "/v1/items" } >= 2 }
                return .status(401).field("WWW-Authenticate", "Bearer")
            }
            return .bytes(Data("[1,2,3]".utf8), contentType: "application/json")
        })
    let interceptor = ShopInterceptor(tokenURL: tokenURL)
    let client = APIClient(interceptor: interceptor)

    // Two requests with a token that has expired.
    async let first = client.send(URLRequest(url: items))
    async let second = client.send(URLRequest(url: items))
    for (data, response) in try await [first, second] {
        try expect(response.statusCode, 200, "the items' status")
        try expect(try JSONDecoder().decode([Int].self, from: data), [1, 2, 3], "the items")
    }
    try expect(server.requests.count { $0.path == "/token" }, 1, "requests for a token")

    // A busy server gets the same order again.
    let busy = Reply.status(503).field("Retry-After", "0")
    var order = URLRequest(url: server.route("/v1/orders", .sequence([busy, busy, .text("42").status(201)])))
    order.httpMethod = "POST"
    order.httpBody = Data(#"{"item":2}"#.utf8)
    order.setValue("application/json", forHTTPHeaderField: "Content-Type")
    let (number, created) = try await client.send(order)
    try expect(created.statusCode, 201, "the order's status")
    try expect(String(decoding: number, as: UTF8.self), "42", "the order's number")
    let orders = server.requests.filter { $0.path == "/v1/orders" }
    try expect(orders.map(\.body), Array(repeating: Data(#"{"item":2}"#.utf8), count: 3), "the orders that arrived")
    try expect(Set(orders.map { $0.fields["X-Client"] }), ["shop/1.2"], "the session's field")

    // The session's delegate decides about redirects and challenges.
    server.route("/away", .redirect(302, to: "http://localhost:\(server.port)/v1/items"))
    let (_, followed) = try await client.send(URLRequest(url: server.url("/away")))
    try expect(followed.statusCode, 302, "a redirect to another host")
    server.route("/old", .redirect(302, to: "/new"))
    server.route("/new", .text("new"))
    let (_, moved) = try await client.send(URLRequest(url: server.url("/old")))
    try expect(moved.url, server.url("/new"), "where a redirect led")
    let report = Reply.computed { request in
        let password = Data("ada:lovelace".utf8).base64EncodedString()
        guard request.fields["Authorization"] == "Basic \(password)" else {
            return .status(401).field("WWW-Authenticate", #"Basic realm="reports""#)
        }
        return .text("all is well")
    }
    let (text, _) = try await client.send(URLRequest(url: server.route("/reports/1", report)))
    try expect(String(decoding: text, as: UTF8.self), "all is well", "the report")

    // A server that is gone is tried three times.
    let gone = try LoopbackServer()
    gone.stop()
    do {
        _ = try await client.send(URLRequest(url: gone.url("/gone")))
        throw Unexpected(description: "a server that is gone has answered")
    } catch let error as URLError {
        try expect(error.code, .cannotConnectToHost, "the error without a server")
        try expect(error.failingURL, gone.url("/gone"), "the failing URL")
    }
    let attempts = await interceptor.attempts
    try expect(attempts["/v1/orders"], 3, "attempts to order")
    try expect(attempts["/gone"], 3, "attempts without a server")
    return "attempts: \(attempts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))"
}

import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("https through a proxy", .timeLimit(.minutes(5)))
struct SecureTunnelTests {
    private static func dictionary(_ proxy: TunnelProxy) -> [AnyHashable: Any] {
        [
            kCFNetworkProxiesHTTPSEnable: 1, kCFNetworkProxiesHTTPSProxy: "127.0.0.1",
            kCFNetworkProxiesHTTPSPort: Int(proxy.port),
        ]
    }

    private static func dictionaryWithUser(_ proxy: TunnelProxy) -> [AnyHashable: Any] {
        dictionary(proxy).merging(["kCFProxyUsernameKey": "me", "kCFProxyPasswordKey": "secret"]) { $1 }
    }

    private func url(_ stage: SecureStage, _ path: String = "/file", scheme: String = "https") throws -> URL {
        try #require(URL(string: "\(scheme)://server.test:8443\(path)"))
    }

    @Test(
        "A CONNECT opens a tunnel; connections behind it belong to the server, and are used again",
        arguments: SecureLayer.available)
    func reuse(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        _ = stage.route("/file", .text("hello"))
        let proxy = try await TunnelProxy.started(target: stage.port)
        let session = stage.session { $0.connectionProxyDictionary = Self.dictionary(proxy) }
        for _ in 0..<4 { #expect(try await session.data(from: try url(stage)).0 == Data("hello".utf8)) }
        #expect(proxy.lines == ["CONNECT server.test:8443 HTTP/1.1"])
        #expect(stage.hosts == ["server.test"])
        #expect(stage.server.requests.map(\.target) == ["/file", "/file", "/file", "/file"])
        #expect(stage.server.requests.map { $0.fields["Host"] }.allSatisfy { $0 == "server.test:8443" })
    }

    @Test(
        "Many tasks at once open no more tunnels than the configuration allows connections",
        arguments: SecureLayer.available)
    func many(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        _ = stage.route("/file", .generated(size: 5000))
        let proxy = try await TunnelProxy.started(target: stage.port)
        let session = stage.session { $0.connectionProxyDictionary = Self.dictionary(proxy) }
        let url = try url(stage)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<40 { group.addTask { try await session.data(from: url).0.count } }
            for try await count in group { #expect(count == 5000) }
        }
        #expect(proxy.heads.count <= 6)
    }

    @Test(
        "Credentials for the proxy go to the proxy alone, and the server's fields to the server alone",
        arguments: SecureLayer.available)
    func credentials(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        _ = stage.route("/file", .text("hello"))
        let proxy = try await TunnelProxy.started(
            credentials: ProtectedResource.basic, target: stage.port)
        let session = stage.session { $0.connectionProxyDictionary = Self.dictionaryWithUser(proxy) }
        var request = URLRequest(url: try url(stage))
        request.setValue("Bearer token", forHTTPHeaderField: "Authorization")
        request.setValue("a=1", forHTTPHeaderField: "Cookie")
        for _ in 0..<2 { #expect(try await session.data(for: request).0 == Data("hello".utf8)) }
        #expect(proxy.heads.count == 2)
        #expect(proxy.heads.last?.contains("Proxy-Authorization: \(ProtectedResource.basic)") == true)
        #expect(proxy.heads.allSatisfy { !$0.contains("token") && !$0.contains("Cookie") })
        #expect(stage.server.requests.count == 2)
        #expect(stage.server.requests.allSatisfy { $0.fields["Proxy-Authorization"] == nil })
        #expect(stage.server.requests.allSatisfy { $0.fields["Authorization"] == "Bearer token" })
    }

    @Test(
        "A proxy that opens no tunnel is a failure: its response is neither delivered, followed, stored nor obeyed",
        arguments: [
            "HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\nSet-Cookie: evil=1\r\n\r\nevil",
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 304 Not Modified\r\n\r\n", "HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\nevil",
        ], LoadForm.allCases)
    func refusal(response: String, form: LoadForm) async throws {
        let stage = try await SecureStage()
        let proxy = try await TunnelProxy.started(refusal: response)
        let cookies = HTTPCookieStorage()
        let url = try url(stage)
        let outcome = try await form.load(url) {
            $0.tlsProvider = stage.provider
            $0.httpCookieStorage = cookies
            $0.connectionProxyDictionary = Self.dictionary(proxy)
        }
        outcome.expectFailure(.cannotConnectToHost, at: url)
        #expect(outcome.sentence.contains("proxy refused"))
        #expect(outcome.error?.isRefusalOfProxy == !response.contains("502"))
        #expect(outcome.body == nil || outcome.body == Data())
        #expect(cookies.cookies == [])
        #expect(proxy.heads.count == 1)
        #expect(stage.provider.requests == [])
    }

    @Test("A proxy that wants credentials is a failure whose sentence says where they belong")
    func missingCredentials() async throws {
        let stage = try await SecureStage()
        let proxy = try await TunnelProxy.started(
            refusal: "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n")
        let url = try url(stage)
        let outcome = try await LoadForm.dataAsync.load(url) {
            $0.tlsProvider = stage.provider
            $0.connectionProxyDictionary = Self.dictionary(proxy)
        }
        outcome.expectFailure(.cannotConnectToHost, at: url)
        #expect(outcome.sentence.contains("it wants credentials"))
        #expect(outcome.sentence.contains("belong in the proxy’s URL (https_proxy)"))
        #expect(outcome.error?.isRefusalOfProxy == true)
    }

    @Test(
        "What a proxy sends in place of an answer, or nothing, is not taken for the server's",
        arguments: LoadForm.allCases)
    func noAnswer(form: LoadForm) async throws {
        for (answer, sentence) in [
            ("SSH-2.0-OpenSSH\r\n\r\n", "its answer is not valid HTTP"),
            ("", "it closed the connection before it had answered"),
            ("HTTP/1.1 20", "it closed the connection before it had answered"),
        ] {
            let stage = try await SecureStage()
            let proxy = try await TunnelProxy.started(refusal: answer)
            let url = try url(stage)
            let outcome = try await form.load(url) {
                $0.tlsProvider = stage.provider
                $0.connectionProxyDictionary = Self.dictionary(proxy)
            }
            outcome.expectFailure(.cannotConnectToHost, at: url)
            #expect(outcome.sentence.contains(sentence))
            #expect(outcome.sentence.contains("127.0.0.1:\(proxy.port)"))
        }
    }

    @Test("A stream that the delegate has given is sent after the proxy has asked for credentials, without another one")
    func streamedUpload() async throws {
        let stage = try await SecureStage()
        _ = stage.route("/take", .text("taken"))
        let proxy = try await TunnelProxy.started(credentials: ProtectedResource.basic, target: stage.port)
        let content = GeneratedContent(size: 100_000)
        let witness = Witness(stream: { ScriptedStream(content) })
        let session = stage.session(witness) { $0.connectionProxyDictionary = Self.dictionaryWithUser(proxy) }
        let task = session.uploadTask(withStreamedRequest: Upload.request(try url(stage, "/take"))).resumed()
        await witness.completion()
        #expect(witness.data(of: task) == Data("taken".utf8))
        #expect(witness.events.count { $0 == .neededStream } == 1)
        #expect(stage.server.requests.first?.body == content.data)
    }

    @Test("A handshake that fails behind the tunnel is the task's failure")
    func handshake() async throws {
        let stage = try await SecureStage { $0.handshake = .alert(.noAgreement) }
        let proxy = try await TunnelProxy.started(target: stage.gate.port)
        let url = try url(stage)
        let outcome = try await LoadForm.dataDelegate.load(url) {
            $0.tlsProvider = stage.provider
            $0.connectionProxyDictionary = Self.dictionary(proxy)
        }
        outcome.expectFailure(.secureConnectionFailed, at: url)
        await stage.gate.wait { $0.open == 0 }
    }

    @Test("A task that is cancelled in its handshake behind a tunnel closes the tunnel")
    func cancelling() async throws {
        let stage = try await SecureStage { $0.handshake = .stalled }
        let proxy = try await TunnelProxy.started(target: stage.gate.port)
        let witness = Witness()
        let session = stage.session(witness) { $0.connectionProxyDictionary = Self.dictionary(proxy) }
        await stage.expectCancelling(try url(stage), in: session, witness)
    }

    @Test("A WebSocket's handshake goes through the tunnel, too", arguments: SecureLayer.available)
    func webSocket(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        stage.server.route("/ws", .webSocket())
        let proxy = try await TunnelProxy.started(target: stage.port)
        let session = stage.session { $0.connectionProxyDictionary = Self.dictionary(proxy) }
        let task = session.webSocketTask(with: try url(stage, "/ws", scheme: "wss")).resumed()
        try await task.send(.string("hello"))
        #expect(try await task.receive().text == "hello")
        #expect(proxy.lines == ["CONNECT server.test:8443 HTTP/1.1"])
        task.cancel(with: .normalClosure, reason: nil)
    }

    @Test("An upload goes through a tunnel after the proxy has asked for credentials", arguments: SecureLayer.available)
    func upload(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        _ = stage.route("/take", .text("taken"))
        let proxy = try await TunnelProxy.started(
            credentials: ProtectedResource.basic, target: stage.port)
        let session = stage.session { $0.connectionProxyDictionary = Self.dictionaryWithUser(proxy) }
        var request = URLRequest(url: try url(stage, "/take"))
        request.httpMethod = "POST"
        let content = Data(repeating: 7, count: 100_000)
        request.httpBodyStream = InputStream(data: content)
        #expect(try await session.data(for: request).0 == Data("taken".utf8))
        #expect(stage.server.requests.first?.body.isSame(as: content) == true)
    }

    @Test("Metrics count the tunnel and the request, both over a proxy", arguments: SecureLayer.available)
    func metrics(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        _ = stage.route("/file", .text("hello"))
        let proxy = try await TunnelProxy.started(target: stage.port)
        let observer = TaskWitness()
        let session = stage.session(observer) { $0.connectionProxyDictionary = Self.dictionary(proxy) }
        session.dataTask(with: try url(stage)).resume()
        await observer.completion(of: 1)
        let transactions = try #require(observer.metrics.first?.transactionMetrics)
        #expect(transactions.map(\.isProxyConnection) == [true, true])
        #expect(transactions.map { $0.secureConnectionStartDate != nil } == [false, true])
        #expect(transactions.map(\.negotiatedTLSProtocolVersion) == [nil, .TLSv13])
    }
}

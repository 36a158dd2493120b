import Foundation
import PurlIO
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

/// A connector of either kind, for what both have in common.
enum ProxyConnectorKind: CaseIterable, Sendable {
    case socks, http

    func connector(
        _ port: UInt16, of host: String = "127.0.0.1", as credential: URLCredential? = nil,
        over base: any Connector = SystemConnector()
    ) -> any Connector {
        switch self {
        case .socks: SOCKS5Connector(host: host, port: Int(port), credential: credential, over: base)
        case .http: HTTPProxyConnector(host: host, port: Int(port), credential: credential, over: base)
        }
    }

    /// The proxy's part in making a connection to a host and a port.
    @NetworkActor
    func accept(_ peer: RawPeer, to host: String, _ port: UInt16) async {
        switch self {
        case .socks:
            #expect(await peer.bytes(3) == Data([5, 1, 0]))
            peer.send(bytes: [5, 0])
            let address =
                Data([3, UInt8(host.utf8.count)]) + Data(host.utf8) + Data([UInt8(port >> 8), UInt8(port & 0xFF)])
            #expect(await peer.bytes(3 + address.count) == Data([5, 1, 0]) + address)
            peer.send(bytes: [5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
        case .http:
            let head = await peer.head()
            #expect(head == "CONNECT \(host):\(port) HTTP/1.1\r\nHost: \(host):\(port)\r\nUser-Agent: Purl/1.0\r\n\r\n")
            peer.send("HTTP/1.1 200 Connection established\r\n\r\n")
        }
    }
}

@Suite("Connectors through proxies", .timeLimit(.minutes(5)))
struct ProxyConnectorTests {
    private let sandbox = Sandbox()
    private let url: URL

    init() throws {
        url = try #require(URL(string: "http://server.test/file"))
    }

    private func session(_ connector: any Connector, _ delegate: TaskWitness? = nil) -> URLSession {
        sandbox.session(delegate) { $0.connector = connector }
    }

    private func failure(_ connector: any Connector) async throws -> URLError {
        let session = session(connector)
        return try await #require(throws: URLError.self) { try await session.data(from: url) }
    }

    @Test(
        "Requests go through the proxy as they would go to the server, over one connection",
        arguments: ProxyConnectorKind.allCases)
    func requests(kind: ProxyConnectorKind) async throws {
        let heads = LockedValue<[String]>([])
        let proxy = try await RawListener.started { peer in
            await kind.accept(peer, to: "server.test", 80)
            for _ in 0..<2 {
                let head = await peer.head() ?? ""
                heads.withLock { $0.append(head) }
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
            _ = await peer.rest()
        }
        let session = session(kind.connector(proxy.port))
        for _ in 0..<2 { #expect(try await session.data(from: url).0 == Data("ok".utf8)) }
        #expect(heads.withLock { $0 }.allSatisfy { $0.hasPrefix("GET /file HTTP/1.1\r\nHost: server.test\r\n") })
        #expect(heads.withLock { $0 }.count == 2)
        #expect(proxy.acceptedConnections == 1)
    }

    @Test(
        "Two proxies are a chain: the first one leads to the second, which leads to the server",
        arguments: ProxyConnectorKind.allCases, ProxyConnectorKind.allCases)
    func chain(first: ProxyConnectorKind, second: ProxyConnectorKind) async throws {
        let proxy = try await RawListener.started { peer in
            await first.accept(peer, to: "second.test", 3128)
            await second.accept(peer, to: "server.test", 80)
            _ = await peer.head()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            _ = await peer.rest()
        }
        let session = session(second.connector(3128, of: "second.test", over: first.connector(proxy.port)))
        #expect(try await session.data(from: url).0 == Data("ok".utf8))
    }

    @Test("Content of any size goes through two proxies in both directions")
    func content() async throws {
        let content = GeneratedContent(size: 3 << 20)
        let server = try LoopbackServer()
        server.route("/large", .generated(content))
        server.route("/upload", .text("thanks"))
        let second = try await TunnelProxy.started(target: server.port)
        let first = try await TunnelProxy.started(target: second.port)
        let session = session(
            HTTPProxyConnector(
                host: "second.test", port: 3128, over: HTTPProxyConnector(host: "127.0.0.1", port: Int(first.port))))
        #expect(try await session.data(from: #require(URL(string: "http://server.test/large"))).0 == content.data)
        var request = URLRequest(url: try #require(URL(string: "http://server.test/upload")))
        request.httpMethod = "PUT"
        _ = try await session.upload(for: request, from: content.data)
        #expect(server.requests.last?.body == content.data)
        #expect(first.lines == ["CONNECT second.test:3128 HTTP/1.1"])
        #expect(second.lines == ["CONNECT server.test:80 HTTP/1.1"])
    }

    @Test("A proxy is reached over a transport that is not a socket", arguments: [false, true])
    func inMemory(speaksFirst: Bool) async throws {
        let proxy = try LoopbackServer(.memory)
        let greeting = "220 ready\r\n"
        proxy.route(
            "mail.test:25", method: "CONNECT",
            speaksFirst
                ? .stream(.echo, after: "HTTP/1.1 200 OK\r\n\r\n\(greeting)")
                : .stream(.echo.send(greeting), status: 200))
        let log = LoggedConnector(proxy.connector)
        let session = session(HTTPProxyConnector(host: "proxy.test", port: 3128, over: log))
        let task = session.streamTask(withHostName: "mail.test", port: 25).resumed()
        #expect(try await task.text(11) == greeting)
        try await task.write("through")
        #expect(try await task.text(7) == "through")
        #expect(log.requests.map(\.host) == ["proxy.test"])
        #expect(log.requests.map(\.scheme) == ["http"])
        #expect(log.requests.first?.deadline != nil)
        task.cancel()
    }

    @Test(
        "A stream begins with the bytes that come right after the proxy's answer",
        arguments: ProxyConnectorKind.allCases)
    func speaksFirst(kind: ProxyConnectorKind) async throws {
        let proxy = try await RawListener.started { peer in
            await kind.accept(peer, to: "server.test", 7)
            peer.send("greeting")
            #expect(await peer.bytes(5) == Data("reply".utf8))
            peer.send("bye")
        }
        let session = session(kind.connector(proxy.port))
        let task = session.streamTask(withHostName: "server.test", port: 7).resumed()
        #expect(try await task.text(8) == "greeting")
        try await task.write("reply")
        #expect(try await task.text(3) == "bye")
        task.cancel()
    }

    @Test("A secure server is reached through a proxy, and judged by its own name")
    func secure() async throws {
        let stage = try await SecureStage()
        _ = stage.route("/file", .text("hello"))
        let proxy = try await TunnelProxy.started(target: stage.gate.port)
        let session = stage.session { $0.connector = HTTPProxyConnector(host: "127.0.0.1", port: Int(proxy.port)) }
        let url = try #require(URL(string: "https://server.test:8443/file"))
        #expect(try await session.data(from: url).0 == Data("hello".utf8))
        #expect(proxy.lines == ["CONNECT server.test:8443 HTTP/1.1"])
        #expect(stage.gate.seen.hellos == ["server.test"])
    }

    // MARK: Credentials

    @Test("A SOCKS proxy receives the user and the password when it asks for them")
    func socksCredential() async throws {
        let proxy = try await RawListener.started { peer in
            #expect(await peer.bytes(4) == Data([5, 2, 0, 2]))
            peer.send(bytes: [5, 2])
            #expect(await peer.bytes(11) == Data([1, 2]) + Data("me".utf8) + Data([6]) + Data("secret".utf8))
            peer.send(bytes: [1, 0])
            _ = await peer.bytes(18)
            peer.send(bytes: [5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
            _ = await peer.head()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            _ = await peer.rest()
        }
        let session = session(ProxyConnectorKind.socks.connector(proxy.port, as: ProtectedResource.credential()))
        #expect(try await session.data(from: url).0 == Data("ok".utf8))
    }

    private static let challenges: [(name: String, end: String)] = [
        ("whose connection stays", "Content-Length: 4\r\n\r\nwho?"),
        ("without content", "Content-Length: 0\r\n\r\n"),
        ("whose connection ends", "Connection: close\r\nContent-Length: 4\r\n\r\nwho?"),
        ("that runs until close", "\r\nwho?"),
        ("in chunks", "Transfer-Encoding: chunked\r\n\r\n4\r\nwho?\r\n0\r\n\r\n"),
        ("that is too long to be read", "Content-Length: 100000\r\n\r\n"),
    ]

    @Test(
        "A 407 is answered with the credential, and what was accepted is sent unasked after that", arguments: challenges
    )
    func httpCredential(challenge: (name: String, end: String)) async throws {
        let fields = LockedValue<[String?]>([])
        let proxy = try await RawListener.started { peer in
            while let head = await peer.head() {
                let credentials = head.split(separator: "\r\n").first { $0.hasPrefix("Proxy-Authorization: ") }
                fields.withLock { $0.append(credentials.map { String($0) }) }
                guard credentials == nil else { break }
                peer.send("HTTP/1.1 407 Who\r\nProxy-Authenticate: \(Proxy.basicChallenge)\r\n\(challenge.end)")
                guard challenge.end.hasPrefix("Content-Length") else { return }
            }
            peer.send("HTTP/1.1 200 OK\r\n\r\n")
            guard await peer.head() != nil else { return }
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        }
        let session = session(ProxyConnectorKind.http.connector(proxy.port, as: ProtectedResource.credential()))
        for _ in 0..<2 { #expect(try await session.data(from: url).0 == Data("ok".utf8)) }
        let sent = "Proxy-Authorization: \(ProtectedResource.basic)"
        #expect(fields.withLock { $0 } == [nil, sent, sent])
    }

    @Test("A Digest challenge is answered, and a nonce that is too old is renewed")
    func digest() async throws {
        let seen = LockedValue<[String]>([])
        let proxy = try await RawListener.started { peer in
            for nonce in ["first", "second"] {
                let head = await peer.head() ?? ""
                seen.withLock { $0.append(head) }
                let stale = nonce == "second" ? ", stale=true" : ""
                peer.send(
                    "HTTP/1.1 407 Who\r\nProxy-Authenticate: Digest realm=\"out\", nonce=\"\(nonce)\", qop=\"auth\"\(stale)\r\nContent-Length: 0\r\n\r\n"
                )
            }
            let head = await peer.head() ?? ""
            seen.withLock { $0.append(head) }
            peer.send("HTTP/1.1 200 OK\r\n\r\n")
            _ = await peer.head()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            _ = await peer.rest()
        }
        let session = session(ProxyConnectorKind.http.connector(proxy.port, as: ProtectedResource.credential()))
        #expect(try await session.data(from: url).0 == Data("ok".utf8))
        let heads = seen.withLock { $0 }
        #expect(!heads[0].contains("Proxy-Authorization"))
        #expect(heads[1].contains("nonce=\"first\"") && heads[1].contains("uri=\"server.test:80\""))
        #expect(heads[2].contains("nonce=\"second\""))
        #expect(heads.allSatisfy { !$0.contains("secret") })
    }

    @Test("A credential that is refused is sent once", arguments: [true, false])
    func wrongCredential(hasCredential: Bool) async throws {
        let proxy = try await TunnelProxy.started(credentials: "Basic other")
        let credential = hasCredential ? ProtectedResource.credential() : nil
        let error = try await failure(ProxyConnectorKind.http.connector(proxy.port, as: credential))
        #expect(error.code == .cannotConnectToHost)
        #expect(
            (error as NSError).localizedFailureReason
                == "The HTTP proxy “127.0.0.1:\(proxy.port)” made no connection to “server.test:80”: it wants credentials, and those that it was given are missing or wrong."
        )
        #expect(proxy.heads.count == (hasCredential ? 2 : 1))
    }

    // MARK: Failures

    @Test(
        "A refusal, or a wrong answer, fails with a sentence that names the proxy and the reason",
        arguments: [
            (.socks, [5, 0, 5, 5, 0, 1], "the server refused its connection"),
            (.socks, [5, 0, 5, 2, 0, 1], "its rules do not allow the connection"),
            (.socks, [4, 0], "it does not speak SOCKS 5"),
            (.socks, [], "it closed the connection before there was one to the server"),
            (.http, Array("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n".utf8), "it refused with status 403"),
            (.http, Array("HTTP/1.1 503 No\r\nContent-Length: 9\r\n\r\n".utf8), "it refused with status 503"),
            (.http, Array("HTTP/1.1 101 Switching Protocols\r\n\r\n".utf8), "its answer is not valid HTTP"),
            (.http, Array("220 mail.test ESMTP\r\n".utf8), "its answer is not valid HTTP"),
            (.http, Array("HTTP/1.1 2".utf8), "it closed the connection before it had answered"),
            (.http, [], "it closed the connection before it had answered"),
        ] as [(ProxyConnectorKind, [UInt8], String)])
    func refusal(kind: ProxyConnectorKind, answer: [UInt8], reason: String) async throws {
        let proxy = try await RawListener.started { peer in
            if kind == .http { _ = await peer.head() } else { _ = await peer.bytes(3) }
            peer.send(bytes: answer)
        }
        let error = try await failure(kind.connector(proxy.port))
        #expect(error.code == .cannotConnectToHost)
        #expect(error.failingURL == url)
        let name = kind == .http ? "HTTP" : "SOCKS"
        #expect(
            (error as NSError).localizedFailureReason
                == "The \(name) proxy “127.0.0.1:\(proxy.port)” made no connection to “server.test:80”: \(reason).")
    }

    @Test("A proxy that cannot be reached is an error of its own connector", arguments: ProxyConnectorKind.allCases)
    func unreachable(kind: ProxyConnectorKind) async throws {
        let port = try DeadPort()
        let error = try await failure(kind.connector(port.number))
        #expect(error.code == .cannotConnectToHost)
        #expect((error as NSError).localizedFailureReason?.contains("127.0.0.1:\(port.number)") == true)
        let thrown = URLError(.secureConnectionFailed)
        #expect(try await failure(kind.connector(1, over: FailingConnector(error: thrown))).code == thrown.code)
        #expect(try await failure(kind.connector(0)).code == .badURL)
    }

    @Test(
        "A host that cannot be asked for is an error, not a message to the proxy",
        arguments: ProxyConnectorKind.allCases, ["a\r\nX: b", "/run/socket"])
    func unsendable(kind: ProxyConnectorKind, host: String) async throws {
        let proxy = try await RawListener.started { peer in
            if kind == .http { #expect(await peer.rest() == Data()) } else { _ = await peer.rest() }
        }
        let request = ConnectionRequest(scheme: "http", host: host, port: 80)
        // SOCKS has a length before the name, which may be any.
        guard kind == .http || host.hasPrefix("/") else { return }
        let error = try await #require(throws: URLError.self) {
            try await kind.connector(proxy.port).connect(request)
        }
        #expect(error.code == .cannotConnectToHost)
    }

    @Test(
        "A proxy that stalls is left when the time is over, and when the task is cancelled",
        arguments: ProxyConnectorKind.allCases, [true, false])
    func stalling(kind: ProxyConnectorKind, timesOut: Bool) async throws {
        let (calls, called) = AsyncStream.makeStream(of: Void.self)
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        let proxy = try await RawListener.started { peer in
            if kind == .http { _ = await peer.head() } else { _ = await peer.bytes(3) }
            called.yield()
            #expect(await peer.rest() == Data())
            ended.yield()
        }
        let witness = TaskWitness()
        let session = session(kind.connector(proxy.port), witness)
        var request = URLRequest(url: url)
        if timesOut { request.timeoutInterval = 0.2 }
        let task = session.dataTask(with: request).resumed()
        for await _ in calls { break }
        if !timesOut { task.cancel() }
        await witness.completion()
        #expect(witness.events.last == .completed(timesOut ? .timedOut : .cancelled))
        for await _ in ends { break }
    }

    @Test(
        "A session that waits for connectivity asks again after what may pass, and only then",
        arguments: [(502, true), (503, true), (403, false), (407, false)])
    func connectivity(status: Int, mayPass: Bool) async throws {
        let proxy = try await RawListener.started { peer in
            _ = await peer.head()
            peer.send("HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n")
            _ = await peer.rest()
        }
        let witness = TaskWitness()
        let session = sandbox.session(witness) {
            $0.connector = ProxyConnectorKind.http.connector(proxy.port)
            $0.waitsForConnectivity = true
        }
        let task = session.dataTask(with: url).resumed()
        if mayPass {
            await witness.wait { $0.contains(.waiting) }
            task.cancel()
        }
        await witness.completion()
        #expect(witness.events.last == .completed(mayPass ? .cancelled : .cannotConnectToHost))
        #expect(witness.events.contains(.waiting) == mayPass)
    }
}

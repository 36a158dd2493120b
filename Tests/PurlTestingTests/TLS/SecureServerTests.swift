import Foundation
import Purl
import PurlTLS
import PurlTesting
import Synchronization
import Testing

@Suite("A server that speaks TLS", .enabled(if: TestAuthority.isAvailable), .timeLimit(.minutes(5)))
struct SecureServerTests {
    @Test("Loads work over every transport, and the URL is one of https", arguments: [false, true])
    func transports(isInMemory: Bool) async throws {
        let transports: [LoopbackServer.Transport] = isInMemory ? [.memory] : [.ipv4, .ipv6]
        for transport in transports {
            let server = try LoopbackServer(transport, tls: authority)
            #expect(server.url.scheme == "https")
            let url = server.route("/file", .generated(size: 300_000))
            let session = try secureSession { if isInMemory { $0.connector = server.connector } }
            for _ in 0..<3 { #expect(try await session.data(from: url).0.count == 300_000) }
            #expect(server.requests.map(\.connection) == [1, 1, 1])
            let handshake = try #require(server.handshakes.first)
            #expect(handshake.version == "TLSv1.3")
            #expect(handshake.applicationProtocol == "http/1.1")
            #expect(handshake.serverName == (isInMemory ? "in-memory.test" : nil))
            #expect(!handshake.isResumed)
        }
    }

    @Test("Bodies go both ways, whatever their size", arguments: [0, 1, 16_384, 70_000, 3_000_000])
    func echo(size: Int) async throws {
        let server = try LoopbackServer(tls: authority)
        let url = server.route("/echo", .computed { .bytes($0.body) })
        let content = GeneratedContent(size: size, seed: 3).data
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        let session = try secureSession()
        for _ in 0..<2 { #expect(try await session.upload(for: request, from: content).0 == content) }
    }

    @Test("A WebSocket, an upload that resumes and a throttled reply work as without TLS")
    func features() async throws {
        let server = try LoopbackServer(tls: authority)
        server.route("/ws", .webSocket())
        let session = try secureSession { $0.resumableUploads = .always }
        let address = server.url("/ws").absoluteString.replacing("https", with: "wss", maxReplacements: 1)
        let socket = session.webSocketTask(with: try #require(URL(string: address)))
        socket.resume()
        let large = String(repeating: "x", count: 300_000)
        try await socket.send(.string(large))
        guard case .string(let text) = try await socket.receive() else { throw URLError(.badServerResponse) }
        #expect(text == large)
        socket.cancel(with: .normalClosure, reason: nil)

        let target = UploadTarget(reply: .text("taken").status(201))
        target.fault(.connection(.record(.truncated)), at: .offset(300_000))
        var request = URLRequest(url: server.route("/files", .upload(to: target)))
        request.httpMethod = "PUT"
        let content = GeneratedContent(size: 1 << 20, seed: 19)
        #expect(try await session.upload(for: request, from: content.data).0 == Data("taken".utf8))
        #expect(target.uploads.map { content.matches($0.content) } == [true])

        let slow = server.route(
            "/slow", .generated(size: 50_000).throttled(bytesPerSecond: 1_000_000).inPieces(of: 999))
        #expect(try await session.data(from: slow).0.count == 50_000)
    }

    @Test("A server that speaks first does so as soon as the handshake is done")
    func stream() async throws {
        let server = try LoopbackServer(
            stream: .listening.send("hello\n").expect("bye\n").finish(), tls: ServerTLS(authority))
        let session = try secureSession()
        let task = session.streamTask(withHostName: "127.0.0.1", port: Int(server.port))
        task.startSecureConnection()
        task.resume()
        let (data, _) = try await task.readData(ofMinLength: 6, maxLength: 6, timeout: 0)
        #expect(data == Data("hello\n".utf8))
        try await task.write(Data("bye\n".utf8), timeout: 0)
        let (_, atEOF) = try await task.readData(ofMinLength: 1, maxLength: 10, timeout: 0)
        #expect(atEOF)
    }

    // MARK: Options

    @Test("The version is the highest that both sides accept", arguments: [ServerTLS.Version.tls12, .tls13])
    func versions(version: ServerTLS.Version) async throws {
        var tls = ServerTLS(authority)
        tls.maximumVersion = version
        let server = try LoopbackServer(tls: tls)
        _ = try await secureSession().data(from: server.route("/file", .text("hello")))
        #expect(server.handshakes.map(\.version) == [version == .tls12 ? "TLSv1.2" : "TLSv1.3"])
    }

    @Test("A server of old versions alone is refused")
    func oldVersion() async throws {
        var tls = ServerTLS(authority)
        (tls.minimumVersion, tls.maximumVersion) = (.tls10, .tls11)
        let server = try LoopbackServer(tls: tls)
        let url = server.route("/file", .text("hello"))
        #expect(await outcome(of: url, in: try secureSession()).code == .secureConnectionFailed)
        await server.wait { !$0.failedHandshakes.isEmpty }
    }

    @Test("A client with a certificate is known by its name; one without is refused where it is required")
    func clients() async throws {
        for version in [ServerTLS.Version.tls12, .tls13] {
            var tls = ServerTLS(authority)
            tls.clientCertificate = .required
            tls.maximumVersion = version
            let server = try LoopbackServer(tls: tls)
            let url = server.route("/file", .text("hello"))
            let alice = try authority.issueClient(name: "alice")
            _ = try await secureSession(identity: alice).data(from: url)
            #expect(server.handshakes.map(\.clientName) == ["alice"])
            let anonymous = await outcome(of: url, in: try secureSession())
            #expect(anonymous.code == .clientCertificateRequired || anonymous.code == .secureConnectionFailed)
            let stranger = try authority.issueClient(name: "mallory", .unknownRoot)
            let refused = await outcome(of: url, in: try secureSession(identity: stranger))
            #expect(refused.code == .clientCertificateRejected)
            #expect(server.requests.count == 1)
            await server.wait { $0.failedHandshakes.count == 2 }
        }
    }

    @Test("Sessions are resumed, unless the server does not", arguments: [true, false])
    func resumption(isOn: Bool) async throws {
        var tls = ServerTLS(authority)
        tls.resumesSessions = isOn
        let server = try LoopbackServer(tls: tls)
        let url = server.route("/file", .text("hello").closingConnection())
        let session = try secureSession()
        for _ in 0..<3 { _ = try await session.data(from: url) }
        #expect(server.handshakes.map(\.isResumed) == [false, isOn, isOn])
    }

    @Test("The protocol is the first that is offered, none, or one that was not asked for")
    func applicationProtocols() async throws {
        let rows: [(ServerTLS.ApplicationProtocol, String?, URLError.Code?)] = [
            (.firstOffered(of: ["h2", "http/1.1"]), "http/1.1", nil), (.none, nil, nil),
            (.firstOffered(of: ["h2"]), nil, .secureConnectionFailed), (.always("h2"), "h2", .secureConnectionFailed),
        ]
        for (choice, name, code) in rows {
            var tls = ServerTLS(authority)
            tls.applicationProtocol = choice
            let server = try LoopbackServer(tls: tls)
            let url = server.route("/file", .text("hello"))
            #expect(await outcome(of: url, in: try secureSession()).code == code)
            if code == nil { #expect(server.handshakes.map(\.applicationProtocol) == [name]) }
        }
    }

    @Test("One server answers to http and to https, on addresses and in memory, and keeps one record")
    func bothSchemes() async throws {
        let server = try LoopbackServer()
        let plain = server.route("/file", .text("hello"))
        let secure = try server.listen(tls: ServerTLS(authority)).appendingPathComponent("file")
        #expect(secure.scheme == "https")
        let session = try secureSession()
        for url in [plain, secure] { #expect(try await session.data(from: url).0 == Data("hello".utf8)) }
        let connector = try server.connector(tls: ServerTLS(authority))
        let inMemory = try secureSession { $0.connector = connector }
        for scheme in ["http", "https"] {
            let url = try #require(URL(string: "\(scheme)://any.test/file"))
            #expect(try await inMemory.data(from: url).0 == Data("hello".utf8))
        }
        #expect(server.requests.count == 4)
        #expect(server.handshakes.map(\.serverName) == [nil, "any.test"])
        server.stop()
        #expect(await outcome(of: secure, in: try secureSession()).code == .cannotConnectToHost)
    }

    @Test("An observer is told of handshakes")
    func events() async throws {
        let server = try LoopbackServer(tls: authority)
        let events = Mutex<[String]>([])
        server.observe { event in events.withLock { $0.append("\(event)") } }
        _ = try await secureSession().data(from: server.route("/file", .text("hello")))
        let seen = events.withLock { $0 }
        #expect(seen.prefix(3).map { $0.prefix(7) } == ["accepts", "agrees ", "receive"])
        #expect(seen.dropFirst().first?.contains("TLSv1.3") == true)
    }

    // MARK: Many at once

    @Test("Servers that share an authority serve many clients at once")
    func shared() async throws {
        let authority = TestAuthority()
        let root = try authority.rootDER
        let total = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let server = try LoopbackServer(tls: authority)
                    let url = server.route("/file", .generated(size: 5_000).closingConnection())
                    let session = try secureSession { $0.tlsProvider = SystemTLS(trusting: root) }
                    var total = 0
                    for _ in 0..<10 { total += try await session.data(from: url).0.count }
                    return total
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(total == 8 * 10 * 5_000)
    }

    @Test("A server that stops while handshakes stall leaves no connection")
    func stopping() async throws {
        let server = try LoopbackServer(tls: ServerTLS(authority).fault(.stall(until: nil), at: .midFirstFlight))
        let url = server.route("/file", .text("hello"))
        let session = try secureSession { $0.httpMaximumConnectionsPerHost = 20 }
        await withTaskGroup(of: URLError.Code?.self) { group in
            for _ in 0..<20 { group.addTask { await outcome(of: url, in: session).code } }
            await server.wait { $0.openConnections == 20 }
            server.stop()
            for await code in group { #expect(code != nil) }
        }
        await server.waitUntilDisconnected()
    }
}

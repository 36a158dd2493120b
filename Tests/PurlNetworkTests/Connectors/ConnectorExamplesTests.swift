import Foundation
import PurlIO
import PurlTesting
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("The connectors of the page about connections of another kind", .timeLimit(.minutes(5)))
struct ConnectorExamplesTests {
    private let configuration: URLSessionConfiguration
    private let sandbox = Sandbox()

    init() throws {
        configuration = sandbox.configuration()
    }

    @Test("In memory")
    func memory() async throws {
        let server = try LoopbackServer(.memory)
        server.route("/greeting", .text("hello"))
        configuration.connector = server.connector
        let (data, _) = try await URLSession(configuration: configuration).data(from: server.url("/greeting"))
        #expect(data == Data("hello".utf8))
    }

    @Test("A descriptor that is there already is used once")
    func inherited() async throws {
        let (near, far) = try SocketPair.make()
        defer { close(far) }
        let environment = ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "1"]
        configuration.connector = InheritedSocket(environment: environment, first: near)
        let session = URLSession(configuration: configuration)
        let url = try #require(URL(string: "http://parent.test/"))
        let response = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok".utf8)
        #expect(write(far, response, response.count) == response.count)
        #expect(try await session.data(from: url).0 == Data("ok".utf8))
        let error = try await #require(throws: URLError.self) { try await session.data(from: url) }
        #expect(error.code == .cannotConnectToHost)
        session.invalidateAndCancel()
        await #expect(throws: POSIXError(.ENOTCONN)) {
            try await InheritedSocket(environment: [:]).connect(
                ConnectionRequest(scheme: "http", host: "parent.test", port: 80))
        }
    }

    @Test("Through proxies, one behind another")
    func proxies() async throws {
        let proxy = try await RawListener.started { peer in
            let refused = await peer.head()
            #expect(refused?.hasPrefix("CONNECT gateway.example:1080 HTTP/1.1\r\n") == true)
            peer.send("HTTP/1.1 407 Who\r\nProxy-Authenticate: \(Proxy.basicChallenge)\r\nContent-Length: 0\r\n\r\n")
            #expect(await peer.head()?.contains("Proxy-Authorization: \(ProtectedResource.basic)\r\n") == true)
            peer.send("HTTP/1.1 200 OK\r\n\r\n")
            await ProxyConnectorKind.socks.accept(peer, to: "server.test", 80)
            _ = await peer.head()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            _ = await peer.rest()
        }
        let company = HTTPProxyConnector(
            host: "127.0.0.1", port: Int(proxy.port),
            credential: URLCredential(user: "me", password: "secret", persistence: .forSession))
        configuration.connector = SOCKS5Connector(host: "gateway.example", over: company)
        let session = sandbox.session(of: configuration)
        let url = try #require(URL(string: "http://server.test/"))
        #expect(try await session.data(from: url).0 == Data("ok".utf8))
    }

    @Test("Abstract names")
    func abstractNames() async throws {
        let name = "purl-\(UUID().uuidString)"
        let listener = try AbstractListener(name)
        configuration.connector = AbstractSocket(name: name)
        let session = URLSession(configuration: configuration)
        let url = try #require(URL(string: "http://local.test/"))
        async let data = session.data(from: url).0
        await listener.respond("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        #expect(try await data == Data("ok".utf8))
        session.invalidateAndCancel()
        configuration.connector = AbstractSocket(name: name + "-none")
        let other = URLSession(configuration: configuration)
        let error = try await #require(throws: URLError.self) {
            try await other.data(from: url)
        }
        #expect((error.userInfo[NSUnderlyingErrorKey] as? POSIXError)?.code == .ECONNREFUSED)
        other.invalidateAndCancel()
    }

    @Test("The page has the code that is tested here")
    func page() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../..")
        let page = try String(
            contentsOf: root.appendingPathComponent("Sources/Purl/Purl.docc/Connectors.md"), encoding: .utf8)
        let source = try String(contentsOf: URL(fileURLWithPath: #filePath), encoding: .utf8)
        let lines = Set(source.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) })
        let examples = page.components(separatedBy: "```swift\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
        #expect(examples.count == 4)
        for line in examples.prefix(3).joined().split(separator: "\n") {
            #expect(lines.contains(line.trimmingCharacters(in: .whitespaces)), "\(line)")
        }
    }
}

final class InheritedSocket: Connector {
    private let descriptor: Mutex<Int32?>

    init(environment: [String: String] = ProcessInfo.processInfo.environment, first: Int32 = 3) {
        let isOurs = environment["LISTEN_PID"] == "\(getpid())"
        let count = environment["LISTEN_FDS"].flatMap { Int($0) } ?? 0
        descriptor = Mutex(isOurs && count > 0 ? first : nil)
    }

    func connect(_ request: ConnectionRequest) async throws -> ConnectedTransport {
        let taken = descriptor.withLock { descriptor in
            defer { descriptor = nil }
            return descriptor
        }
        guard let taken else { throw POSIXError(.ENOTCONN) }
        return .descriptor(taken)
    }
}

struct AbstractSocket: Connector {
    let name: String

    func connect(_ request: ConnectionRequest) async throws -> ConnectedTransport {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = [0] + Array(name.utf8)
        guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else { throw POSIXError(.ENAMETOOLONG) }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Foundation.connect(descriptor, $0, length) }
        }
        guard result == 0 else {
            let code = POSIXErrorCode(rawValue: errno) ?? .EIO
            close(descriptor)
            throw POSIXError(code)
        }
        return .descriptor(descriptor)
    }
}

/// Listens on an abstract name, for one client.
private final class AbstractListener: Sendable {
    private let descriptor: Int32

    init(_ name: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = [0] + Array(name.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard result == 0, listen(descriptor, 1) == 0 else { throw POSIXError(.EADDRINUSE) }
    }

    deinit { close(descriptor) }

    /// Sends a text to the client, whatever it sends.
    func respond(_ text: String) async {
        await withCheckedContinuation { continuation in
            let thread = Thread { [descriptor] in
                let client = accept(descriptor, nil, nil)
                var byte: UInt8 = 0
                _ = recv(client, &byte, 1, 0)
                _ = write(client, text, text.utf8.count)
                shutdown(client, Int32(SHUT_WR))
                // Until the client has closed its end, too: what is unread would reset the connection.
                while recv(client, &byte, 1, 0) > 0 {}
                close(client)
                continuation.resume()
            }
            thread.start()
        }
    }
}

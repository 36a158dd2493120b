import Foundation
import PurlTesting
import Testing

@Suite("purl get through a proxy", .timeLimit(.minutes(5)))
struct ProxyTests {
    let folder = TemporaryFolder()
    let proxy: LoopbackServer
    let server: LoopbackServer

    init() throws {
        proxy = try LoopbackServer()
        proxy.fallback(.text("proxy"))
        server = try LoopbackServer()
        server.fallback(.text("server"))
    }

    private var proxyURL: String { "http://127.0.0.1:\(proxy.port)" }

    private func get(_ options: [String] = [], _ environment: [String: String] = [:]) async throws -> String {
        let url = server.url("/file").absoluteString
        let (code, lines) = try await PurlProcess.run(["get", url] + options, in: folder, environment: environment)
        #expect(code == 0, "\(lines)")
        return String(decoding: folder.contents("file"), as: UTF8.self)
    }

    /// Loads from a host that only the proxy knows; returns what arrived at the proxy.
    private func getElsewhere(_ options: [String] = [], _ environment: [String: String]) async throws -> [String] {
        _ = try await PurlProcess.run(
            ["get", "http://nowhere.invalid/file"] + options, in: folder, environment: environment)
        return proxy.requests.map(\.target)
    }

    @Test("uses the proxy in the environment")
    func environment() async throws {
        #expect(try await getElsewhere([], ["http_proxy": proxyURL]) == ["http://nowhere.invalid/file"])
        #expect(folder.contents("file") == Data("proxy".utf8))
    }

    @Test("uses no proxy of the environment for this machine")
    func thisMachine() async throws {
        #expect(try await get([], ["http_proxy": proxyURL]) == "server")
    }

    @Test("uses no proxy for the hosts in no_proxy")
    func exceptions() async throws {
        #expect(try await getElsewhere([], ["http_proxy": proxyURL, "no_proxy": "invalid"]) == [])
    }

    @Test("uses no proxy with --no-proxy")
    func none() async throws {
        #expect(try await getElsewhere(["--no-proxy"], ["http_proxy": proxyURL]) == [])
    }

    @Test("uses the proxy of --proxy instead of the environment's")
    func named() async throws {
        let environment = ["http_proxy": "http://elsewhere.invalid", "no_proxy": "*"]
        #expect(try await get(["--proxy", proxyURL], environment) == "proxy")
    }

    @Test(
        "asks a SOCKS proxy for the connection, in capitals and with its own look-up too",
        arguments: ["socks5", "SOCKS5H"])
    func socks(_ scheme: String) async throws {
        let head = "GET /file HTTP/1.1\r\nHost: nowhere.invalid\r\n"
        proxy.stream(
            .listening.expect(Data([5, 1, 0])).send(Data([5, 0]))
                .expect(Data([5, 1, 0, 3, 15]) + Data("nowhere.invalid".utf8) + Data([0, 80]))
                .send(Data([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
                .expect(head).send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsocks"))
        let (code, lines) = try await PurlProcess.run(
            ["get", "http://nowhere.invalid/file", "--proxy", "\(scheme)://127.0.0.1:\(proxy.port)"], in: folder)
        #expect(code == 0, "\(lines)")
        #expect(folder.contents("file") == Data("socks".utf8))
    }

    @Test(
        "asks the SOCKS proxy that the environment alone names",
        arguments: [
            ["all_proxy": "socks5"], ["ALL_PROXY": "socks5h"], ["all_proxy": "SOCKS5"], ["http_proxy": "socks5"],
            ["http_proxy": "", "all_proxy": "socks5"],
        ])
    func socksOfEnvironment(_ variables: [String: String]) async throws {
        proxy.stream(
            .listening.expect(Data([5, 1, 0])).send(Data([5, 0]))
                .expect(Data([5, 1, 0, 3, 15]) + Data("nowhere.invalid".utf8) + Data([0, 80]))
                .send(Data([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
                .expect("GET /file HTTP/1.1\r\nHost: nowhere.invalid\r\n")
                .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nsocks"))
        let environment = variables.mapValues { $0.isEmpty ? "" : "\($0)://127.0.0.1:\(proxy.port)" }
        let (code, lines) = try await PurlProcess.run(
            ["get", "http://nowhere.invalid/file"], in: folder, environment: environment)
        #expect(code == 0, "\(lines)")
        #expect(folder.contents("file") == Data("socks".utf8))
    }

    @Test("sends the user and password in the proxy's URL")
    func user() async throws {
        proxy.fallback(
            .computed { request in
                request.fields["Proxy-Authorization"] == "Basic bWU6c2VjcmV0"
                    ? .text("proxy") : .status(407).field("Proxy-Authenticate", "Basic realm=p")
            })
        #expect(try await get(["--proxy", "http://me:secret@127.0.0.1:\(proxy.port)"]) == "proxy")
    }
}

import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Authentication to a proxy", .timeLimit(.minutes(5)))
struct ProxyAuthenticationTests {
    private let sandbox = Sandbox()
    private let proxy: LoopbackServer
    private let url: URL

    init() throws {
        proxy = try LoopbackServer()
        url = try #require(URL(string: "http://example.invalid/file"))
    }

    private func seen(_ name: String) -> [String?] { proxy.requests.map { $0.fields[name] } }

    @Test("The configuration's user answers a 407 without a call of the delegate", arguments: LoadForm.allCases)
    func configured(form: LoadForm) async throws {
        proxy.fallback(Proxy.reply())
        let witness = ProtectedResource.witness(.cancelAuthenticationChallenge)
        let outcome = try await form.load(URLRequest(url: url), witness: witness) {
            $0.connectionProxyDictionary = Proxy.dictionary(
                proxy, ["HTTPProxyUsername": ProtectedResource.user, "HTTPProxyPassword": ProtectedResource.password])
        }
        outcome.expectSuccess(ProtectedResource.inside)
        #expect(witness.challenges == [])
        #expect(seen("Proxy-Authorization") == [nil, ProtectedResource.basic])
        #expect(seen("Authorization") == [nil, nil])
    }

    @Test("The user in the proxy's URL answers a 407 without a call of the delegate")
    func inURL() async throws {
        proxy.fallback(Proxy.reply())
        let outcome = try await LoadForm.dataAsync.load(url) {
            $0.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "http://me:secret@127.0.0.1:\(proxy.port)"]
        }
        outcome.expectSuccess(ProtectedResource.inside)
    }

    @Test("The delegate's challenge has the proxy's protection space", arguments: LoadForm.allCases)
    func delegate(form: LoadForm) async throws {
        proxy.fallback(Proxy.reply())
        let spaces = LockedValue<[URLProtectionSpace]>([])
        let witness = Witness(challenge: { challenge in
            spaces.withLock { $0.append(challenge.protectionSpace) }
            return (.useCredential, ProtectedResource.credential())
        })
        let outcome = try await form.load(URLRequest(url: url), witness: witness) {
            $0.connectionProxyDictionary = Proxy.dictionary(proxy)
        }
        outcome.expectSuccess(ProtectedResource.inside)
        #expect(witness.challenges == [.challenge("Basic", "way out", failures: 0)])
        let space = try #require(spaces.withLock { $0 }.first)
        #expect(space.isProxy())
        #expect(space.proxyType == NSURLProtectionSpaceHTTPProxy)
        #expect(space.host == "127.0.0.1")
        #expect(space.port == Int(proxy.port))
        #expect(space.protocol == nil)
    }

    @Test("A stored credential answers a 407")
    func stored() async throws {
        proxy.fallback(Proxy.reply())
        let storage = URLCredentialStorage()
        let space = URLProtectionSpace(
            proxyHost: "127.0.0.1", port: Int(proxy.port), type: NSURLProtectionSpaceHTTPProxy, realm: "way out",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        storage.setDefaultCredential(ProtectedResource.credential(), for: space)
        let outcome = try await LoadForm.dataAsync.load(url) {
            $0.connectionProxyDictionary = Proxy.dictionary(proxy)
            $0.urlCredentialStorage = storage
        }
        outcome.expectSuccess(ProtectedResource.inside)
    }

    @Test("Without a credential the 407 is the result", arguments: LoadForm.allCases)
    func noCredential(form: LoadForm) async throws {
        proxy.fallback(Proxy.reply())
        let outcome = try await form.load(url) { $0.connectionProxyDictionary = Proxy.dictionary(proxy) }
        outcome.expectSuccess(Data("who are you?".utf8))
        #expect(outcome.response?.statusCode == 407)
        #expect(proxy.requests.count == 1)
    }

    @Test("Accepted credentials are sent unasked with requests for other servers")
    func remembered() async throws {
        proxy.fallback(Proxy.reply())
        let witness = ProtectedResource.witness()
        let session = sandbox.session(witness) { $0.connectionProxyDictionary = Proxy.dictionary(proxy) }
        for host in ["one.invalid", "two.invalid", "three.invalid:81"] {
            let data = try await session.data(from: try #require(URL(string: "http://\(host)/a/b"))).0
            #expect(data == ProtectedResource.inside)
        }
        #expect(
            seen("Proxy-Authorization") == [
                nil, ProtectedResource.basic, ProtectedResource.basic, ProtectedResource.basic,
            ])
        #expect(witness.challenges.count == 1)
    }

    @Test("A digest for the proxy covers the absolute URL")
    func digest() async throws {
        let digestServer = DigestServer(namesNextNonce: true, isProxy: true)
        proxy.fallback(digestServer.reply())
        let session = sandbox.session(ProtectedResource.witness()) {
            $0.connectionProxyDictionary = Proxy.dictionary(proxy)
        }
        for path in ["/a/1?x=y", "/b/2"] {
            let data = try await session.data(from: try #require(URL(string: "http://example.invalid\(path)"))).0
            #expect(data == ProtectedResource.inside)
        }
        #expect(digestServer.entries.map(\.isGood) == [true, true])
        #expect(digestServer.entries.map(\.nonce) == ["nonce-1", "nonce-2"])
    }

    @Test("A proxy and the server behind it are authenticated separately", arguments: [true, false])
    func both(isDigest: Bool) async throws {
        let digestServer = DigestServer()
        // A server receives the path only. Here the proxy is the server, too, whose digest covers the path.
        let door = isDigest ? Self.ofPath(digestServer) : ProtectedResource.reply()
        proxy.fallback(
            .computed { request in
                request.fields["Proxy-Authorization"] == ProtectedResource.basic
                    ? door : .status(407).field("Proxy-Authenticate", Proxy.basicChallenge)
            })
        let witness = ProtectedResource.witness()
        let outcome = try await LoadForm.dataDelegate.load(URLRequest(url: url), witness: witness) {
            $0.connectionProxyDictionary = Proxy.dictionary(proxy)
        }
        outcome.expectSuccess(ProtectedResource.inside)
        let method = isDigest ? "Digest" : "Basic"
        #expect(
            witness.challenges == [
                .challenge("Basic", "way out", failures: 0), .challenge(method, "vault", failures: 0),
            ])
        #expect(seen("Proxy-Authorization") == [nil, ProtectedResource.basic, ProtectedResource.basic])
    }

    /// The content for a digest of the path, and a 401 for any other request.
    private static func ofPath(_ digestServer: DigestServer) -> Reply {
        .computed { request in
            guard let value = request.fields["Authorization"] else {
                return .status(401).field("WWW-Authenticate", digestServer.challenge())
            }
            return value.contains(#"uri="/file""#) ? .text("inside") : .status(403)
        }
    }

    @Test("Proxy-Authorization is not sent to a server")
    func notToServers() async throws {
        let server = try LoopbackServer()
        server.route("/end", .text("end"))
        proxy.fallback(Proxy.reply(.redirect(to: server.url("/end").absoluteString)))
        var request = URLRequest(url: url)
        request.setValue(ProtectedResource.basic, forHTTPHeaderField: "Proxy-Authorization")
        let outcome = try await LoadForm.dataAsync.load(request) {
            $0.connectionProxyDictionary = Proxy.dictionary(proxy, ["ExceptionsList": ["127.0.0.1"]])
        }
        outcome.expectSuccess(Data("end".utf8))
        #expect(seen("Proxy-Authorization") == [ProtectedResource.basic])
        #expect(server.requests.map { $0.fields["Proxy-Authorization"] } == [nil])
    }

    @Test("A proxy's credential is kept after a redirect to another server, even with persistence none")
    func redirect() async throws {
        proxy.route("/file", Proxy.reply(.redirect(to: "http://other.invalid/end")))
        proxy.route("/end", Proxy.reply(.text("end")))
        let witness = ProtectedResource.witness(
            .useCredential, ProtectedResource.credential(ProtectedResource.user, ProtectedResource.password, .none))
        let outcome = try await LoadForm.dataAsync.load(URLRequest(url: url), witness: witness) {
            $0.connectionProxyDictionary = Proxy.dictionary(proxy)
        }
        outcome.expectSuccess(Data("end".utf8))
        #expect(seen("Proxy-Authorization") == [nil, ProtectedResource.basic, ProtectedResource.basic])
        #expect(witness.challenges.count == 1)
    }

    @Test(
        "A program's own Proxy-Authorization is sent to the proxy after a redirect to another server, too",
        arguments: [true, false])
    func ownField(isOfSession: Bool) async throws {
        proxy.route("/file", Proxy.reply(.redirect(to: "http://other.invalid/end")))
        proxy.route("/end", Proxy.reply(.text("end")))
        var request = URLRequest(url: url)
        let fields = ["Proxy-Authorization": ProtectedResource.basic]
        if !isOfSession { request.allHTTPHeaderFields = fields }
        let outcome = try await LoadForm.dataAsync.load(request) {
            if isOfSession { $0.httpAdditionalHeaders = fields }
            $0.connectionProxyDictionary = Proxy.dictionary(proxy)
        }
        outcome.expectSuccess(Data("end".utf8))
        #expect(seen("Proxy-Authorization") == [ProtectedResource.basic, ProtectedResource.basic])
    }

    @Test("A 407 from a server that is not a proxy is not answered")
    func serverAsProxy() async throws {
        let server = try LoopbackServer()
        server.route("/file", Proxy.reply())
        let witness = ProtectedResource.witness()
        let outcome = try await LoadForm.dataDelegate.load(URLRequest(url: server.url("/file")), witness: witness)
        #expect(outcome.response?.statusCode == 407)
        #expect(witness.challenges == [])
    }
}

import Foundation
import Purl
import PurlTesting
import Testing

@Suite("A proxy asks who is there", .timeLimit(.minutes(5)))
struct ProxyAuthenticationTests {
    private let proxy: LoopbackServer
    private let url: URL

    init() throws {
        proxy = try LoopbackServer()
        url = try #require(URL(string: "http://example.invalid/file"))
    }

    private func seen(_ name: String) -> [String?] { proxy.requests.map { $0.fields[name] } }

    @Test("The configuration's user answers, and nobody is asked", arguments: LoadForm.allCases)
    func configured(form: LoadForm) async throws {
        proxy.fallback(Proxy.reply())
        let witness = Door.witness(.cancelAuthenticationChallenge)
        let outcome = try await form.load(URLRequest(url: url), witness: witness) {
            $0.connectionProxyDictionary = Proxy.dictionary(
                proxy, ["HTTPProxyUsername": Door.user, "HTTPProxyPassword": Door.password])
        }
        outcome.expectSuccess(Door.inside)
        #expect(witness.challenges == [])
        #expect(seen("Proxy-Authorization") == [nil, Door.basic])
        #expect(seen("Authorization") == [nil, nil])
    }

    @Test("So does the user in the proxy's URL")
    func inURL() async throws {
        proxy.fallback(Proxy.reply())
        let outcome = try await LoadForm.dataAsync.load(url) {
            $0.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "http://me:secret@127.0.0.1:\(proxy.port)"]
        }
        outcome.expectSuccess(Door.inside)
    }

    @Test("The delegate is asked about the proxy's space", arguments: LoadForm.allCases)
    func delegate(form: LoadForm) async throws {
        proxy.fallback(Proxy.reply())
        let spaces = LoadBox<[URLProtectionSpace]>([])
        let witness = Witness(challenge: { challenge in
            spaces.withLock { $0.append(challenge.protectionSpace) }
            return (.useCredential, Door.credential())
        })
        let outcome = try await form.load(URLRequest(url: url), witness: witness) {
            $0.connectionProxyDictionary = Proxy.dictionary(proxy)
        }
        outcome.expectSuccess(Door.inside)
        #expect(witness.challenges == [.challenge("Basic", "way out", failures: 0)])
        let space = try #require(spaces.withLock { $0 }.first)
        #expect(space.isProxy())
        #expect(space.proxyType == NSURLProtectionSpaceHTTPProxy)
        #expect(space.host == "127.0.0.1")
        #expect(space.port == Int(proxy.port))
        #expect(space.protocol == nil)
    }

    @Test("A stored credential answers")
    func stored() async throws {
        proxy.fallback(Proxy.reply())
        let storage = URLCredentialStorage()
        let space = URLProtectionSpace(
            proxyHost: "127.0.0.1", port: Int(proxy.port), type: NSURLProtectionSpaceHTTPProxy, realm: "way out",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        storage.setDefaultCredential(Door.credential(), for: space)
        let outcome = try await LoadForm.dataAsync.load(url) {
            $0.connectionProxyDictionary = Proxy.dictionary(proxy)
            $0.urlCredentialStorage = storage
        }
        outcome.expectSuccess(Door.inside)
    }

    @Test("Without a credential the 407 is the result", arguments: LoadForm.allCases)
    func nobody(form: LoadForm) async throws {
        proxy.fallback(Proxy.reply())
        let outcome = try await form.load(url) { $0.connectionProxyDictionary = Proxy.dictionary(proxy) }
        outcome.expectSuccess(Data("who are you?".utf8))
        #expect(outcome.response?.statusCode == 407)
        #expect(proxy.requests.count == 1)
    }

    @Test("Once let in, requests for other servers carry the proof unasked")
    func remembered() async throws {
        proxy.fallback(Proxy.reply())
        let witness = Door.witness()
        let session = try Sandbox().session(witness) { $0.connectionProxyDictionary = Proxy.dictionary(proxy) }
        for host in ["one.invalid", "two.invalid", "three.invalid:81"] {
            let data = try await session.data(from: try #require(URL(string: "http://\(host)/a/b"))).0
            #expect(data == Door.inside)
        }
        #expect(seen("Proxy-Authorization") == [nil, Door.basic, Door.basic, Door.basic])
        #expect(witness.challenges.count == 1)
        session.invalidateAndCancel()
    }

    @Test("A digest is of the whole URL, which is what the proxy is sent")
    func digest() async throws {
        let desk = DigestDesk(namesNextNonce: true, isProxy: true)
        proxy.fallback(desk.reply())
        let session = try Sandbox().session(Door.witness()) {
            $0.connectionProxyDictionary = Proxy.dictionary(proxy)
        }
        for path in ["/a/1?x=y", "/b/2"] {
            let data = try await session.data(from: try #require(URL(string: "http://example.invalid\(path)"))).0
            #expect(data == Door.inside)
        }
        #expect(desk.entries.map(\.isGood) == [true, true])
        #expect(desk.entries.map(\.nonce) == ["nonce-1", "nonce-2"])
        session.invalidateAndCancel()
    }

    @Test("The server behind it asks for itself", arguments: [true, false])
    func both(isDigest: Bool) async throws {
        let desk = DigestDesk()
        // A server sees the path alone; this proxy is the server, too, and a digest there is of the path.
        let door = isDigest ? Self.ofPath(desk) : Door.reply()
        proxy.fallback(
            .computed { request in
                request.fields["Proxy-Authorization"] == Door.basic
                    ? door : .status(407).field("Proxy-Authenticate", Proxy.asksBasic)
            })
        let witness = Door.witness()
        let outcome = try await LoadForm.dataDelegate.load(URLRequest(url: url), witness: witness) {
            $0.connectionProxyDictionary = Proxy.dictionary(proxy)
        }
        outcome.expectSuccess(Door.inside)
        let method = isDigest ? "Digest" : "Basic"
        #expect(
            witness.challenges == [
                .challenge("Basic", "way out", failures: 0), .challenge(method, "vault", failures: 0),
            ])
        #expect(seen("Proxy-Authorization") == [nil, Door.basic, Door.basic])
    }

    /// Opens for a digest that names the path as what was asked for.
    private static func ofPath(_ desk: DigestDesk) -> Reply {
        .computed { request in
            guard let value = request.fields["Authorization"] else {
                return .status(401).field("WWW-Authenticate", desk.challenge())
            }
            return value.contains(#"uri="/file""#) ? .text("inside") : .status(403)
        }
    }

    @Test("What is meant for the proxy is told to no server")
    func notToServers() async throws {
        let server = try LoopbackServer()
        server.route("/end", .text("end"))
        proxy.fallback(Proxy.reply(.redirect(to: server.url("/end").absoluteString)))
        var request = URLRequest(url: url)
        request.setValue(Door.basic, forHTTPHeaderField: "Proxy-Authorization")
        let outcome = try await LoadForm.dataAsync.load(request) {
            $0.connectionProxyDictionary = Proxy.dictionary(proxy, ["ExceptionsList": ["127.0.0.1"]])
        }
        outcome.expectSuccess(Data("end".utf8))
        #expect(seen("Proxy-Authorization") == [Door.basic])
        #expect(server.requests.map { $0.fields["Proxy-Authorization"] } == [nil])
    }

    @Test("A proxy's login survives a redirect to another server, though it is for this task alone")
    func redirect() async throws {
        proxy.route("/file", Proxy.reply(.redirect(to: "http://other.invalid/end")))
        proxy.route("/end", Proxy.reply(.text("end")))
        let witness = Door.witness(.useCredential, Door.credential(Door.user, Door.password, .none))
        let outcome = try await LoadForm.dataAsync.load(URLRequest(url: url), witness: witness) {
            $0.connectionProxyDictionary = Proxy.dictionary(proxy)
        }
        outcome.expectSuccess(Data("end".utf8))
        #expect(seen("Proxy-Authorization") == [nil, Door.basic, Door.basic])
        #expect(witness.challenges.count == 1)
    }

    @Test("A 407 of a server without a proxy gets no answer")
    func serverAsProxy() async throws {
        let server = try LoopbackServer()
        server.route("/file", Proxy.reply())
        let witness = Door.witness()
        let outcome = try await LoadForm.dataDelegate.load(URLRequest(url: server.url("/file")), witness: witness)
        #expect(outcome.response?.statusCode == 407)
        #expect(witness.challenges == [])
    }
}

import Foundation
import PurlIO
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("Credentials, protection spaces and their storage")
struct CredentialTests {
    private let space = URLProtectionSpace(
        host: "example.com", port: 80, protocol: NSURLProtectionSpaceHTTP, realm: "r",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)

    @Test("A credential's properties are the values it was made from")
    func credential() {
        let credential = URLCredential(user: "me", password: "", persistence: .permanent)
        #expect(credential.user == "me")
        #expect(credential.password == "")
        #expect(credential.hasPassword)
        #expect(credential.persistence == .permanent)
        #expect(credential.copy() as? URLCredential == credential)
    }

    @Test("Credentials are equal when all their properties are equal")
    func equality() {
        let one = ProtectedResource.credential()
        #expect(one == ProtectedResource.credential())
        #expect(one.hash == ProtectedResource.credential().hash)
        for other in [
            ProtectedResource.credential("you"), ProtectedResource.credential("me", "x"),
            ProtectedResource.credential("me", "secret", .none),
        ] {
            #expect(one != other)
        }
    }

    @Test("An unarchived credential equals the archived one")
    func archive() throws {
        let one = ProtectedResource.credential("mé", "se\u{0}cret", .permanent)
        let data = try NSKeyedArchiver.archivedData(withRootObject: one, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: URLCredential.self, from: data) == one)
    }

    @Test("Protection spaces are equal when all their properties are equal, in any case of the host")
    func spaces() {
        func make(
            _ host: String = "example.com", _ port: Int = 80, _ scheme: String = "http", _ realm: String? = "r",
            _ method: String? = NSURLAuthenticationMethodHTTPBasic
        ) -> URLProtectionSpace {
            URLProtectionSpace(host: host, port: port, protocol: scheme, realm: realm, authenticationMethod: method)
        }
        #expect(make() == space)
        #expect(make("EXAMPLE.com") == space)
        #expect(make("EXAMPLE.com").hash == space.hash)
        #expect(make().copy() as? URLProtectionSpace == space)
        // The path of a socket of this machine.
        #expect(make("/run/A.s").host == "/run/A.s")
        #expect(make("/run/A.s") != make("/run/a.s"))
        for other in [
            make("example.org"), make("example.com", 81), make("example.com", 80, "https"),
            make("example.com", 80, "http", nil), make("example.com", 80, "http", "r", nil),
            URLProtectionSpace(
                proxyHost: "example.com", port: 80, type: "http", realm: "r",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic),
        ] {
            #expect(other != space)
        }
        #expect(make("h", 1, "http", "r", nil).authenticationMethod == NSURLAuthenticationMethodDefault)
    }

    @Test("receivesCredentialSecurely is true for digest authentication and for TLS")
    func secure() {
        func isSecure(_ scheme: String, _ method: String) -> Bool {
            URLProtectionSpace(host: "h", port: 1, protocol: scheme, realm: nil, authenticationMethod: method)
                .receivesCredentialSecurely
        }
        #expect(!isSecure("http", NSURLAuthenticationMethodHTTPBasic))
        #expect(isSecure("http", NSURLAuthenticationMethodHTTPDigest))
        #expect(isSecure("https", NSURLAuthenticationMethodHTTPBasic))
    }

    @Test("The first credential of a space is the default until another one is set")
    func defaults() {
        let storage = URLCredentialStorage()
        #expect(storage.credentials(for: space) == nil)
        #expect(storage.defaultCredential(for: space) == nil)
        storage.set(ProtectedResource.credential(), for: space)
        storage.set(ProtectedResource.credential("you"), for: space)
        #expect(storage.defaultCredential(for: space) == ProtectedResource.credential())
        storage.setDefaultCredential(ProtectedResource.credential("they"), for: space)
        #expect(storage.defaultCredential(for: space) == ProtectedResource.credential("they"))
        #expect(storage.credentials(for: space)?.keys.sorted() == ["me", "they", "you"])
        #expect(storage.allCredentials.count == 1)
    }

    @Test("A storage does not keep a credential with persistence none")
    func nothingKept() {
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(ProtectedResource.credential("me", "secret", .none), for: space)
        #expect(storage.allCredentials.isEmpty)
    }

    @Test("Removing a credential removes only an equal one")
    func removal() {
        let storage = URLCredentialStorage()
        storage.set(ProtectedResource.credential(), for: space)
        storage.remove(ProtectedResource.credential("me", "other"), for: space)
        #expect(storage.defaultCredential(for: space) == ProtectedResource.credential())
        storage.remove(ProtectedResource.credential(), for: space)
        #expect(storage.allCredentials.isEmpty)
    }

    @Test("A credential storage posts a notification for each change, and for nothing else")
    func notification() {
        let storage = URLCredentialStorage()
        let count = LockedValue(0)
        let observer = NotificationCenter.default.addObserver(
            forName: .NSURLCredentialStorageChanged, object: storage, queue: nil
        ) { _ in count.withLock { $0 += 1 } }
        defer { NotificationCenter.default.removeObserver(observer) }
        storage.set(ProtectedResource.credential(), for: space)
        storage.set(ProtectedResource.credential(), for: space)
        storage.remove(ProtectedResource.credential("you"), for: space)
        storage.remove(ProtectedResource.credential(), for: space)
        #expect(count.withLock { $0 } == 2)
    }

    @Test("Sessions use the shared storage unless their configuration names another")
    func configuration() {
        #expect(URLSessionConfiguration.default.urlCredentialStorage === URLCredentialStorage.shared)
        let one = URLSessionConfiguration.ephemeral
        let other = URLSessionConfiguration.ephemeral
        #expect(one.urlCredentialStorage !== URLCredentialStorage.shared)
        #expect(one.urlCredentialStorage !== other.urlCredentialStorage)
        #expect((one.copy() as? URLSessionConfiguration)?.urlCredentialStorage === one.urlCredentialStorage)
    }

    @Test("A flood of realms leads to 16 questions at most, the safest first, one for each protection space")
    func floodOfRealms() {
        let realms = (0..<3_000).map { "Basic realm=\"\($0 / 2)\"" }
        let digest = "Digest realm=\"0\", nonce=a, Digest realm=\"0\", nonce=b, algorithm=SHA-256"
        let server = AuthenticationPeer(role: .server, scheme: "http", endpoint: .host("a.example", port: 80))
        let offers = SupportedChallenge.all(
            in: ["WWW-Authenticate": (realms.prefix(4) + [digest] + realms.dropFirst(4)).joined(separator: ", ")],
            from: server)
        #expect(offers.map(\.space.realm) == ["0", "0", "1", "2", "3", "4", "5", "6"])
        #expect(offers.map(\.space.authenticationMethod).first == NSURLAuthenticationMethodHTTPDigest)
        if case .digest(let challenge) = offers.first?.scheme { #expect(challenge.algorithm == .sha256) }
    }

    @Test("A proxy's challenges are read from its own field, status and protection space")
    func proxy() throws {
        let proxy = AuthenticationPeer.proxy(.host("proxy", port: 3128))
        #expect(proxy.status == 407)
        #expect(proxy.challengeField == "Proxy-Authenticate")
        #expect(proxy.credentialField == "Proxy-Authorization")
        #expect(proxy.infoField == "Proxy-Authentication-Info")
        let offers = SupportedChallenge.all(
            in: ["Proxy-Authenticate": "Basic realm=p", "WWW-Authenticate": "Basic realm=s"], from: proxy)
        #expect(
            offers.map(\.space) == [
                URLProtectionSpace(
                    proxyHost: "proxy", port: 3128, type: NSURLProtectionSpaceHTTPProxy, realm: "p",
                    authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
            ])
        #expect(offers.first?.space.isProxy() == true)
    }
}

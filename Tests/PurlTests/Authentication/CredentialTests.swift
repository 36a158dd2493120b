import Foundation
import PurlIO
import Synchronization
import Testing

@testable import Purl

@Suite("Credentials, protection spaces and their storage")
struct CredentialTests {
    private let space = URLProtectionSpace(
        host: "example.com", port: 80, protocol: NSURLProtectionSpaceHTTP, realm: "r",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)

    @Test("A credential says what it was made from")
    func credential() {
        let credential = URLCredential(user: "me", password: "", persistence: .permanent)
        #expect(credential.user == "me")
        #expect(credential.password == "")
        #expect(credential.hasPassword)
        #expect(credential.persistence == .permanent)
        #expect(credential.copy() as? URLCredential == credential)
    }

    @Test("Credentials are equal when all their parts are")
    func equality() {
        let one = Door.credential()
        #expect(one == Door.credential())
        #expect(one.hash == Door.credential().hash)
        for other in [Door.credential("you"), Door.credential("me", "x"), Door.credential("me", "secret", .none)] {
            #expect(one != other)
        }
    }

    @Test("A credential survives an archive")
    func archive() throws {
        let one = Door.credential("mé", "se\u{0}cret", .permanent)
        let data = try NSKeyedArchiver.archivedData(withRootObject: one, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: URLCredential.self, from: data) == one)
    }

    @Test("Spaces are equal when all their parts are; the case of a host does not matter")
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

    @Test("A digest, or TLS, keeps a password from who listens")
    func secure() {
        func isSecure(_ scheme: String, _ method: String) -> Bool {
            URLProtectionSpace(host: "h", port: 1, protocol: scheme, realm: nil, authenticationMethod: method)
                .receivesCredentialSecurely
        }
        #expect(!isSecure("http", NSURLAuthenticationMethodHTTPBasic))
        #expect(isSecure("http", NSURLAuthenticationMethodHTTPDigest))
        #expect(isSecure("https", NSURLAuthenticationMethodHTTPBasic))
    }

    @Test("The first credential of a space is its default, until another is made so")
    func defaults() {
        let storage = URLCredentialStorage()
        #expect(storage.credentials(for: space) == nil)
        #expect(storage.defaultCredential(for: space) == nil)
        storage.set(Door.credential(), for: space)
        storage.set(Door.credential("you"), for: space)
        #expect(storage.defaultCredential(for: space) == Door.credential())
        storage.setDefaultCredential(Door.credential("they"), for: space)
        #expect(storage.defaultCredential(for: space) == Door.credential("they"))
        #expect(storage.credentials(for: space)?.keys.sorted() == ["me", "they", "you"])
        #expect(storage.allCredentials.count == 1)
    }

    @Test("What is for nobody to keep is not kept")
    func nothingKept() {
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(Door.credential("me", "secret", .none), for: space)
        #expect(storage.allCredentials.isEmpty)
    }

    @Test("Only the very credential is removed")
    func removal() {
        let storage = URLCredentialStorage()
        storage.set(Door.credential(), for: space)
        storage.remove(Door.credential("me", "other"), for: space)
        #expect(storage.defaultCredential(for: space) == Door.credential())
        storage.remove(Door.credential(), for: space)
        #expect(storage.allCredentials.isEmpty)
    }

    @Test("Changes are announced, and nothing else is")
    func notification() {
        let storage = URLCredentialStorage()
        let count = LoadBox(0)
        let observer = NotificationCenter.default.addObserver(
            forName: .NSURLCredentialStorageChanged, object: storage, queue: nil
        ) { _ in count.withLock { $0 += 1 } }
        defer { NotificationCenter.default.removeObserver(observer) }
        storage.set(Door.credential(), for: space)
        storage.set(Door.credential(), for: space)
        storage.remove(Door.credential("you"), for: space)
        storage.remove(Door.credential(), for: space)
        #expect(count.withLock { $0 } == 2)
    }

    @Test("Sessions share a storage unless their configuration says otherwise")
    func configuration() {
        #expect(URLSessionConfiguration.default.urlCredentialStorage === URLCredentialStorage.shared)
        let one = URLSessionConfiguration.ephemeral
        let other = URLSessionConfiguration.ephemeral
        #expect(one.urlCredentialStorage !== URLCredentialStorage.shared)
        #expect(one.urlCredentialStorage !== other.urlCredentialStorage)
        #expect((one.copy() as? URLSessionConfiguration)?.urlCredentialStorage === one.urlCredentialStorage)
    }

    @Test("A proxy asks in its own fields, with its own status, for its own space")
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

import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Credentials that were accepted are sent with later requests", .timeLimit(.minutes(5)))
struct CredentialReuseTests {
    /// A server with one protected resource, and a session that may have its credential.
    private struct Fixture {
        let server: LoopbackServer
        let sandbox: Sandbox
        let witness: Witness
        let session: URLSession

        init(_ witness: Witness = ProtectedResource.witness(), _ change: (URLSessionConfiguration) -> Void = { _ in })
            throws
        {
            server = try LoopbackServer()
            server.fallback(ProtectedResource.reply())
            sandbox = Sandbox()
            self.witness = witness
            session = sandbox.session(witness, change)
        }

        /// The `Authorization` fields of the requests for these paths, loaded one after another.
        func visit(_ paths: String...) async throws -> [String?] {
            server.forgetRequests()
            for path in paths { _ = try await session.data(from: server.url(path)) }
            return server.authorizations
        }

        var storage: URLCredentialStorage? { session.configuration.urlCredentialStorage }
    }

    @Test("Basic credentials are sent unasked to the same folder and below")
    func folder() async throws {
        let fixture = try Fixture()
        #expect(
            try await fixture.visit("/in/a?x=/y/z", "/in/b", "/in/deep/c?d") == [nil]
                + Array(repeating: ProtectedResource.basic, count: 3))
        #expect(try await fixture.visit("/out", "/in") == [nil, ProtectedResource.basic, ProtectedResource.basic])
        #expect(fixture.witness.challenges.count == 1)
    }

    @Test("Accepted credentials are in the session's storage, and removing them there ends their use")
    func storage() async throws {
        let fixture = try Fixture()
        _ = try await fixture.visit("/a")
        let space = ProtectedResource.space(of: fixture.server)
        #expect(fixture.storage?.defaultCredential(for: space) == ProtectedResource.credential())
        fixture.storage?.remove(ProtectedResource.credential(), for: space)
        #expect(try await fixture.visit("/a") == [nil, ProtectedResource.basic])
        #expect(fixture.witness.challenges.count == 2)
    }

    @Test("A new password in the storage replaces the old one")
    func newPassword() async throws {
        let fixture = try Fixture()
        _ = try await fixture.visit("/a")
        fixture.server.fallback(ProtectedResource.reply(accepting: "Basic bWU6bmV3"))
        fixture.storage?.set(
            ProtectedResource.credential("me", "new"), for: ProtectedResource.space(of: fixture.server))
        #expect(try await fixture.visit("/a", "/a") == [nil, "Basic bWU6bmV3", "Basic bWU6bmV3"])
        #expect(fixture.witness.challenges.count == 1)
    }

    @Test("A stored credential is offered to a Basic challenge without a realm, whose realm is the host")
    func noRealm() async throws {
        let fixture = try Fixture()
        fixture.server.fallback(ProtectedResource.reply(asking: ["Basic"]))
        fixture.storage?.set(
            ProtectedResource.credential(), for: ProtectedResource.space(of: fixture.server, realm: "127.0.0.1"))
        #expect(try await fixture.visit("/a", "/b") == [nil, ProtectedResource.basic, ProtectedResource.basic])
        #expect(fixture.witness.challenges == [])
    }

    @Test("A delegate receives the host as the realm of a Basic challenge without one")
    func noRealmForDelegate() async throws {
        let fixture = try Fixture()
        fixture.server.fallback(ProtectedResource.reply(asking: ["Basic charset=\"UTF-8\""]))
        #expect(try await fixture.visit("/a", "/b") == [nil, ProtectedResource.basic, ProtectedResource.basic])
        #expect(fixture.witness.challenges == [.challenge("Basic", "127.0.0.1", failures: 0)])
    }

    @Test("Without a storage the session itself keeps accepted credentials")
    func withoutStorage() async throws {
        let fixture = try Fixture { $0.urlCredentialStorage = nil }
        #expect(try await fixture.visit("/a", "/b") == [nil, ProtectedResource.basic, ProtectedResource.basic])
    }

    @Test("Credentials with persistence none are not sent with later requests")
    func noPersistence() async throws {
        let fixture = try Fixture(
            ProtectedResource.witness(.useCredential, ProtectedResource.credential("me", "secret", .none)))
        #expect(try await fixture.visit("/a", "/a") == [nil, ProtectedResource.basic, nil, ProtectedResource.basic])
        #expect(fixture.storage?.allCredentials.isEmpty == true)
        #expect(fixture.witness.challenges.count == 2)
    }

    @Test("A refused password is not kept")
    func wrong() async throws {
        let fixture = try Fixture(
            ProtectedResource.witness(.useCredential, ProtectedResource.credential("me", "wrong")))
        _ = try await fixture.visit("/a")
        #expect(fixture.storage?.allCredentials.isEmpty == true)
        #expect(try await fixture.visit("/a").first == .some(nil))
    }

    @Test("Credentials that were answered with a 5xx are not kept")
    func serverFailure() async throws {
        let fixture = try Fixture()
        fixture.server.fallback(ProtectedResource.reply(.status(502)))
        #expect(try await fixture.visit("/a", "/a") == [nil, ProtectedResource.basic, nil, ProtectedResource.basic])
    }

    @Test("When the server's password changes, the delegate is asked again with a failure count")
    func changedPassword() async throws {
        let fixture = try Fixture(
            Witness(challenge: { challenge in
                (
                    .useCredential,
                    ProtectedResource.credential("me", challenge.previousFailureCount == 0 ? "secret" : "new")
                )
            }))
        _ = try await fixture.visit("/a")
        fixture.server.fallback(ProtectedResource.reply(accepting: "Basic bWU6bmV3"))
        #expect(try await fixture.visit("/a", "/a") == [ProtectedResource.basic, "Basic bWU6bmV3", "Basic bWU6bmV3"])
        #expect(
            fixture.witness.challenges == [
                .challenge("Basic", "vault", failures: 0), .challenge("Basic", "vault", failures: 1),
            ])
    }

    @Test("reset forgets accepted credentials")
    func reset() async throws {
        let fixture = try Fixture()
        _ = try await fixture.visit("/a")
        await withCheckedContinuation { continuation in fixture.session.reset { continuation.resume() } }
        #expect(fixture.storage?.allCredentials.isEmpty == true)
        #expect(try await fixture.visit("/a") == [nil, ProtectedResource.basic])
    }

    @Test("Another session with the same storage is authenticated after one 401")
    func sharedStorage() async throws {
        let fixture = try Fixture()
        _ = try await fixture.visit("/a")
        let witness = ProtectedResource.witness(.cancelAuthenticationChallenge)
        let other = fixture.sandbox.session(witness) { $0.urlCredentialStorage = fixture.storage }
        #expect(try await other.data(from: fixture.server.url("/a")).0 == ProtectedResource.inside)
        #expect(witness.challenges == [])
    }

    @Test("A URL that names another user does not use the kept credentials", arguments: ["you", "you:too"])
    func anotherUser(user: String) async throws {
        let fixture = try Fixture(
            Witness(challenge: { challenge in
                challenge.previousFailureCount == 0 && challenge.failureResponse?.url?.user() == nil
                    ? (.useCredential, ProtectedResource.credential()) : (.performDefaultHandling, nil)
            }))
        _ = try await fixture.visit("/a")
        fixture.server.forgetRequests()
        _ = try await fixture.session.data(from: fixture.server.url("/a", as: user))
        let base64 = Data(user.utf8).base64EncodedString()
        #expect(fixture.server.authorizations == (user == "you" ? [nil] : [nil, "Basic \(base64)"]))
        #expect(fixture.witness.challenges.count == 2)
    }

    @Test("A session keeps the user of a URL, its storage does not")
    func userInURL() async throws {
        let fixture = try Fixture(ProtectedResource.witness(.cancelAuthenticationChallenge))
        _ = try await fixture.session.data(from: fixture.server.url("/a", as: "me:secret"))
        #expect(try await fixture.visit("/a") == [ProtectedResource.basic])
        #expect(fixture.storage?.allCredentials.isEmpty == true)
    }

    @Test("Two realms on one server each receive their own credentials")
    func realms() async throws {
        let fixture = try Fixture(
            Witness(challenge: { (.useCredential, ProtectedResource.credential($0.protectionSpace.realm ?? "", "pw")) })
        )
        fixture.server.route(
            "/a", ProtectedResource.reply(accepting: "Basic b3V0ZXI6cHc=", asking: ["Basic realm=outer"]))
        fixture.server.route(
            "/in/a", ProtectedResource.reply(accepting: "Basic aW5uZXI6cHc=", asking: ["Basic realm=inner"]))
        #expect(
            try await fixture.visit("/a", "/in/a", "/a", "/in/a") == [
                nil, "Basic b3V0ZXI6cHc=", "Basic b3V0ZXI6cHc=", "Basic aW5uZXI6cHc=", "Basic b3V0ZXI6cHc=",
                "Basic aW5uZXI6cHc=",
            ])
        // A credential that was sent unasked and refused counts as no failure.
        #expect(
            fixture.witness.challenges == [
                .challenge("Basic", "outer", failures: 0), .challenge("Basic", "inner", failures: 0),
            ])
    }

    @Test("A retry on a new connection sends the credentials again")
    func lostConnection() async throws {
        let fixture = try Fixture()
        _ = try await fixture.visit("/a")
        fixture.server.fallback(ProtectedResource.reply(.text("inside").closingConnection(announced: false)))
        #expect(try await fixture.visit("/a", "/a", "/a").allSatisfy { $0 == ProtectedResource.basic })
    }
}

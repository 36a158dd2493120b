import Foundation
import Purl
import PurlTesting
import Testing

@Suite("Who has been let in is remembered", .timeLimit(.minutes(5)))
struct RememberedLoginTests {
    /// A server with one closed place, and a session that may know the word.
    private struct House {
        let server: LoopbackServer
        let sandbox: Sandbox
        let witness: Witness
        let session: URLSession

        init(_ witness: Witness = Door.witness(), _ change: (URLSessionConfiguration) -> Void = { _ in }) throws {
            server = try LoopbackServer()
            server.fallback(Door.reply())
            sandbox = try Sandbox()
            self.witness = witness
            session = sandbox.session(witness, change)
        }

        /// What the requests for these paths carried, one after the other.
        func visit(_ paths: String...) async throws -> [String?] {
            server.forgetRequests()
            for path in paths { _ = try await session.data(from: server.url(path)) }
            return server.authorizations
        }

        var storage: URLCredentialStorage? { session.configuration.urlCredentialStorage }
    }

    @Test("Basic goes unasked to the same folder and below")
    func folder() async throws {
        let house = try House()
        #expect(
            try await house.visit("/in/a?x=/y/z", "/in/b", "/in/deep/c?d") == [nil]
                + Array(repeating: Door.basic, count: 3))
        #expect(try await house.visit("/out", "/in") == [nil, Door.basic, Door.basic])
        #expect(house.witness.challenges.count == 1)
        house.session.invalidateAndCancel()
    }

    @Test("In the session's storage, from which it can be taken away again")
    func storage() async throws {
        let house = try House()
        _ = try await house.visit("/a")
        let space = Door.space(of: house.server)
        #expect(house.storage?.defaultCredential(for: space) == Door.credential())
        house.storage?.remove(Door.credential(), for: space)
        #expect(try await house.visit("/a") == [nil, Door.basic])
        #expect(house.witness.challenges.count == 2)
        house.session.invalidateAndCancel()
    }

    @Test("A new password in the storage replaces the old one")
    func newPassword() async throws {
        let house = try House()
        _ = try await house.visit("/a")
        house.server.fallback(Door.reply(opensFor: "Basic bWU6bmV3"))
        house.storage?.set(Door.credential("me", "new"), for: Door.space(of: house.server))
        #expect(try await house.visit("/a", "/a") == [nil, "Basic bWU6bmV3", "Basic bWU6bmV3"])
        #expect(house.witness.challenges.count == 1)
        house.session.invalidateAndCancel()
    }

    @Test("Without a storage, in the session alone")
    func withoutStorage() async throws {
        let house = try House { $0.urlCredentialStorage = nil }
        #expect(try await house.visit("/a", "/b") == [nil, Door.basic, Door.basic])
        house.session.invalidateAndCancel()
    }

    @Test("Not when it is for one task only")
    func noPersistence() async throws {
        let house = try House(Door.witness(.useCredential, Door.credential("me", "secret", .none)))
        #expect(try await house.visit("/a", "/a") == [nil, Door.basic, nil, Door.basic])
        #expect(house.storage?.allCredentials.isEmpty == true)
        #expect(house.witness.challenges.count == 2)
        house.session.invalidateAndCancel()
    }

    @Test("A wrong password is not remembered")
    func wrong() async throws {
        let house = try House(Door.witness(.useCredential, Door.credential("me", "wrong")))
        _ = try await house.visit("/a")
        #expect(house.storage?.allCredentials.isEmpty == true)
        #expect(try await house.visit("/a").first == .some(nil))
        house.session.invalidateAndCancel()
    }

    @Test("A failing server has not let anybody in")
    func serverFailure() async throws {
        let house = try House()
        house.server.fallback(Door.reply(.status(502)))
        #expect(try await house.visit("/a", "/a") == [nil, Door.basic, nil, Door.basic])
        house.session.invalidateAndCancel()
    }

    @Test("When the word changes, the delegate hears that the old one failed")
    func changedWord() async throws {
        let house = try House(
            Witness(challenge: { challenge in
                (.useCredential, Door.credential("me", challenge.previousFailureCount == 0 ? "secret" : "new"))
            }))
        _ = try await house.visit("/a")
        house.server.fallback(Door.reply(opensFor: "Basic bWU6bmV3"))
        #expect(try await house.visit("/a", "/a") == [Door.basic, "Basic bWU6bmV3", "Basic bWU6bmV3"])
        #expect(
            house.witness.challenges == [
                .challenge("Basic", "vault", failures: 0), .challenge("Basic", "vault", failures: 1),
            ])
        house.session.invalidateAndCancel()
    }

    @Test("Resetting a session forgets")
    func reset() async throws {
        let house = try House()
        _ = try await house.visit("/a")
        await withCheckedContinuation { continuation in house.session.reset { continuation.resume() } }
        #expect(house.storage?.allCredentials.isEmpty == true)
        #expect(try await house.visit("/a") == [nil, Door.basic])
        house.session.invalidateAndCancel()
    }

    @Test("Another session with the same storage is let in after one refusal")
    func sharedStorage() async throws {
        let house = try House()
        _ = try await house.visit("/a")
        let witness = Door.witness(.cancelAuthenticationChallenge)
        let other = house.sandbox.session(witness) { $0.urlCredentialStorage = house.storage }
        #expect(try await other.data(from: house.server.url("/a")).0 == Door.inside)
        #expect(witness.challenges == [])
        house.session.invalidateAndCancel()
        other.invalidateAndCancel()
    }

    @Test("A URL that names somebody else means nobody who is remembered", arguments: ["you", "you:too"])
    func somebodyElse(user: String) async throws {
        let house = try House(
            Witness(challenge: { challenge in
                challenge.previousFailureCount == 0 && challenge.failureResponse?.url?.user() == nil
                    ? (.useCredential, Door.credential()) : (.performDefaultHandling, nil)
            }))
        _ = try await house.visit("/a")
        house.server.forgetRequests()
        _ = try await house.session.data(from: house.server.url("/a", as: user))
        let base64 = Data(user.utf8).base64EncodedString()
        #expect(house.server.authorizations == (user == "you" ? [nil] : [nil, "Basic \(base64)"]))
        #expect(house.witness.challenges.count == 2)
        house.session.invalidateAndCancel()
    }

    @Test("A session remembers what a URL said, its storage does not")
    func named() async throws {
        let house = try House(Door.witness(.cancelAuthenticationChallenge))
        _ = try await house.session.data(from: house.server.url("/a", as: "me:secret"))
        #expect(try await house.visit("/a") == [Door.basic])
        #expect(house.storage?.allCredentials.isEmpty == true)
        house.session.invalidateAndCancel()
    }

    @Test("Two realms on one server: each folder gets its own")
    func realms() async throws {
        let house = try House(
            Witness(challenge: { (.useCredential, Door.credential($0.protectionSpace.realm ?? "", "pw")) }))
        house.server.route("/a", Door.reply(opensFor: "Basic b3V0ZXI6cHc=", asking: ["Basic realm=outer"]))
        house.server.route("/in/a", Door.reply(opensFor: "Basic aW5uZXI6cHc=", asking: ["Basic realm=inner"]))
        #expect(
            try await house.visit("/a", "/in/a", "/a", "/in/a") == [
                nil, "Basic b3V0ZXI6cHc=", "Basic b3V0ZXI6cHc=", "Basic aW5uZXI6cHc=", "Basic b3V0ZXI6cHc=",
                "Basic aW5uZXI6cHc=",
            ])
        // A guess that was wrong is no failure.
        #expect(
            house.witness.challenges == [
                .challenge("Basic", "outer", failures: 0), .challenge("Basic", "inner", failures: 0),
            ])
        house.session.invalidateAndCancel()
    }

    @Test("A lost idle connection does not lose the proof")
    func lostConnection() async throws {
        let house = try House()
        _ = try await house.visit("/a")
        house.server.fallback(Door.reply(.text("inside").closingConnection(announced: false)))
        #expect(try await house.visit("/a", "/a", "/a").allSatisfy { $0 == Door.basic })
        house.session.invalidateAndCancel()
    }
}

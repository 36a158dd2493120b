import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Authentication across redirects", .timeLimit(.minutes(5)))
struct RedirectAuthenticationTests {
    private let sandbox = Sandbox()

    @Test(
        "A redirect within the origin sends the credential along, even one with persistence none",
        arguments: LoadForm.allCases)
    func sameOrigin(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", ProtectedResource.reply(.redirect(to: "/end")))
        server.route("/end", ProtectedResource.reply())
        let witness = ProtectedResource.witness(.useCredential, ProtectedResource.credential("me", "secret", .none))
        try await form.load(URLRequest(url: url), witness: witness).expectSuccess(ProtectedResource.inside)
        #expect(server.authorizations == [nil, ProtectedResource.basic, ProtectedResource.basic])
        #expect(witness.challenges.count == 1)
    }

    @Test(
        "A redirect to another origin does not send the credential, and its 401 is a new challenge",
        arguments: [URLCredential.Persistence.none, .forSession])
    func anotherOrigin(persistence: URLCredential.Persistence) async throws {
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        let url = server.route("/start", ProtectedResource.reply(.redirect(307, to: other.url("/end").absoluteString)))
        other.route("/end", ProtectedResource.reply(accepting: "Basic eW91OnRvbw=="))
        let witness = Witness(challenge: { challenge in
            challenge.protectionSpace.port == Int(server.port)
                ? (.useCredential, ProtectedResource.credential("me", "secret", persistence))
                : (.useCredential, ProtectedResource.credential("you", "too", persistence))
        })
        try await LoadForm.dataDelegate.load(URLRequest(url: url), witness: witness).expectSuccess(
            ProtectedResource.inside)
        #expect(server.authorizations == [nil, ProtectedResource.basic])
        #expect(other.authorizations == [nil, "Basic eW91OnRvbw=="])
        // Failures at one origin do not count at another.
        #expect(
            witness.challenges == [
                .challenge("Basic", "vault", failures: 0), .challenge("Basic", "vault", failures: 0),
            ])
    }

    @Test("The user of the first URL is used after a redirect within its origin", arguments: [true, false])
    func namedUserWithin(isAbsolute: Bool) async throws {
        let server = try LoopbackServer()
        server.route("/start", .redirect(to: isAbsolute ? server.url("/end").absoluteString : "/end"))
        server.route("/end", ProtectedResource.reply())
        try await LoadForm.dataAsync.load(server.url("/start", as: "me:secret")).expectSuccess(ProtectedResource.inside)
        #expect(server.authorizations == [nil, nil, ProtectedResource.basic])
    }

    @Test("The user of the first URL is not used at another origin")
    func namedUser() async throws {
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        server.route("/start", ProtectedResource.reply(.redirect(to: other.url("/end").absoluteString)))
        other.route("/end", ProtectedResource.reply())
        let outcome = try await LoadForm.dataAsync.load(server.url("/start", as: "me:secret"))
        #expect(outcome.response?.statusCode == 401)
        #expect(other.authorizations == [nil])
    }

    @Test("A user that a server names in Location is not used at another origin")
    func chosenUser() async throws {
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        let url = server.route("/start", .redirect(to: other.url("/end", as: "their:choice").absoluteString))
        other.route("/end", ProtectedResource.reply(accepting: "Basic dGhlaXI6Y2hvaWNl"))
        let outcome = try await LoadForm.dataAsync.load(url)
        #expect(outcome.response?.statusCode == 401)
        #expect(other.authorizations == [nil])
    }

    @Test("A redirect to another origin drops the request's own Authorization and uses the stored credential")
    func ownField() async throws {
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        let start = server.route("/start", .redirect(to: other.url("/end").absoluteString))
        let end = other.route("/end", ProtectedResource.reply())
        let session = sandbox.session(ProtectedResource.witness())
        _ = try await session.data(from: end)
        var request = URLRequest(url: start)
        request.setValue("Bearer mine", forHTTPHeaderField: "Authorization")
        #expect(try await session.data(for: request).0 == ProtectedResource.inside)
        #expect(server.authorizations == ["Bearer mine"])
        #expect(other.authorizations == [nil, ProtectedResource.basic, ProtectedResource.basic])
    }
}

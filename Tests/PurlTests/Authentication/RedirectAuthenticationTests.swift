import Foundation
import Purl
import PurlTesting
import Testing

@Suite("Redirects and authentication", .timeLimit(.minutes(5)))
struct RedirectAuthenticationTests {
    @Test("Within an origin the proof goes along, even one for the task alone", arguments: LoadForm.allCases)
    func sameOrigin(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", Door.reply(.redirect(to: "/end")))
        server.route("/end", Door.reply())
        let witness = Door.witness(.useCredential, Door.credential("me", "secret", .none))
        try await form.load(URLRequest(url: url), witness: witness).expectSuccess(Door.inside)
        #expect(server.authorizations == [nil, Door.basic, Door.basic])
        #expect(witness.challenges.count == 1)
    }

    @Test(
        "Another origin never gets it, and is asked about anew",
        arguments: [URLCredential.Persistence.none, .forSession])
    func anotherOrigin(persistence: URLCredential.Persistence) async throws {
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        let url = server.route("/start", Door.reply(.redirect(307, to: other.url("/end").absoluteString)))
        other.route("/end", Door.reply(opensFor: "Basic eW91OnRvbw=="))
        let witness = Witness(challenge: { challenge in
            challenge.protectionSpace.port == Int(server.port)
                ? (.useCredential, Door.credential("me", "secret", persistence))
                : (.useCredential, Door.credential("you", "too", persistence))
        })
        try await LoadForm.dataDelegate.load(URLRequest(url: url), witness: witness).expectSuccess(Door.inside)
        #expect(server.authorizations == [nil, Door.basic])
        #expect(other.authorizations == [nil, "Basic eW91OnRvbw=="])
        // No failure at one server counts at another.
        #expect(
            witness.challenges == [
                .challenge("Basic", "vault", failures: 0), .challenge("Basic", "vault", failures: 0),
            ])
    }

    @Test("The user of the first URL goes along within its origin", arguments: [true, false])
    func namedUserWithin(isAbsolute: Bool) async throws {
        let server = try LoopbackServer()
        server.route("/start", .redirect(to: isAbsolute ? server.url("/end").absoluteString : "/end"))
        server.route("/end", Door.reply())
        try await LoadForm.dataAsync.load(server.url("/start", as: "me:secret")).expectSuccess(Door.inside)
        #expect(server.authorizations == [nil, nil, Door.basic])
    }

    @Test("The user of the first URL is nobody at another origin")
    func namedUser() async throws {
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        server.route("/start", Door.reply(.redirect(to: other.url("/end").absoluteString)))
        other.route("/end", Door.reply())
        let outcome = try await LoadForm.dataAsync.load(server.url("/start", as: "me:secret"))
        #expect(outcome.response?.statusCode == 401)
        #expect(other.authorizations == [nil])
    }

    @Test("No server decides who asks at another one")
    func chosenUser() async throws {
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        let url = server.route("/start", .redirect(to: other.url("/end", as: "their:choice").absoluteString))
        other.route("/end", Door.reply(opensFor: "Basic dGhlaXI6Y2hvaWNl"))
        let outcome = try await LoadForm.dataAsync.load(url)
        #expect(outcome.response?.statusCode == 401)
        #expect(other.authorizations == [nil])
    }

    @Test("The user's own field is left behind; what the session knows of the other origin is used")
    func ownField() async throws {
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        let start = server.route("/start", .redirect(to: other.url("/end").absoluteString))
        let end = other.route("/end", Door.reply())
        let sandbox = try Sandbox()
        let session = sandbox.session(Door.witness())
        _ = try await session.data(from: end)
        var request = URLRequest(url: start)
        request.setValue("Bearer mine", forHTTPHeaderField: "Authorization")
        #expect(try await session.data(for: request).0 == Door.inside)
        #expect(server.authorizations == ["Bearer mine"])
        #expect(other.authorizations == [nil, Door.basic, Door.basic])
        session.invalidateAndCancel()
    }
}

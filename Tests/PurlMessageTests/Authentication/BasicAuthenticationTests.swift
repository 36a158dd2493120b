import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Basic authentication", .timeLimit(.minutes(5)))
struct BasicAuthenticationTests {
    private let sandbox = Sandbox()

    @Test("The delegate's credential answers a 401", arguments: LoadForm.allCases)
    func delegate(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", ProtectedResource.reply())
        let witness = ProtectedResource.witness()
        try await form.load(URLRequest(url: url), witness: witness).expectSuccess(ProtectedResource.inside)
        #expect(witness.challenges == [.challenge("Basic", "vault", failures: 0)])
        #expect(server.authorizations == [nil, ProtectedResource.basic])
        // The body of the 401 is short: it is read, and the connection used again.
        #expect(server.acceptedConnections == 1)
    }

    @Test("The user and password of a URL answer a 401 without a call of the delegate", arguments: LoadForm.allCases)
    func userInURL(form: LoadForm) async throws {
        let server = try LoopbackServer()
        server.route("/place", ProtectedResource.reply())
        let witness = ProtectedResource.witness(.cancelAuthenticationChallenge)
        let request = URLRequest(url: server.url("/place", as: "me:secret"))
        try await form.load(request, witness: witness).expectSuccess(ProtectedResource.inside)
        #expect(witness.challenges == [])
        #expect(server.authorizations == [nil, ProtectedResource.basic])
    }

    @Test("The percent-encoding of a URL's user and password is removed")
    func percentEncoding() async throws {
        let server = try LoopbackServer()
        server.route("/place", ProtectedResource.reply(accepting: "Basic bWVAaG9tZTpww6Q6c3M="))
        let request = URLRequest(url: server.url("/place", as: "me%40home:p%C3%A4%3Ass"))
        try await LoadForm.dataAsync.load(request).expectSuccess(ProtectedResource.inside)
    }

    @Test("The storage's default credential answers a 401 without a call of the delegate", arguments: LoadForm.allCases)
    func stored(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", ProtectedResource.reply())
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(ProtectedResource.credential(), for: ProtectedResource.space(of: server))
        let witness = ProtectedResource.witness(.cancelAuthenticationChallenge)
        let outcome = try await form.load(URLRequest(url: url), witness: witness) { $0.urlCredentialStorage = storage }
        outcome.expectSuccess(ProtectedResource.inside)
        #expect(witness.challenges == [])
    }

    @Test("A credential stored for the default method answers a Basic challenge")
    func storedForAnyMethod() async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", ProtectedResource.reply())
        let storage = URLCredentialStorage()
        storage.set(ProtectedResource.credential(), for: ProtectedResource.space(of: server, method: nil))
        try await LoadForm.dataAsync.load(url) { $0.urlCredentialStorage = storage }.expectSuccess(
            ProtectedResource.inside)
    }

    @Test("A URL that names a user is answered with that user's stored password")
    func storedForUser() async throws {
        let server = try LoopbackServer()
        server.route("/place", ProtectedResource.reply())
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(
            ProtectedResource.credential("other", "one"), for: ProtectedResource.space(of: server))
        storage.set(ProtectedResource.credential(), for: ProtectedResource.space(of: server))
        let outcome = try await LoadForm.dataAsync.load(server.url("/place", as: "me")) {
            $0.urlCredentialStorage = storage
        }
        outcome.expectSuccess(ProtectedResource.inside)
        #expect(server.authorizations == [nil, ProtectedResource.basic])
    }

    @Test("Without a credential the 401 and its body are the result", arguments: LoadForm.allCases)
    func noCredential(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", ProtectedResource.reply())
        let outcome = try await form.load(url)
        outcome.expectSuccess(Data("who are you?".utf8))
        #expect(outcome.response?.statusCode == 401)
        #expect(server.authorizations == [nil])
    }

    static let unanswerableChallenges: [[String]] = [
        [], ["Negotiate"], ["NTLM TlRMTVNTUAACAAAA"], [#"Bearer realm="vault""#], ["???"], [","],
        [#"Digest realm="vault", nonce="n", algorithm=SHA-512-256"#],
        [#"Digest realm="vault", nonce="n", qop="auth-int""#],
        [#"Digest nonce="n""#],
    ]

    @Test("A 401 whose challenges cannot be answered is the result", arguments: unanswerableChallenges)
    func unanswerable(challenges: [String]) async throws {
        let server = try LoopbackServer()
        server.route("/place", ProtectedResource.reply(asking: challenges))
        let witness = ProtectedResource.witness()
        let request = URLRequest(url: server.url("/place", as: "me:secret"))
        let outcome = try await LoadForm.dataDelegate.load(request, witness: witness)
        outcome.expectSuccess(Data("who are you?".utf8))
        #expect(outcome.response?.statusCode == 401)
        #expect(witness.challenges == [])
    }

    @Test("A 407 from a server that is not a proxy is an ordinary response")
    func proxyStatus() async throws {
        let server = try LoopbackServer()
        server.fallback(.text("pay first").status(407).field("Proxy-Authenticate", ProtectedResource.basicChallenge))
        let witness = ProtectedResource.witness()
        let request = URLRequest(url: server.url("/place", as: "me:secret"))
        let outcome = try await LoadForm.dataDelegate.load(request, witness: witness)
        outcome.expectSuccess(Data("pay first".utf8))
        #expect(witness.challenges == [])
        #expect(server.requests.count == 1)
    }

    @Test("The request's own Authorization field is sent, and a refusal of it is the result", arguments: [true, false])
    func ownField(isSessions: Bool) async throws {
        let server = try LoopbackServer()
        server.route("/place", ProtectedResource.reply())
        var request = URLRequest(url: server.url("/place", as: "me:secret"))
        if !isSessions { request.setValue("Bearer mine", forHTTPHeaderField: "authorization") }
        let witness = ProtectedResource.witness()
        let outcome = try await LoadForm.dataDelegate.load(request, witness: witness) { configuration in
            if isSessions { configuration.httpAdditionalHeaders = ["Authorization": "Bearer mine"] }
        }
        #expect(outcome.response?.statusCode == 401)
        #expect(witness.challenges == [])
        #expect(server.authorizations == ["Bearer mine"])
    }

    @Test("A request's body is sent again with the credential", arguments: LoadForm.allCases)
    func body(form: LoadForm) async throws {
        let server = try LoopbackServer()
        var request = URLRequest(url: server.route("/place", ProtectedResource.reply()))
        request.httpMethod = "POST"
        request.httpBody = Data("a form".utf8)
        try await form.load(request, witness: ProtectedResource.witness()).expectSuccess(ProtectedResource.inside)
        #expect(server.requests.map(\.body) == [Data("a form".utf8), Data("a form".utf8)])
        #expect(server.requests.map(\.method) == ["POST", "POST"])
    }

    @Test("After a 401 that comes before the body was read, the request is repeated on another connection")
    func earlyRefusal() async throws {
        let server = try LoopbackServer()
        let content = GeneratedContent(size: 8 << 20, seed: 5)
        let url = server.route(
            "/place",
            .sequence([
                .status(401).field("WWW-Authenticate", ProtectedResource.basicChallenge).beforeBody(),
                ProtectedResource.reply(),
            ]))
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        request.httpBody = content.data
        try await LoadForm.dataDelegate.load(request, witness: ProtectedResource.witness()).expectSuccess(
            ProtectedResource.inside)
        #expect(server.requests.last?.body.isSame(as: content.data) == true)
        #expect(server.authorizations == [nil, ProtectedResource.basic])
    }

    /// Bodies of a 401 that are not worth reading to their end.
    static let longBodies: [Reply] = [
        .generated(size: 1 << 20), .generated(size: 100).chunked(), .generated(size: 100).untilClose(),
        .generated(size: 100).cut(afterBytes: 50),
    ]

    @Test("The body of a 401, however long, does not delay the repeated request", arguments: longBodies.indices)
    func refusalBody(index: Int) async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", ProtectedResource.reply(refusal: Self.longBodies[index]))
        try await LoadForm.dataDelegate.load(URLRequest(url: url), witness: ProtectedResource.witness()).expectSuccess(
            ProtectedResource.inside)
        #expect(server.authorizations == [nil, ProtectedResource.basic])
        // A short one in chunks may be complete before the delegate has answered.
        #expect((index == 1 ? 1...2 : 2...2).contains(server.acceptedConnections))
    }

    @Test("A HEAD request is authenticated")
    func head() async throws {
        let server = try LoopbackServer()
        var request = URLRequest(url: server.route("/place", ProtectedResource.reply()))
        request.httpMethod = "HEAD"
        let outcome = try await LoadForm.dataDelegate.load(request, witness: ProtectedResource.witness())
        #expect(outcome.response?.statusCode == 200)
        #expect(server.requests.map(\.method) == ["HEAD", "HEAD"])
        #expect(server.acceptedConnections == 1)
    }

    @Test("A resumed download repeats its range request with the credential")
    func resumedDownload() async throws {
        let paused = try await PausedDownload(request: { url in
            URLRequest(url: URL(string: url.absoluteString.replacing("http://", with: "http://me:secret@")) ?? url)
        })
        paused.answer(ProtectedResource.reply(paused.sameResource))
        let outcome = await paused.resume()
        #expect(outcome.error == nil)
        #expect(outcome.file?.isSame(as: paused.content.data) == true)
        #expect(outcome.resumedAt == [100_000])
        #expect(paused.ranges == ["bytes=100000-", "bytes=100000-"])
        #expect(paused.server.authorizations == [nil, ProtectedResource.basic])
    }

    @Test("A resumed download that is refused keeps its resume data", arguments: [true, false])
    func refusedResume(isCancelled: Bool) async throws {
        let paused = try await PausedDownload()
        paused.answer(ProtectedResource.reply(paused.sameResource))
        let witness = ProtectedResource.witness(isCancelled ? .cancelAuthenticationChallenge : .performDefaultHandling)
        let session = paused.sandbox.session(witness)
        let task = session.downloadTask(withResumeData: paused.blob).resumed()
        await witness.completion()
        #expect(witness.error(of: task)?.code == (isCancelled ? .cancelled : .badServerResponse))
        #expect(witness.error(of: task)?.downloadTaskResumeData != nil)
        #expect(paused.sandbox.partialNames.count == 1)
    }

    @Test(
        "A sink receives the body behind the 401; without a credential the delegate receives the body of the 401",
        arguments: [true, false])
    func sink(hasCredential: Bool) async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", ProtectedResource.reply())
        let file = sandbox.file("sink")
        let witness = hasCredential ? ProtectedResource.witness() : Witness()
        let task = sandbox.session(witness).dataTask(with: url, writingTo: FileHandleSink(fileAt: file)).resumed()
        await witness.completion()
        let written = try? Data(contentsOf: file)
        #expect(written == (hasCredential ? ProtectedResource.inside : nil))
        #expect(witness.data(of: task) == (hasCredential ? Data() : Data("who are you?".utf8)))
    }
}

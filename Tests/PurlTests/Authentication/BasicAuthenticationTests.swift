import Foundation
import Purl
import PurlTesting
import Testing

@Suite("A 401 is answered with a user and a password", .timeLimit(.minutes(5)))
struct BasicAuthenticationTests {
    @Test("The delegate's credential opens the place", arguments: LoadForm.allCases)
    func delegate(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", Door.reply())
        let witness = Door.witness()
        try await form.load(URLRequest(url: url), witness: witness).expectSuccess(Door.inside)
        #expect(witness.challenges == [.challenge("Basic", "vault", failures: 0)])
        #expect(server.authorizations == [nil, Door.basic])
        // The body of the 401 is short: it is read, and the connection used again.
        #expect(server.acceptedConnections == 1)
    }

    @Test("So does what the URL says, and nobody is asked", arguments: LoadForm.allCases)
    func named(form: LoadForm) async throws {
        let server = try LoopbackServer()
        server.route("/place", Door.reply())
        let witness = Door.witness(.cancelAuthenticationChallenge)
        let request = URLRequest(url: server.url("/place", as: "me:secret"))
        try await form.load(request, witness: witness).expectSuccess(Door.inside)
        #expect(witness.challenges == [])
        #expect(server.authorizations == [nil, Door.basic])
    }

    @Test("A user in a URL is percent-encoded")
    func percentEncoding() async throws {
        let server = try LoopbackServer()
        server.route("/place", Door.reply(opensFor: "Basic bWVAaG9tZTpww6Q6c3M="))
        let request = URLRequest(url: server.url("/place", as: "me%40home:p%C3%A4%3Ass"))
        try await LoadForm.dataAsync.load(request).expectSuccess(Door.inside)
    }

    @Test("So does the storage's default credential, and nobody is asked", arguments: LoadForm.allCases)
    func stored(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", Door.reply())
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(Door.credential(), for: Door.space(of: server))
        let witness = Door.witness(.cancelAuthenticationChallenge)
        let outcome = try await form.load(URLRequest(url: url), witness: witness) { $0.urlCredentialStorage = storage }
        outcome.expectSuccess(Door.inside)
        #expect(witness.challenges == [])
    }

    @Test("A credential stored for no method in particular does as well")
    func storedForAnyMethod() async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", Door.reply())
        let storage = URLCredentialStorage()
        storage.set(Door.credential(), for: Door.space(of: server, method: nil))
        try await LoadForm.dataAsync.load(url) { $0.urlCredentialStorage = storage }.expectSuccess(Door.inside)
    }

    @Test("A URL that names a user gets that user's password from the storage")
    func storedForUser() async throws {
        let server = try LoopbackServer()
        server.route("/place", Door.reply())
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(Door.credential("other", "one"), for: Door.space(of: server))
        storage.set(Door.credential(), for: Door.space(of: server))
        let outcome = try await LoadForm.dataAsync.load(server.url("/place", as: "me")) {
            $0.urlCredentialStorage = storage
        }
        outcome.expectSuccess(Door.inside)
        #expect(server.authorizations == [nil, Door.basic])
    }

    @Test("Without a credential the 401 is the result, body included", arguments: LoadForm.allCases)
    func nobody(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", Door.reply())
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

    @Test("So it is when nothing in it can be answered", arguments: unanswerableChallenges)
    func unanswerable(challenges: [String]) async throws {
        let server = try LoopbackServer()
        server.route("/place", Door.reply(asking: challenges))
        let witness = Door.witness()
        let request = URLRequest(url: server.url("/place", as: "me:secret"))
        let outcome = try await LoadForm.dataDelegate.load(request, witness: witness)
        outcome.expectSuccess(Data("who are you?".utf8))
        #expect(outcome.response?.statusCode == 401)
        #expect(witness.challenges == [])
    }

    @Test("A 407 from a server that is no proxy is a response like any other")
    func proxyStatus() async throws {
        let server = try LoopbackServer()
        server.fallback(.text("pay first").status(407).field("Proxy-Authenticate", Door.asksBasic))
        let witness = Door.witness()
        let request = URLRequest(url: server.url("/place", as: "me:secret"))
        let outcome = try await LoadForm.dataDelegate.load(request, witness: witness)
        outcome.expectSuccess(Data("pay first".utf8))
        #expect(witness.challenges == [])
        #expect(server.requests.count == 1)
    }

    @Test("The request's own field wins, also when it is refused", arguments: [true, false])
    func ownField(isSessions: Bool) async throws {
        let server = try LoopbackServer()
        server.route("/place", Door.reply())
        var request = URLRequest(url: server.url("/place", as: "me:secret"))
        if !isSessions { request.setValue("Bearer mine", forHTTPHeaderField: "authorization") }
        let witness = Door.witness()
        let outcome = try await LoadForm.dataDelegate.load(request, witness: witness) { configuration in
            if isSessions { configuration.httpAdditionalHeaders = ["Authorization": "Bearer mine"] }
        }
        #expect(outcome.response?.statusCode == 401)
        #expect(witness.challenges == [])
        #expect(server.authorizations == ["Bearer mine"])
    }

    @Test("A body is sent again", arguments: LoadForm.allCases)
    func body(form: LoadForm) async throws {
        let server = try LoopbackServer()
        var request = URLRequest(url: server.route("/place", Door.reply()))
        request.httpMethod = "POST"
        request.httpBody = Data("a form".utf8)
        try await form.load(request, witness: Door.witness()).expectSuccess(Door.inside)
        #expect(server.requests.map(\.body) == [Data("a form".utf8), Data("a form".utf8)])
        #expect(server.requests.map(\.method) == ["POST", "POST"])
    }

    @Test("A server that asks before it has taken the body gets it again on another connection")
    func earlyRefusal() async throws {
        let server = try LoopbackServer()
        let content = GeneratedContent(size: 8 << 20, seed: 5)
        let url = server.route(
            "/place",
            .sequence([
                .status(401).field("WWW-Authenticate", Door.asksBasic).beforeBody(), Door.reply(),
            ]))
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        request.httpBody = content.data
        try await LoadForm.dataDelegate.load(request, witness: Door.witness()).expectSuccess(Door.inside)
        #expect(server.requests.last?.body.isSame(as: content.data) == true)
        #expect(server.authorizations == [nil, Door.basic])
    }

    /// Bodies of a 401 that are not worth reading to their end.
    static let longBodies: [Reply] = [
        .generated(size: 1 << 20), .generated(size: 100).chunked(), .generated(size: 100).untilClose(),
        .generated(size: 100).cut(afterBytes: 50),
    ]

    @Test("However the body of the 401 comes, it stands in nobody's way", arguments: longBodies.indices)
    func refusalBody(index: Int) async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", Door.reply(refusal: Self.longBodies[index]))
        try await LoadForm.dataDelegate.load(URLRequest(url: url), witness: Door.witness()).expectSuccess(Door.inside)
        #expect(server.authorizations == [nil, Door.basic])
        #expect(server.acceptedConnections == 2)
    }

    @Test("HEAD")
    func head() async throws {
        let server = try LoopbackServer()
        var request = URLRequest(url: server.route("/place", Door.reply()))
        request.httpMethod = "HEAD"
        let outcome = try await LoadForm.dataDelegate.load(request, witness: Door.witness())
        #expect(outcome.response?.statusCode == 200)
        #expect(server.requests.map(\.method) == ["HEAD", "HEAD"])
        #expect(server.acceptedConnections == 1)
    }

    @Test("What a resumed download goes on with is asked for again, with the credential")
    func resumedDownload() async throws {
        let paused = try await PausedDownload(request: { url in
            URLRequest(url: URL(string: url.absoluteString.replacing("http://", with: "http://me:secret@")) ?? url)
        })
        paused.answer(Door.reply(paused.sameResource))
        let outcome = await paused.resume()
        #expect(outcome.error == nil)
        #expect(outcome.file?.isSame(as: paused.content.data) == true)
        #expect(outcome.resumedAt == [100_000])
        #expect(paused.ranges == ["bytes=100000-", "bytes=100000-"])
        #expect(paused.server.authorizations == [nil, Door.basic])
    }

    @Test("A resumed download that nobody may go on with keeps its resume data", arguments: [true, false])
    func refusedResume(isCancelled: Bool) async throws {
        let paused = try await PausedDownload()
        paused.answer(Door.reply(paused.sameResource))
        let witness = Door.witness(isCancelled ? .cancelAuthenticationChallenge : .performDefaultHandling)
        let session = paused.sandbox.session(witness)
        let task = session.downloadTask(withResumeData: paused.blob)
        task.resume()
        await witness.completion()
        #expect(witness.error(of: task)?.code == (isCancelled ? .cancelled : .badServerResponse))
        #expect(witness.error(of: task)?.downloadTaskResumeData != nil)
        #expect(paused.sandbox.partialNames.count == 1)
        session.invalidateAndCancel()
    }

    @Test("A sink gets what is inside; what the 401 says goes to the delegate", arguments: [true, false])
    func sink(knowsTheWord: Bool) async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", Door.reply())
        let sandbox = try Sandbox()
        let file = sandbox.file("sink")
        let witness = knowsTheWord ? Door.witness() : Witness()
        let session = sandbox.session(witness)
        let task = session.dataTask(with: url, writingTo: FileHandleSink(fileAt: file))
        task.resume()
        await witness.completion()
        let written = try? Data(contentsOf: file)
        #expect(written == (knowsTheWord ? Door.inside : nil))
        #expect(witness.data(of: task) == (knowsTheWord ? Data() : Data("who are you?".utf8)))
        session.invalidateAndCancel()
    }
}

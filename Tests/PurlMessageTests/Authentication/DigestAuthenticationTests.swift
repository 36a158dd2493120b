import Foundation
import Purl
import PurlHTTP
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("Digest authentication", .timeLimit(.minutes(5)))
struct DigestAuthenticationTests {
    private let sandbox = Sandbox()

    @Test(
        "The response is right for every algorithm, with and without quality of protection",
        arguments: [nil] + DigestAlgorithm.allCases,
        [true, false])
    func algorithms(algorithm: DigestAlgorithm?, hasQuality: Bool) async throws {
        let server = try LoopbackServer()
        let digestServer = DigestServer(algorithm, hasQuality: hasQuality)
        server.route("/place", digestServer.reply())
        let request = URLRequest(url: server.url("/place?q=a%20b", as: "me:secret"))
        try await LoadForm.dataDelegate.load(request).expectSuccess(ProtectedResource.inside)
        #expect(digestServer.entries.map(\.isGood) == [true])
    }

    @Test("Digest authentication works in every form of loading", arguments: LoadForm.allCases)
    func forms(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let digestServer = DigestServer()
        var request = URLRequest(url: server.route("/place", digestServer.reply()))
        request.httpMethod = "POST"
        request.httpBody = Data("a form".utf8)
        let witness = ProtectedResource.witness()
        try await form.load(request, witness: witness).expectSuccess(ProtectedResource.inside)
        #expect(witness.challenges == [.challenge("Digest", "vault", failures: 0)])
        #expect(server.requests.map(\.body) == [Data("a form".utf8), Data("a form".utf8)])
    }

    /// Challenges, and how the answer to the safest of them begins.
    static let choices: [(challenges: [String], answer: String, algorithm: String?)] = [
        ([#"Basic realm="b", Digest realm="d", nonce="n", qop="auth""#], "Digest ", nil),
        ([#"Digest realm="d", nonce="n""#, #"Basic realm="b""#], "Digest ", nil),
        (
            [#"Digest realm="d", nonce="m", algorithm=MD5"#, #"Digest realm="d", nonce="s", algorithm=SHA-256"#],
            "Digest ", "SHA-256"
        ),
        ([#"Digest realm=d,nonce=m,algorithm=MD5,Digest realm=e,nonce=s,algorithm="sha-256""#], "Digest ", "SHA-256"),
        ([#"Digest realm="d", nonce="n", algorithm=WHIRLPOOL, Basic realm="b""#], "Basic ", nil),
        ([#"Negotiate, Basic realm=b"#], "Basic ", nil),
        ([#"BASIC REALM=b"#], "Basic ", nil),
        (["Basic"], "Basic ", nil),
    ]

    @Test("The safest of several challenges is answered", arguments: choices.indices)
    func choice(index: Int) async throws {
        let (challenges, beginning, algorithm) = Self.choices[index]
        let server = try LoopbackServer()
        server.route(
            "/place",
            .computed { request in
                guard request.fields["Authorization"] == nil else { return .text("inside") }
                return challenges.reduce(.status(401)) { $0.field("WWW-Authenticate", $1) }
            })
        let request = URLRequest(url: server.url("/place", as: "me:secret"))
        try await LoadForm.dataAsync.load(request).expectSuccess(ProtectedResource.inside)
        let answer = try #require(server.authorizations.last ?? nil)
        #expect(answer.hasPrefix(beginning))
        #expect(Challenge.all(in: [.authorization: answer], .authorization).first?.parameter("algorithm") == algorithm)
    }

    @Test("A refused digest is never followed by Basic credentials")
    func noDowngrade() async throws {
        let server = try LoopbackServer()
        server.fallback(
            .text("no").status(401).field("WWW-Authenticate", #"Digest realm="d", nonce="n", Basic realm="d""#))
        let storage = URLCredentialStorage()
        storage.set(ProtectedResource.credential(), for: ProtectedResource.space(of: server, realm: "d"))
        _ = try await LoadForm.dataAsync.load(server.url("/place", as: "me:secret")) {
            $0.urlCredentialStorage = storage
        }
        #expect(server.authorizations.count == 2)
        #expect(server.authorizations.last??.hasPrefix("Digest ") == true)
    }

    @Test("Later requests increase the nonce count and have a new client nonce")
    func count() async throws {
        let server = try LoopbackServer()
        let digestServer = DigestServer()
        server.fallback(digestServer.reply())
        let witness = ProtectedResource.witness()
        let session = sandbox.session(witness)
        for path in ["/a", "/b", "/c/d"] {
            #expect(try await session.data(from: server.url(path)).0 == ProtectedResource.inside)
        }
        #expect(digestServer.entries == (1...3).map { DigestServer.Entry(nonce: "nonce-1", count: $0, isGood: true) })
        #expect(digestServer.hasFreshClientNonces)
        #expect(server.requests.count == 4)
        #expect(witness.challenges.count == 1)
    }

    @Test("Concurrent requests never use the same nonce count")
    func countTogether() async throws {
        let server = try LoopbackServer()
        let digestServer = DigestServer()
        server.fallback(digestServer.reply())
        let session = sandbox.session(ProtectedResource.witness()) { $0.httpMaximumConnectionsPerHost = 1 }
        _ = try await session.data(from: server.url("/first"))
        try await withThrowingTaskGroup(of: Data.self) { group in
            for number in 0..<20 { group.addTask { try await session.data(from: server.url("/\(number)")).0 } }
            for try await body in group { #expect(body == ProtectedResource.inside) }
        }
        #expect(digestServer.entries.map(\.count) == Array(1...21))
    }

    @Test(
        "A server with one nonce for all, which takes each count once, lets all in: whatever logins the requests belong to",
        arguments: [URLCredential.Persistence.forSession, .none], [true, false])
    func oneNonce(persistence: URLCredential.Persistence, namesNextNonce: Bool) async throws {
        let server = try LoopbackServer()
        let counts = Mutex<(seen: Set<String>, replays: Int)>(([], 0))
        server.fallback(
            .computed { request in
                let challenge = #"Digest realm="vault", nonce="one", qop="auth""#
                guard let value = request.fields["Authorization"] else {
                    return .text("who are you?").status(401).field("WWW-Authenticate", challenge)
                }
                let count = Challenge.all(in: [.authorization: value], .authorization).first?.parameter("nc") ?? ""
                let isNew = counts.withLock { counts in
                    let isNew = counts.seen.insert(count).inserted
                    if !isNew { counts.replays += 1 }
                    return isNew
                }
                guard isNew else { return .text("again?").status(401).field("WWW-Authenticate", challenge) }
                let inside = Reply.text("inside")
                return namesNextNonce ? inside.field("Authentication-Info", #"nextnonce="one""#) : inside
            })
        let session = sandbox.session(
            ProtectedResource.witness(
                .useCredential,
                ProtectedResource.credential(ProtectedResource.user, ProtectedResource.password, persistence)))
        for round in 0..<2 {
            try await withThrowingTaskGroup(of: Data.self) { group in
                for number in 0..<6 {
                    group.addTask { try await session.data(from: server.url("/\(round)/\(number)")).0 }
                }
                for try await body in group { #expect(body == ProtectedResource.inside) }
            }
        }
        #expect(counts.withLock { $0.replays } == 0)
    }

    @Test("A stale nonce is renewed without a call of the delegate", arguments: [true, false])
    func stale(saysStale: Bool) async throws {
        let server = try LoopbackServer()
        let digestServer = DigestServer(usesPerNonce: 2, saysStale: saysStale)
        server.fallback(digestServer.reply())
        let witness = ProtectedResource.witness()
        let session = sandbox.session(witness)
        for _ in 0..<5 { #expect(try await session.data(from: server.url("/place")).0 == ProtectedResource.inside) }
        #expect(digestServer.entries.count { $0.nonce == "nonce-2" } >= 2)
        #expect(witness.challenges == [.challenge("Digest", "vault", failures: 0)])
    }

    @Test("A server that calls every nonce stale is not asked for ever")
    func alwaysStale() async throws {
        let server = try LoopbackServer()
        let digestServer = DigestServer(usesPerNonce: 0)
        let url = server.route("/place", digestServer.reply())
        let outcome = try await LoadForm.dataDelegate.load(URLRequest(url: url), witness: ProtectedResource.witness())
        #expect(outcome.response?.statusCode == 401)
        // The first, three renewals, and once more because the delegate insists.
        #expect(server.requests.count == 6)
    }

    @Test("The nextnonce of Authentication-Info is used for the next request")
    func nextNonce() async throws {
        let server = try LoopbackServer()
        let digestServer = DigestServer(usesPerNonce: 1, namesNextNonce: true)
        server.fallback(digestServer.reply())
        let session = sandbox.session(ProtectedResource.witness())
        for _ in 0..<3 { #expect(try await session.data(from: server.url("/place")).0 == ProtectedResource.inside) }
        #expect(
            digestServer.entries == (1...3).map { DigestServer.Entry(nonce: "nonce-\($0)", count: 1, isGood: true) })
        #expect(server.requests.count == 4)
    }

    @Test("A digest is sent unasked to the URLs of the domain parameter, and to no others")
    func domain() async throws {
        let server = try LoopbackServer()
        server.fallback(
            .computed { request in
                guard request.fields["Authorization"] == nil else { return .text("inside") }
                return .status(401).field(
                    "WWW-Authenticate", #"Digest realm="d", nonce="n", domain="/in http://elsewhere/ //other/x""#)
            })
        let session = sandbox.session(ProtectedResource.witness(.useCredential, ProtectedResource.credential()))
        for path in ["/in/a", "/in/b", "/out"] { _ = try await session.data(from: server.url(path)) }
        #expect(server.authorizations.map { $0 != nil } == [false, true, true, false, true])
    }
}

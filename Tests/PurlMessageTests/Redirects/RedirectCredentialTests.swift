import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Credentials do not cross origins on redirect", .timeLimit(.minutes(5)))
struct RedirectCredentialTests {
    private let sandbox = Sandbox()
    static let credentials = ["Authorization": "Basic eA==", "Cookie": "a=b", "Proxy-Authorization": "Basic eQ=="]
    static let names = ["Authorization", "Cookie", "Proxy-Authorization", "X-Other"]
    /// `Proxy-Authorization` is sent to no server.
    static let all: [String?] = ["Basic eA==", "a=b", nil, "kept"]
    static let none: [String?] = [nil, nil, nil, "kept"]

    /// The origin of the fields.
    enum Source: CaseIterable, Sendable {
        case request, session, requestInOtherCase, sessionInOtherCase
    }

    private func load(_ url: URL, _ source: Source, _ form: LoadForm) async throws {
        var request = URLRequest(url: url)
        var fields = Self.credentials
        fields["X-Other"] = "kept"
        let isOtherCase = source == .requestInOtherCase || source == .sessionInOtherCase
        if isOtherCase { fields = Dictionary(uniqueKeysWithValues: fields.map { ($0.key.lowercased(), $0.value) }) }
        let isRequest = source == .request || source == .requestInOtherCase
        if isRequest { request.allHTTPHeaderFields = fields }
        let outcome = try await form.load(request) { configuration in
            if !isRequest { configuration.httpAdditionalHeaders = fields }
        }
        outcome.expectSuccess(Data("end".utf8))
    }

    private func seen(by server: LoopbackServer) -> [[String?]] {
        server.requests.map { request in Self.names.map { request.fields[$0] } }
    }

    @Test("A redirect within the origin keeps the credential fields", arguments: Source.allCases, LoadForm.allCases)
    func sameOrigin(source: Source, form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/1", .redirect(to: "/2"))
        server.route("/2", .redirect(307, to: server.url("/3").absoluteString))
        server.route("/3", .text("end"))
        try await load(url, source, form)
        #expect(seen(by: server) == [Self.all, Self.all, Self.all])
    }

    @Test("A redirect to another port drops the credential fields", arguments: Source.allCases, LoadForm.allCases)
    func anotherPort(source: Source, form: LoadForm) async throws {
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        let url = server.route("/start", .redirect(to: other.url("/end").absoluteString))
        other.route("/end", .text("end"))
        try await load(url, source, form)
        #expect(seen(by: server) == [Self.all])
        #expect(seen(by: other) == [Self.none])
    }

    @Test("A redirect to another scheme drops the credential fields", arguments: Source.allCases)
    func anotherScheme(source: Source) async throws {
        let local = try LoopbackServer(.unix(path: sandbox.file("local").path))
        let other = try LoopbackServer()
        let url = local.route("/start", .redirect(to: other.url("/end").absoluteString))
        other.route("/end", .text("end"))
        try await load(url, source, .dataDelegate)
        #expect(seen(by: local) == [Self.all])
        #expect(seen(by: other) == [Self.none])
    }

    @Test("A redirect to another name of the same address drops the credential fields", arguments: Source.allCases)
    func anotherName(source: Source) async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", .redirect(to: "http://localhost:\(server.port)/end"))
        server.route("/end", .text("end"))
        try await load(url, source, .dataDelegate)
        #expect(seen(by: server) == [Self.all, Self.none])
    }

    @Test("A redirect to the same name in capitals keeps the credential fields", arguments: Source.allCases)
    func sameNameInCapitals(source: Source) async throws {
        let server = try LoopbackServer()
        server.route("/start", .redirect(to: "http://LOCALHOST:\(server.port)/end"))
        server.route("/end", .text("end"))
        try await load(try #require(URL(string: "http://localhost:\(server.port)/start")), source, .dataDelegate)
        #expect(seen(by: server) == [Self.all, Self.all])
    }

    @Test("Dropped credential fields are not restored by a redirect back", arguments: Source.allCases)
    func thereAndBack(source: Source) async throws {
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        let url = server.route("/start", .redirect(to: other.url("/middle").absoluteString))
        other.route("/middle", .redirect(to: server.url("/end").absoluteString))
        server.route("/end", .text("end"))
        try await load(url, source, .dataDelegate)
        #expect(seen(by: server) == [Self.all, Self.none])
        #expect(seen(by: other) == [Self.none])
    }

    @Test("The user and password of a URL are not sent in a redirected request")
    func userinfo() async throws {
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        server.route("/start", .redirect(to: "http://me:secret@127.0.0.1:\(other.port)/end"))
        other.route("/end", .text("end"))
        let url = try #require(URL(string: "http://me:secret@127.0.0.1:\(server.port)/start"))
        try await LoadForm.dataDelegate.load(url).expectSuccess(Data("end".utf8))
        for request in server.requests + other.requests {
            #expect(request.fields.allSatisfy { !$0.value.contains("secret") && !$0.value.contains("me:") })
            #expect(!request.target.contains("secret"))
        }
    }

    @Test("The delegate receives the request without credential fields, and may add them")
    func delegateAdds() async throws {
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        let url = server.route("/start", .redirect(to: other.url("/end").absoluteString))
        other.route("/end", .text("end"))
        let shown = LockedValue<[String: String]?>(nil)
        let witness = Witness(redirect: { request in
            shown.withLock { $0 = request.allHTTPHeaderFields }
            var request = request
            request.setValue("Bearer mine", forHTTPHeaderField: "Authorization")
            return request
        })
        var request = URLRequest(url: url)
        request.allHTTPHeaderFields = Self.credentials
        request.setValue("kept", forHTTPHeaderField: "X-Other")
        try await LoadForm.dataDelegate.load(request, witness: witness).expectSuccess(Data("end".utf8))
        // Whether there is a proxy, which it is for, the redirect does not decide.
        #expect(shown.withLock { $0 } == ["X-Other": "kept", "Proxy-Authorization": "Basic eQ=="])
        #expect(seen(by: other) == [["Bearer mine", nil, nil, "kept"]])
    }

    @Test("A body is sent to another origin where the status keeps the method")
    func body() async throws {
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        var request = URLRequest(url: server.route("/start", .redirect(308, to: other.url("/end").absoluteString)))
        other.route("/end", .text("end"))
        request.httpMethod = "PUT"
        request.httpBody = Data("the body".utf8)
        request.setValue("Basic eA==", forHTTPHeaderField: "Authorization")
        try await LoadForm.dataDelegate.load(request).expectSuccess(Data("end".utf8))
        #expect(other.requests.map(\.method) == ["PUT"])
        #expect(other.requests.map(\.body) == [Data("the body".utf8)])
        #expect(other.requests.map { $0.fields["Authorization"] } == [nil])
    }
}

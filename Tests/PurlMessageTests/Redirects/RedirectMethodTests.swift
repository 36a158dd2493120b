import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The method after a redirect", .timeLimit(.minutes(5)))
struct RedirectMethodTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        let method: String
        let next: String
        let keepsBody: Bool

        var testDescription: String { "\(method), \(status)" }
    }

    static let rows: [Row] = [
        Row(status: 301, method: "GET", next: "GET", keepsBody: false),
        Row(status: 302, method: "GET", next: "GET", keepsBody: false),
        Row(status: 303, method: "GET", next: "GET", keepsBody: false),
        Row(status: 307, method: "GET", next: "GET", keepsBody: false),
        Row(status: 308, method: "GET", next: "GET", keepsBody: false),
        Row(status: 301, method: "HEAD", next: "HEAD", keepsBody: false),
        Row(status: 302, method: "HEAD", next: "HEAD", keepsBody: false),
        Row(status: 303, method: "HEAD", next: "HEAD", keepsBody: false),
        Row(status: 307, method: "HEAD", next: "HEAD", keepsBody: false),
        Row(status: 308, method: "HEAD", next: "HEAD", keepsBody: false),
        Row(status: 301, method: "POST", next: "GET", keepsBody: false),
        Row(status: 302, method: "POST", next: "GET", keepsBody: false),
        Row(status: 303, method: "POST", next: "GET", keepsBody: false),
        Row(status: 307, method: "POST", next: "POST", keepsBody: true),
        Row(status: 308, method: "POST", next: "POST", keepsBody: true),
        Row(status: 301, method: "PUT", next: "PUT", keepsBody: true),
        Row(status: 302, method: "PUT", next: "PUT", keepsBody: true),
        Row(status: 303, method: "PUT", next: "GET", keepsBody: false),
        Row(status: 307, method: "PUT", next: "PUT", keepsBody: true),
        Row(status: 308, method: "PUT", next: "PUT", keepsBody: true),
        Row(status: 303, method: "DELETE", next: "GET", keepsBody: false),
        Row(status: 307, method: "DELETE", next: "DELETE", keepsBody: true),
        Row(status: 303, method: "PATCH", next: "GET", keepsBody: false),
        Row(status: 308, method: "PATCH", next: "PATCH", keepsBody: true),
    ]

    static let contentFields = ["Content-Type", "Content-Encoding", "Content-Language", "Content-Length"]
    static let otherContentFields = [
        "Content-Location", "Content-Range", "Content-Disposition", "Last-Modified", "Content-Digest", "Repr-Digest",
        "Digest", "Content-MD5",
    ]

    @Test("The status decides on the method, the body and its fields", arguments: rows)
    func method(row: Row) async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", .redirect(row.status, to: "/end"))
        server.route("/end", .text("end"))
        let body = Data("the body".utf8)
        let hasBody = row.method != "GET" && row.method != "HEAD"
        for form in LoadForm.allCases {
            server.forgetRequests()
            var request = URLRequest(url: url)
            request.httpMethod = row.method
            if hasBody {
                request.httpBody = body
                request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
                request.setValue("x-none", forHTTPHeaderField: "Content-Encoding")
                request.setValue("la", forHTTPHeaderField: "Content-Language")
                for name in Self.otherContentFields { request.setValue("1", forHTTPHeaderField: name) }
            }
            request.setValue("kept", forHTTPHeaderField: "X-Other")
            let outcome = try await form.load(request)
            outcome.expectSuccess(Data((row.method == "HEAD" ? "" : "end").utf8))
            #expect(outcome.response?.statusCode == 200)
            #expect(outcome.response?.url == server.url("/end"))

            let requests = server.requests
            try #require(requests.count == 2)
            let (first, second) = (requests[0], requests[1])
            #expect(first.method == row.method)
            #expect(first.body == (hasBody ? body : Data()))
            #expect(second.path == "/end")
            #expect(second.method == row.next)
            #expect(second.body == (row.keepsBody ? body : Data()))
            let seen = Self.contentFields.map { second.fields[$0] }
            #expect(seen == (row.keepsBody ? ["text/plain", "x-none", "la", "8"] : [nil, nil, nil, nil]))
            let others = Self.otherContentFields.filter { second.fields[$0] != nil }
            #expect(others == (row.keepsBody ? Self.otherContentFields : []))
            #expect(second.fields["X-Other"] == "kept")
        }
    }

    @Test("A body of 2 MB is sent again", arguments: [307, 308])
    func longBody(status: Int) async throws {
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        let body = GeneratedContent(size: 2_000_000, seed: 9)
        let url = server.route("/start", .redirect(status, to: other.url("/end").absoluteString))
        other.route("/end", .text("end"))
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = body.data
        let outcome = try await LoadForm.dataDelegate.load(request)
        outcome.expectSuccess(Data("end".utf8))
        #expect(server.requests.map { $0.body.isSame(as: body.data) } == [true])
        #expect(other.requests.map { $0.body.isSame(as: body.data) } == [true])
    }

    @Test(
        "A redirected download has the body of the last response only",
        arguments: [LoadForm.downloadDelegate, .downloadHandler, .downloadAsync])
    func download(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let content = GeneratedContent(size: 500_000, seed: 10)
        let url = server.route("/1", .text("not this").status(301).field("Location", "/2"))
        server.route("/2", .text("nor that").status(302).field("Location", "/3"))
        server.route("/3", .generated(content))
        let outcome = try await form.load(url)
        outcome.expectSuccess(content.data)
        #expect(outcome.response?.url == server.url("/3"))
        #expect(Array(outcome.events.prefix(2)) == [.redirect(301, to: "/2"), .redirect(302, to: "/3")])
    }
}

@Suite("The method and body after a redirect, for every kind of body", .timeLimit(.minutes(5)))
struct RedirectedBodyTests {
    /// The request that follows one with this method.
    struct Rule: Sendable, CustomTestStringConvertible {
        let status: Int
        let method: String

        var becomesGet: Bool { status == 303 || (method == "POST" && (status == 301 || status == 302)) }
        var testDescription: String { "\(method), \(status)" }
    }

    static let rules = [301, 302, 303, 307, 308].flatMap { status in
        ["POST", "PUT", "PATCH", "DELETE"].map { Rule(status: status, method: $0) }
    }

    @Test("The body is sent again unless the method becomes GET", arguments: rules)
    func rule(rule: Rule) async throws {
        let server = try LoopbackServer()
        server.route("/end", .text("end"))
        let url = server.route("/start", .redirect(rule.status, to: "/end"))
        for form in [UploadForm.body, .stream, .measuredStream, .data, .file, .streamed] {
            server.forgetRequests()
            let upload = try Upload(form, GeneratedContent(size: 10_000, seed: 41))
            var request = Upload.request(url, rule.method)
            request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
            let outcome = await upload.load(request)
            outcome.expectSuccess(Data("end".utf8))
            #expect(outcome.response?.url == server.url("/end"), "\(form.rawValue)")

            let last = try #require(server.requests.last)
            #expect(server.requests.map(\.path) == ["/start", "/end"])
            #expect(last.method == (rule.becomesGet ? "GET" : rule.method), "\(form.rawValue)")
            #expect(last.body.isSame(as: rule.becomesGet ? Data() : upload.content.data), "\(form.rawValue)")
            #expect(last.fields["Content-Type"] == (rule.becomesGet ? nil : "text/plain"), "\(form.rawValue)")
            if rule.becomesGet {
                #expect(last.fields["Content-Length"] == nil && last.fields["Transfer-Encoding"] == nil)
            }
            let asksAgain = !rule.becomesGet && (form == .stream || form == .measuredStream || form == .streamed)
            let needed = (form == .streamed ? 1 : 0) + (asksAgain ? 1 : 0)
            #expect(outcome.events.count { $0 == .neededStream } == needed, "\(form.rawValue)")
        }
    }

    @Test("GET and HEAD keep their method", arguments: ["GET", "HEAD"], [301, 302, 303, 307, 308])
    func bodyless(method: String, status: Int) async throws {
        let server = try LoopbackServer()
        server.route("/end", .text("end"))
        let url = server.route("/start", .redirect(status, to: "/end"))
        let outcome = try await LoadForm.dataDelegate.load(Upload.request(url, method))
        outcome.expectSuccess(Data((method == "HEAD" ? "" : "end").utf8))
        #expect(server.requests.map(\.method) == [method, method])
    }

    @Test("HEAD keeps its method after a 303, in any case of its letters")
    func headInSmallLetters() async throws {
        let server = try LoopbackServer()
        server.route("/end", .text("end"))
        let url = server.route("/start", .redirect(303, to: "/end"))
        try await LoadForm.dataDelegate.load(Upload.request(url, "head")).expectSuccess(Data())
        #expect(server.requests.map(\.method) == ["HEAD", "HEAD"])
    }
}

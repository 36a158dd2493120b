import Foundation
import Purl
import PurlTesting
import Testing

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

    @Test("method, body and the fields that describe the body", arguments: rows)
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
        "A download is made of the last response alone",
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

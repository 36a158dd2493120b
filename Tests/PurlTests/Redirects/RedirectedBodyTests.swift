import Foundation
import Purl
import PurlTesting
import Testing

@Suite("Method and body after a redirect, for every way to give a body", .timeLimit(.minutes(5)))
struct RedirectedBodyTests {
    /// What follows a request with this method.
    struct Rule: Sendable, CustomTestStringConvertible {
        let status: Int
        let method: String

        var becomesGet: Bool { status == 303 || (method == "POST" && (status == 301 || status == 302)) }
        var testDescription: String { "\(method), \(status)" }
    }

    static let rules = [301, 302, 303, 307, 308].flatMap { status in
        ["POST", "PUT", "PATCH", "DELETE"].map { Rule(status: status, method: $0) }
    }

    @Test("The body goes along unless the method becomes GET", arguments: rules)
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

    @Test("GET and HEAD stay what they are", arguments: ["GET", "HEAD"], [301, 302, 303, 307, 308])
    func bodyless(method: String, status: Int) async throws {
        let server = try LoopbackServer()
        server.route("/end", .text("end"))
        let url = server.route("/start", .redirect(status, to: "/end"))
        let outcome = try await LoadForm.dataDelegate.load(Upload.request(url, method))
        outcome.expectSuccess(Data((method == "HEAD" ? "" : "end").utf8))
        #expect(server.requests.map(\.method) == [method, method])
    }

    @Test("A HEAD that is answered with 303 stays a HEAD, whatever the case of its method")
    func headInSmallLetters() async throws {
        let server = try LoopbackServer()
        server.route("/end", .text("end"))
        let url = server.route("/start", .redirect(303, to: "/end"))
        try await LoadForm.dataDelegate.load(Upload.request(url, "head")).expectSuccess(Data())
        #expect(server.requests.map(\.method) == ["HEAD", "HEAD"])
    }
}

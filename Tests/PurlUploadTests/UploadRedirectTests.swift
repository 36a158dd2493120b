import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Redirects of an upload", .timeLimit(.minutes(5)))
struct UploadRedirectTests {
    @Test("A redirect that keeps the method sends the body again", arguments: UploadForm.allCases, [307, 308])
    func sentAgain(form: UploadForm, status: Int) async throws {
        let server = try LoopbackServer()
        server.route("/end", .text("end"))
        let url = server.route("/start", .redirect(status, to: "/end"))
        let upload = try Upload(form, GeneratedContent(size: 400_000, seed: 31))
        let outcome = await upload.load(Upload.request(url))
        outcome.expectSuccess(Data("end".utf8))
        #expect(server.requests.map(\.method) == ["POST", "POST"])
        #expect(server.requests.allSatisfy { $0.body.isSame(as: upload.content.data) })
        #expect(
            server.requests.map { $0.fields["Content-Length"] }
                == Array(repeating: form.isChunked ? nil : "400000", count: 2))
        let needed =
            switch form {
            case .stream, .measuredStream: 1
            case .streamed: 2
            default: 0
            }
        #expect(outcome.events.count { $0 == .neededStream } == needed)
    }

    @Test("A POST that becomes a GET drops its body", arguments: UploadForm.allCases, [301, 302, 303])
    func dropped(form: UploadForm, status: Int) async throws {
        let server = try LoopbackServer()
        server.route("/end", .text("end"))
        let url = server.route("/start", .redirect(status, to: "/end"))
        let upload = try Upload(form, GeneratedContent(size: 1000))
        await upload.load(Upload.request(url)).expectSuccess(Data("end".utf8))
        let last = try #require(server.requests.last)
        #expect(last.method == "GET" && last.body == Data())
        #expect(last.fields["Content-Length"] == nil && last.fields["Transfer-Encoding"] == nil)
    }

    @Test("A redirect before the body was sent sends the body to the new URL", arguments: UploadForm.allCases)
    func early(form: UploadForm) async throws {
        let server = try LoopbackServer()
        server.route("/end", .text("end"))
        let url = server.route("/start", .redirect(307, to: "/end").beforeBody())
        let upload = try Upload(form, GeneratedContent(size: 8 << 20, seed: 32))
        await upload.load(Upload.request(url)).expectSuccess(Data("end".utf8))
        #expect(server.requests.last?.body.isSame(as: upload.content.data) == true)
    }

    @Test("The counts of sent bytes restart with the redirected request")
    func counts() async throws {
        let server = try LoopbackServer()
        server.route("/end", .text("end"))
        let url = server.route("/start", .redirect(307, to: "/end"))
        let upload = try Upload(.file, GeneratedContent(size: 1000))
        let outcome = await upload.load(Upload.request(url))
        #expect(
            outcome.events == [
                .sent(1000, of: 1000), .redirect(307, to: "/end"), .sent(1000, of: 1000), .response(200), .data(3),
                .completed(nil), .invalid,
            ])
    }

    @Test(
        "A redirect that needs a stream again fails with requestBodyStreamExhausted without a new one",
        arguments: [true, false])
    func exhausted(hasDelegate: Bool) async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", .redirect(307, to: "/end"))
        var request = Upload.request(url)
        request.httpBodyStream = ScriptedStream(GeneratedContent(size: 1000))
        let outcome = try await (hasDelegate ? LoadForm.dataDelegate : .dataAsync).load(request)
        outcome.expectFailure(.requestBodyStreamExhausted, at: server.url("/end"))
        #expect(server.requests.count == 1)
    }

    @Test("The delegate may return a request with another body")
    func replaced() async throws {
        let server = try LoopbackServer()
        server.route("/end", .text("end"))
        let url = server.route("/start", .redirect(307, to: "/end"))
        for form in [UploadForm.data, .file, .stream, .streamed] {
            let upload = try Upload(form, GeneratedContent(size: 1000)) { next in
                var next = next
                next.httpBody = Data("another".utf8)
                return next
            }
            await upload.load(Upload.request(url)).expectSuccess(Data("end".utf8))
            #expect(server.requests.last?.body == Data("another".utf8))
        }
    }

    @Test("A redirect of an upload that the delegate refuses is the result")
    func refused() async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", .text("moved").status(307).field("Location", "/end"))
        let upload = try Upload(.streamed, GeneratedContent(size: 1000)) { _ in nil }
        let outcome = await upload.load(Upload.request(url))
        outcome.expectSuccess(Data("moved".utf8))
        #expect(outcome.response?.statusCode == 307)
    }
}

@Suite("Authentication of an upload", .timeLimit(.minutes(5)))
struct UploadAuthenticationTests {
    @Test("The body is sent again with the credential", arguments: UploadForm.allCases, [false, true])
    func challenge(form: UploadForm, isEarly: Bool) async throws {
        let server = try LoopbackServer()
        let refusal = Reply.text("who are you?").status(401).field("WWW-Authenticate", ProtectedResource.basicChallenge)
        server.route("/file", .sequence([isEarly ? refusal.beforeBody() : refusal, .text("inside")]))
        let upload = try Upload(form, GeneratedContent(size: 8 << 20, seed: 33))
        let outcome = await upload.load(Upload.request(server.url("/file", as: "me:secret")))
        outcome.expectSuccess(ProtectedResource.inside)
        #expect(server.authorizations == [nil, ProtectedResource.basic])
        #expect(server.requests.last?.body.isSame(as: upload.content.data) == true)
    }
}

@Suite("Retry of an upload on a reused connection that closed", .timeLimit(.minutes(5)))
struct UploadRetryTests {
    private let replies = Reply.sequence([.text("one"), .text("").cut(at: .beforeHead), .text("two")])

    @Test(
        "The body is sent again; for a stream that was read the delegate gives another", arguments: UploadForm.allCases)
    func retry(form: UploadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", replies)
        let upload = try Upload(form, GeneratedContent(size: 1000))
        let session = upload.sandbox.session(upload.witness)
        _ = try await session.data(from: url)
        let request = Upload.request(url, "PUT")
        let error: URLError?
        if let task = upload.makeTask(request, in: session) {
            task.resume()
            await upload.witness.completion()
            error = task.error as? URLError
        } else {
            _ = try await session.upload(for: request, fromFile: upload.file)
            error = nil
        }
        #expect(error == nil)
        #expect(server.requests.map(\.connection) == [1, 1, 2])
        #expect(server.requests.last?.body == upload.content.data)
    }

    @Test("Where the delegate has no other stream the failure is that of the connection")
    func noOtherStream() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", replies)
        let sandbox = Sandbox()
        let witness = Witness(stream: { nil })
        let session = sandbox.session(witness)
        _ = try await session.data(from: url)
        var request = Upload.request(url, "PUT")
        request.httpBodyStream = ScriptedStream(GeneratedContent(size: 1000))
        let task = session.dataTask(with: request).resumed()
        await witness.completion()
        #expect(witness.events.count { $0 == .neededStream } == 1)
        #expect(witness.error(of: task)?.code == .networkConnectionLost)
        #expect(server.requests.map(\.connection) == [1, 1])
    }
}

import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("A response that comes before the body was sent", .timeLimit(.minutes(5)))
struct UploadResponseTests {
    private let sandbox = Sandbox()

    @Test(
        "An error response is the result, and the rest of the body is not sent", arguments: UploadForm.allCases,
        [401, 413, 500])
    func refused(form: UploadForm, status: Int) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("no").status(status).beforeBody())
        let upload = try Upload(form, GeneratedContent(size: 24 << 20, seed: 20))
        let outcome = await upload.load(Upload.request(url))
        outcome.expectSuccess(Data("no".utf8))
        #expect(outcome.response?.statusCode == status)
    }

    @Test("The connection of a partly sent body is not reused")
    func reuse() async throws {
        let barrier = CallBarrier()
        let listener = try await RawListener.started { peer in
            guard let head = await peer.head() else { return }
            if head.hasPrefix("POST") {
                _ = await peer.bytes(5)
                peer.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno")
                _ = await peer.rest()
            } else {
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nyes")
            }
        }
        let session = sandbox.session()
        var request = Upload.request(try listener.url("/file"))
        let stream = ScriptedStream(GeneratedContent(size: 10), waitingAt: (5, barrier))
        request.httpBodyStream = stream
        request.setValue("10", forHTTPHeaderField: "Content-Length")
        let (body, _) = try await session.data(for: request)
        #expect(body == Data("no".utf8))
        #expect(try await session.data(from: listener.url("/file")).0 == Data("yes".utf8))
        #expect(listener.acceptedConnections == 2)
        barrier.open()
        await stream.history.waitUntilClosed()
    }

    @Test("A successful response may arrive while the body is sent")
    func duplex() async throws {
        let listener = try await RawListener.started { peer in
            _ = await peer.head()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
            for answer in ["first", "later"] {
                _ = await peer.bytes(5)
                peer.send(answer)
            }
            _ = await peer.rest()
        }
        let barrier = CallBarrier()
        // The second half is available only after the first was received.
        let witness = Witness(hook: { _, event in if event == .data(5) { barrier.open() } })
        var request = Upload.request(try listener.url("/file"))
        request.httpBodyStream = ScriptedStream(GeneratedContent(size: 10), waitingAt: (5, barrier))
        request.setValue("10", forHTTPHeaderField: "Content-Length")
        let task = sandbox.session(witness).dataTask(with: request).resumed()
        await witness.completion()
        #expect(task.error == nil)
        #expect(task.countOfBytesSent == 10 && task.countOfBytesReceived == 10)
    }
}

/// In simulations: the wait for the 100 is a second, which a busy machine may take to answer.
@Suite("Expect: 100-continue", .timeLimit(.minutes(5)))
struct ExpectContinueTests {
    private func request(_ url: URL) -> URLRequest {
        var request = Upload.request(url)
        request.setValue("100-continue", forHTTPHeaderField: "Expect")
        return request
    }

    @Test("No byte of the body is sent before the interim 100", arguments: UploadForm.allCases)
    func waits(form: UploadForm) async throws {
        let seen = LockedValue(Data())
        let upload = try Upload(form, GeneratedContent(size: 5))
        let listener = try await RawListener.started { peer in
            _ = await peer.head()
            peer.send("HTTP/1.1 103 Early Hints\r\n\r\n")
            await peer.pause(.milliseconds(50))
            peer.send("HTTP/1.1 100 Continue\r\n\r\n")
            let body = await peer.bytes(form.isChunked ? 15 : 5)
            seen.withLock { $0 = body }
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            _ = await peer.rest()
        }
        await upload.load(request(try listener.url("/file"))).expectSuccess(Data())
        let body = upload.content.data
        #expect(
            seen.withLock { $0 } == (form.isChunked ? Data("5\r\n".utf8) + body + Data("\r\n0\r\n\r\n".utf8) : body))
    }

    @Test(
        "A final response ends the wait, and no byte of the body is sent", arguments: UploadForm.allCases, [200, 413])
    func refused(form: UploadForm, status: Int) throws {
        try Simulation(1).run { world in
            let server = world.server("mirror.example")
            let url = server.route("/file", .text("no").status(status).beforeBody())
            let upload = try Upload(form, GeneratedContent(size: 1000))
            let outcome = await upload.load(request(url))
            outcome.expectSuccess(Data("no".utf8))
            #expect(outcome.response?.statusCode == status)
            #expect(!outcome.events.contains { if case .sent = $0 { true } else { false } })
            await server.wait { $0.openConnections == 0 }
            #expect(server.requests.map(\.bodyBytesReceived) == [0])
        }
    }

    @Test(
        "A 417 makes the request be sent again without the expectation (RFC 9110 §10.1.1)",
        arguments: UploadForm.allCases, [nil, "no"])
    func unknownToServer(form: UploadForm, second: String?) throws {
        for isOfSession in [false, true] { try expectWithoutEffect(form, second, isOfSession: isOfSession) }
    }

    private func expectWithoutEffect(_ form: UploadForm, _ second: String?, isOfSession: Bool) throws {
        try Simulation(1).run { world in
            let server = world.server("mirror.example")
            let refusal = Reply.text("no").status(417)
            let url = server.route(
                "/file", .sequence([refusal.beforeBody(), second == nil ? .text("done") : refusal]))
            let upload = try Upload(form, GeneratedContent(size: 1000))
            let outcome = await upload.load(isOfSession ? Upload.request(url) : request(url)) {
                if isOfSession { $0.httpAdditionalHeaders = ["Expect": "100-continue"] }
            }
            outcome.expectSuccess(Data((second ?? "done").utf8))
            #expect(server.requests.map { $0.fields["Expect"] } == ["100-continue", nil])
            #expect(server.requests.last?.body == upload.content.data)
        }
    }

    @Test("A stream that was not read serves the redirected request", arguments: [UploadForm.stream, .streamed])
    func redirect(form: UploadForm) throws {
        try Simulation(1).run { world in
            let server = world.server("mirror.example")
            server.route("/end", .text("end"))
            let url = server.route("/start", .redirect(307, to: "/end").beforeBody())
            let upload = try Upload(form, GeneratedContent(size: 1000))
            let outcome = await upload.load(request(url))
            outcome.expectSuccess(Data("end".utf8))
            #expect(server.requests.last?.body == upload.content.data)
            #expect(outcome.events.count { $0 == .neededStream } == (form == .stream ? 0 : 2))
        }
    }

    @Test("Without a 100 the body is sent after a limited wait", arguments: [UploadForm.body, .file, .stream])
    func silence(form: UploadForm) throws {
        try Simulation(1).run { world in
            let server = world.server("mirror.example")
            let url = server.route("/file", .text("done").ignoringExpectation())
            let upload = try Upload(form, GeneratedContent(size: 1000))
            await upload.load(request(url)).expectSuccess(Data("done".utf8))
            #expect((.seconds(1) ... .seconds(2)).contains(world.elapsed))
            #expect(server.requests.map(\.body) == [upload.content.data])
        }
    }

    @Test("Expect is sent only if the request has it")
    func unasked() async throws {
        let server = try LoopbackServer()
        let upload = try Upload(.file, GeneratedContent(size: 4 << 20))
        await upload.load(Upload.request(server.route("/file", .text("done")))).expectSuccess(Data("done".utf8))
        #expect(server.requests.map { $0.fields["Expect"] } == [nil])
    }
}

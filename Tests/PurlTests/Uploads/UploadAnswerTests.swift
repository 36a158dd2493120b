import Foundation
import Purl
import PurlTesting
import Testing

@Suite("An answer that comes before the body has gone out", .timeLimit(.minutes(5)))
struct UploadAnswerTests {
    @Test("An error is the answer, and the rest is not sent", arguments: UploadForm.allCases, [401, 413, 500])
    func refused(form: UploadForm, status: Int) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("no").status(status).beforeBody())
        let upload = try Upload(form, GeneratedContent(size: 24 << 20, seed: 20))
        let outcome = await upload.load(Upload.request(url))
        outcome.expectSuccess(Data("no".utf8))
        #expect(outcome.response?.statusCode == status)
    }

    @Test("The connection is not used again")
    func reuse() async throws {
        let stop = Stop()
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
        let sandbox = try Sandbox()
        let session = sandbox.session()
        var request = Upload.request(try listener.url("/file"))
        let stream = ScriptedStream(GeneratedContent(size: 10), waitingAt: (5, stop))
        request.httpBodyStream = stream
        request.setValue("10", forHTTPHeaderField: "Content-Length")
        let (body, _) = try await session.data(for: request)
        #expect(body == Data("no".utf8))
        #expect(try await session.data(from: listener.url("/file")).0 == Data("yes".utf8))
        #expect(listener.acceptedConnections == 2)
        stop.open()
        await stream.history.waitUntilClosed()
        session.invalidateAndCancel()
    }

    @Test("A server that is content may answer while it reads")
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
        let stop = Stop()
        // The second half is there only when the first has come back.
        let witness = Witness(hook: { _, event in if event == .data(5) { stop.open() } })
        let sandbox = try Sandbox()
        let session = sandbox.session(witness)
        var request = Upload.request(try listener.url("/file"))
        request.httpBodyStream = ScriptedStream(GeneratedContent(size: 10), waitingAt: (5, stop))
        request.setValue("10", forHTTPHeaderField: "Content-Length")
        let task = session.dataTask(with: request)
        task.resume()
        await witness.completion()
        #expect(task.error == nil)
        #expect(task.countOfBytesSent == 10 && task.countOfBytesReceived == 10)
        session.invalidateAndCancel()
    }
}

@Suite("Expect: 100-continue", .timeLimit(.minutes(5)))
struct ExpectContinueTests {
    private func request(_ url: URL) -> URLRequest {
        var request = Upload.request(url)
        request.setValue("100-continue", forHTTPHeaderField: "Expect")
        return request
    }

    /// A body that no piece of is sent before the server has said so.
    @Test("The body waits for the server's word", arguments: UploadForm.allCases)
    func waits(form: UploadForm) async throws {
        let seen = LoadBox(Data())
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
        "A final answer ends the waiting, and no byte of the body is sent", arguments: UploadForm.allCases, [200, 413])
    func refused(form: UploadForm, status: Int) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("no").status(status).beforeBody())
        let upload = try Upload(form, GeneratedContent(size: 1000))
        let outcome = await upload.load(request(url))
        outcome.expectSuccess(Data("no".utf8))
        #expect(outcome.response?.statusCode == status)
        #expect(!outcome.events.contains { if case .sent = $0 { true } else { false } })
        await server.waitUntilDisconnected()
        #expect(server.requests.map(\.bodyBytesReceived) == [0])
    }

    @Test(
        "Whom 417 tells that nobody knows the expectation, sends the request without it (RFC 9110 §10.1.1)",
        arguments: UploadForm.allCases, [nil, "no"])
    func unknownToServer(form: UploadForm, second: String?) async throws {
        let server = try LoopbackServer()
        let refusal = Reply.text("no").status(417)
        let url = server.route(
            "/file", .sequence([refusal.beforeBody(), second == nil ? .text("done") : refusal]))
        let upload = try Upload(form, GeneratedContent(size: 1000))
        let outcome = await upload.load(request(url))
        outcome.expectSuccess(Data((second ?? "done").utf8))
        #expect(server.requests.map { $0.fields["Expect"] } == ["100-continue", nil])
        #expect(server.requests.last?.body == upload.content.data)
    }

    @Test("A stream of which nothing was read serves the next request")
    func redirect() async throws {
        let server = try LoopbackServer()
        server.route("/end", .text("end"))
        let url = server.route("/start", .redirect(307, to: "/end").beforeBody())
        for form in [UploadForm.stream, .streamed] {
            server.forgetRequests()
            let upload = try Upload(form, GeneratedContent(size: 1000))
            let outcome = await upload.load(request(url))
            outcome.expectSuccess(Data("end".utf8))
            #expect(server.requests.last?.body == upload.content.data)
            #expect(outcome.events.count { $0 == .neededStream } == (form == .stream ? 0 : 2))
        }
    }

    @Test("The wait has an end: a server may know nothing of it", arguments: [UploadForm.body, .file, .stream])
    func silence(form: UploadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("done").ignoringExpectation())
        let upload = try Upload(form, GeneratedContent(size: 1000))
        await upload.load(request(url)).expectSuccess(Data("done".utf8))
        #expect(server.requests.map(\.body) == [upload.content.data])
    }

    @Test("Nobody else asks for it")
    func unasked() async throws {
        let server = try LoopbackServer()
        let upload = try Upload(.file, GeneratedContent(size: 4 << 20))
        await upload.load(Upload.request(server.route("/file", .text("done")))).expectSuccess(Data("done".utf8))
        #expect(server.requests.map { $0.fields["Expect"] } == [nil])
    }
}

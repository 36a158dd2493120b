import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The flow control of uploads", .timeLimit(.minutes(5)))
struct UploadFlowTests {
    private let sandbox = Sandbox()
    private let gate = ServerGate()

    @Test("An upload to a slow server needs a bounded memory")
    func memory() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer(maximumRecordedBody: 0)
            let gate = ServerGate()
            let sandbox = Sandbox()
            try Data().write(to: sandbox.file("upload"))
            let content = try FileHandle(forWritingTo: sandbox.file("upload"))
            try content.truncate(atOffset: 64 << 20)
            let session = sandbox.session()
            _ = try await session.data(from: server.route("/small", .text("")))
            let before = ProcessMemory.now
            var request = Upload.request(server.route("/file", .text("done").takingBody(after: gate)))
            let file = session.uploadTask(with: request, fromFile: sandbox.file("upload"))
            request.httpBodyStream = InputStream(url: sandbox.file("upload"))
            let stream = session.dataTask(with: request)
            file.resume()
            stream.resume()
            await gate.reached(times: 2)
            var sent: Int64 = -1
            // Both have stopped when other requests complete and the counts stay.
            while sent != file.countOfBytesSent + stream.countOfBytesSent {
                sent = file.countOfBytesSent + stream.countOfBytesSent
                for _ in 0..<50 { _ = try await session.data(from: server.url("/small")) }
            }
            #expect(sent <= 2 * SocketRoom.bytes)
            #expect(ProcessMemory.now - before < 32 << 20)
            // Neither had sent all.
            #expect(file.countOfBytesSent < 64 << 20 && stream.countOfBytesSent < 64 << 20)
            gate.open()
            session.invalidateAndCancel()
        }
    }

    @Test("A suspended upload sends nothing", arguments: UploadForm.allCases.filter(\.hasDelegate))
    func suspended(form: UploadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("done").takingBody(after: gate))
        let upload = try Upload(form, GeneratedContent(size: Upload.blockedSize, seed: 42))
        let session = upload.sandbox.session(upload.witness)
        let others = upload.sandbox.session()
        let task = try #require(upload.makeTask(Upload.request(url), in: session)).resumed()
        await gate.reached()
        task.suspend()
        // By the end of a later request the suspension has taken effect.
        _ = try await others.data(from: server.url("/nothing"))
        let sent = task.countOfBytesSent
        gate.open()
        for _ in 0..<20 { _ = try await others.data(from: server.url("/nothing")) }
        #expect(task.countOfBytesSent == sent)
        #expect(sent < Int64(upload.content.size))
        task.resume()
        await upload.witness.completion()
        #expect(task.error == nil)
        #expect(server.requests.first?.body.isSame(as: upload.content.data) == true)
    }

    @Test("An upload that is suspended before its request sends nothing")
    func suspendedEarly() async throws {
        let server = try LoopbackServer()
        for form in UploadForm.allCases.filter(\.hasDelegate) {
            let upload = try Upload(form, GeneratedContent(size: 1000))
            let session = upload.sandbox.session(upload.witness)
            let task = try #require(
                upload.makeTask(Upload.request(server.route("/file", .text("done"))), in: session))
            for _ in 0..<50 {
                task.resume()
                task.suspend()
            }
            task.resume()
            await upload.witness.completion()
            #expect(task.error == nil)
            #expect(server.requests.last?.body == upload.content.data)
            session.invalidateAndCancel()
        }
    }

    @Test("Cancelling an upload closes its stream", arguments: [UploadForm.stream, .measuredStream, .streamed])
    func cancelled(form: UploadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("done").takingBody(after: gate))
        let content = GeneratedContent(size: Upload.blockedSize)
        let history = StreamHistory()
        let witness = Witness(stream: { ScriptedStream(content, history: history) })
        let session = sandbox.session(witness)
        var request = Upload.request(url)
        let task: URLSessionTask
        if form == .streamed {
            task = session.uploadTask(withStreamedRequest: request)
        } else {
            request.httpBodyStream = ScriptedStream(content, history: history)
            if form == .measuredStream { request.setValue("\(content.size)", forHTTPHeaderField: "Content-Length") }
            task = session.dataTask(with: request)
        }
        task.resume()
        await gate.reached()
        task.cancel()
        await witness.completion()
        #expect(witness.events.last == .completed(.cancelled))
        await history.waitUntilClosed()
        #expect(history.closings == 1)
        #expect(history.offset < content.size)
        gate.open()
        await server.waitUntilDisconnected()
        #expect(server.requests.map(\.isComplete) == [false])
    }

    @Test("Cancelling the Swift task cancels the upload")
    func cancelledSwiftTask() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("done").takingBody(after: gate))
        let upload = try Upload(.fileAsync, GeneratedContent(size: Upload.blockedSize))
        async let outcome = Task { await upload.load(Upload.request(url)) }.value
        let session = upload.sandbox.session()
        let file = upload.file
        let work = Task { try await session.upload(for: Upload.request(url), fromFile: file) }
        await gate.reached(times: 2)
        work.cancel()
        let error = await #expect(throws: URLError.self) { try await work.value }
        #expect(error?.code == .cancelled)
        gate.open()
        await outcome.expectSuccess(Data("done".utf8))
    }

    @Test("A server that does not read makes the upload time out", arguments: UploadForm.allCases)
    func timeout(form: UploadForm) throws {
        try Simulation(1).run { world in
            let url = world.server("slow.example").route("/file", .text("done").takingBody(after: gate))
            let upload = try Upload(form, GeneratedContent(size: 2 << 20))
            await upload.load(Upload.request(url)) { $0.timeoutIntervalForRequest = 20 }
                .expectFailure(.timedOut, at: url)
            gate.open()
        }
    }

    @Test("A slow body stream does not make the upload time out")
    func slowStream() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("done"))
        let barrier = CallBarrier()
        let witness = Witness()
        let clock = ManualClock()
        let session = sandbox.session(witness) {
            $0.clock = clock
            $0.timeoutIntervalForRequest = 2
        }
        var request = Upload.request(url)
        request.httpBodyStream = ScriptedStream(GeneratedContent(size: 10), waitingAt: (5, barrier))
        let task = session.dataTask(with: request).resumed()
        await barrier.reached()
        await server.wait { $0.requests.count == 1 }
        try await clock.pass(2.5)
        try await clock.pass(2.5)
        #expect(task.state == .running)
        barrier.open()
        await witness.completion()
        #expect(task.error == nil)
        #expect(server.requests.first?.body == GeneratedContent(size: 10).data)
    }

    @Test("Waiting file uploads keep no file open")
    func manyFiles() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("done"))
        let upload = try Upload(.file, GeneratedContent(size: 100_000, seed: 5))
        let session = upload.sandbox.session(upload.witness)
        for _ in 0..<200 { session.uploadTask(with: Upload.request(url), fromFile: upload.file).resume() }
        await upload.witness.completion(of: 200)
        #expect(upload.witness.events.count { $0 == .completed(nil) } == 200)
        #expect(server.requests.count { $0.body == upload.content.data } == 200)
    }
}

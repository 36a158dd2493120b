import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("Uploads from an asynchronous sequence", .timeLimit(.minutes(5)))
struct SequenceUploadTests {
    private let sandbox = Sandbox()

    private struct Refusal: Error, CustomStringConvertible {
        let description = "the disk is on fire"
    }

    /// A content in pieces, and how many of them have been asked for.
    private struct Source: Sendable {
        let content: GeneratedContent
        var size = 100_000
        var failure: Refusal?
        /// Comes before every piece.
        var filling: Data?
        let asked = LockedValue(0)

        var sequence: AsyncThrowingStream<Data, any Error> {
            let offset = LockedValue(0)
            let isFilled = LockedValue(false)
            return AsyncThrowingStream {
                let fills = isFilled.withLock { isFilled in
                    isFilled.toggle()
                    return isFilled
                }
                if fills, let filling { return filling }
                asked.withLock { $0 += 1 }
                let start = offset.withLock { offset in
                    defer { offset = min(offset + size, content.size) }
                    return offset
                }
                guard start < content.size else {
                    if let failure { throw failure }
                    return nil
                }
                return content.bytes(start..<min(start + size, content.size))
            }
        }
    }

    enum Form: CaseIterable, Sendable {
        case delegate, handler, async
    }

    private func upload(
        _ source: Source, _ request: URLRequest, _ form: Form = .async,
        _ witness: Witness = Witness()
    ) async throws -> Outcome {
        let session = sandbox.session(witness)
        defer { session.invalidateAndCancel() }
        switch form {
        case .delegate:
            let task = session.uploadTask(with: request, from: source.sequence).resumed()
            await witness.completion()
            return Outcome(
                error: task.error as? URLError, body: witness.data(of: task),
                response: task.response as? HTTPURLResponse, completions: 1)
        case .handler:
            return await withCheckedContinuation { continuation in
                session.uploadTask(with: request, from: source.sequence) { body, response, error in
                    continuation.resume(
                        returning: Outcome(
                            error: error as? URLError, body: body ?? Data(), response: response as? HTTPURLResponse,
                            completions: 1))
                }.resume()
            }
        case .async:
            do {
                let (body, response) = try await session.upload(for: request, from: source.sequence)
                return Outcome(body: body, response: response as? HTTPURLResponse, completions: 1)
            } catch {
                return Outcome(error: error as? URLError, completions: 1)
            }
        }
    }

    @Test(
        "A request's body is sent from an asynchronous sequence, in chunks or with the promised length",
        arguments: Form.allCases, [0, 1, 100_000, 3_000_001])
    func sent(form: Form, size: Int) async throws {
        for isPromised in [false, true] {
            let server = try LoopbackServer()
            var request = Upload.request(server.route("/file", .text("done")))
            if isPromised { request.setValue("\(size)", forHTTPHeaderField: "Content-Length") }
            let source = Source(content: GeneratedContent(size: size, seed: 51))
            try await upload(source, request, form).expectSuccess(Data("done".utf8))
            let received = try #require(server.requests.first)
            #expect(received.body.isSame(as: source.content.data))
            #expect(received.fields["Content-Length"] == (isPromised ? "\(size)" : nil))
            #expect(received.fields["Transfer-Encoding"] == (isPromised ? nil : "chunked"))
            #expect(received.fields["Content-Type"] == nil)
        }
    }

    @Test(
        "Empty elements, and elements of any size, make the same body", arguments: [1000, 262_144, 262_145, 2_000_000])
    func elements(size: Int) async throws {
        let server = try LoopbackServer()
        let request = Upload.request(server.route("/file", .text("done")))
        let content = GeneratedContent(size: 2_000_000, seed: 52)
        let source = Source(content: content, size: size, filling: Data())
        try await upload(source, request).expectSuccess(Data("done".utf8))
        #expect(server.requests.first?.body.isSame(as: content.data) == true)
    }

    @Test("The sequence is asked for no more than the server takes")
    func backPressure() async throws {
        let server = try LoopbackServer(maximumRecordedBody: 0)
        let gate = ServerGate()
        let request = Upload.request(server.route("/file", .text("done").takingBody(after: gate)))
        let pieces = SocketRoom.unreadBytes / 65_536
        let source = Source(content: GeneratedContent(size: 2 * pieces * 65_536), size: 65_536)
        let witness = Witness()
        let session = sandbox.session(witness)
        session.uploadTask(with: request, from: source.sequence).resume()
        await gate.reached()
        var asked = -1
        // The upload has stopped when other requests complete and the count stays.
        while asked != source.asked.withLock({ $0 }) {
            asked = source.asked.withLock { $0 }
            for _ in 0..<50 { _ = try await session.data(from: server.url("/small")) }
        }
        #expect(asked <= pieces)
        gate.open()
        await witness.completion()
        #expect(source.asked.withLock { $0 } == 2 * pieces + 1)
    }

    @Test("An error of the sequence fails the task, and is its underlying error", arguments: Form.allCases)
    func failure(form: Form) async throws {
        let server = try LoopbackServer()
        let request = Upload.request(server.route("/file", .text("done")))
        let source = Source(content: GeneratedContent(size: 1000), failure: Refusal())
        let outcome = try await upload(source, request, form)
        #expect(outcome.error?.code == .requestBodyStreamExhausted)
        #expect(outcome.error?.failingURL == request.url)
        #expect(outcome.error?.userInfo[NSUnderlyingErrorKey] is Refusal)
        await server.waitUntilDisconnected()
        #expect(server.requests.map(\.isComplete) == [false])
    }

    @Test(
        "A sequence that does not have the promised length fails the task, and the server does not take it for the whole",
        arguments: [
            (999, URLError.Code.dataLengthExceedsMaximum), (1001, .requestBodyStreamExhausted),
        ])
    func wrongLength(length: Int, code: URLError.Code) async throws {
        let server = try LoopbackServer()
        var request = Upload.request(server.route("/file", .text("done").takingBody(after: ServerGate())))
        request.setValue("\(length)", forHTTPHeaderField: "Content-Length")
        let outcome = try await upload(Source(content: GeneratedContent(size: 1000), size: 100), request)
        #expect(outcome.error?.code == code)
    }

    /// A sequence that signals when its iterator is released.
    private struct Watched: AsyncSequence, Sendable {
        struct AsyncIterator: AsyncIteratorProtocol {
            private final class Presence: Sendable {
                let hasEnded: Signal

                init(_ hasEnded: Signal) { self.hasEnded = hasEnded }

                deinit { hasEnded.set() }
            }

            private var base: AsyncStream<Data>.Iterator
            private let presence: Presence

            init(_ sequence: Watched) {
                base = sequence.base.makeAsyncIterator()
                presence = Presence(sequence.hasEnded)
            }

            mutating func next() async -> Data? { await base.next() }
        }

        let base: AsyncStream<Data>
        let hasEnded: Signal

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
    }

    @Test("Cancelling the upload cancels the iteration, whether it waits for an element or for the server")
    func cancelled() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        let request = Upload.request(server.route("/file", .text("done").takingBody(after: gate)))
        for count in [1, 1000] {
            let witness = Witness()
            let session = sandbox.session(witness)
            let (sequence, continuation) = AsyncStream<Data>.makeStream()
            let hasEnded = Signal()
            for _ in 0..<count { continuation.yield(Data(count: 100_000)) }
            let task = session.uploadTask(with: request, from: Watched(base: sequence, hasEnded: hasEnded)).resumed()
            await witness.wait { !$0.isEmpty }
            task.cancel()
            await witness.completion()
            #expect(witness.events.last == .completed(.cancelled))
            await hasEnded.wait()
            session.invalidateAndCancel()
        }
        gate.open()
    }

    @Test("A response that ends the upload early cancels the iteration")
    func earlyResponse() async throws {
        let server = try LoopbackServer()
        let request = Upload.request(server.route("/file", .text("too large").status(413).beforeBody()))
        let (sequence, continuation) = AsyncStream<Data>.makeStream()
        let isTerminated = Signal()
        continuation.onTermination = { _ in isTerminated.set() }
        let session = sandbox.session()
        let (body, response) = try await session.upload(for: request, from: sequence)
        #expect((response as? HTTPURLResponse)?.statusCode == 413)
        #expect(body == Data("too large".utf8))
        await isTerminated.wait()
    }

    @Test(
        "A redirect that keeps the method needs a stream of the delegate in place of the sequence",
        arguments: [307, 308])
    func redirect(status: Int) async throws {
        let server = try LoopbackServer()
        server.route("/end", .text("end"))
        let request = Upload.request(server.route("/start", .redirect(status, to: "/end")))
        let source = Source(content: GeneratedContent(size: 1000, seed: 53))
        let failed = try await upload(source, request)
        #expect(failed.error?.code == .requestBodyStreamExhausted)
        #expect(failed.error?.failingURL == server.url("/end"))
        #expect(server.requests.count == 1)
        let witness = Witness(stream: { ScriptedStream(source.content) })
        try await upload(source, request, .delegate, witness).expectSuccess(Data("end".utf8))
        #expect(server.requests.last?.body.isSame(as: source.content.data) == true)
    }

    @Test("A challenge needs a stream of the delegate in place of the sequence")
    func challenge() async throws {
        let server = try LoopbackServer()
        server.fallback(ProtectedResource.reply())
        let request = Upload.request(server.url("/file"))
        let source = Source(content: GeneratedContent(size: 1000, seed: 54))
        let outcome = try await upload(source, request, .delegate, ProtectedResource.witness())
        #expect(outcome.error?.code == .requestBodyStreamExhausted)
        let witness = Witness(
            challenge: { _ in (.useCredential, ProtectedResource.credential()) },
            stream: { ScriptedStream(source.content) })
        try await upload(source, request, .delegate, witness).expectSuccess(ProtectedResource.inside)
        #expect(server.requests.last?.body.isSame(as: source.content.data) == true)
    }

    @Test("A read that another thread's close() comes before fails in place of waiting")
    func closedReader() {
        let reader = SequenceReader(BodySequence(Source(content: GeneratedContent(size: 1)).sequence), length: nil)
        reader.close()
        let isOver = LockedValue(false)
        reader.readNext { result in isOver.withLock { $0 = (try? result.get()) == nil } }
        #expect(isOver.withLock { $0 })
    }

    @Test(
        "A URLProtocol receives the sequence as the request's body stream", arguments: [nil, Refusal()] as [Refusal?])
    private func urlProtocol(failure: Refusal?) async throws {
        let content = GeneratedContent(size: 600_000, seed: 55)
        let url = try Stub.url { stub in
            guard let stream = stub.request.httpBodyStream else { return stub.fail(URLError(.unknown)) }
            stream.open()
            defer { stream.close() }
            var received = Data()
            var buffer = [UInt8](repeating: 0, count: 10_000)
            while true {
                let count = stream.read(&buffer, maxLength: buffer.count)
                guard count > 0 else {
                    if count < 0 { return stub.fail(stream.streamError ?? URLError(.unknown)) }
                    break
                }
                received.append(contentsOf: buffer[..<count])
            }
            stub.respond()
            stub.send(content.matches(received) ? "whole" : "broken")
            stub.finish()
        }
        let session = sandbox.session { $0.protocolClasses = [Stub.self] }
        let source = Source(content: content, failure: failure)
        let result = await Result { try await session.upload(for: Upload.request(url), from: source.sequence).0 }
        switch result {
        case .success(let body): #expect(failure == nil && body == Data("whole".utf8))
        case .failure(let error): #expect(failure != nil && error is Refusal)
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

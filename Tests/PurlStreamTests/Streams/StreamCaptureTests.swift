import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("captureStreams", .timeLimit(.minutes(5)))
struct StreamCaptureTests {
    private let sandbox = Sandbox()

    private func capture(_ stage: StreamStage, _ prepare: (URLSessionStreamTask) -> Void = { _ in }) async throws
        -> (input: InputStream, output: OutputStream)
    {
        let task = stage.open()
        prepare(task)
        task.captureStreams()
        await stage.witness.capture()
        let captured = stage.witness.captured
        return (try #require(captured.input), try #require(captured.output))
    }

    /// Reads until `count` bytes are received, or the stream has ended. Blocks.
    private func read(_ count: Int, from stream: InputStream) -> Data {
        var all = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while all.count < count {
            let got = stream.read(&buffer, maxLength: min(buffer.count, count - all.count))
            guard got > 0 else { break }
            all += buffer[..<got]
        }
        return all
    }

    private func write(_ data: Data, to stream: OutputStream) -> Int {
        var sent = 0
        data.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in
            guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
            while sent < data.count {
                let count = stream.write(start + sent, maxLength: data.count - sent)
                guard count > 0 else { return }
                sent += count
            }
        }
        return sent
    }

    @Test("Reads, writes and closes from before captureStreams take effect first")
    func order() async throws {
        let stage = try await StreamStage()
        let witness = stage.witness
        let (input, output) = try await capture(stage) { task in
            task.write(Data("hello".utf8), timeout: 0) { witness.append("wrote \($0 == nil)") }
            task.readData(ofMinLength: 2, maxLength: 2, timeout: 0) { data, _, _ in
                witness.append("read \(String(decoding: data ?? Data(), as: UTF8.self))")
            }
        }
        #expect(witness.events == [.handler("wrote true"), .handler("read he"), .captured])
        #expect(input.streamStatus == .notOpen && output.streamStatus == .notOpen)
        input.open()
        output.open()
        #expect(input.streamStatus == .open && output.streamStatus == .open)
        // Bytes that were received and not read are the first to be read.
        #expect(read(3, from: input) == Data("llo".utf8))
        #expect(output.hasSpaceAvailable)
        #expect(write(Data("again".utf8), to: output) == 5)
        #expect(read(5, from: input) == Data("again".utf8))
        #expect(!input.hasBytesAvailable)
        output.close()
        #expect(output.streamStatus == .closed)
        #expect(read(1, from: input) == Data())
        #expect(input.streamStatus == .atEnd)
        input.close()
        #expect(input.streamStatus == .closed)
        await stage.server.waitUntilDisconnected()
        #expect(stage.server.streams.first?.ending == .complete)
    }

    @Test("didBecomeInputStream is the last call about the task, which has completed")
    func last() async throws {
        let stage = try await StreamStage()
        let task = stage.open()
        task.captureStreams()
        // The session has no other task to wait for.
        stage.session.finishTasksAndInvalidate()
        await stage.witness.wait(for: .invalid)
        #expect(stage.witness.events == [.captured, .invalid])
        #expect(task.state == .completed && task.error == nil)
        #expect(await stage.session.allTasks.isEmpty)
        // The connection stays open after the session's invalidation.
        let captured = stage.witness.captured
        let (input, output) = (try #require(captured.input), try #require(captured.output))
        input.open()
        output.open()
        #expect(write(Data("on".utf8), to: output) == 2)
        #expect(read(2, from: input) == Data("on".utf8))
    }

    @Test("A task that is cancelled before its streams are passed on closes their connection")
    func cancelled() async throws {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let stage = try await StreamStage(queue: queue)
        let task = stage.open()
        try await task.write("x")
        #expect(try await task.text(1) == "x")
        queue.isSuspended = true
        task.captureStreams()
        // A write fails once the streams have been captured.
        await #expect(errorCode { try await task.write("x") } == .networkConnectionLost)
        task.cancel()
        queue.isSuspended = false
        await stage.witness.completion()
        #expect(stage.witness.events == [.metrics(transactions: 1), .completed(.cancelled)])
        await stage.server.waitUntilDisconnected()
    }

    @Test("For a delegate without stream methods the task completes, and the connection is closed")
    func plainDelegate() async throws {
        let server = try await LoopbackServer.started(.ipv4, stream: .echo)
        let witness = PlainWitness()
        let task = sandbox.session(witness).streamTask(withHostName: "127.0.0.1", port: Int(server.port)).resumed()
        task.captureStreams()
        await witness.log.wait { !$0.isEmpty }
        #expect(witness.log.events == ["completed"])
        await server.waitUntilDisconnected()
    }

    /// A delegate that does not adopt `URLSessionStreamDelegate`.
    private final class PlainWitness: NSObject, URLSessionTaskDelegate, Sendable {
        let log = EventLog<String>()

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            log.append(error.map { "failed: \($0)" } ?? "completed")
        }
    }

    @Test("Captured streams have no properties, and none can be set")
    func properties() async throws {
        let stage = try await StreamStage()
        let (input, output) = try await capture(stage)
        for key in [Stream.PropertyKey.socketSecurityLevelKey, .socksProxyConfigurationKey, .networkServiceType] {
            #expect(input.property(forKey: key) == nil && output.property(forKey: key) == nil)
            #expect(!input.setProperty(nil, forKey: key) && !output.setProperty(nil, forKey: key))
        }
    }

    @Test("Blocking reads and writes of captured streams transfer large content")
    func large() async throws {
        let content = GeneratedContent(size: SocketRoom.overflowingSize)
        let stage = try await StreamStage()
        let (input, output) = try await capture(stage)
        input.open()
        output.open()
        let captured = StreamWitness.CapturedStreams(input: input, output: output)
        async let sent = onOwnThread { captured.output.map { write(content.data, to: $0) } }
        async let got = onOwnThread { captured.input.map { read(content.size, from: $0) } }
        #expect(await sent == content.size)
        #expect(await got.map { $0.count == content.size && content.matches($0) } == true)
        input.close()
        output.close()
        await stage.server.waitUntilDisconnected()
    }

    @Test("A stream that is not open transfers nothing")
    func closed() async throws {
        let stage = try await StreamStage()
        let (input, output) = try await capture(stage)
        var buffer: [UInt8] = [1, 2, 3]
        #expect(input.read(&buffer, maxLength: 3) == -1)
        #expect(output.write(&buffer, maxLength: 3) == -1)
        #expect(!input.hasBytesAvailable && !output.hasSpaceAvailable)
        input.open()
        output.open()
        input.close()
        output.close()
        #expect(input.read(&buffer, maxLength: 3) == -1)
        #expect(output.write(&buffer, maxLength: 3) == -1)
        input.open()
        #expect(input.streamStatus == .closed)
        await stage.server.waitUntilDisconnected()
    }

    @Test("Closing a stream ends a blocked read")
    func closingWhileReading() async throws {
        let stage = try await StreamStage(.listening)
        let (input, output) = try await capture(stage)
        input.open()
        let captured = StreamWitness.CapturedStreams(input: input, output: nil)
        async let reading = onOwnThread {
            var byte: UInt8 = 0
            return captured.input?.read(&byte, maxLength: 1)
        }
        input.close()
        let got = await reading
        #expect(got == 0 || got == -1)
        output.close()
        await stage.server.waitUntilDisconnected()
    }

    @Test("A reset connection is an error of the stream")
    func reset() async throws {
        let gate = ServerGate()
        let stage = try await StreamStage(.listening.wait(at: gate).reset())
        let (input, output) = try await capture(stage)
        input.open()
        output.open()
        gate.open()
        var byte: UInt8 = 0
        #expect(input.read(&byte, maxLength: 1) == -1)
        #expect(input.streamStatus == .error)
        #expect((input.streamError as? POSIXError)?.code == .ECONNRESET)
    }

    @Test("Released streams close the connection")
    func released() async throws {
        let stage = try await StreamStage()
        let session = stage.sandbox.session()
        let task = session.streamTask(withHostName: "127.0.0.1", port: Int(stage.server.port)).resumed()
        try await task.write("x")
        #expect(try await task.text(1) == "x")
        task.captureStreams()
        await stage.server.waitUntilDisconnected()
        await #expect(errorCode { try await task.write("x") } == .networkConnectionLost)
    }

    @Test("Released streams that were scheduled on a run loop close the connection", arguments: [false, true])
    func releasedWhileScheduled(isRemoved: Bool) async throws {
        let stage = try await StreamStage(.listening)
        let task = stage.open()
        task.captureStreams()
        await stage.witness.capture()
        await onOwnThread {
            let captured = stage.witness.takeCaptured()
            for stream in [captured.input, captured.output] as [Stream?] {
                stream?.schedule(in: .current, forMode: .default)
                stream?.open()
                if isRemoved { stream?.remove(from: .current, forMode: .default) }
            }
            // The streams are scheduled by then.
            NetworkThread.waitUntilSettled()
        }
        await stage.server.waitUntilDisconnected()
    }

    @Test("Calls on the task after captureStreams fail")
    func afterwards() async throws {
        let stage = try await StreamStage()
        let witness = stage.witness
        let task = stage.open()
        task.captureStreams()
        task.write(Data("x".utf8), timeout: 0) {
            witness.append("write \(($0 as? URLError)?.code == .networkConnectionLost)")
        }
        await witness.wait(for: .handler("write true"))
        await #expect(errorCode { _ = try await task.text(1) } == .networkConnectionLost)
        #expect(stage.server.streams.first?.byteCount == 0)
    }

    @Test("Bytes and the end of the stream after captureStreams go to the captured stream only")
    func endAfterwards() async throws {
        let stage = try await StreamStage(.listening.send("abc").finish())
        let task = stage.open()
        await stage.witness.wait(for: .readClosed)
        task.captureStreams()
        await stage.witness.capture()
        await #expect(errorCode { _ = try await task.text(1) } == .networkConnectionLost)
        let input = try #require(stage.witness.captured.input)
        input.open()
        #expect(read(4, from: input) == Data("abc".utf8))
        #expect(input.streamStatus == .atEnd)
    }

    @Test("A stream that was closed for reading is captured with its input at the end")
    func readClosed() async throws {
        let gate = ServerGate()
        let stage = try await StreamStage(.listening.send("unheard").wait(at: gate).send("of"))
        let (input, output) = try await capture(stage) { $0.closeRead() }
        gate.open()
        input.open()
        output.open()
        #expect(input.streamStatus == .atEnd && !input.hasBytesAvailable)
        #expect(read(1, from: input) == Data())
        #expect(write(Data("still".utf8), to: output) == 5)
        output.close()
        #expect(await stage.stream { $0.hasEnded }?.text == "still")
    }

    @Test("A stream delegate on a run loop receives the events")
    func runLoop() async throws {
        let stage = try await StreamStage()
        let (input, output) = try await capture(stage)
        let events = await Listener.events(of: StreamWitness.CapturedStreams(input: input, output: output))
        #expect(
            events == [
                "out opened", "in opened", "out has space", "in has “ping”", "in ended",
            ] || events == ["in opened", "out opened", "out has space", "in has “ping”", "in ended"])
        await stage.server.waitUntilDisconnected()
    }

    @Test("On a run loop an input that was closed for reading reports its end")
    func runLoopAtEnd() async throws {
        let stage = try await StreamStage(.listening.send("unheard"))
        let (input, _) = try await capture(stage) { $0.closeRead() }
        let events = await Listener.events(of: StreamWitness.CapturedStreams(input: input, output: nil))
        #expect(events == ["in opened", "in ended"])
    }

    /// A stream delegate that writes "ping" when there is space, and closes when the echo is complete.
    private final class Listener: NSObject, StreamDelegate {
        private let streams: StreamWitness.CapturedStreams
        private var events: [String] = []
        private var isOver = false

        private init(_ streams: StreamWitness.CapturedStreams) { self.streams = streams }

        /// The events on a run loop of its own, until the input ends.
        static func events(of streams: StreamWitness.CapturedStreams) async -> [String] {
            await onOwnThread {
                let listener = Listener(streams)
                listener.run()
                return listener.events
            }
        }

        private func run() {
            for stream in [streams.input, streams.output] as [Stream?] {
                stream?.delegate = self
                stream?.schedule(in: .current, forMode: .default)
                stream?.open()
            }
            while !isOver, RunLoop.current.run(mode: .default, before: .distantFuture) {}
        }

        func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
            let name = aStream === streams.input ? "in" : "out"
            switch eventCode {
            case .openCompleted: events.append("\(name) opened")
            case .hasSpaceAvailable:
                guard !events.contains("out has space") else { return }
                events.append("\(name) has space")
                _ = streams.output?.write([UInt8]("ping".utf8), maxLength: 4)
            case .hasBytesAvailable:
                var buffer = [UInt8](repeating: 0, count: 100)
                let count = streams.input?.read(&buffer, maxLength: 100) ?? 0
                events.append("\(name) has “\(String(decoding: buffer.prefix(count), as: UTF8.self))”")
                streams.output?.close()
            case .endEncountered:
                events.append("\(name) ended")
                streams.input?.close()
                isOver = true
            default: events.append("\(name) \(eventCode.rawValue)")
            }
        }
    }
}

import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The two directions of a stream task end separately", .timeLimit(.minutes(5)))
struct StreamEndTests {
    private let gate = ServerGate()

    @Test("closeWrite lets the task read on, and the server's end completes it")
    func halfClosed() async throws {
        let stage = try await StreamStage(.listening.waitForEnd().send("good bye"))
        let task = stage.open()
        try await task.write("hello")
        task.closeWrite()
        #expect(try await task.rest() == Data("good bye".utf8))
        await stage.witness.completion()
        #expect(stage.witness.events == [.writeClosed, .readClosed, .metrics(transactions: 1), .completed(nil)])
        #expect(task.state == .completed)
        #expect(task.error == nil)
        let stream = await stage.stream()
        #expect(stream?.text == "hello")
        #expect(stream?.ending == .complete)
    }

    @Test("closeWrite sends earlier writes first")
    func closeWaits() async throws {
        let stage = try await StreamStage(.listening)
        let task = stage.make()
        let content = GeneratedContent(size: 3 << 20)
        task.write(content.data, timeout: 0) { _ in }
        task.closeWrite()
        task.resume()
        #expect(try await task.rest() == Data())
        let stream = await stage.stream()
        #expect(stream?.byteCount == 3 << 20)
        #expect(content.matches(stream?.bytes ?? Data()))
    }

    @Test("The server's end is reported at once, and its bytes can still be read")
    func serverEnds() async throws {
        let stage = try await StreamStage(.listening.send("last words").finish())
        let task = stage.open()
        await stage.witness.wait(for: .readClosed)
        #expect(try await task.text(5) == "last ")
        let (bytes, isLast) = try await task.readData(ofMinLength: 100, maxLength: 100, timeout: 0)
        #expect(bytes == Data("words".utf8))
        #expect(isLast)
        // Each further read reports the end.
        for _ in 0..<2 {
            #expect(try await task.readData(ofMinLength: 1, maxLength: 1, timeout: 0) == (nil, true))
        }
        // The other direction is open.
        try await task.write("still here")
        let stream = await stage.stream { $0.byteCount == 10 }
        #expect(stream?.text == "still here")
        #expect(task.state == .running)
        task.closeWrite()
        await stage.witness.completion()
        #expect(stage.witness.events.suffix(1) == [.completed(nil)])
    }

    @Test("After both ends reads report the end, and writes fail")
    func afterwards() async throws {
        let stage = try await StreamStage(.listening.finish())
        let task = stage.open()
        task.closeWrite()
        await stage.witness.completion()
        #expect(try await task.readData(ofMinLength: 1, maxLength: 1, timeout: 0) == (nil, true))
        await #expect(errorCode { try await task.write("late") } == .networkConnectionLost)
        // None of these has an effect now.
        task.closeRead()
        task.closeWrite()
        task.captureStreams()
        task.startSecureConnection()
        task.stopSecureConnection()
        task.cancel()
        #expect(stage.witness.events.filter { $0 == .completed(nil) }.count == 1)
        #expect(stage.witness.error == nil)
    }

    @Test("Calls in a closed direction fail")
    func closed() async throws {
        let stage = try await StreamStage(.listening.send("abc"))
        let task = stage.open()
        #expect(try await task.text(3) == "abc")
        task.closeRead()
        await stage.witness.wait(for: .readClosed)
        await #expect(errorCode { _ = try await task.text(1) } == .networkConnectionLost)
        try await task.write("still")
        task.closeWrite()
        await #expect(errorCode { try await task.write("x") } == .networkConnectionLost)
        await stage.witness.completion()
        #expect(stage.witness.events == [.readClosed, .writeClosed, .metrics(transactions: 1), .completed(nil)])
        #expect(await stage.stream { $0.hasEnded }?.text == "still")
    }

    @Test("closeRead lets earlier reads receive their bytes")
    func closeReadWaits() async throws {
        let stage = try await StreamStage(.listening.wait(at: gate).send("abc"))
        let (task, witness) = (stage.open(), stage.witness)
        await gate.reached()
        task.readData(ofMinLength: 3, maxLength: 3, timeout: 0) { data, _, _ in
            witness.append("read \(String(decoding: data ?? Data(), as: UTF8.self))")
        }
        task.closeRead()
        gate.open()
        await witness.wait(for: .readClosed)
        #expect(witness.events == [.handler("read abc"), .readClosed])
    }

    @Test("After closeRead the server's bytes are discarded, and the server can send on")
    func thrownAway() async throws {
        let content = GeneratedContent(size: SocketRoom.overflowingSize)
        let stage = try await StreamStage(.listening.send(content).wait(at: gate))
        let task = stage.open()
        task.closeRead()
        await gate.reached()
        #expect(task.countOfBytesReceived < 4 << 20)
        gate.open()
    }

    @Test("A reset fails waiting calls and the task, and received bytes can still be read")
    func reset() async throws {
        let stage = try await StreamStage(.listening.send("abc").wait(at: gate).reset())
        let task = stage.open()
        #expect(try await task.text(1) == "a")
        gate.open()
        await #expect(errorCode { _ = try await task.text(100) } == .networkConnectionLost)
        await stage.witness.completion()
        #expect(stage.witness.events == [.metrics(transactions: 1), .completed(.networkConnectionLost)])
        #expect(stage.witness.error?.failingURL?.absoluteString == "tcp://127.0.0.1:\(stage.server.port)")
        #expect(stage.witness.error?.failureSentence.isEmpty == false)
        #expect(try await task.text(2) == "bc")
        await #expect(errorCode { _ = try await task.text(1) } == .networkConnectionLost)
        await #expect(errorCode { try await task.write("x") } == .networkConnectionLost)
    }

    @Test("A cancelled task fails its waiting calls, then completes")
    func cancelled() async throws {
        let stage = try await StreamStage(.listening.notReading(until: gate))
        let task = stage.open()
        let witness = stage.witness
        task.readData(ofMinLength: 1, maxLength: 1, timeout: 0) { data, isLast, error in
            witness.append("read \(data == nil) \(isLast) \((error as? URLError)?.code == .cancelled)")
        }
        for _ in 0..<2 {
            task.write(Data(count: SocketRoom.overflowingSize), timeout: 0) { error in
                witness.append("write \((error as? URLError)?.code == .cancelled)")
            }
        }
        await gate.reached()
        task.cancel()
        await witness.completion()
        #expect(
            witness.events == [
                .handler("read true false true"), .handler("write true"), .handler("write true"),
                .metrics(transactions: 1),
                .completed(.cancelled),
            ])
        await #expect(errorCode { _ = try await task.text(1) } == .cancelled)
        gate.open()
        await stage.server.waitUntilDisconnected()
    }

    @Test("Cancelling before the end is reported makes the task fail with cancelled")
    func cancelledAtTheEnd() async throws {
        let barrier = CallBarrier()
        let stage = try await StreamStage(.listening)
        let task = stage.open()
        task.write(Data("x".utf8), timeout: 0) { _ in barrier.pass() }
        await barrier.reached()
        task.closeRead()
        task.closeWrite()
        _ = await stage.stream { $0.hasEnded }
        task.cancel()
        barrier.open()
        await stage.witness.completion()
        #expect(stage.witness.error?.code == .cancelled)
        #expect(stage.witness.error?.failingURL?.absoluteString == "tcp://127.0.0.1:\(stage.server.port)")
    }

    @Test("finishTasksAndInvalidate waits for streams, invalidateAndCancel cancels them")
    func invalidated() async throws {
        let stage = try await StreamStage()
        let task = stage.open()
        try await task.write("a")
        stage.session.finishTasksAndInvalidate()
        #expect(try await task.text(1) == "a")
        task.closeWrite()
        await stage.witness.completion()
        #expect(stage.witness.error == nil)
    }
}

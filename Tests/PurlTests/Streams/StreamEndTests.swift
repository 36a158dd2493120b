import Foundation
import Purl
import PurlTesting
import Testing

@Suite("Each direction of a stream ends by itself, and the task with the second", .timeLimit(.minutes(5)))
struct StreamEndTests {
    @Test("A client that closes for writing still reads; then the task completes")
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

    @Test("What was to be written before goes out before the stream is closed")
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

    @Test("A server that ends its stream is told of at once, and its bytes are still there")
    func serverEnds() async throws {
        let stage = try await StreamStage(.listening.send("last words").finish())
        let task = stage.open()
        await stage.witness.wait(for: .readClosed)
        #expect(try await task.text(5) == "last ")
        let (bytes, isLast) = try await task.readData(ofMinLength: 100, maxLength: 100, timeout: 0)
        #expect(bytes == Data("words".utf8))
        #expect(isLast)
        // There is nothing more, however often it is asked for.
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

    @Test("After an end in order reads are told of the end, and writes fail")
    func afterwards() async throws {
        let stage = try await StreamStage(.listening.finish())
        let task = stage.open()
        task.closeWrite()
        await stage.witness.completion()
        #expect(try await task.readData(ofMinLength: 1, maxLength: 1, timeout: 0) == (nil, true))
        await #expect(errorCode { try await task.write("late") } == .networkConnectionLost)
        // None of these means anything now.
        task.closeRead()
        task.closeWrite()
        task.captureStreams()
        task.startSecureConnection()
        task.stopSecureConnection()
        task.cancel()
        #expect(stage.witness.events.filter { $0 == .completed(nil) }.count == 1)
        #expect(stage.witness.error == nil)
    }

    @Test("A direction that was closed takes no more calls")
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

    @Test("A read that was asked for before the stream is closed for reading gets its bytes")
    func closeReadWaits() async throws {
        let gate = Gate()
        let stage = try await StreamStage(.listening.wait(at: gate).send("abc"))
        let (task, witness) = (stage.open(), stage.witness)
        await gate.reached()
        task.readData(ofMinLength: 3, maxLength: 3, timeout: 0) { data, _, _ in
            witness.note("read \(String(decoding: data ?? Data(), as: UTF8.self))")
        }
        task.closeRead()
        gate.open()
        await witness.wait(for: .readClosed)
        #expect(witness.events == [.note("read abc"), .readClosed])
        stage.session.invalidateAndCancel()
    }

    @Test("A server whose words nobody wants any more can go on talking")
    func thrownAway() async throws {
        let gate = Gate()
        let content = GeneratedContent(size: SocketRoom.overflowingSize)
        let stage = try await StreamStage(.listening.send(content).wait(at: gate))
        let task = stage.open()
        task.closeRead()
        await gate.reached()
        #expect(task.countOfBytesReceived < 4 << 20)
        gate.open()
        stage.session.invalidateAndCancel()
    }

    @Test("A reset fails what waits and the task, and what came before can still be read")
    func reset() async throws {
        let gate = Gate()
        let stage = try await StreamStage(.listening.send("abc").wait(at: gate).reset())
        let task = stage.open()
        #expect(try await task.text(1) == "a")
        gate.open()
        await #expect(errorCode { _ = try await task.text(100) } == .networkConnectionLost)
        await stage.witness.completion()
        #expect(stage.witness.events == [.metrics(transactions: 1), .completed(.networkConnectionLost)])
        #expect(stage.witness.error?.failingURL?.absoluteString == "tcp://127.0.0.1:\(stage.server.port)")
        #expect(stage.witness.error?.localizedDescription.isEmpty == false)
        #expect(try await task.text(2) == "bc")
        await #expect(errorCode { _ = try await task.text(1) } == .networkConnectionLost)
        await #expect(errorCode { try await task.write("x") } == .networkConnectionLost)
    }

    @Test("A cancelled task fails everything that waits, then completes")
    func cancelled() async throws {
        let gate = Gate()
        let stage = try await StreamStage(.listening.notReading(until: gate))
        let task = stage.open()
        let witness = stage.witness
        task.readData(ofMinLength: 1, maxLength: 1, timeout: 0) { data, isLast, error in
            witness.note("read \(data == nil) \(isLast) \((error as? URLError)?.code == .cancelled)")
        }
        for _ in 0..<2 {
            task.write(Data(count: SocketRoom.overflowingSize), timeout: 0) { error in
                witness.note("write \((error as? URLError)?.code == .cancelled)")
            }
        }
        await gate.reached()
        task.cancel()
        await witness.completion()
        #expect(
            witness.events == [
                .note("read true false true"), .note("write true"), .note("write true"), .metrics(transactions: 1),
                .completed(.cancelled),
            ])
        await #expect(errorCode { _ = try await task.text(1) } == .cancelled)
        gate.open()
        await stage.server.waitUntilDisconnected()
    }

    @Test("A cancellation that comes before the end could be told wins, and speaks of the stream")
    func cancelledAtTheEnd() async throws {
        let stop = Stop()
        let stage = try await StreamStage(.listening)
        let task = stage.open()
        task.write(Data("x".utf8), timeout: 0) { _ in stop.pass() }
        await stop.reached()
        task.closeRead()
        task.closeWrite()
        _ = await stage.stream { $0.hasEnded }
        task.cancel()
        stop.open()
        await stage.witness.completion()
        #expect(stage.witness.error?.code == .cancelled)
        #expect(stage.witness.error?.failingURL?.absoluteString == "tcp://127.0.0.1:\(stage.server.port)")
    }

    @Test("A session that is invalidated waits for its streams, or cancels them")
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

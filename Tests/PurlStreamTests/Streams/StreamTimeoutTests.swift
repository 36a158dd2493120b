import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The time-outs of reads and writes of stream tasks", .timeLimit(.minutes(5)))
struct StreamTimeoutTests {
    private let gate = ServerGate()
    private let clock = ManualClock()

    @Test("A read that times out fails, and its bytes are for the next read")
    func read() async throws {
        let stage = try await StreamStage(.listening.send("abc").wait(at: gate).send("def"))
        let task = stage.open()
        await #expect(
            errorCode { _ = try await task.readData(ofMinLength: 6, maxLength: 6, timeout: 0.2) } == .timedOut)
        #expect(try await task.text(2) == "ab")
        gate.open()
        #expect(try await task.text(4) == "cdef")
        #expect(task.state == .running)
    }

    @Test("A time-out of zero, below it, or out of range is none", arguments: [0, -1, .infinity, .nan, 1e300])
    func unlimited(timeout: TimeInterval) async throws {
        let stage = try await StreamStage(.listening.wait(at: gate).send("a")) { $0.clock = clock }
        let task = stage.open()
        async let read = task.readData(ofMinLength: 1, maxLength: 1, timeout: timeout)
        await gate.reached()
        clock.advance(by: .seconds(10_000))
        gate.open()
        #expect(try await read == (Data("a".utf8), false))
    }

    @Test("Reads after one that timed out are served")
    func behind() async throws {
        let stage = try await StreamStage(.listening.send("abc"))
        let task = stage.make()
        let witness = stage.witness
        task.readData(ofMinLength: 100, maxLength: 100, timeout: 0.2) { _, _, error in
            witness.append("\((error as? URLError)?.code == .timedOut)")
        }
        task.readData(ofMinLength: 3, maxLength: 3, timeout: 0) { data, _, _ in
            witness.append(String(decoding: data ?? Data(), as: UTF8.self))
        }
        task.resume()
        await witness.wait(for: .handler("abc"))
        #expect(witness.events == [.handler("true"), .handler("abc")])
    }

    @Test("A write that times out in the middle fails with all later writes, and reading continues")
    func write() async throws {
        let deaf = ServerGate()
        let stage = try await StreamStage(.listening.notReading(until: deaf).wait(at: gate).send("bye").finish())
        let task = stage.open()
        // The connection is open, so that only writing takes time.
        try await task.write("x")
        await #expect(
            errorCode { try await task.write(Data(count: SocketRoom.overflowingSize), timeout: 0.3) } == .timedOut)
        await #expect(errorCode { try await task.write("more") } == .networkConnectionLost)
        await stage.witness.wait(for: .writeClosed)
        gate.open()
        #expect(try await task.text(3) == "bye")
        // No write can follow, so the task has failed.
        await stage.witness.completion()
        #expect(stage.witness.error?.code == .networkConnectionLost)
        deaf.open()
    }

    @Test("A write that times out before its first byte does not affect the stream")
    func writeBehind() async throws {
        let deaf = ServerGate()
        let size = SocketRoom.overflowingSize
        let stage = try await StreamStage(.listening.notReading(until: deaf))
        let task = stage.open()
        let witness = stage.witness
        task.write(Data(count: size), timeout: 0) { witness.append("first \($0 == nil)") }
        task.write(Data("lost".utf8), timeout: 0.2) { error in
            witness.append("second \((error as? URLError)?.code == .timedOut)")
        }
        await witness.wait(for: .handler("second true"))
        deaf.open()
        try await task.write("end")
        task.closeWrite()
        let stream = await stage.stream { $0.hasEnded }
        #expect(stream?.byteCount == size + 3)
        await witness.wait(for: .handler("first true"))
    }

    @Test("Time-outs do not elapse before resume or while suspended")
    func suspended() async throws {
        let stage = try await StreamStage(.listening.wait(at: gate).send("a")) { $0.clock = clock }
        let task = stage.make()
        let witness = stage.witness
        task.readData(ofMinLength: 1, maxLength: 1, timeout: 10) { data, _, _ in
            witness.append("read \(data?.count ?? 0)")
        }
        await NetworkThread.settle()
        clock.advance(by: .seconds(100))
        task.resume()
        await gate.reached()
        clock.advance(by: .seconds(5))
        task.suspend()
        await NetworkThread.settle()
        clock.advance(by: .seconds(100))
        task.resume()
        await NetworkThread.settle()
        gate.open()
        await witness.wait(for: .handler("read 1"))
        // The remaining time still counts.
        task.readData(ofMinLength: 1, maxLength: 1, timeout: 10) { _, _, error in
            witness.append("\((error as? URLError)?.code == .timedOut)")
        }
        await NetworkThread.settle()
        clock.advance(by: .seconds(6))
        task.suspend()
        await NetworkThread.settle()
        clock.advance(by: .seconds(100))
        task.resume()
        await NetworkThread.settle()
        clock.advance(by: .seconds(6))
        await witness.wait(for: .handler("true"))
        #expect(witness.events == [.handler("read 1"), .handler("true")])
    }

    @Test("Cancelling the Swift task of a read leaves the bytes for the next read", arguments: [true, false])
    func givenUp(beforehand: Bool) async throws {
        let stage = try await StreamStage(.listening.wait(at: gate).send("abc"))
        let task = stage.open()
        await gate.reached()
        let waiting = Task {
            if beforehand { withUnsafeCurrentTask { $0?.cancel() } }
            return try await task.text(3)
        }
        if !beforehand {
            await NetworkThread.settle()
            waiting.cancel()
        }
        await #expect(errorCode { _ = try await waiting.value } == .cancelled)
        gate.open()
        #expect(try await task.text(3) == "abc")
    }
}

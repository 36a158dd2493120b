import Foundation
import Purl
import PurlTesting
import Testing

@Suite("Each read and each write has a time of its own", .timeLimit(.minutes(5)))
struct StreamTimeoutTests {
    @Test("A read that waits too long fails, and its bytes are for the next")
    func read() async throws {
        let gate = Gate()
        let stage = try await StreamStage(.listening.send("abc").wait(at: gate).send("def"))
        let task = stage.open()
        await #expect(
            errorCode { _ = try await task.readData(ofMinLength: 6, maxLength: 6, timeout: 0.2) } == .timedOut)
        #expect(try await task.text(2) == "ab")
        gate.open()
        #expect(try await task.text(4) == "cdef")
        #expect(task.state == .running)
        stage.session.invalidateAndCancel()
    }

    @Test("Nothing, or what is no time, is no limit", arguments: [0, -1, .infinity, .nan, 1e300])
    func unlimited(timeout: TimeInterval) async throws {
        let clock = ManualClock()
        let gate = Gate()
        let stage = try await StreamStage(.listening.wait(at: gate).send("a")) { $0.clock = clock }
        let task = stage.open()
        async let read = task.readData(ofMinLength: 1, maxLength: 1, timeout: timeout)
        await gate.reached()
        clock.advance(by: .seconds(10_000))
        gate.open()
        #expect(try await read == (Data("a".utf8), false))
        stage.session.invalidateAndCancel()
    }

    @Test("Those behind one that has had its time are served")
    func behind() async throws {
        let stage = try await StreamStage(.listening.send("abc"))
        let task = stage.make()
        let witness = stage.witness
        task.readData(ofMinLength: 100, maxLength: 100, timeout: 0.2) { _, _, error in
            witness.note("\((error as? URLError)?.code == .timedOut)")
        }
        task.readData(ofMinLength: 3, maxLength: 3, timeout: 0) { data, _, _ in
            witness.note(String(decoding: data ?? Data(), as: UTF8.self))
        }
        task.resume()
        await witness.wait(for: .note("abc"))
        #expect(witness.events == [.note("true"), .note("abc")])
        stage.session.invalidateAndCancel()
    }

    @Test("A write that stops in the middle fails, and those after it, but reading goes on")
    func write() async throws {
        let deaf = Gate()
        let gate = Gate()
        let stage = try await StreamStage(.listening.notReading(until: deaf).wait(at: gate).send("bye").finish())
        let task = stage.open()
        // The connection is there, so that the time is spent on writing.
        try await task.write("x")
        await #expect(
            errorCode { try await task.write(Data(count: SocketRoom.overflowingSize), timeout: 0.3) } == .timedOut)
        await #expect(errorCode { try await task.write("more") } == .networkConnectionLost)
        await stage.witness.wait(for: .writeClosed)
        gate.open()
        #expect(try await task.text(3) == "bye")
        // Nothing can follow, so the task has failed.
        await stage.witness.completion()
        #expect(stage.witness.error?.code == .networkConnectionLost)
        deaf.open()
    }

    @Test("A write that never began leaves the stream as it was")
    func writeBehind() async throws {
        let deaf = Gate()
        let size = SocketRoom.overflowingSize
        let stage = try await StreamStage(.listening.notReading(until: deaf))
        let task = stage.open()
        let witness = stage.witness
        task.write(Data(count: size), timeout: 0) { witness.note("first \($0 == nil)") }
        task.write(Data("lost".utf8), timeout: 0.2) { error in
            witness.note("second \((error as? URLError)?.code == .timedOut)")
        }
        await witness.wait(for: .note("second true"))
        deaf.open()
        try await task.write("end")
        task.closeWrite()
        let stream = await stage.stream { $0.hasEnded }
        #expect(stream?.byteCount == size + 3)
        await witness.wait(for: .note("first true"))
        stage.session.invalidateAndCancel()
    }

    @Test("Time does not count before the task is started, nor while it is suspended")
    func suspended() async throws {
        let clock = ManualClock()
        let gate = Gate()
        let stage = try await StreamStage(.listening.wait(at: gate).send("a")) { $0.clock = clock }
        let task = stage.make()
        let witness = stage.witness
        task.readData(ofMinLength: 1, maxLength: 1, timeout: 10) { data, _, _ in
            witness.note("read \(data?.count ?? 0)")
        }
        await Network.settle()
        clock.advance(by: .seconds(100))
        task.resume()
        await gate.reached()
        clock.advance(by: .seconds(5))
        task.suspend()
        await Network.settle()
        clock.advance(by: .seconds(100))
        task.resume()
        await Network.settle()
        gate.open()
        await witness.wait(for: .note("read 1"))
        // What is left of a time still counts.
        task.readData(ofMinLength: 1, maxLength: 1, timeout: 10) { _, _, error in
            witness.note("\((error as? URLError)?.code == .timedOut)")
        }
        await Network.settle()
        clock.advance(by: .seconds(6))
        task.suspend()
        await Network.settle()
        clock.advance(by: .seconds(100))
        task.resume()
        await Network.settle()
        clock.advance(by: .seconds(6))
        await witness.wait(for: .note("true"))
        #expect(witness.events == [.note("read 1"), .note("true")])
        stage.session.invalidateAndCancel()
    }

    @Test("A cancelled Swift task gives up its read; the bytes are for the next", arguments: [true, false])
    func givenUp(beforehand: Bool) async throws {
        let gate = Gate()
        let stage = try await StreamStage(.listening.wait(at: gate).send("abc"))
        let task = stage.open()
        await gate.reached()
        let waiting = Task {
            if beforehand { withUnsafeCurrentTask { $0?.cancel() } }
            return try await task.text(3)
        }
        if !beforehand {
            await Network.settle()
            waiting.cancel()
        }
        await #expect(errorCode { _ = try await waiting.value } == .cancelled)
        gate.open()
        #expect(try await task.text(3) == "abc")
        stage.session.invalidateAndCancel()
    }
}

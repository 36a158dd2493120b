import Synchronization
import Testing

@testable import PurlIO

@Suite("A transport that a program provides, run by the loop")
@NetworkActor struct ProvidedTransportTests {
    private let transport = ScriptedTransport()
    private let handler = Recorder()
    private let loop = EventLoop(poller: Platform.makePoller())

    private func provided() -> ProvidedTransport {
        let provided = ProvidedTransport(transport, loop: loop)
        provided.handler = handler
        return provided
    }

    /// Runs the work that signals have posted, and turns of the loop.
    private func turn(_ count: Int = 3) async {
        await withCheckedContinuation { continuation in NetworkActor.post { continuation.resume() } }
        for _ in 0..<count { loop.turn(waiting: false) }
    }

    @Test("It is taken to be ready until a call has found that it is not")
    func readiness() async throws {
        let provided = provided()
        provided.interest = [.read, .write]
        #expect(handler.readable == 0, "never within a call")
        await turn(2)
        #expect(handler.readable == 2)
        #expect(handler.writable == 2)
        #expect(try provided.receive() == nil)
        transport.room = 1
        #expect(try provided.send([1, 2], 0..<2) == 1)
        await turn()
        #expect(handler.readable == 2)
        #expect(handler.writable == 2)
    }

    @Test("A signal makes it ready again, in the next turn, also one from within a call", arguments: [false, true])
    func signal(isWithinCall: Bool) async throws {
        let provided = provided()
        provided.interest = .read
        if isWithinCall { transport.whenRead = { $0.arrive([7]) } }
        #expect(try provided.receive() == nil)
        if !isWithinCall { transport.arrive([7]) }
        #expect(handler.readable == 0)
        await turn(1)
        #expect(handler.readable == 1)
        #expect(try provided.receive().map { [UInt8]($0) } == [7])
    }

    @Test("Many signals are one event")
    func signals() async throws {
        let provided = provided()
        _ = try provided.receive()
        provided.interest = .read
        for _ in 0..<1000 { transport.signal?.raise(.read) }
        await turn(1)
        #expect(handler.readable == 1)
    }

    @Test("Looking whether anything has arrived loses nothing of it")
    func lookahead() throws {
        let provided = provided()
        #expect(provided.isQuiet)
        transport.arrive([1, 2, 3])
        #expect(!provided.isQuiet)
        #expect(!provided.isQuiet)
        #expect(try provided.receive(8, intoPipe: -1) == .unsupported)
        #expect(try provided.receive().map { [UInt8]($0) } == [1])
        #expect(try provided.receive().map { [UInt8]($0) } == [2, 3])
        transport.hasEnded = true
        #expect(!provided.isQuiet)
        #expect(try provided.receive()?.count == 0)
    }

    @Test("A count that cannot be is an error", arguments: [-1, 5, Int.min, Int.max])
    func counts(count: Int) throws {
        let provided = provided()
        transport.claimed = count
        let bytes: [UInt8] = [1, 2, 3, 4]
        #expect(throws: SystemError.self) { try provided.send(bytes, 0..<4) }
        #expect(throws: SystemError.self) { try provided.receive(atMost: 4) }
        #expect(throws: SystemError.self) { try provided.send(4, ofFile: -1, from: 0) }
        #expect(throws: SystemError.self) { try provided.receive(4, intoPipe: -1) }
    }

    @Test("What it throws is the cause of the loop's error")
    func errors() throws {
        struct Broken: Error {}
        let provided = provided()
        transport.error = Broken()
        do throws(SystemError) {
            _ = try provided.receive()
            Issue.record("received")
        } catch {
            #expect(error.cause?.error is Broken)
        }
    }

    @Test("It is started once, is told what is waited for, and is closed once")
    func calls() throws {
        let provided = provided()
        provided.interest = .read
        provided.interest = .read
        provided.interest = []
        provided.shutdownWrite()
        provided.close()
        provided.close()
        provided.reset()
        provided.interest = .read
        provided.shutdownWrite()
        #expect(transport.calls == ["start", "interest 1", "interest 0", "finish", "close"])
        #expect(provided.interest == [])
        #expect(throws: SystemError(code: EBADF, operation: "read")) { try provided.receive() }
    }

    @Test("One that is released without being closed is closed")
    func release() async {
        do { _ = provided() }
        await turn()
        #expect(transport.calls == ["start", "close"])
    }

    @Test(
        "Its addresses are those of the transport, in digits",
        arguments: [
            (TransportAddress(address: "127.0.0.1", port: 80), "127.0.0.1:80"),
            (TransportAddress(address: "::1", port: 80), "[::1]:80"),
            (TransportAddress(address: "/run/socket"), "/run/socket"),
            (TransportAddress(address: "example.com", port: 80), nil),
            (TransportAddress(address: "127.0.0.1", port: 1 << 20), nil),
            (TransportAddress(address: ""), nil),
        ])
    func addresses(address: TransportAddress, text: String?) {
        transport.localAddress = address
        #expect(provided().localAddress?.description == text)
        #expect(provided().peerAddress == nil)
    }
}

/// A transport that does what a test wants, on the network thread.
private final class ScriptedTransport: Transport, @unchecked Sendable {
    var signal: TransportSignal?
    var calls: [String] = []
    var arrived: [UInt8] = []
    var hasEnded = false
    var room = Int.max
    /// What every call returns, whatever it does.
    var claimed: Int?
    var error: (any Error)?
    var whenRead: ((ScriptedTransport) -> Void)?
    var localAddress: TransportAddress?

    nonisolated init() {}

    func arrive(_ bytes: [UInt8]) {
        arrived += bytes
        signal?.raise(.read)
    }

    func start(_ signal: TransportSignal) {
        calls.append("start")
        self.signal = signal
    }

    func setInterest(_ interest: TransportInterest) { calls.append("interest \(interest.rawValue)") }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
        if let error { throw error }
        if let claimed { return claimed }
        guard !arrived.isEmpty else {
            whenRead?(self)
            return hasEnded ? 0 : nil
        }
        let count = min(buffer.count, arrived.count)
        buffer.copyBytes(from: arrived.prefix(count))
        arrived.removeFirst(count)
        return count
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> Int {
        if let claimed { return claimed }
        let count = min(room, bytes.count)
        room -= count
        return count
    }

    func write(_ count: Int, ofFile descriptor: Int32, from offset: Int64) throws -> TransportMove {
        claimed.map { .moved($0) } ?? .unsupported
    }

    func read(_ count: Int, intoPipe descriptor: Int32) throws -> TransportMove {
        claimed.map { .moved($0) } ?? .unsupported
    }

    func finishWriting() { calls.append("finish") }
    func close() { calls.append("close") }
}

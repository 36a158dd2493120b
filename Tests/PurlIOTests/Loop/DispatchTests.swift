import Testing

@testable import PurlIO

@Suite("The loop delivers each event to its socket")
@NetworkActor struct DispatchTests {
    @Test(arguments: PollerKind.allCases)
    func aReadableSocketCallsItsHandler(kind: PollerKind) throws {
        let loop = kind.makeLoop()
        let (near, far) = try StreamSocket.pair(loop: loop)
        let handler = Recorder()
        near.handler = handler
        near.interest = .read
        try far.send("hello")
        loop.turn(waiting: true)
        #expect(handler.readable == 1)
        #expect(try near.receive() == "hello")
        loop.turn(waiting: false)
        #expect(handler.readable == 1)
    }

    @Test(arguments: PollerKind.allCases)
    func interestDroppedInTheFirstCallbackSilencesTheSecond(kind: PollerKind) throws {
        let loop = kind.makeLoop()
        let (near, far) = try StreamSocket.pair(loop: loop)
        let handler = Recorder()
        handler.onReadable = { $0.interest = .read }
        near.handler = handler
        near.interest = [.read, .write]
        try far.send("x")
        loop.turn(waiting: true)
        #expect((handler.readable, handler.writable) == (1, 0))
    }

    @Test(arguments: PollerKind.allCases)
    func interestDroppedByAnotherSocketSilencesTheRestOfTheBatch(kind: PollerKind) throws {
        let loop = kind.makeLoop()
        let (first, second) = try StreamSocket.pair(loop: loop)
        let handler = Recorder()
        handler.onWritable = { [unowned first, unowned second] _ in
            first.interest = []
            second.interest = []
        }
        for socket in [first, second] {
            socket.handler = handler
            socket.interest = .write
        }
        loop.turn(waiting: true)
        loop.turn(waiting: false)
        #expect(handler.writable == 1)
    }

    @Test(arguments: PollerKind.allCases)
    func aSocketClosedByAnotherGetsNoEventOfTheSameBatch(kind: PollerKind) throws {
        let loop = kind.makeLoop()
        let (first, second) = try StreamSocket.pair(loop: loop)
        let handler = Recorder()
        handler.onWritable = { [unowned first, unowned second] socket in
            (socket === first ? second : first).close()
            socket.interest = []
        }
        for socket in [first, second] {
            socket.handler = handler
            socket.interest = .write
        }
        loop.turn(waiting: true)
        #expect(handler.writable == 1)
        #expect(first.isOpen != second.isOpen)
    }

    @Test(arguments: PollerKind.allCases)
    func anEventOfAClosedDescriptorDoesNotReachTheNextSocketWithItsNumber(kind: PollerKind) throws {
        let loop = kind.makeLoop()
        let (first, second) = try StreamSocket.pair(loop: loop)
        let stale = Recorder()
        let fresh = Recorder()
        var successor: StreamSocket?
        stale.onWritable = { [unowned first, unowned second] socket in
            let (survivor, victim) = socket === first ? (first, second) : (second, first)
            survivor.interest = []
            let number = victim.channel.descriptor.rawValue
            // The same number and the same slot of the loop's table, within the batch that still has an event for both.
            let spare = dup(survivor.channel.descriptor.rawValue)
            // The number stays taken: a file that another test opens would have it.
            _ = victim.releaseDescriptor()
            dup2(spare, number)
            _ = Platform.closeDescriptor(spare)
            successor = StreamSocket(adopting: Descriptor(owning: number), loop: loop)
            successor?.handler = fresh
            successor?.interest = .write
        }
        for socket in [first, second] {
            socket.handler = stale
            socket.interest = .write
        }
        loop.turn(waiting: true)
        #expect(stale.writable == 1)
        #expect(fresh.writable == 0)
        loop.turn(waiting: true)
        #expect((fresh.writable, successor?.isOpen) == (1, true))
    }

    @Test(arguments: PollerKind.allCases)
    func aSocketWithoutHandlerStopsWatchingRatherThanSpin(kind: PollerKind) throws {
        let loop = kind.makeLoop()
        let (near, far) = try StreamSocket.pair(loop: loop)
        near.interest = .read
        try far.send("x")
        loop.turn(waiting: true)
        #expect(near.interest == [])
    }

    @Test(arguments: PollerKind.allCases)
    func theEndOfTheStreamIsReadable(kind: PollerKind) throws {
        let loop = kind.makeLoop()
        let (near, far) = try StreamSocket.pair(loop: loop)
        let handler = Recorder()
        near.handler = handler
        near.interest = .read
        far.close()
        loop.turn(waiting: true)
        #expect(handler.readable == 1)
        #expect(try near.receive() == "")
    }

    @Test(arguments: PollerKind.allCases)
    func aHangUpMakesASocketThatWaitsForRoomWritable(kind: PollerKind) throws {
        let loop = kind.makeLoop()
        let (near, far) = try StreamSocket.pair(loop: loop)
        while try near.send(String(repeating: "x", count: 65_536)) > 0 {}
        let handler = Recorder()
        near.handler = handler
        near.interest = .write
        loop.turn(waiting: false)
        #expect(handler.writable == 0)
        far.close()
        loop.turn(waiting: true)
        #expect(handler.writable == 1)
        #expect(throws: SystemError(code: EPIPE, operation: "send")) { try near.send("x") }
    }

    @Test func aChangeThatThePollerRefusesIsTriedAgain() throws {
        let poller = FailingPoller(failures: 2)
        let loop = EventLoop(poller: poller)
        let (near, far) = try StreamSocket.pair(loop: loop)
        let handler = Recorder()
        handler.onReadable = { $0.close() }
        near.handler = handler
        near.interest = .read
        try far.send("x")
        while near.isOpen { loop.turn(waiting: true) }
        #expect(handler.readable == 1)
    }
}

/// Refuses the first changes, as a kernel without memory does.
private final class FailingPoller: Poller {
    private var failures: Int
    private let inner = PollPoller()

    init(failures: Int) {
        self.failures = failures
    }

    func change(_ descriptor: Int32, token: PollToken, from old: TransportInterest, to new: TransportInterest)
        throws(SystemError)
    {
        failures -= 1
        if failures >= 0 { throw SystemError(code: ENOMEM, operation: "change") }
        try inner.change(descriptor, token: token, from: old, to: new)
    }

    func wait(milliseconds: Int32, into events: inout [PollEvent]) -> Bool {
        inner.wait(milliseconds: milliseconds, into: &events)
    }
}

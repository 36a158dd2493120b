import Testing

@testable import PurlIO

@Suite("A transport moves bytes and calls its handler")
@NetworkActor struct TransportTests {
    private let loop = PollerKind.native.makeLoop()

    @Test(arguments: TransportKind.allCases)
    func bytesArriveAsTheyWereSent(kind: TransportKind) throws {
        let (near, far) = try kind.pair(loop: loop)
        #expect(try far.receive() == nil)
        #expect(try near.send("one") == 3)
        #expect(try near.send("two") == 3)
        #expect(try far.receive() == "onetwo")
        #expect(try far.receive() == nil)
    }

    @Test(arguments: TransportKind.allCases)
    func aFullTransportTakesAPartThenNothing(kind: TransportKind) throws {
        let (near, far) = try kind.pair(loop: loop)
        let piece = String(repeating: "x", count: 300_000)
        var sent = 0
        var wasShort = false
        while case let count = try near.send(piece), count > 0 {
            sent += count
            wasShort = wasShort || count < piece.utf8.count
        }
        #expect(wasShort)
        var received = 0
        while let text = try far.receive() { received += text.utf8.count }
        #expect(received == sent)
        #expect(try near.send("x") == 1)
    }

    @Test(arguments: TransportKind.allCases)
    func emptyBuffersAreNeitherFullNorTheEnd(kind: TransportKind) throws {
        let (near, far) = try kind.pair(loop: loop)
        #expect(try near.send("") == 0)
        try far.send("x")
        #expect(try near.receive(into: UnsafeMutableRawBufferPointer(start: nil, count: 0)) == nil)
        #expect(try near.receive() == "x")
    }

    @Test(arguments: TransportKind.allCases)
    func shutdownEndsOneDirection(kind: TransportKind) throws {
        let (near, far) = try kind.pair(loop: loop)
        try near.send("last words")
        near.shutdownWrite()
        #expect(try far.receive() == "last words")
        #expect(try far.receive() == "")
        #expect(throws: SystemError(code: EPIPE, operation: "send")) { try near.send("more") }
        try far.send("answer")
        #expect(try near.receive() == "answer")
    }

    @Test(arguments: TransportKind.allCases)
    func sendingToAClosedTransportIsAnErrorAndNotASignal(kind: TransportKind) throws {
        let (near, far) = try kind.pair(loop: loop)
        far.close()
        #expect(throws: SystemError(code: EPIPE, operation: "send")) {
            try untilClosed { () -> Void? in
                _ = try near.send("x")
                return nil
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func aClosedTransportDoesNothing(kind: TransportKind) throws {
        let (near, far) = try kind.pair(loop: loop)
        near.close()
        near.close()
        near.reset()
        near.shutdownWrite()
        near.interest = [.read, .write]
        #expect(!near.isOpen)
        #expect(near.interest == [])
        #expect(near.localAddress == nil)
        #expect(near.peerAddress == nil)
        #expect(throws: SystemError(code: EBADF, operation: "send")) { try near.send("x") }
        #expect(throws: SystemError(code: EBADF, operation: "recv")) { try near.receive() }
        #expect(try untilClosed { try far.receive() } == "")
    }

    @Test(arguments: TransportKind.allCases)
    func itIsQuietUntilSomethingArrives(kind: TransportKind) throws {
        let (near, far) = try kind.pair(loop: loop)
        #expect(near.isQuiet)
        try far.send("x")
        #expect(!near.isQuiet)
        #expect(try near.receive() == "x")
        #expect(near.isQuiet)
        far.close()
        #expect(untilClosed { near.isQuiet ? nil : true } == true)
    }

    @Test(arguments: TransportKind.allCases)
    func theHandlerIsCalledAgainUntilAllIsReceived(kind: TransportKind) throws {
        let (near, far) = try kind.pair(loop: loop)
        let handler = Recorder()
        near.handler = handler
        near.interest = .read
        try far.send("hello")
        loop.turn(waiting: true)
        loop.turn(waiting: true)
        #expect((handler.readable, handler.writable) == (2, 0))
        #expect(try near.receive() == "hello")
        loop.turn(waiting: false)
        loop.turn(waiting: false)
        let calls = handler.readable
        loop.turn(waiting: false)
        #expect(handler.readable == calls)
    }

    @Test(arguments: TransportKind.allCases)
    func theHandlerIsCalledOnceThereIsRoom(kind: TransportKind) throws {
        let (near, far) = try kind.pair(loop: loop)
        while try near.send(String(repeating: "x", count: 65_536)) > 0 {}
        let handler = Recorder()
        near.handler = handler
        near.interest = .write
        loop.turn(waiting: false)
        #expect(handler.writable == 0)
        while try far.receive() != nil {}
        loop.turn(waiting: true)
        #expect((handler.readable, handler.writable) == (0, 1))
    }

    @Test(arguments: TransportKind.allCases)
    func withoutHandlerItStopsWatching(kind: TransportKind) throws {
        let (near, far) = try kind.pair(loop: loop)
        near.interest = .read
        try far.send("x")
        loop.turn(waiting: true)
        #expect(near.interest == [])
    }

    @Test func aResetIsSeenAsOne() throws {
        let (tcp, tcpPeer) = try TCP.connect(.ipv4, on: loop)
        let (memory, memoryPeer) = MemoryTransport.pair(loop: loop)
        let pairs: [(any LoopTransport, any LoopTransport)] = [(tcp, tcpPeer), (memory, memoryPeer)]
        for (near, far) in pairs {
            let handler = Recorder()
            near.handler = handler
            near.interest = .read
            far.reset()
            while handler.readable == 0 { loop.turn(waiting: true) }
            #expect(throws: SystemError(code: ECONNRESET, operation: "recv")) { try near.receive() }
            #expect(!far.isOpen)
        }
    }

    @Test func onlyASocketOffersItself() throws {
        let (socket, _) = try TransportKind.socket.pair(loop: loop)
        let (memory, _) = try TransportKind.memory.pair(loop: loop)
        #expect(socket.plainSocket === socket)
        #expect(memory.plainSocket == nil)
    }
}

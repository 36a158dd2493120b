import Testing

@testable import PurlIO

@Suite("A stream socket moves bytes and owns its descriptor")
@NetworkActor struct StreamSocketTests {
    private let loop = PollerKind.native.makeLoop()

    @Test func bytesArriveAsTheyWereSent() throws {
        let (near, far) = try StreamSocket.pair(loop: loop)
        #expect(try far.receive() == nil)
        #expect(try near.send("one") == 3)
        #expect(try near.send("two") == 3)
        #expect(try far.receive() == "onetwo")
        #expect(try far.receive() == nil)
    }

    @Test func aFullSocketTakesAPartThenNothing() throws {
        let (near, far) = try StreamSocket.pair(loop: loop)
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

    @Test func emptyBuffersAreNeitherFullNorTheEnd() throws {
        let (near, far) = try StreamSocket.pair(loop: loop)
        #expect(try near.send("") == 0)
        try far.send("x")
        #expect(try near.receive(into: UnsafeMutableRawBufferPointer(start: nil, count: 0)) == nil)
        #expect(try near.receive() == "x")
    }

    @Test func shutdownEndsOneDirection() throws {
        let (near, far) = try StreamSocket.pair(loop: loop)
        try near.send("last words")
        near.shutdownWrite()
        #expect(try far.receive() == "last words")
        #expect(try far.receive() == "")
        try far.send("answer")
        #expect(try near.receive() == "answer")
    }

    @Test func sendingToNobodyIsAnErrorAndNotASignal() throws {
        let (near, far) = try StreamSocket.pair(loop: loop)
        far.close()
        #expect(throws: SystemError(code: EPIPE, operation: "send")) { try near.send("x") }
    }

    @Test func aClosedSocketDoesNothing() throws {
        let (near, far) = try StreamSocket.pair(loop: loop)
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
        #expect(try far.receive() == "")
    }

    @Test func theLastOwnerClosesIt() throws {
        let (near, far) = try StreamSocket.pair(loop: loop)
        near.interest = .read
        do {
            var last: StreamSocket? = far
            weak let watched = far
            last?.interest = .read
            last = nil
            #expect(watched != nil)
        }
        #expect(try near.receive() == nil)
        withExtendedLifetime(far) {}
    }

    @Test(arguments: [SocketAddress.Family.ipv4, .ipv6])
    func aTCPSocketIsReadyForUse(family: SocketAddress.Family) throws {
        let (client, server) = try TCP.connect(family, on: loop)
        for socket in [client, server] {
            let number = socket.channel.descriptor.rawValue
            #expect(fcntl(number, F_GETFL) & O_NONBLOCK != 0)
            #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
            #expect(socket.channel.descriptor.option(TCP_NODELAY, level: Platform.tcpLevel) != 0)
        }
        #expect(client.localAddress == server.peerAddress)
        #expect(client.peerAddress == server.localAddress)
        #expect(client.peerAddress?.family == family)
    }

    @Test func aResetIsSeenAsOne() throws {
        let (client, server) = try TCP.connect(.ipv4, on: loop)
        let handler = Recorder()
        client.handler = handler
        client.interest = .read
        server.reset()
        while handler.readable == 0 { loop.turn(waiting: true) }
        #expect(throws: SystemError(code: ECONNRESET, operation: "recv")) { try client.receive() }
        #expect(!server.isOpen)
    }
}

import Testing

@testable import PurlIO

@Suite("A stream socket owns its descriptor")
@NetworkActor struct StreamSocketTests {
    private let loop = PollerKind.native.makeLoop()

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
}

import Testing

@testable import PurlIO

@Suite("A stream socket owns its descriptor", .timeLimit(.minutes(1)))
@NetworkActor struct StreamSocketTests {
    private let loop = PollerKind.native.makeLoop()

    /// What the server does before and after the client sends, and what is known then.
    enum Fate: CaseIterable {
        case closedBefore, closedAfterReading, resetAfterReading, closedUnread

        var state: DeliveryState {
            switch self {
            case .closedBefore: DeliveryState(unacknowledged: 5, end: .reset)
            case .closedAfterReading: DeliveryState(unacknowledged: 0, end: .open)
            // A system ignores what a reset acknowledges: they look the same.
            case .resetAfterReading, .closedUnread: DeliveryState(unacknowledged: 5, end: .reset)
            }
        }
    }

    /// The system acknowledges by itself after 40 ms. What has taken longer is another case, and is tried again.
    @Test(arguments: Fate.allCases, [SocketAddress.Family.ipv4, .ipv6])
    func aConnectionKnowsWhatWasAcknowledged(fate: Fate, family: SocketAddress.Family) throws {
        while !(try expectDelivery(fate, family)), !Task.isCancelled {}
    }

    /// False where the system may have acknowledged by itself.
    private func expectDelivery(_ fate: Fate, _ family: SocketAddress.Family) throws -> Bool {
        let loop = PollerKind.native.makeLoop()
        let start = MonotonicTime.current
        let (client, server) = try TCP.connect(family, on: loop)
        // As after a first request and its response: acknowledgements are late from then on.
        try exchange(client, server)
        #expect(client.delivery == DeliveryState(unacknowledged: 0, end: .open))
        if fate == .closedBefore { server.close() }
        #expect(try client.send([1, 2, 3, 4, 5], 0..<5) == 5)
        switch fate {
        case .closedBefore: break
        case .closedAfterReading, .resetAfterReading:
            #expect(try count(arrivingAt: server) == 5)
            fate == .closedAfterReading ? server.close() : server.reset()
        case .closedUnread: server.close()
        }
        guard MonotonicTime.current - start < .milliseconds(30) else { return false }
        // What the server does may take the system a moment, also on this machine: a process that is being started has a copy
        // of the server's socket until then.
        while client.delivery != fate.state, !Task.isCancelled {
            if fate.state.unacknowledged > 0, client.delivery?.unacknowledged == 0 { return false }
            sched_yield()
        }
        #expect(client.delivery == fate.state)
        client.close()
        #expect(client.delivery == nil)
        return true
    }

    private func exchange(_ client: StreamSocket, _ server: StreamSocket) throws {
        for (one, other) in [(client, server), (server, client)] {
            #expect(try one.send([7, 7, 7], 0..<3) == 3)
            #expect(try count(arrivingAt: other) == 3)
        }
    }

    private func count(arrivingAt socket: StreamSocket) throws -> Int? {
        while !Task.isCancelled {
            if let bytes = try socket.receive() { return bytes.count }
            sched_yield()
        }
        return nil
    }

    @Test func aLocalSocketDoesNotKnowWhatWasAcknowledged() throws {
        let (near, far) = try StreamSocket.pair()
        #expect(near.delivery == nil)
        near.close()
        far.close()
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
}

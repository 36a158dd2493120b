import Testing

@testable import PurlIO

@Suite("A listening socket accepts until it is closed")
@NetworkActor struct ListeningSocketTests {
    @Test(arguments: [SocketAddress.Family.ipv4, .ipv6])
    func theSystemChoosesAPort(family: SocketAddress.Family) throws {
        let loop = PollerKind.native.makeLoop()
        let listener = try ListeningSocket(Loopback.any(family), loop: loop) { _ in }
        #expect(listener.address.port.map { $0 > 0 } == true)
        listener.close()
    }

    @Test func anAddressInUseIsAnError() throws {
        let loop = PollerKind.native.makeLoop()
        let listener = try ListeningSocket(.loopback(port: 0), loop: loop) { _ in }
        #expect(throws: SystemError(code: EADDRINUSE, operation: "bind")) {
            try ListeningSocket(listener.address, loop: loop) { _ in }
        }
        listener.close()
    }

    /// A process that is being started has one for a moment.
    @Test(arguments: [SocketAddress.Family.ipv4, .ipv6])
    func aCopyOfAClosedSocketDoesNotListen(family: SocketAddress.Family) throws {
        let loop = PollerKind.native.makeLoop()
        let listener = try ListeningSocket(Loopback.any(family), loop: loop) { _ in }
        let descriptor = try #require(
            (0..<getdtablesize()).first { descriptor in
                isListening(descriptor)
                    && SocketAddress.asking { getsockname(descriptor, $0, $1) } == listener.address
            })
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        defer { _ = Platform.closeDescriptor(copy) }
        #expect(copy >= 0)
        listener.close()
        #expect(throws: SystemError(code: ECONNREFUSED, operation: "connect")) {
            try PlainSocket(family).finishConnecting(to: listener.address)
        }
    }

    private func isListening(_ descriptor: Int32) -> Bool {
        var (value, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        return getsockopt(descriptor, Platform.socketLevel, SO_ACCEPTCONN, &value, &length) == 0 && value != 0
    }

    #if os(Linux)
        @Test(arguments: [SocketAddress.Family.ipv4, .ipv6])
        func aClosedSocketKeepsItsPort(family: SocketAddress.Family) throws {
            let loop = PollerKind.native.makeLoop()
            let listener = try ListeningSocket(Loopback.any(family), loop: loop) { _ in }
            listener.close()
            #expect(throws: SystemError(code: EADDRINUSE, operation: "bind")) {
                try PlainSocket(family).take(listener.address)
            }
            let next = try ListeningSocket(listener.address, loop: loop) { _ in }
            #expect(next.address == listener.address)
            next.close()
        }

        /// A client of `localhost` tries both.
        @Test(arguments: [SocketAddress.Family.ipv4, .ipv6])
        func itsPortIsTakenAtTheOtherLoopbackAddress(family: SocketAddress.Family) throws {
            let loop = PollerKind.native.makeLoop()
            let listener = try ListeningSocket(Loopback.any(family), loop: loop) { _ in }
            let other: SocketAddress.Family = family == .ipv4 ? .ipv6 : .ipv4
            let address = Loopback.address(other == .ipv4 ? "127.0.0.1" : "::1", try #require(listener.address.port))
            #expect(throws: SystemError(code: EADDRINUSE, operation: "bind")) { try PlainSocket(other).take(address) }
            #expect(throws: SystemError(code: ECONNREFUSED, operation: "connect")) {
                try PlainSocket(other).finishConnecting(to: address)
            }
            let asked = try ListeningSocket(address, loop: loop) { _ in }
            #expect(asked.address == address)
            asked.close()
            listener.close()
        }
    #endif

    @Test(arguments: PollerKind.allCases)
    func everyConnectionIsAccepted(kind: PollerKind) throws {
        let loop = kind.makeLoop()
        var accepted: [StreamSocket] = []
        let listener = try ListeningSocket(.loopback(port: 0), loop: loop) { accepted.append($0) }
        var clients: [any LoopTransport] = []
        for _ in 0..<100 {
            _ = NetworkDial(to: listener.endpoint, loop: loop) { result in
                if let socket = try? result.get() { clients.append(socket) }
            }
        }
        while accepted.count < 100 || clients.count < 100 { loop.turn(waiting: true) }
        #expect(Set(accepted.compactMap(\.peerAddress)) == Set(clients.compactMap(\.localAddress)))
        listener.close()
    }

    @Test func closingWithinTheCallbackStopsAccepting() throws {
        let loop = PollerKind.native.makeLoop()
        var accepted = 0
        var listener: ListeningSocket?
        listener = try ListeningSocket(.loopback(port: 0), loop: loop) { _ in
            accepted += 1
            listener?.close()
        }
        let endpoint = try #require(listener?.endpoint)
        var connected = 0
        for _ in 0..<3 { _ = NetworkDial(to: endpoint, loop: loop) { _ in connected += 1 } }
        while connected < 3 || accepted == 0 { loop.turn(waiting: true) }
        for _ in 0..<10 { loop.turn(waiting: false) }
        #expect(accepted == 1)
    }

    @Test func aConnectionLostBeforeItWasAcceptedIsSkipped() throws {
        let loop = PollerKind.native.makeLoop()
        var accepted: [StreamSocket] = []
        let listener = try ListeningSocket(.loopback(port: 0), loop: loop) { accepted.append($0) }
        for _ in 0..<2 {
            let socket = try PlainSocket(.ipv4)
            socket.startConnecting(to: listener.address)
            socket.resetWhenClosed()
        }
        var client: (any LoopTransport)?
        _ = NetworkDial(to: listener.endpoint, loop: loop) { client = try? $0.get() }
        while client == nil { loop.turn(waiting: true) }
        while !accepted.contains(where: { $0.peerAddress == client?.localAddress }) { loop.turn(waiting: true) }
        listener.close()
    }

    @Test func aPathLastsAsLongAsItsSocket() throws {
        let loop = PollerKind.native.makeLoop()
        let address = try SocketAddress(unixPath: "/tmp/purl-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock")
        var accepted: StreamSocket?
        let listener = try ListeningSocket(address, loop: loop) { accepted = $0 }
        #expect(listener.address == address)
        var client: (any LoopTransport)?
        _ = NetworkDial(to: listener.endpoint, loop: loop) { client = try? $0.get() }
        while client == nil || accepted == nil { loop.turn(waiting: true) }
        #expect(access(address.description, F_OK) == 0)
        listener.close()
        #expect(access(address.description, F_OK) != 0)
        try client?.send("still connected")
        #expect(try accepted?.receive() == "still connected")
        listener.close()
    }

    @Test func theLastOwnerClosesIt() throws {
        let loop = PollerKind.native.makeLoop()
        let address = try SocketAddress(unixPath: "/tmp/purl-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock")
        _ = try ListeningSocket(address, loop: loop) { _ in }
        #expect(access(address.description, F_OK) != 0)
    }

    @Test func acceptingPausesWhileTheProcessHasNoDescriptors() async {
        await #expect(processExitsWith: .success) {
            await Task { @NetworkActor in
                do {
                    try Starvation.isSurvived()
                } catch {
                    Issue.record(error)
                }
            }.value
        }
    }

    @Test(arguments: [
        (EAGAIN, AcceptFailure.nothingWaiting), (ECONNABORTED, .connectionLost), (EINTR, .connectionLost),
        (EPROTO, .connectionLost), (EHOSTUNREACH, .connectionLost), (EMFILE, .outOfResources),
        (ENFILE, .outOfResources), (ENOMEM, .outOfResources), (ENOBUFS, .outOfResources),
    ])
    func anErrorOfAcceptHasOneMeaning(code: Int32, meaning: AcceptFailure) {
        #expect(AcceptFailure(code: code) == meaning)
    }
}

/// Changes a limit of the whole process, and therefore runs in one of its own.
@NetworkActor private enum Starvation {
    static func isSurvived() throws {
        let loop = PollerKind.native.makeLoop()
        var accepted: StreamSocket?
        let listener = try ListeningSocket(.loopback(port: 0), loop: loop) { accepted = $0 }
        var client: (any LoopTransport)?
        _ = NetworkDial(to: listener.endpoint, loop: loop) { client = try? $0.get() }
        // The client has its descriptor and is on its way; from here on there is none for the other end.
        loop.turn(waiting: false)
        let shortage = try DescriptorShortage()
        while client == nil { loop.turn(waiting: true) }
        for _ in 0..<3 { loop.turn(waiting: false) }
        #expect(accepted == nil)
        #expect(throws: SystemError(code: EMFILE, operation: "socket")) { try PlainSocket(.ipv4) }
        try shortage.end()
        // A listener that spins would take thousands of turns until it tries again.
        var turns = 0
        while accepted == nil, turns < 10 {
            loop.turn(waiting: true)
            turns += 1
        }
        #expect(accepted != nil)
        listener.close()
    }
}

/// As long as it lasts, the process cannot open anything.
private struct DescriptorShortage {
    private let limit: rlimit
    private let fillers: [Int32]

    init() throws {
        var limit = rlimit()
        try #require(getrlimit(Self.resource, &limit) == 0)
        self.limit = limit
        // `dup` gives the lowest free number: what is below is taken, and what was freed meanwhile is filled.
        let lowestFree = dup(0)
        try Self.setLimit(rlimit(rlim_cur: rlim_t(lowestFree), rlim_max: limit.rlim_max))
        var fillers = [lowestFree]
        while case let filler = dup(0), filler >= 0 { fillers.append(filler) }
        self.fillers = fillers
    }

    func end() throws {
        try Self.setLimit(limit)
        for filler in fillers { _ = Platform.closeDescriptor(filler) }
    }

    private static func setLimit(_ limit: rlimit) throws {
        var limit = limit
        try #require(setrlimit(resource, &limit) == 0)
    }

    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif
}

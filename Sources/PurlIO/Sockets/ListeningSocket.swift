/// Accepts connections on an address.
///
/// On Linux the port stays taken until the object is released: the system gives it to no other socket that asks for a free one,
/// and so refuses connections to it once this one is closed. A socket that asks for this port can have it then. The same is true
/// of the other loopback address, which is also what `localhost` means.
@NetworkActor package final class ListeningSocket {
    /// The address it listens on, with the port that the system chose in place of port 0.
    package let address: SocketAddress

    private let channel: Channel
    private let loop: EventLoop
    private let reservation: PortReservation?
    private var accept: (@NetworkActor (StreamSocket) -> Void)?

    /// Starts listening, and calls `accept` on the network thread with each connection. Throws when `socket`, `bind` or
    /// `listen` fails.
    package init(
        _ address: SocketAddress, backlog: Int32 = 512, loop: EventLoop = .shared,
        accept: @escaping @NetworkActor (StreamSocket) -> Void
    ) throws(SystemError) {
        var address = address
        reservation = try Platform.canShareAddress && address.family != .unix ? PortReservation(of: &address) : nil
        let descriptor = try address.bound()
        if listen(descriptor.rawValue, backlog) != 0 {
            let error = SystemError.last("listen")
            Self.unlinkPath(of: address)
            throw error
        }
        self.address = address
        self.loop = loop
        self.accept = accept
        channel = Channel(descriptor, loop: loop)
        channel.setHandler { [weak self] _ in self?.acceptWaiting() }
        channel.interest = .read
    }

    deinit {
        NetworkActor.perform { [channel, address] in Self.close(channel, address) }
    }

    /// Stops listening, and removes the path of a Unix-domain address. Connections already accepted stay open.
    /// Has no effect the second time.
    package func close() {
        accept = nil
        Self.close(channel, address)
    }

    private static func close(_ channel: Channel, _ address: SocketAddress) {
        if channel.isOpen {
            unlinkPath(of: address)
            // A process that is being started has a copy of the descriptor for a moment, which would listen until then.
            _ = shutdown(channel.descriptor.rawValue, Platform.shutdownBoth)
        }
        channel.close()
    }

    private static func unlinkPath(of address: SocketAddress) {
        if address.family == .unix { _ = unlink(address.literal) }
    }

    private func acceptWaiting() {
        // No more than 64 in one turn of the loop: the sockets already accepted must be served as well.
        var remaining = 64
        while remaining > 0, let accept {
            remaining -= 1
            do throws(SystemError) {
                let descriptor = try Platform.acceptConnection(channel.descriptor.rawValue)
                if address.family != .unix { descriptor.disableNagle() }
                accept(StreamSocket(adopting: descriptor, loop: loop))
            } catch {
                switch AcceptFailure(code: error.code) {
                case .nothingWaiting: return
                case .connectionLost: continue
                case .outOfResources: return pause()
                }
            }
        }
    }

    /// The connection that could not be accepted keeps the socket readable: without a pause the loop would spin.
    private func pause() {
        channel.interest = []
        loop.schedule(after: .milliseconds(100)) { [channel] in channel.interest = .read }
    }
}

/// Sockets that have a port, and do not listen.
private struct PortReservation: ~Copyable {
    private let descriptor: Descriptor
    /// At the other loopback address; `nil` where there is none, or the port was asked for and is another's there.
    private let twin: Descriptor?

    /// - Parameter address: The system replaces port 0 by one that is free at both.
    init(of address: inout SocketAddress) throws(SystemError) {
        var candidate = address
        let descriptor = try candidate.bound()
        do throws(SystemError) {
            var other = candidate.otherLoopback
            twin = try other?.bound()
        } catch {
            if error.code == EADDRINUSE, address.port == 0 {
                self = try PortReservation(of: &address)
                // While it has that port, the system chooses another one.
                _ = consume descriptor
                return
            }
            twin = nil
        }
        self.descriptor = descriptor
        address = candidate
    }
}

extension SocketAddress {
    /// A socket with this address, in which the system replaces port 0 by the one it chooses.
    fileprivate mutating func bound() throws(SystemError) -> Descriptor {
        let descriptor = try Platform.streamSocket(family)
        // A server that restarts need not wait until the system forgets the connections of its earlier run.
        descriptor.setOption(SO_REUSEADDR, level: Platform.socketLevel, to: Int32(1))
        if withSystemAddress({ bind(descriptor.rawValue, $0, $1) }) != 0 { throw SystemError.last("bind") }
        self = SocketAddress.asking { getsockname(descriptor.rawValue, $0, $1) } ?? self
        return descriptor
    }

    /// The loopback address of the other family with the same port; `nil` for any other address.
    fileprivate var otherLoopback: SocketAddress? {
        guard let port else { return nil }
        let (ipv4, ipv6) = (SocketAddress.loopback(port: port), SocketAddress.loopback6(port: port))
        return self == ipv4 ? ipv6 : self == ipv6 ? ipv4 : nil
    }
}

/// What an `accept` that returned no connection calls for.
enum AcceptFailure {
    /// No connection waits.
    case nothingWaiting
    /// One connection was lost before it was accepted; there may be others.
    case connectionLost
    /// There are no descriptors or no memory left: the connection stays in the queue.
    case outOfResources

    /// The meaning of an `errno`.
    init(code: Int32) {
        switch code {
        case EAGAIN, EWOULDBLOCK:
            self = .nothingWaiting
        // accept(2): Linux passes on errors that are already pending on the new connection.
        case EINTR, ECONNABORTED, EPROTO, ENETDOWN, ENETUNREACH, EHOSTDOWN, EHOSTUNREACH, ENOPROTOOPT, EOPNOTSUPP,
            EPERM,
            ETIMEDOUT:
            self = .connectionLost
        default:
            self = .outOfResources
        }
    }
}

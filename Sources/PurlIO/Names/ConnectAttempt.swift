/// One socket on its way to one address.
@NetworkActor final class ConnectAttempt {
    private let address: SocketAddress
    private let channel: Channel
    private var completion: (@NetworkActor (Result<StreamSocket, ConnectFailure>) -> Void)?

    /// Begins to connect. `completion` is called once, from the loop, and never after `cancel`. Throws what fails on the
    /// spot; then it is not called.
    init(
        _ address: SocketAddress, loop: EventLoop,
        completion: @escaping @NetworkActor (Result<StreamSocket, ConnectFailure>) -> Void
    ) throws(SystemError) {
        let descriptor = try Self.socket(address.family)
        if address.family != .unix { descriptor.disableNagle() }
        if address.withSystemAddress({ connect(descriptor.rawValue, $0, $1) }) != 0 {
            // An interrupted connect goes on in the background, just as one in progress.
            if errno != EINPROGRESS && errno != EINTR { throw SystemError.last("connect") }
        }
        self.address = address
        self.completion = completion
        channel = Channel(descriptor, loop: loop)
        // A connected socket is writable, and so is one that failed.
        channel.onReady = { _ in self.conclude() }
        channel.interest = .write
    }

    /// How many of the process's descriptors connections leave to others: to the files that their content goes to, and to
    /// Dispatch, which ends the process when it finds none to look after its threads.
    private static let reserve = 16

    /// A socket, as long as it is not one of the last descriptors. The system gives the lowest number that is free.
    private static func socket(_ family: SocketAddress.Family) throws(SystemError) -> Descriptor {
        let descriptor = try Platform.streamSocket(family)
        let limit = Platform.descriptorLimit
        if Int(descriptor.rawValue) >= limit - min(reserve, limit / 8) {
            throw SystemError(code: EMFILE, operation: "socket")
        }
        return descriptor
    }

    /// Closes the socket and forgets the completion.
    func cancel() {
        completion = nil
        channel.close()
    }

    private func conclude() {
        let completion = completion
        self.completion = nil
        let code = channel.descriptor.takePendingError()
        if code == 0, !isConnectedToItself {
            completion?(.success(StreamSocket(channel: channel)))
        } else {
            channel.close()
            let error = SystemError(code: code == 0 ? ECONNREFUSED : code, operation: "connect")
            completion?(.failure(ConnectFailure(address: address, error: error)))
        }
    }

    /// A connect to a port of this machine where nobody listens may be given that very port as its own, and then meets
    /// itself (RFC 9293 §3.5, simultaneous open).
    private var isConnectedToItself: Bool {
        guard address.family != .unix else { return false }
        return SocketAddress.asking { getsockname(channel.descriptor.rawValue, $0, $1) } == address
    }
}

/// Makes connections with a program's connector.
package struct ConnectorDialler: Dialler {
    private let connector: any Connector

    package init(_ connector: any Connector) {
        self.connector = connector
    }

    package func dial(
        _ endpoint: Endpoint, for purpose: DialPurpose,
        completion: @escaping @NetworkActor (Result<any LoopTransport, DialError>) -> Void
    ) -> any Dial {
        ConnectorDial(connector, ConnectionRequest(endpoint, purpose), completion: completion)
    }
}

/// One connection that a program's connector makes, in a task of its own.
extension ConnectorDial {
    /// A connector looks names up by itself, so there are no steps.
    func observe(_ observer: @escaping DialObserver) {}
}

@NetworkActor final class ConnectorDial: Dial {
    private(set) var times = DialTimes()

    private var task: Task<Void, Never>?
    /// `nil` when the dial is over.
    private var completion: (@NetworkActor (Result<any LoopTransport, DialError>) -> Void)?

    /// Starts the task. `completion` is called once, never within this call, and never after `cancel`.
    init(
        _ connector: any Connector, _ request: ConnectionRequest,
        completion: @escaping @NetworkActor (Result<any LoopTransport, DialError>) -> Void
    ) {
        self.completion = completion
        times.connectStart = EventLoop.shared.now
        // Detached: the connector's code must not run on the network thread.
        task = Task.detached {
            let result: Result<ConnectedTransport, any Error>
            do { result = .success(try await connector.connect(request)) } catch { result = .failure(error) }
            NetworkActor.post { self.connected(result) }
        }
    }

    /// Cancels the task. What it returns all the same is closed.
    func cancel() {
        completion = nil
        task?.cancel()
        task = nil
    }

    private func connected(_ result: Result<ConnectedTransport, any Error>) {
        task = nil
        guard let completion else {
            if case .success(let connected) = result { connected.close() }
            return
        }
        self.completion = nil
        times.connectEnd = EventLoop.shared.now
        switch result {
        case .success(let connected):
            do throws(UnusableDescriptor) {
                completion(.success(try connected.loopTransport()))
            } catch {
                completion(.failure(.unusable(error)))
            }
        case .failure(let error):
            completion(.failure(.connector(ThrownError(error))))
        }
    }
}

extension ConnectionRequest {
    /// What a connector is to connect to, from now on.
    package init(_ endpoint: Endpoint, _ purpose: DialPurpose) {
        // A simulation's clock has no instants of this type, and ends the attempt by itself.
        let limit = Simulated.machine == nil ? purpose.timeLimit : nil
        let deadline = limit.map { ContinuousClock.now + $0 }
        switch endpoint {
        case .host(let host, let port):
            self.init(scheme: purpose.scheme, host: host, port: Int(port), deadline: deadline)
        case .unix(let path):
            self.init(scheme: purpose.scheme, host: path, port: 0, deadline: deadline)
        }
    }
}

extension ConnectedTransport {
    /// What was connected, as the loop uses it. A descriptor that is not a connected stream socket is closed, if it is open.
    @NetworkActor package func loopTransport() throws(UnusableDescriptor) -> any LoopTransport {
        switch self {
        case .descriptor(let number): try StreamSocket(checking: number)
        case .transport(let transport): ProvidedTransport(transport)
        }
    }

    /// Closes what was connected, which is no longer wanted.
    @NetworkActor package func close() {
        switch self {
        case .descriptor(let number):
            if number >= 0 { _ = Platform.closeDescriptor(number) }
        case .transport(let transport):
            transport.close()
        }
    }
}

/// Why a descriptor is not a connection.
package enum UnusableDescriptor: Error, Sendable, Hashable, CustomStringConvertible {
    case notOpen(Int32)
    case notASocket(Int32)
    case notAStream(Int32)
    case notConnected(Int32)

    package var description: String {
        switch self {
        case .notOpen(let number): "the descriptor \(number) is not open"
        case .notASocket(let number): "the descriptor \(number) is not a socket"
        case .notAStream(let number): "the descriptor \(number) is a socket, but not one of streams"
        case .notConnected(let number): "the descriptor \(number) is a socket that is not connected"
        }
    }
}

extension StreamSocket {
    /// Takes over a descriptor that a program says is a connected stream socket, and makes it non-blocking. It is closed
    /// when it is open and no such socket.
    convenience init(checking number: Int32) throws(UnusableDescriptor) {
        let flags = fcntl(number, F_GETFL)
        guard flags >= 0 else { throw .notOpen(number) }
        let descriptor = Descriptor(owning: number)
        var kind: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(number, Platform.socketLevel, SO_TYPE, &kind, &length) == 0 else { throw .notASocket(number) }
        guard kind == Platform.streamSocketType else { throw .notAStream(number) }
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isConnected = withUnsafeMutableBytes(of: &address) { address in
            address.baseAddress.map { getpeername(number, $0.assumingMemoryBound(to: sockaddr.self), &size) } == 0
        }
        guard isConnected else { throw .notConnected(number) }
        _ = fcntl(number, F_SETFL, flags | O_NONBLOCK)
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        // Has no effect on sockets of other families.
        descriptor.disableNagle()
        self.init(adopting: descriptor)
    }
}

internal import PurlIO

/// The listening socket of a server and its connections.
@NetworkActor
final class Acceptor {
    /// Where it listens.
    let address: SocketAddress

    private let service: Service
    private var listener: ListeningSocket?
    private var connections: [Int: Connection] = [:]

    /// Listens at `address` from now on.
    init(_ address: SocketAddress, service: Service) throws(SystemError) {
        self.service = service
        let door = Door()
        let listener = try ListeningSocket(address) { socket in door.open(socket) }
        self.listener = listener
        self.address = listener.address
        door.acceptor = self
    }

    /// Closes the listening socket and every connection.
    func stop() {
        listener?.close()
        listener = nil
        closeConnections(.serverStopped)
    }

    /// Closes every connection, but goes on listening.
    func closeConnections(_ ending: Ending) {
        for connection in connections.values { connection.close(ending) }
    }

    private func accept(_ socket: StreamSocket) {
        let connection = Connection(socket, service: service) { [weak self] connection in
            self?.connections[connection.number] = nil
        }
        connections[connection.number] = connection
        connection.begin()
    }

    /// Stands between the listening socket and the acceptor, so that neither keeps the other alive.
    @NetworkActor
    private final class Door {
        weak var acceptor: Acceptor?

        nonisolated init() {}

        func open(_ socket: StreamSocket) {
            if let acceptor { acceptor.accept(socket) } else { socket.close() }
        }
    }
}

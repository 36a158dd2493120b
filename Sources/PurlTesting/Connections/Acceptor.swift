internal import PurlIO

/// The listening socket of a server, if it has one, and its connections.
@NetworkActor
final class Acceptor {
    /// The address on which the server listens; `nil` for one that is connected to in memory only.
    let address: SocketAddress?

    private let context: ServerContext
    /// How the connections of the listening socket speak TLS; `nil` for those in the open.
    private let tls: ServerTLSContext?
    private let listener: ListeningSocket?
    private var isStopped = false
    private var connections: [Int: Connection] = [:]

    /// A server that listens nowhere.
    init(context: ServerContext) {
        self.context = context
        tls = nil
        listener = nil
        address = nil
    }

    /// Starts to listen at `address`.
    init(_ address: SocketAddress, context: ServerContext, tls: ServerTLSContext?) throws(SystemError) {
        self.context = context
        self.tls = tls
        let receiver = WeakReceiver()
        let listener = try ListeningSocket(address) { socket in receiver.receive(socket) }
        self.listener = listener
        self.address = listener.address
        receiver.acceptor = self
    }

    /// Closes the listening socket and every connection.
    func stop() {
        isStopped = true
        listener?.close()
        closeConnections(.serverStopped)
    }

    /// Closes every connection and continues to listen.
    func closeConnections(_ ending: LoopbackServer.Ending) {
        for (_, connection) in connections.sorted(by: { $0.key < $1.key }) { connection.close(ending) }
    }

    /// The client's end of a new connection in memory; `nil` once the server has stopped.
    ///
    /// - Parameter tls: How the connection speaks TLS; `nil` for one in the open.
    func connect(tls: ServerTLSContext?) -> MemoryStream? {
        if isStopped { return nil }
        let (client, server) = MemoryStream.pair()
        accept(ProvidedTransport(server), tls)
        return client
    }

    /// Serves a connection.
    ///
    /// - Parameter tls: How it speaks TLS; `nil` for one in the open.
    func accept(_ lower: any LoopTransport, _ tls: ServerTLSContext?) {
        var transport = lower
        if let tls {
            do throws(TestAuthority.Failure) {
                transport = ServerTLSTransport(over: lower, try tls.makeSession(), faults: tls.nextFaults())
            } catch {
                context.recorder.addFailedHandshake(error.description)
                return lower.close()
            }
        }
        let connection = Connection(transport, context: context) { [weak self] connection in
            self?.connections[connection.number] = nil
        }
        connections[connection.number] = connection
        connection.start()
    }

    /// Passes accepted sockets on to the acceptor, so that the listening socket does not keep it alive.
    @NetworkActor
    private final class WeakReceiver {
        fileprivate weak var acceptor: Acceptor?

        nonisolated init() {}

        func receive(_ socket: StreamSocket) {
            if let acceptor { acceptor.accept(socket, acceptor.tls) } else { socket.close() }
        }
    }
}

/// What the connections of a server share.
struct ServerContext: Sendable {
    let routes: RouteTable
    let recorder: Recorder
    /// How many bytes of a request's body are kept.
    let maximumRecordedBody: Int
}

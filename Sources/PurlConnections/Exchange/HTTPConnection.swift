package import PurlHTTP
package import PurlIO

/// One connection to a server or a proxy, which carries one exchange after another (RFC 9112 §9.3).
///
/// It owns the transport and knows what the pool has to know of an idle connection. To the client of its exchange it is
/// the source of the response. It knows nothing of tasks, files or delegates.
@NetworkActor
package final class HTTPConnection: ResponseSource, TransportHandler {
    package let lane: ConnectionPool.Lane
    let generation: Int
    /// Unique in the process; traces tell connections apart by it.
    package let number: UInt64
    /// How the connection was dialled; `nil` for one through a tunnel.
    package let dialTimes: DialTimes?
    /// How many exchanges have come to their end on it.
    private(set) var exchanges = 0
    private(set) var idleSince = EventLoop.shared.now
    /// When an idle connection is given up.
    private(set) var idleDeadline = EventLoop.shared.now
    /// What the server's `Keep-Alive` field allows.
    private(set) var idleLimit: Duration?
    /// Both ends, which cost a system call each, for the task metrics.
    package private(set) lazy var ends = (local: transport.localAddress, remote: transport.peerAddress)
    private lazy var factsOfFirstUse = ConnectionFacts(self)
    private lazy var factsOfReuse = ConnectionFacts(self)
    /// Whether it may use several paths, which costs a system call, for the task metrics.
    package private(set) lazy var isMultipath = transport.plainSocket?.isMultipath ?? false

    /// What makes a secure connection secure; `nil` for any other.
    package private(set) var securityLayer: (any SecurityLayer)?
    /// The connection leads to a proxy, which has to be asked for a tunnel first.
    package private(set) var needsTunnel: Bool

    package private(set) var paced: PacedTransport
    private unowned let pool: ConnectionPool
    private var exchange: Exchange?
    /// The turn of the loop in which it became idle.
    private var idleTurn: UInt64 = 0

    package init(
        _ transport: any LoopTransport, lane: ConnectionPool.Lane, pool: ConnectionPool, generation: Int,
        dialTimes: DialTimes? = nil, securityLayer: (any SecurityLayer)? = nil
    ) {
        self.lane = lane
        self.pool = pool
        self.generation = generation
        self.dialTimes = dialTimes
        self.securityLayer = securityLayer
        needsTunnel = lane.isTunnel
        number = EventLoop.shared.nextConnectionNumber()
        paced = PacedTransport(transport)
        attach()
    }

    private func attach() {
        transport.handler = self
        transport.interest = .read
        if let limit = pool.settings.unacknowledgedLimit { transport.fail(whenUnacknowledgedFor: limit) }
        paced.setLimits(
            pool.settings.rates, onReceivingTurn: { [weak self] in self?.takeTurn(receiving: $0) },
            onSendingTurn: { [weak self] in self?.takeTurn(sending: $0) })
    }

    /// The transport itself; ``paced`` counts what the session limits.
    package var transport: any LoopTransport { paced.transport }
    package var clock: SessionClock { pool.clock }
    package var headLimits: HeadLimits { pool.headLimits }
    package var isOpen: Bool { transport.isOpen }

    /// The other end is a proxy, or is reached through one.
    package var leadsToProxy: Bool {
        switch lane.hop {
        case .proxy, .tunnel, .socks: true
        case .server: false
        }
    }

    /// What can be told of it to those who watch.
    package var facts: ConnectionFacts { isReused ? factsOfReuse : factsOfFirstUse }

    /// The connection is about to carry an exchange, and is no longer watched as an idle one is: the delegate is asked first.
    package func stopWatching() {
        transport.interest = []
    }

    /// The server behind the tunnel has been reached, and the connection is secure from now on.
    package func becomeSecure(_ layer: any SecurityLayer) {
        paced = PacedTransport(layer.transport)
        securityLayer = layer
        needsTunnel = false
        attach()
    }

    // MARK: For the client

    /// Sends a request and reports its response to `client`.
    ///
    /// - Parameters:
    ///   - head: The request's head; its encoding is `bytes`.
    ///   - content: What follows the head. If the head has `Expect: 100-continue` it waits for the server's response to
    ///     that, though not for ever.
    ///   - observer: Watches how it goes.
    ///   - mayUpgrade: 101, and success of a CONNECT, take the connection out of the pool for the client.
    package func start(
        _ head: RequestHead, encoded bytes: [UInt8], content: OutgoingContent, observer: (any ExchangeObserver)? = nil,
        mayUpgrade: Bool = false, client: any ExchangeClient
    ) {
        exchange = Exchange(
            head, encoded: bytes, content: content, observer: observer, mayUpgrade: mayUpgrade, client: client, on: self
        )
        flush()
    }

    /// What follows of the exchange is reported to another client.
    package func report(to client: any ExchangeClient) {
        exchange?.report(to: client)
    }

    package var isRemote: Bool { true }

    /// An earlier exchange used this connection.
    package var isReused: Bool { exchanges > 0 }

    package var mayBeIdle: Bool { exchange?.awaitsContent == true || paced.awaitsTurn }

    /// Sending stops with reading.
    package var isPaused: Bool {
        get { exchange?.isPaused ?? false }
        set { exchange?.setPaused(newValue) }
    }

    /// Moves the rest of the content into `pipe`, where it can be moved; see ``Exchange/moveContent(into:)``.
    package func moveContent(into pipe: ContentPipe) {
        exchange?.moveContent(into: pipe)
    }

    /// The connection is not used again.
    package func abandon() {
        guard let exchange else { return }
        exchange.abandon()
        self.exchange = nil
        pool.release(self, mayStay: false)
    }

    package func surrender() -> (transport: any LoopTransport, surplus: [UInt8])? {
        let surplus = exchange?.surrender() ?? []
        leavePool()
        return (transport, surplus)
    }

    // MARK: For the pool

    /// The connection is idle from now on, for so long at most.
    func becomeIdle(at now: MonotonicTime, limit: Duration) {
        idleTurn = EventLoop.shared.turns
        idleSince = now
        idleDeadline = now + limit
    }

    /// What the idle connection is good for. Anything that has arrived since the last exchange, the end of the stream
    /// included, must never be taken for the response to the next request.
    ///
    /// A server may close a connection right after its response. What the loop has not seen of that yet is looked for where
    /// the request could not be repeated.
    func idleState(at now: MonotonicTime, for demand: ConnectionDemand) -> IdleState {
        guard isOpen else { return .closed }
        guard idleDeadline > now else { return .stale }
        let isQuiet =
            switch demand {
            case .any: transport.isQuiet(since: idleTurn)
            case .lasting, .new: transport.isQuiet
            }
        return isQuiet ? .usable : .stale
    }

    /// Closes an idle connection.
    package func close() {
        transport.handler = nil
        transport.close()
    }

    // MARK: For the exchange

    /// The exchange is over, and has come to its end.
    func exchangeDidFinish(mayStay: Bool, idleLimit: Duration?) {
        exchange = nil
        exchanges += 1
        self.idleLimit = idleLimit
        pool.release(self, mayStay: mayStay)
    }

    /// The exchange is over, and no other can follow.
    func exchangeDidFail() {
        exchange = nil
        pool.release(self, mayStay: false)
    }

    /// The transport is used for something else from now on.
    func leavePool() {
        release()
        pool.detach(self)
    }

    /// The connection speaks another protocol from now on. It keeps its place where that is the one of the server behind
    /// a tunnel.
    func switchProtocols() {
        needsTunnel ? release() : leavePool()
    }

    private func release() {
        exchange = nil
        transport.interest = []
        transport.handler = nil
    }

    /// Sends what the session's limit allows.
    func flush() {
        guard let exchange else { return }
        // Nothing waits for a turn that the transport would not be asked to take.
        let allowance = exchange.awaitsTransport && !exchange.isPaused ? paced.sendingAllowance() : .max
        allowance > 0 ? exchange.send(atMost: allowance) : updateInterest()
    }

    package func updateInterest() {
        let isFlowing = exchange?.isPaused != true
        paced.watch(reading: isFlowing, writing: isFlowing && exchange?.awaitsTransport == true)
    }

    // MARK: TransportHandler

    package func transportIsWritable(_ transport: any LoopTransport) {
        flush()
    }

    package func transportIsReadable(_ transport: any LoopTransport) {
        let allowance = exchange == nil ? .max : paced.receivingAllowance()
        allowance > 0 ? receive(atMost: allowance) : updateInterest()
    }

    private func receive(atMost limit: Int) {
        if let exchange, exchange.movePortion(atMost: limit) { return }
        do throws(SystemError) {
            guard let bytes = try paced.receive(atMost: limit) else { return }
            if let exchange { exchange.receive(bytes) } else { closeUnasked() }
        } catch {
            if let exchange { exchange.connectionLost(error) } else { closeUnasked() }
        }
    }

    /// The server closed an idle connection, or sent something that no request asked for.
    private func closeUnasked() {
        guard isOpen else { return }
        close()
        pool.idleConnectionClosed(self)
    }

    // MARK: Turns

    private func takeTurn(receiving allowance: Int) {
        guard turnIsWanted() else { return }
        if exchange?.isPaused == false {
            receive(atMost: allowance)
            if exchange?.isPaused == false { paced.queueToReceive() }
        }
        updateInterest()
    }

    private func takeTurn(sending allowance: Int) {
        guard turnIsWanted() else { return }
        if let exchange { exchange.send(atMost: allowance) } else { updateInterest() }
    }

    /// False when the connection was closed or given away. The server is not to blame for the time.
    private func turnIsWanted() -> Bool {
        exchange?.turnHasCome()
        return transport.isOpen && transport.handler === self
    }
}

package import PurlHTTP
package import PurlIO

/// Makes connections through an HTTP proxy, to which another dialler connects, and which is asked for a tunnel to each
/// server (RFC 9110 §9.3.6).
package struct TunnelDialler: Dialler {
    private let proxy: Endpoint
    private let base: any Dialler
    private let makeRequester: @Sendable @NetworkActor () -> any TunnelRequester

    /// - Parameter makeRequester: Makes what asks for one tunnel.
    package init(
        _ proxy: Endpoint, over base: any Dialler,
        requester makeRequester: @escaping @Sendable @NetworkActor () -> any TunnelRequester
    ) {
        self.proxy = proxy
        self.base = base
        self.makeRequester = makeRequester
    }

    package func dial(
        _ endpoint: Endpoint, for purpose: DialPurpose,
        completion: @escaping @NetworkActor (Result<any LoopTransport, DialError>) -> Void
    ) -> any Dial {
        TunnelDial(to: endpoint, through: proxy, base, purpose, makeRequester(), completion)
    }
}

/// What asks a proxy for one tunnel: the fields of the requests, and what follows from a challenge.
@NetworkActor
package protocol TunnelRequester {
    /// The fields that concern the proxy: `User-Agent` and `Proxy-Authorization`.
    ///
    /// - Parameter target: The server as CONNECT names it.
    mutating func fields(to target: String) -> HeaderFields

    /// The proxy has sent a 407. True when the tunnel is asked for again, with other credentials.
    mutating func answersChallenge(_ head: ResponseHead, to target: String) -> Bool

    /// The proxy has opened the tunnel.
    func tunnelDidOpen(_ head: ResponseHead)
}

/// One connection through an HTTP proxy: the proxy is connected to, and asked for a tunnel, again where it wants
/// credentials.
///
/// ```
/// connecting ──► asking ──► over
///     ▲             │
///     └── leaving ◄─┘ challenged
/// ```
@NetworkActor
private final class TunnelDial: Dial, DialWatcher, ExchangeClient {
    private enum Phase {
        /// - Parameter waiter: `nil` while the pool is asked, which may provide a connection within the call.
        case connecting(ConnectionPool.Waiter?)
        case asking(HTTPConnection)
        /// The proxy's challenge is read to its end, so that its connection can be used again.
        case leaving(HTTPConnection)
        case over
    }

    /// The longest challenge that is read to its end, in bytes.
    private static let longestChallenge: Int64 = 65_536

    /// Those of the dial to the proxy; connecting lasts until the tunnel is open.
    private(set) var times = DialTimes()

    private let proxy: Endpoint
    private let endpoint: Endpoint
    private let deadline: MonotonicTime?
    /// The connections to the proxy: those that this dial makes, one after another.
    private let pool: ConnectionPool
    private var requester: any TunnelRequester
    private var phase = Phase.connecting(nil)
    /// The one that the pool makes now.
    private var dial: (any Dial)?
    private var observer: DialObserver?
    /// `nil` when the dial is over.
    private var completion: (@NetworkActor (Result<any LoopTransport, DialError>) -> Void)?
    /// The dial keeps itself alive until it is over.
    private var itself: TunnelDial?

    init(
        to endpoint: Endpoint, through proxy: Endpoint, _ dialler: any Dialler, _ purpose: DialPurpose,
        _ requester: any TunnelRequester,
        _ completion: @escaping @NetworkActor (Result<any LoopTransport, DialError>) -> Void
    ) {
        self.proxy = proxy
        self.endpoint = endpoint
        self.requester = requester
        self.completion = completion
        deadline = purpose.timeLimit.map { EventLoop.shared.now + $0 }
        pool = ConnectionPool(
            PoolSettings(
                connectionsPerHost: 1, clock: .system, headLimits: .standard, unacknowledgedLimit: nil,
                rates: RateLimits(), dialler: dialler, isShortage: { _ in false }))
        itself = self
        connect(.any)
    }

    func observe(_ observer: @escaping DialObserver) {
        self.observer = observer
        dial?.observe(observer)
    }

    func cancel() {
        switch phase {
        case .connecting(let waiter):
            waiter?.cancel()
            takeTimes(waiter?.dialTimes)
        case .asking(let connection), .leaving(let connection): connection.abandon()
        case .over: return
        }
        stop()
    }

    // MARK: The connection to the proxy

    private func connect(_ demand: ConnectionDemand) {
        let hop = NextHop.proxy(proxy)
        if let connection = pool.takeIdle(to: hop, for: demand) { return ask(over: connection) }
        phase = .connecting(nil)
        let waiter = pool.lease(
            hop, priority: 0, demand: demand, timeLimit: deadline.map { $0 - EventLoop.shared.now }, watcher: self,
            securer: nil
        ) { [weak self] in self?.connected($0) }
        if case .connecting = phase { phase = .connecting(waiter) }
    }

    /// The pool dials.
    func watch(_ dial: any Dial, to hop: NextHop) {
        self.dial = dial
        if let observer { dial.observe(observer) }
    }

    private func connected(_ result: Result<HTTPConnection, ConnectionFailure>) {
        takeTimes(dial?.times)
        switch result {
        case .success(let connection): ask(over: connection)
        case .failure(.dial(let error)): finish(.failure(error))
        case .failure(.security(let error)): finish(.failure(.connector(ThrownError(error))))
        }
    }

    /// Those of the first connection: what follows is the proxy's time.
    private func takeTimes(_ dialled: DialTimes?) {
        if times.connectStart == nil, let dialled { times = dialled }
        dial = nil
    }

    // MARK: The tunnel

    private func ask(over connection: HTTPConnection) {
        phase = .asking(connection)
        do throws(TunnelFailure) {
            guard let tunnel = Tunnel(to: endpoint) else { throw .localServer }
            let head = tunnel.request(
                for: RequestHead(
                    method: .connect, target: tunnel.authority, fields: requester.fields(to: tunnel.authority)))
            var bytes: [UInt8] = []
            do throws(EncodeError) { try head.encode(into: &bytes) } catch { throw .unsendable(error) }
            connection.start(head, encoded: bytes, content: .none, mayUpgrade: true, client: self)
        } catch {
            pool.release(connection, mayStay: false)
            fail(error)
        }
    }

    func exchange(_ source: any ResponseSource, didReceive head: ResponseHead, framing: BodyFraming) {
        guard case .asking(let connection) = phase else { return }
        guard head.status == 407, let tunnel = Tunnel(to: endpoint),
            requester.answersChallenge(head, to: tunnel.authority)
        else {
            connection.abandon()
            return fail(.refused(status: head.status))
        }
        switch framing {
        case .none: phase = .leaving(connection)
        case .length(let length) where length <= Self.longestChallenge: phase = .leaving(connection)
        case .length, .chunked, .untilClose:
            connection.abandon()
            connect(.any)
        }
    }

    func exchange(
        _ source: any ResponseSource, didSwitchTo transport: any LoopTransport, with head: ResponseHead,
        surplus: [UInt8]
    ) {
        requester.tunnelDidOpen(head)
        times.connectEnd = EventLoop.shared.now
        // A server that speaks first may have done so already.
        finish(
            .success(surplus.isEmpty ? transport : ProvidedTransport(RelayedTransport(transport, received: surplus))))
    }

    func exchangeDidFinish(_ source: any ResponseSource) {
        if case .leaving = phase { connect(.any) }
    }

    func exchange(_ source: any ResponseSource, didFailWith failure: ExchangeFailure) {
        switch (phase, failure) {
        case (.leaving, _): connect(.new)
        // The proxy has closed the connection over which it had sent its challenge.
        case (.asking, .closedBeforeResponse) where source.isReused: connect(.new)
        case (.asking, _): fail(.exchange(failure))
        case (.connecting, _), (.over, _): break
        }
    }

    // The request has no body, and of a response only the head is of use.
    func exchangeMadeProgress(_ source: any ResponseSource) {}
    func exchange(_ source: any ResponseSource, didReceiveInterim head: ResponseHead) {}
    func exchange(_ source: any ResponseSource, didReceive bytes: UnsafeRawBufferPointer) {}
    func exchange(_ source: any ResponseSource, didMoveContent count: Int) {}
    func exchange(_ source: any ResponseSource, didSendBodyBytes count: Int) {}

    // MARK: Ends

    private func fail(_ failure: TunnelFailure) {
        let refused = ProxyDialFailure(kind: .http, proxy: proxy, server: endpoint, failure: failure)
        finish(.failure(refused.dialError))
    }

    private func finish(_ result: Result<any LoopTransport, DialError>) {
        let completion = completion
        stop()
        completion?(result)
    }

    private func stop() {
        phase = .over
        completion = nil
        dial = nil
        observer = nil
        itself = nil
        pool.close()
    }
}

/// Why an HTTP proxy has opened no tunnel.
package enum TunnelFailure: ProxyFailure, CustomStringConvertible {
    case refused(status: Int)
    /// A socket of this machine.
    case localServer
    case unsendable(EncodeError)
    case exchange(ExchangeFailure)

    package var description: String {
        switch self {
        case .refused(407): "it wants credentials, and those that it was given are missing or wrong"
        case .refused(let status): "it refused with status \(status)"
        case .localServer: "no proxy reaches a socket of this machine"
        case .unsendable: "the server's name cannot be sent"
        case .exchange(.closedBeforeResponse), .exchange(.closedDuringResponse), .exchange(.truncated):
            "it closed the connection before it had answered"
        case .exchange: "its answer is not valid HTTP"
        }
    }

    package var mayPass: Bool {
        switch self {
        case .refused(let status): [500, 502, 503, 504].contains(status)
        case .exchange(.closedBeforeResponse), .exchange(.closedDuringResponse), .exchange(.truncated): true
        case .exchange, .localServer, .unsendable: false
        }
    }
}

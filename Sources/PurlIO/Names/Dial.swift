/// Makes one connection to an endpoint that may have many addresses (RFC 8305, Happy Eyeballs).
///
/// The address families alternate. The next address is tried when `attemptDelay` has passed, or at once when an attempt
/// fails; attempts under way continue. The first to connect wins, and the others are closed.
@NetworkActor package final class NetworkDial: Dial {
    /// When each step so far happened.
    package private(set) var times = DialTimes()

    private let loop: EventLoop
    private let attemptDelay: Duration
    private let sockets: SocketOptions
    /// How long a look-up may take. The system gives up a server that does not answer after five seconds, and asks three
    /// of them, twice.
    private let lookupLimit: Duration
    /// The look-up, where it can be cancelled.
    private var lookup: Task<Void, Never>?
    /// Gives up the look-up; `nil` when none is under way.
    private var lookupDeadline: LoopTimer?
    /// `nil` when the dial is over.
    private var completion: (@NetworkActor (Result<any LoopTransport, DialError>) -> Void)?
    private var untried: ArraySlice<SocketAddress> = []
    private var started = 0
    private var attempts: [Int: any ConnectionAttempt] = [:]
    private var failures: [(number: Int, failure: ConnectFailure)] = []
    private var nextAttempt: LoopTimer?
    private var observer: DialObserver?

    /// Starts dialling. `completion` is called once, on the network thread, never within this call, and never after
    /// `cancel`. The dial keeps itself alive until then.
    ///
    /// - Parameter sockets: What becomes of each socket before it connects.
    package init(
        to endpoint: Endpoint, resolver: any Resolver = SystemResolver.shared,
        attemptDelay: Duration = .milliseconds(250), lookupLimit: Duration = .seconds(30),
        sockets: SocketOptions = SocketOptions(), loop: EventLoop = .shared,
        completion: @escaping @NetworkActor (Result<any LoopTransport, DialError>) -> Void
    ) {
        self.loop = loop
        self.attemptDelay = attemptDelay
        self.lookupLimit = lookupLimit
        self.sockets = sockets
        self.completion = completion
        loop.schedule(after: .zero) { self.begin(endpoint, resolver) }
    }

    /// A dial whose result is that of `connect`, without look-up and without a network. `completion` is called as by any
    /// other dial.
    package init(
        loop: EventLoop = .shared, connect: @escaping @NetworkActor () -> Result<any LoopTransport, DialError>,
        completion: @escaping @NetworkActor (Result<any LoopTransport, DialError>) -> Void
    ) {
        self.loop = loop
        attemptDelay = .zero
        lookupLimit = .zero
        sockets = SocketOptions()
        self.completion = completion
        loop.schedule(after: .zero) {
            guard self.completion != nil else { return }
            self.finish(connect())
        }
    }

    package func observe(_ observer: @escaping DialObserver) {
        self.observer = observer
    }

    /// Closes what is open and drops the completion. Has no effect when the dial is over.
    package func cancel() {
        completion = nil
        stop()
    }

    private func begin(_ endpoint: Endpoint, _ resolver: any Resolver) {
        guard completion != nil else { return }
        times.lookupStart = loop.now
        switch endpoint {
        case .unix(let path):
            do throws(SystemError) {
                connect(to: [try SocketAddress(unixPath: path)])
            } catch {
                finish(.failure(.resolve(.failed(host: path, code: error.code, reason: error.description))))
            }
        case .host(let host, let port):
            if let address = SocketAddress(literal: host, port: port) {
                connect(to: [address])
            } else {
                observer?(.lookUp(host: host))
                lookupDeadline = loop.schedule(after: lookupLimit) { self.giveUpLookup(of: host) }
                lookup = resolver.resolve(host, port: port) { result in
                    NetworkActor.post { self.resolved(host, result) }
                }
            }
        }
    }

    /// The look-up hangs, or waits for others that do.
    private func giveUpLookup(of host: String) {
        lookup?.cancel()
        let seconds = lookupLimit.components.seconds
        resolved(
            host,
            .failure(.failed(host: host, code: EAI_AGAIN, reason: "there was no answer within \(seconds) seconds")))
    }

    private func resolved(_ host: String, _ result: Result<[SocketAddress], ResolveError>) {
        guard completion != nil, lookupDeadline != nil else { return }
        lookup = nil
        lookupDeadline?.cancel()
        lookupDeadline = nil
        times.lookupEnd = loop.now
        let addresses = AddressOrder.interleaved((try? result.get()) ?? [])
        observer?(.resolved(addresses))
        switch result {
        case .success where addresses.isEmpty: finish(.failure(.resolve(.noSuchName(host: host))))
        case .success: connect(to: addresses)
        case .failure(let error): finish(.failure(.resolve(error)))
        }
    }

    private func connect(to addresses: [SocketAddress]) {
        untried = addresses[...]
        times.lookupEnd = loop.now
        times.connectStart = loop.now
        tryNext()
    }

    /// Starts the next attempt that does not fail at once.
    private func tryNext() {
        nextAttempt?.cancel()
        nextAttempt = nil
        while completion != nil, let address = untried.popFirst() {
            let number = started
            started += 1
            do throws(SystemError) {
                attempts[number] = try connect(to: address) { self.attempt(number, ended: $0) }
            } catch {
                failures.append((number, ConnectFailure(address: address, error: error)))
                continue
            }
            // RFC 8305 §5: the Connection Attempt Delay.
            if !untried.isEmpty { nextAttempt = loop.schedule(after: attemptDelay) { self.tryNext() } }
            return
        }
        if attempts.isEmpty { fail() }
    }

    private func connect(
        to address: SocketAddress,
        completion: @escaping @NetworkActor (Result<any LoopTransport, ConnectFailure>) -> Void
    ) throws(SystemError) -> any ConnectionAttempt {
        if let machine = Simulated.machine { return try machine.connect(to: address, completion: completion) }
        return try ConnectAttempt(address, sockets, loop: loop, completion: completion)
    }

    private func attempt(_ number: Int, ended result: Result<any LoopTransport, ConnectFailure>) {
        attempts[number] = nil
        switch result {
        case .success(let socket):
            times.connectEnd = loop.now
            finish(.success(socket))
        case .failure(let failure):
            failures.append((number, failure))
            tryNext()
        }
    }

    private func fail() {
        failures.sort { $0.number < $1.number }
        finish(.failure(.connect(failures.map(\.failure))))
    }

    private func finish(_ result: Result<any LoopTransport, DialError>) {
        let completion = completion
        self.completion = nil
        stop()
        completion?(result)
    }

    private func stop() {
        lookup?.cancel()
        lookup = nil
        lookupDeadline?.cancel()
        lookupDeadline = nil
        nextAttempt?.cancel()
        nextAttempt = nil
        untried = []
        for (_, attempt) in attempts.sorted(by: { $0.key < $1.key }) { attempt.cancel() }
        attempts = [:]
    }
}

/// When the steps of a dial happened; `nil` for those not reached. The look-up of an address in digits takes no time.
package struct DialTimes: Sendable, Hashable {
    package var lookupStart: MonotonicTime?
    package var lookupEnd: MonotonicTime?
    /// The start of the first attempt.
    package var connectStart: MonotonicTime?
    /// The end of the attempt that won.
    package var connectEnd: MonotonicTime?

    package init() {}
}

/// The order in which a dial tries addresses.
enum AddressOrder {
    /// How many addresses of a name are tried: a resolver, or the server that answers for the name, may give any number.
    static let limit = 16

    /// RFC 8305 §4: the families alternate, beginning with that of the first address; otherwise the order stays.
    /// Repeated addresses are removed, and those beyond the limit.
    static func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
        guard let first = addresses.first else { return [] }
        var seen: Set<SocketAddress> = []
        var leading: [SocketAddress] = []
        var following: [SocketAddress] = []
        for address in addresses where seen.insert(address).inserted {
            if address.family == first.family { leading.append(address) } else { following.append(address) }
        }

        var ordered: [SocketAddress] = []
        for position in 0..<min(limit, max(leading.count, following.count)) {
            if position < leading.count { ordered.append(leading[position]) }
            if position < following.count { ordered.append(following[position]) }
        }
        return [SocketAddress](ordered.prefix(limit))
    }
}

/// What becomes of the sockets of a session before they connect.
package struct SocketOptions: Sendable {
    /// Sees a socket before it connects, and may set options of it, or bind it. It neither closes nor replaces it.
    package typealias Preparation = @Sendable (Int32, SocketAddress) async throws(SystemError) -> Void

    /// Connections may use several paths (RFC 8684), where the kernel and the server can.
    package var isMultipath = false
    package var prepare: Preparation?

    package init(isMultipath: Bool = false, prepare: Preparation? = nil) {
        self.isMultipath = isMultipath
        self.prepare = prepare
    }
}

/// One socket that is connecting to one address.
@NetworkActor final class ConnectAttempt: ConnectionAttempt {
    private let address: SocketAddress
    private let channel: Channel
    /// A program's code has the socket.
    private var preparation: Task<Void, Never>?
    private var completion: (@NetworkActor (Result<any LoopTransport, ConnectFailure>) -> Void)?

    /// Starts to connect. `completion` is called once, from the loop, and never after `cancel`; nor when this throws
    /// because connecting fails at once.
    init(
        _ address: SocketAddress, _ options: SocketOptions, loop: EventLoop,
        completion: @escaping @NetworkActor (Result<any LoopTransport, ConnectFailure>) -> Void
    ) throws(SystemError) {
        let descriptor = try Self.socket(address.family, isMultipath: options.isMultipath)
        if address.family != .unix { descriptor.disableNagle() }
        if options.prepare == nil { try Self.connect(descriptor.rawValue, to: address) }
        self.address = address
        self.completion = completion
        channel = Channel(descriptor, loop: loop)
        // A connected socket is writable, and so is one that failed.
        channel.setHandler { _ in self.conclude() }
        if let prepare = options.prepare { self.prepare(by: prepare) } else { channel.interest = .write }
    }

    private static func connect(_ descriptor: Int32, to address: SocketAddress) throws(SystemError) {
        if address.withSystemAddress({ PurlIO.connect(descriptor, $0, $1) }) != 0 {
            // An interrupted connect continues in the background, as one in progress does.
            if errno != EINPROGRESS && errno != EINTR { throw SystemError.last("connect") }
        }
    }

    private func prepare(by prepare: @escaping SocketOptions.Preparation) {
        let number = channel.descriptor.rawValue
        preparation = Task.detached { [address] in
            do throws(SystemError) {
                try await prepare(number, address)
                NetworkActor.post { self.prepared(.success(())) }
            } catch {
                NetworkActor.post { self.prepared(.failure(error)) }
            }
        }
    }

    private func prepared(_ result: Result<Void, SystemError>) {
        preparation = nil
        guard completion != nil else { return channel.close() }
        do throws(SystemError) {
            try result.get()
            try Self.connect(channel.descriptor.rawValue, to: address)
            channel.interest = .write
        } catch {
            channel.close()
            finish(.failure(ConnectFailure(address: address, error: error)))
        }
    }

    /// How many of the process's descriptors connections leave free: for the files that content is written to, and for
    /// Dispatch, which ends the process when it has none to manage its threads.
    private static let reserve = 16

    /// A socket, unless it would be one of the last descriptors: the system uses the lowest number that is free.
    private static func socket(
        _ family: SocketAddress.Family, isMultipath: Bool
    ) throws(SystemError) -> Descriptor {
        let descriptor = try Platform.streamSocket(family, isMultipath: isMultipath)
        let limit = Platform.descriptorLimit
        if Int(descriptor.rawValue) >= limit - min(reserve, limit / 8) {
            throw SystemError(code: EMFILE, operation: "socket")
        }
        return descriptor
    }

    /// Closes the socket and drops the completion. The number of a socket that a program's code has is not free before that
    /// code returns.
    func cancel() {
        completion = nil
        if let preparation { preparation.cancel() } else { channel.close() }
    }

    private func finish(_ result: Result<any LoopTransport, ConnectFailure>) {
        let completion = completion
        self.completion = nil
        completion?(result)
    }

    private func conclude() {
        let code = channel.descriptor.takePendingError()
        if code == 0, !isConnectedToItself {
            finish(.success(StreamSocket(channel: channel)))
        } else {
            channel.close()
            let error = SystemError(code: code == 0 ? ECONNREFUSED : code, operation: "connect")
            finish(.failure(ConnectFailure(address: address, error: error)))
        }
    }

    /// Whether the socket is connected to itself: a connect to a port of this machine without a listener may be given that
    /// port as its own (RFC 9293 §3.5, simultaneous open).
    private var isConnectedToItself: Bool {
        guard address.family != .unix else { return false }
        return SocketAddress.asking { getsockname(channel.descriptor.rawValue, $0, $1) } == address
    }
}

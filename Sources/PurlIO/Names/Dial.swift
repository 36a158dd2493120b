/// Makes one connection to an endpoint that may have many addresses (RFC 8305, Happy Eyeballs).
///
/// The families take turns. Another address is tried when `attemptDelay` has passed, or at once when an attempt fails;
/// attempts under way go on meanwhile. The first to connect wins and the others are closed.
@NetworkActor package final class Dial {
    /// How far it has come, and when.
    package private(set) var times = DialTimes()

    private let loop: EventLoop
    private let attemptDelay: Duration
    /// Nil when the dial is over.
    private var completion: (@NetworkActor (Result<StreamSocket, DialError>) -> Void)?
    private var untried: ArraySlice<SocketAddress> = []
    private var started = 0
    private var attempts: [Int: ConnectAttempt] = [:]
    private var failures: [(number: Int, failure: ConnectFailure)] = []
    private var nextAttempt: LoopTimer?

    /// Begins. `completion` is called once, on the I/O thread, never within this call, and never after `cancel`.
    /// The dial goes on without anybody holding it.
    package init(
        to endpoint: Endpoint, resolver: any Resolver = SystemResolver.shared,
        attemptDelay: Duration = .milliseconds(250), loop: EventLoop = .shared,
        completion: @escaping @NetworkActor (Result<StreamSocket, DialError>) -> Void
    ) {
        self.loop = loop
        self.attemptDelay = attemptDelay
        self.completion = completion
        loop.schedule(after: .zero) { self.begin(endpoint, resolver) }
    }

    /// Comes to what `connect` gives, without a name looked up and without a network. `completion` is called as by a
    /// dial that goes out.
    package init(
        loop: EventLoop = .shared, connect: @escaping @NetworkActor () -> Result<StreamSocket, DialError>,
        completion: @escaping @NetworkActor (Result<StreamSocket, DialError>) -> Void
    ) {
        self.loop = loop
        attemptDelay = .zero
        self.completion = completion
        loop.schedule(after: .zero) {
            guard self.completion != nil else { return }
            self.finish(connect())
        }
    }

    /// Gives up: closes what is open and forgets the completion. Nothing happens when the dial is over.
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
                resolver.resolve(host, port: port) { result in
                    NetworkActor.post { self.resolved(host, result) }
                }
            }
        }
    }

    private func resolved(_ host: String, _ result: Result<[SocketAddress], ResolveError>) {
        guard completion != nil else { return }
        times.lookupEnd = loop.now
        switch result {
        case .success(let addresses) where addresses.isEmpty:
            finish(.failure(.resolve(.noSuchName(host: host))))
        case .success(let addresses):
            connect(to: AddressOrder.interleaved(addresses))
        case .failure(let error):
            finish(.failure(.resolve(error)))
        }
    }

    private func connect(to addresses: [SocketAddress]) {
        untried = addresses[...]
        times.lookupEnd = loop.now
        times.connectStart = loop.now
        tryNext()
    }

    /// Starts the next attempt that does not fail on the spot.
    private func tryNext() {
        nextAttempt?.cancel()
        nextAttempt = nil
        while completion != nil, let address = untried.popFirst() {
            let number = started
            started += 1
            do throws(SystemError) {
                attempts[number] = try ConnectAttempt(address, loop: loop) { self.attempt(number, ended: $0) }
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

    private func attempt(_ number: Int, ended result: Result<StreamSocket, ConnectFailure>) {
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

    private func finish(_ result: Result<StreamSocket, DialError>) {
        let completion = completion
        self.completion = nil
        stop()
        completion?(result)
    }

    private func stop() {
        nextAttempt?.cancel()
        nextAttempt = nil
        untried = []
        for attempt in attempts.values { attempt.cancel() }
        attempts = [:]
    }
}

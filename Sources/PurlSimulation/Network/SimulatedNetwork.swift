import Foundation
import PurlIO

/// The names, addresses and connections of a simulation.
///
/// Used on the thread of its simulation alone.
final class SimulatedNetwork: @unchecked Sendable {
    /// What a connection is like, as the seed draws it.
    struct Line {
        /// How long a segment is on its way, in nanoseconds.
        let latency: Int64
        let bytesPerSecond: Int64
        /// How many bytes may be on their way and unread.
        let room: Int
        /// The longest segment.
        let segment: Int
    }

    /// What connections that are made from now on are like.
    var conditions: World.Network {
        get { currentConditions }
        set { currentConditions = newValue }
    }

    private let scheduler: Scheduler
    private let log: Log
    let faults: Faults
    private var random: SeededRandom
    private var currentConditions = World.Network()
    private var addresses: [String: String] = [:]
    private var servers: [SocketAddress: Server] = [:]
    private var lastPort: UInt16 = 40_000
    private var lastConnection = 0

    init(_ scheduler: Scheduler, _ log: Log, _ faults: Faults) {
        self.faults = faults
        self.scheduler = scheduler
        self.log = log
        random = SeededRandom(scheduler.seed, stream: 2)
    }

    func shuffle<Element>(_ elements: inout [Element]) {
        if elements.count > 1 { elements.shuffle(using: &random) }
    }

    // MARK: Names

    /// The address of a host, which is made the first time.
    func address(ofHost host: String, port: UInt16) -> SocketAddress? {
        let name = host.lowercased()
        if addresses[name] == nil { addresses[name] = "10.0.\(addresses.count / 250).\(addresses.count % 250 + 1)" }
        return addresses[name].flatMap { SocketAddress(literal: $0, port: port) }
    }

    func add(_ server: Server, at address: SocketAddress) {
        servers[address] = server
    }

    func resolve(
        _ host: String, port: UInt16, for process: SimulatedProcess,
        then: @escaping @Sendable (Result<[SocketAddress], ResolveError>) -> Void
    ) {
        let name = host.lowercased()
        let found = addresses[name].flatMap { SocketAddress(literal: $0, port: port) }
        log.add(process, "looks up \(host)" + (found == nil ? ", which no server has" : ""))
        let result: Result<[SocketAddress], ResolveError>
        if faults.strikes(.nameFailures, process, "the look-up of \(host) fails") {
            result = .failure(.failed(host: host, code: EAI_AGAIN, reason: "Temporary failure in name resolution"))
        } else {
            result = found.map { .success([$0]) } ?? .failure(.noSuchName(host: host))
        }
        scheduler.schedule(after: random.duration(in: conditions.latency) * 2, for: process) {
            process.add({ then(result) }, to: .names)
        }
    }

    // MARK: Connections

    @NetworkActor func connect(
        _ process: SimulatedProcess, to address: SocketAddress,
        completion: @escaping @NetworkActor (Result<any LoopTransport, ConnectFailure>) -> Void
    ) -> Attempt {
        lastConnection += 1
        lastPort = lastPort == .max ? 40_000 : lastPort + 1
        let number = lastConnection
        let attempt = Attempt(completion)
        let line = makeLine()
        guard let server = servers[address] else {
            log.add(process, "connects to \(address), where no server is")
            scheduler.schedule(after: 2 * line.latency, for: process) { [weak self] in
                self?.refuse(attempt, of: process, address)
            }
            return attempt
        }
        log.add(process, "connects to \(server.host): connection \(number)")
        if faults.strikes(.refusals, process, "connection \(number) is refused") {
            scheduler.schedule(after: 2 * line.latency, for: process) { [weak self] in
                self?.refuse(attempt, of: process, address)
            }
            return attempt
        }
        let stalls = faults.strikes(.stalls, process, "connection \(number) stalls before it is made")
        let delay = stalls ? faults.drawStall() : 0
        let local = SocketAddress(literal: process.computer.address, port: lastPort)
        scheduler.schedule(after: line.latency + delay, for: server.process) { [self] in
            guard server.listens else {
                scheduler.schedule(after: line.latency, for: process) { [weak self] in
                    self?.refuse(attempt, of: process, address)
                }
                return
            }
            let (there, back) = (makePipe(line, number), makePipe(line, number))
            let far = SimulatedSocket(
                number, of: server.process, incoming: there, outgoing: back, local: address, peer: local)
            server.process.deliver { server.accept(far) }
            scheduler.schedule(after: line.latency, for: process) {
                process.deliver {
                    let near = SimulatedSocket(
                        number, of: process, incoming: back, outgoing: there, local: local, peer: address)
                    attempt.succeed(near)
                }
            }
        }
        return attempt
    }

    @NetworkActor private func refuse(_ attempt: Attempt, of process: SimulatedProcess, _ address: SocketAddress) {
        let error = SystemError(code: ECONNREFUSED, operation: "connect")
        process.deliver { attempt.fail(ConnectFailure(address: address, error: error)) }
    }

    private func makeLine() -> Line {
        Line(
            latency: random.duration(in: conditions.latency), bytesPerSecond: conditions.bytesPerSecond,
            room: [4 << 10, 16 << 10, 64 << 10, 256 << 10][random.index(below: 4)],
            segment: [536, 1_460, 8_192, 65_536][random.index(below: 4)])
    }

    private func makePipe(_ line: Line, _ connection: Int) -> NetworkPipe {
        NetworkPipe(connection, line, scheduler, faults, SeededRandom(Seed(random.next()), stream: 3))
    }

    /// An attempt to connect.
    @NetworkActor final class Attempt: PurlIO.ConnectionAttempt {
        private var completion: (@NetworkActor (Result<any LoopTransport, ConnectFailure>) -> Void)?

        init(_ completion: @escaping @NetworkActor (Result<any LoopTransport, ConnectFailure>) -> Void) {
            self.completion = completion
        }

        func cancel() {
            completion = nil
        }

        func succeed(_ socket: SimulatedSocket) {
            guard let completion else { return socket.reset() }
            self.completion = nil
            completion(.success(socket))
        }

        func fail(_ failure: ConnectFailure) {
            let completion = completion
            self.completion = nil
            completion?(.failure(failure))
        }
    }
}

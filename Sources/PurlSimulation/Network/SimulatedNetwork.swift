import Foundation
import PurlIO
import PurlTesting

/// The names, addresses and connections of a simulation.
///
/// Used on the thread of its simulation alone.
final class SimulatedNetwork: @unchecked Sendable {
    /// What a connection is like, as the seed draws it.
    struct Line {
        /// How long a segment is on its way, in nanoseconds.
        let latency: Int64
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
    private var links: [String: Link] = [:]
    private var addressCount = 0
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

    /// The address of a host, which is made the first time. One that is an address is its own.
    func address(ofHost host: String, port: UInt16) -> SocketAddress? {
        if let literal = SocketAddress(literal: host, port: port) { return literal }
        let name = host.lowercased()
        if addresses[name] == nil { addresses[name] = newAddress() }
        return addresses[name].flatMap { SocketAddress(literal: $0, port: port) }
    }

    private func newAddress() -> String {
        defer { addressCount += 1 }
        return "10.0.\(addressCount / 250).\(addressCount % 250 + 1)"
    }

    func add(_ server: Server, at address: SocketAddress) {
        servers[address] = server
    }

    /// A host has another address from now on, and no server at the old one.
    private func move(_ name: String) {
        let moved = servers.filter { $0.value.host.lowercased() == name }
        addresses[name] = newAddress()
        for (old, server) in moved {
            servers[old] = nil
            if let address = address(ofHost: name, port: server.port) { servers[address] = server }
        }
    }

    /// All contents that the server of a URL has had there; `nil` where they are not known.
    func contents(at url: String) -> [GeneratedContent]? {
        guard let parts = URLComponents(string: url), let host = parts.host?.lowercased() else { return nil }
        let port = parts.port ?? (parts.scheme == "https" ? 443 : 80)
        let server = servers.values.first { $0.host.lowercased() == host && Int($0.port) == port }
        return server?.contents(at: parts.percentEncodedPath)
    }

    /// Forgets the servers.
    func remove() {
        (servers, links) = ([:], [:])
    }

    func resolve(
        _ host: String, port: UInt16, for process: SimulatedProcess,
        then: @escaping @Sendable (Result<[SocketAddress], ResolveError>) -> Void
    ) {
        let name = host.lowercased()
        log.add(process, "looks up \(host)" + (addresses[name] == nil ? ", which no server has" : ""))
        let result: Result<[SocketAddress], ResolveError>
        var delay = random.duration(in: conditions.latency) * 2
        if faults.strikes(.slowNames, process, "the look-up of \(host) takes long, or finds another address") {
            delay += faults.drawStall()
            if faults.drawSide() { move(name) }
        }
        let found = addresses[name].flatMap { SocketAddress(literal: $0, port: port) }
        if faults.strikes(.nameFailures, process, "the look-up of \(host) fails") {
            result = .failure(.failed(host: host, code: EAI_AGAIN, reason: "Temporary failure in name resolution"))
        } else {
            result = found.map { .success([$0]) } ?? .failure(.noSuchName(host: host))
        }
        scheduler.schedule(after: delay, for: process) {
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
        let link = link(from: process.computer, to: server)
        // One that the program has stopped stays so.
        if !server.isStopped, faults.strikes(.restarts, process, "\(server.host) is restarted") {
            server.restart(for: faults.drawStall())
        }
        if faults.strikes(.partitions, process, "\(server.host) cannot be reached") {
            link.cut(until: scheduler.time + faults.drawStall())
        }
        let stalls = faults.strikes(.stalls, process, "connection \(number) stalls before it is made")
        let delay = max(stalls ? faults.drawStall() : 0, link.cutUntil - scheduler.time)
        let local = SocketAddress(literal: process.computer.address, port: lastPort)
        scheduler.schedule(after: line.latency + delay, for: server.process) { [self] in
            guard server.listens else {
                if server.isStopped { faults.noteOtherCause() }
                scheduler.schedule(after: line.latency, for: process) { [weak self] in
                    self?.refuse(attempt, of: process, address)
                }
                return
            }
            let wire = Wire(number, line, link, server)
            let (there, back) = (makePipe(wire, .toServer), makePipe(wire, .toClient))
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
            latency: random.duration(in: conditions.latency),
            room: [4 << 10, 16 << 10, 64 << 10, 256 << 10][random.index(below: 4)],
            segment: [536, 1_460, 8_192, 65_536][random.index(below: 4)])
    }

    /// What all connections between a computer and a server share.
    private func link(from computer: Computer, to server: Server) -> Link {
        // Computers may have one name, but not one address.
        let name = "\(computer.address) \(server.host)"
        let link = links[name] ?? Link()
        link.setRate(conditions.bytesPerSecond)
        links[name] = link
        return link
    }

    private func makePipe(_ wire: Wire, _ direction: Link.Direction) -> NetworkPipe {
        NetworkPipe(wire, direction, scheduler, faults, SeededRandom(Seed(random.next()), stream: 3))
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

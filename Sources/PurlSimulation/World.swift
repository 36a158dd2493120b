public import Foundation
internal import Purl
import PurlIO
import PurlTesting

/// What a program meets in a simulation: servers, a network, computers and a clock.
///
/// A world is used by the code of its simulation, which runs on one thread.
public final class World: Sendable {
    /// What the network between computers and servers is like. The seed draws each connection from it.
    public struct Network: Sendable, Hashable {
        /// How long a segment is on its way.
        public var latency: ClosedRange<Duration> = .microseconds(200) ... .milliseconds(60)
        /// How many bytes a second the connections between a computer and a server carry together, in each direction.
        public var bytesPerSecond: Int64 = 10_000_000

        /// A network of 0.2 to 60 ms and 10 MB/s.
        public init() {}
    }

    /// The number that decides all that is left to chance.
    public let seed: Seed
    let scheduler: Scheduler
    let log: Log
    let program: SimulatedProcess

    let faults: Faults

    private let connections: SimulatedNetwork
    // Used on the thread of the simulation alone.
    nonisolated(unsafe) private var servers: [Server] = []
    nonisolated(unsafe) private var computers: [Computer] = []

    init(_ scheduler: Scheduler, leavingOut leftOut: Set<Int>) {
        seed = scheduler.seed
        self.scheduler = scheduler
        log = Log(scheduler)
        faults = Faults(scheduler.seed, leavingOut: leftOut, log)
        connections = SimulatedNetwork(scheduler, log, faults)
        let computer = Computer("program", number: 1, scheduler, connections, log)
        computers = [computer]
        program = SimulatedProcess("", on: computer, scheduler, connections)
    }

    /// What the network is like for connections that are made from now on.
    public var network: Network {
        get { connections.conditions }
        set {
            connections.conditions = newValue
            faults.noteOtherCause()
        }
    }

    /// The bad luck that may happen from now on; none at first.
    ///
    /// Each seed draws some of these kinds, and how often they strike; after a dozen faults at most there are no more, so that
    /// a program that tries again succeeds.
    public var chaos: Chaos {
        get { faults.allowed }
        set { faults.allowed = newValue }
    }

    /// Starts a server at a host of the simulated network.
    ///
    /// - Parameters:
    ///   - host: The name that clients look up, `mirror.example`, or an IPv4 address.
    ///   - port: The port; that of `http` where none is given.
    public func server(_ host: String, port: UInt16 = 80) -> Server {
        makeServer(host, port, isSecure: false)
    }

    /// Starts a server for `https` and `wss` at a host of the simulated network.
    ///
    /// The security layer is feigned: it has a handshake and records, but no keys, and every certificate is trusted. All
    /// programs of a simulation have it as their default provider.
    ///
    /// - Parameters:
    ///   - host: The name that clients look up, `mirror.example`, or an IPv4 address.
    ///   - port: The port; that of `https` where none is given.
    public func secureServer(_ host: String, port: UInt16 = 443) -> Server {
        makeServer(host, port, isSecure: true)
    }

    private func makeServer(_ name: String, _ port: UInt16, isSecure: Bool) -> Server {
        let host = hostName(name)
        let process = SimulatedProcess(
            "", on: Computer(host, number: 0, scheduler, connections, log), scheduler, connections)
        // No client reaches one that is started when the simulation is over.
        let isReached = scheduler.caller != nil
        let loopback: LoopbackServer
        do {
            let make = { try LoopbackServer(.memory, port: port) }
            loopback = try isReached ? scheduler.within(process, make) : make()
        } catch {
            preconditionFailure("a server in memory always starts: \(error)")
        }
        loopback.keepReplies()
        let (log, scheduler) = (log, scheduler)
        loopback.observe { event in
            if Scheduler.ofThread === scheduler { log.add(process, "\(event)") }
        }
        let server = Server(host, port: port, isSecure: isSecure, loopback, process, scheduler)
        guard isReached else { return server }
        servers.append(server)
        if let address = connections.address(ofHost: host, port: port) { connections.add(server, at: address) }
        return server
    }

    /// A host's name as URLs have it, and clients look it up: one with other letters than ASCII's is encoded.
    private func hostName(_ name: String) -> String {
        guard let url = URL(string: "http://\(name)/"), url.path == "/", url.user == nil, url.port == nil,
            url.host()?.isEmpty == false, !name.hasPrefix("[")
        else {
            scheduler.refuse("“\(name)” is not the name of a host")
            return name
        }
        return String(url.absoluteString.dropFirst("http://".count).dropLast())
    }

    /// A computer in addition to that of the simulation's body.
    ///
    /// - Parameter name: What it is called in the story.
    public func computer(_ name: String) -> Computer {
        let computer = Computer(name, number: computers.count + 1, scheduler, connections, log)
        computers.append(computer)
        return computer
    }

    // MARK: Time

    /// The time since the simulation began.
    public var elapsed: Duration { scheduler.elapsed }

    /// The simulated date; a simulation begins with the year 2030.
    public var date: Date { Date(timeIntervalSince1970: scheduler.secondsSince1970) }

    /// The clock, for a program that is given one: `Task.sleep(for:clock:)` waits on it.
    public var clock: SimulatedClock { SimulatedClock(scheduler) }

    /// Waits on the simulated clock: a day takes no time.
    ///
    /// `Task.sleep` without ``clock`` waits on the clock of the real machine and fails the simulation.
    ///
    /// - Parameter delay: How long to wait.
    /// - Throws: `CancellationError` when the calling task is cancelled first, or when the simulation is over.
    public func sleep(for delay: Duration) async throws {
        try await scheduler.sleep(for: delay)
    }

    // MARK: Randomness

    /// Random numbers that the seed decides, for a program that is given its generator.
    ///
    /// ```swift
    /// try Simulation(17).run { world in
    ///     var generator = world.randomNumberGenerator
    ///     let jitter = Duration.milliseconds(Int.random(in: 0..<500, using: &generator))
    ///     try await world.sleep(for: .seconds(5) + jitter)
    /// }
    /// ```
    public var randomNumberGenerator: some RandomNumberGenerator & Sendable { Randomness() }

    /// Adds a line to the story of the simulation.
    ///
    /// - Parameter text: What is shown; nothing where the simulation is over.
    public func note(_ text: String) {
        guard let process = scheduler.caller else { return }
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            log.add(process, String(line))
        }
    }

    // MARK: The end

    /// A script of a server that shows a failure to any client, where the faults that have led to it are those of one server;
    /// `nil` elsewhere.
    ///
    /// - Parameter reason: Why the simulation has failed.
    func serverScript(of reason: SimulationFailure.Reason) -> String? {
        let asked = servers.filter { !$0.requests.isEmpty }
        guard faults.areServersAlone, asked.count == 1, let server = asked.first else { return nil }
        let words = reason.description.split(whereSeparator: \.isNewline).joined(separator: " ")
        return server.script(title: "Seed \(seed) at \(server.host): \(words)")
    }

    /// Forgets servers and computers, and removes what they have left on the real machine.
    func remove() {
        for computer in computers { computer.remove() }
        (servers, computers) = ([], [])
        connections.remove()
    }
}

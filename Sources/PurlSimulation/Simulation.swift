import Foundation
import PurlIO
import Synchronization

/// A run of a program in a world of its own: one thread, a clock that skips what nobody waits for, and a network in which
/// everything that happens by chance follows from a seed.
///
/// ```swift
/// try Simulation(17).run { world in
///     let server = world.server("mirror.example")
///     let url = server.route("/film", .generated(size: 100_000).cut(afterBytes: 40_000))
///     let (file, _) = try await URLSession.shared.download(from: url)
/// }
/// ```
///
/// Sessions, tasks, delegates and `async` code work unchanged. See <doc:Simulating> for what is simulated and what is not.
public struct Simulation: Sendable {
    /// When a simulation that does not end is given up.
    public struct Limits: Sendable, Hashable {
        /// How many steps it may take.
        public var steps = 2_000_000
        /// How much simulated time may pass.
        public var duration = Duration.seconds(30 * 86_400)

        /// Two million steps and thirty days.
        public init() {}
    }

    /// The number that decides all that is left to chance.
    public let seed: Seed
    /// When it is given up.
    public var limits: Limits
    /// The numbers of faults that do not happen: what ``shortestFailure(_:)`` has found to be needless.
    public var leftOutFaults: Set<Int> = []

    /// A simulation.
    ///
    /// - Parameters:
    ///   - seed: The number that decides all that is left to chance.
    ///   - limits: When it is given up.
    public init(_ seed: Seed, limits: Limits = Limits()) {
        self.seed = seed
        self.limits = limits
    }

    /// Runs a program and blocks the thread until it has ended.
    ///
    /// `body` and all that it calls run on one thread, so they must not block it: no semaphore, no `DispatchQueue.sync`, no
    /// stream of Foundation's that waits. Expectations within it count for the test that calls this method.
    ///
    /// - Parameter body: The program, and what the world does meanwhile.
    /// - Returns: What has happened. The same seed and the same program make the same report.
    /// - Throws: ``SimulationFailure`` when `body` throws, waits for what never happens, or does what cannot be simulated.
    @discardableResult
    public func run(_ body: @escaping @Sendable (World) async throws -> Void) throws(SimulationFailure) -> Report {
        guard ConcurrencyHooks.areInstalled else {
            throw SimulationFailure(
                seed: seed, reason: .refused("this runtime of Swift has no hook for a scheduler"), leftOutFaults: [],
                report: Report())
        }
        let scheduler = Scheduler(seed, limits: limits)
        let outcome = Outcome()
        // Made here, where the test runs, so that the task inherits what belongs to the test.
        let start = ConcurrencyHooks.capture {
            _ = Task {
                do {
                    guard let world = outcome.world else { return }
                    try await body(world)
                    outcome.finish(nil)
                } catch {
                    outcome.finish(.thrown(error))
                }
            }
        }
        Simulated.run(on: scheduler) {
            let world = World(scheduler, leavingOut: leftOutFaults)
            outcome.begin(world)
            if let start { scheduler.within(world.program) { scheduler.enqueue(start) } }
            scheduler.run { outcome.isFinished }
            scheduler.watch()
            outcome.end(Report(of: world, digest: scheduler.digest))
            scheduler.end()
            world.removeFiles()
        }
        let report = outcome.report
        if let reason = scheduler.failure ?? outcome.failure {
            throw SimulationFailure(
                seed: seed, reason: reason, leftOutFaults: leftOutFaults.sorted(), report: report)
        }
        return report
    }
}

extension Simulation {
    /// Runs a program again and again, and leaves out one fault after another, until the failure needs all that are left.
    ///
    /// - Parameter body: The program, which is to throw where it fails: expectations count each time.
    /// - Returns: The failure with the shortest story, whose faults are ``SimulationFailure/faults``; `nil` where the program
    ///   does not fail.
    public func shortestFailure(_ body: @escaping @Sendable (World) async throws -> Void) -> SimulationFailure? {
        guard var shortest = failure(body) else { return nil }
        var simulation = self
        // From the last: what comes before a fault does not depend on it.
        for fault in shortest.faults.reversed() {
            var shorter = simulation
            shorter.leftOutFaults.insert(fault)
            if let failure = shorter.failure(body), failure.faults.count < shortest.faults.count {
                (simulation, shortest) = (shorter, failure)
            }
        }
        return shortest
    }

    private func failure(_ body: @escaping @Sendable (World) async throws -> Void) -> SimulationFailure? {
        do {
            try run(body)
            return nil
        } catch {
            return error
        }
    }
}

/// What a simulation's thread and its caller share.
private final class Outcome: Sendable {
    private struct State {
        var world: World?
        var isFinished = false
        var failure: SimulationFailure.Reason?
        var report = Simulation.Report()
    }

    private let state = Mutex(State())

    var world: World? { state.withLock { $0.world } }
    var isFinished: Bool { state.withLock { $0.isFinished } }
    var failure: SimulationFailure.Reason? { state.withLock { $0.failure } }
    var report: Simulation.Report { state.withLock { $0.report } }

    func begin(_ world: World) {
        state.withLock { $0.world = world }
    }

    func finish(_ failure: SimulationFailure.Reason?) {
        state.withLock { state in
            state.isFinished = true
            state.failure = failure
        }
    }

    func end(_ report: Simulation.Report) {
        state.withLock { state in
            state.report = report
            state.world = nil
        }
    }
}

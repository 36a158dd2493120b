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
        /// How long one step may take by the real clock: one that takes longer blocks the thread.
        public var patience = Duration.seconds(60)

        /// Two million steps, thirty days, and a minute of the real clock for each step.
        public init() {}
    }

    /// The number that decides all that is left to chance.
    public let seed: Seed
    /// When it is given up.
    public var limits: Limits
    /// The numbers of faults that do not happen: what ``shortestFailure(_:)`` has found to be needless.
    public var leftOutFaults: Set<Int> = []
    /// Whether a failure is that with the shortest list of faults, for which the program is run again and again: see
    /// ``shortestFailure(_:)``. `true` by default.
    public var shortensFailures = true

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
        do throws(SimulationFailure) {
            return try runOnce(body)
        } catch {
            throw shortensFailures ? shortened(error, body) : error
        }
    }

    private func runOnce(_ body: @escaping @Sendable (World) async throws -> Void) throws(SimulationFailure) -> Report {
        guard ConcurrencyHooks.areInstalled else {
            throw SimulationFailure(
                seed: seed,
                reason: .refused("this runtime of Swift has no hook for a scheduler, or is linked statically"),
                leftOutFaults: [], report: Report())
        }
        guard Scheduler.ofThread == nil else {
            throw SimulationFailure(
                seed: seed, reason: .refused("a simulation within a simulation"), leftOutFaults: [], report: Report())
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
        var stillness = Stillness()
        func isBlocked() -> Bool {
            stillness.of(scheduler.progress.load(ordering: .relaxed), at: .now) > limits.patience
        }
        let hasReturned = Simulated.run(on: scheduler, isGivenUp: isBlocked) {
            let world = World(scheduler, leavingOut: leftOutFaults)
            outcome.begin(world)
            if let start { scheduler.within(world.program) { scheduler.enqueue(start) } }
            scheduler.run { outcome.isFinished }
            let failure = scheduler.failure ?? outcome.failure
            outcome.end(Report(of: world, digest: scheduler.digest, failure))
            if failure == nil {
                scheduler.settle()
                if let failure = scheduler.failure { outcome.end(Report(of: world, digest: scheduler.digest, failure)) }
            }
            scheduler.end()
            world.remove()
        }
        guard hasReturned else {
            throw SimulationFailure(
                seed: seed,
                reason: .blocked(
                    "step \(scheduler.progress.load(ordering: .relaxed) + 1) has not ended for \(limits.patience)"),
                leftOutFaults: leftOutFaults.sorted(), report: Report())
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
        failure(body).map { shortened($0, body) }
    }

    /// Leaves out faults of a failure until it needs all that are left.
    private func shortened(
        _ failure: SimulationFailure, _ body: @escaping @Sendable (World) async throws -> Void
    ) -> SimulationFailure {
        // Long ones would take too long, again and again.
        guard failure.report.steps <= Self.mostSteps else { return failure }
        var shortest = failure
        var simulation = self
        var runs = 0
        while true {
            let before = shortest.faults.count
            // From the last: what comes before a fault does not depend on it.
            for fault in shortest.faults.reversed() where runs < Self.mostRuns {
                var shorter = simulation
                shorter.leftOutFaults.insert(fault)
                runs += 1
                if let other = shorter.failure(body), other.faults.count < shortest.faults.count,
                    other.reason.isLike(failure.reason)
                {
                    (simulation, shortest) = (shorter, other)
                }
            }
            if shortest.faults.count == before { return shortest }
        }
    }

    private static let mostRuns = 200
    private static let mostSteps = 300_000

    private func failure(_ body: @escaping @Sendable (World) async throws -> Void) -> SimulationFailure? {
        do {
            _ = try runOnce(body)
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

extension SimulationFailure.Reason {
    /// Whether two failures are of the same kind: another one may appear where a fault is left out.
    fileprivate func isLike(_ other: Self) -> Bool {
        switch (self, other) {
        case (.thrown(let one), .thrown(let two)):
            type(of: one) == type(of: two) && (one as NSError).code == (two as NSError).code
        case (.stuck, .stuck), (.refused, .refused), (.broken, .broken), (.blocked, .blocked), (.tooLong, .tooLong):
            true
        case (.thrown, _), (.stuck, _), (.refused, _), (.broken, _), (.blocked, _), (.tooLong, _): false
        }
    }
}

import Foundation
import Purl
import PurlSimulation
import Testing

/// What a simulation does with `async` code that runs elsewhere.
@Suite struct SimulatedConcurrencyTests {
    private func failure(
        _ limits: Simulation.Limits = Simulation.Limits(), _ body: @escaping @Sendable (World) async throws -> Void
    ) -> SimulationFailure? {
        do {
            try Simulation(5, limits: limits).run(body)
            return nil
        } catch {
            return error
        }
    }

    /// Whether it is an error that says what the program has done.
    private func isClear(_ failure: SimulationFailure) -> Bool {
        switch failure.reason {
        case .refused(let reason): reason.contains("Task.sleep, Task.yield, the main actor or a queue")
        case .stuck: "\(failure.reason)".contains("Task.sleep, Task.yield, the main actor and")
        case .thrown, .broken, .blocked, .tooLong: false
        }
    }

    // Where the simulation's thread is kept from running, what another one does for a sleep or a yield can be over before the
    // task waits for it. That changes nothing, and the simulation continues until another one is refused.

    @Test func taskSleepIsAnErrorAndNoHang() throws {
        let failure = try #require(
            failure { _ in
                while true { try await Task.sleep(for: .milliseconds(1)) }
            })
        #expect(isClear(failure), "\(failure)")
    }

    @Test func taskYieldIsAnErrorAndNoHang() throws {
        let failure = try #require(
            failure { _ in
                while true { await Task.yield() }
            })
        #expect(isClear(failure), "\(failure)")
    }

    @Test func theMainActorIsAnErrorAndNoHang() throws {
        let failure = try #require(failure { _ in await MainActor.run {} })
        #expect(isClear(failure), "\(failure)")
    }

    @Test func aQueueOfDispatchIsAnErrorAndNoHang() throws {
        let failure = try #require(
            failure { _ in
                let hasSuspended = DispatchSemaphore(value: 0)
                // On the one thread this runs when the task below waits.
                Task { hasSuspended.signal() }
                await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                    DispatchQueue(label: "elsewhere").async {
                        hasSuspended.wait()
                        continuation.resume()
                    }
                }
            })
        #expect(isClear(failure), "\(failure)")
    }

    @Test func aProgramThatBlocksItsThreadIsGivenUp() throws {
        var limits = Simulation.Limits()
        limits.patience = .milliseconds(500)
        let gate = DispatchSemaphore(value: 0)
        let failure = try #require(failure(limits) { _ in Self.block(gate) })
        guard case .blocked(let what) = failure.reason else {
            Issue.record(failure)
            return
        }
        #expect(what.hasSuffix("has not ended for 0.5 seconds"))
        // The thread ends, and with it the test.
        gate.signal()
    }

    private static func block(_ gate: DispatchSemaphore) { gate.wait() }
}

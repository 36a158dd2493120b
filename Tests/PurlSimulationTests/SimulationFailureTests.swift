import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Synchronization
import Testing

@Suite struct SimulationFailureTests {
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

    @Test func aTaskThatWaitsForEverIsNamed() throws {
        let failure = try #require(
            failure { world in
                let url = world.server("mirror.example").route(
                    "/deaf", .text("never").stalled(at: .beforeHead, until: ServerGate()))
                let configuration = URLSessionConfiguration.ephemeral
                configuration.timeoutIntervalForRequest = .infinity
                configuration.timeoutIntervalForResource = .infinity
                _ = try await URLSession(configuration: configuration).data(from: url)
            })
        guard case .stuck(let waiting) = failure.reason else {
            Issue.record("\(failure.reason)")
            return
        }
        #expect(waiting.contains { $0.hasPrefix("program: task 1 made GET http://mirror.example/deaf waits") })
        #expect(waiting.contains { $0.contains("connection 1 with 10.0.0.1:80: 0 bytes to read") })
        #expect(failure.description.hasPrefix("Seed 5, step"))
    }

    /// A delegate that never says what becomes of the response.
    private final class Undecided: NSObject, URLSessionDataDelegate {
        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {}
    }

    @Test(arguments: [false, true])
    func aTaskForWhichNothingWaitsAndThatNeverEndsIsNamed(isSuspended: Bool) throws {
        let failure = failure { world in
            let url = world.server("mirror.example").route("/film", .generated(size: 9_000))
            let configuration = URLSessionConfiguration.ephemeral
            configuration.timeoutIntervalForRequest = .infinity
            configuration.timeoutIntervalForResource = .infinity
            let session = URLSession(configuration: configuration, delegate: Undecided(), delegateQueue: nil)
            let task = session.dataTask(with: url)
            task.resume()
            try await world.sleep(for: .seconds(1))
            if isSuspended { task.suspend() }
        }
        guard !isSuspended else {
            #expect(failure == nil)
            return
        }
        guard case .stuck(let waiting) = try #require(failure).reason else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(waiting == ["program: task 1 at http://mirror.example/film has not ended"])
    }

    @Test func whatIsLeftOfAProgramStartsNothingWhenItsSimulationIsOver() async throws {
        let left = Mutex<(world: World, computer: Computer)?>(nil)
        try Simulation(1).run { world in
            let computer = world.computer("laptop")
            left.withLock { $0 = (world, computer) }
        }
        let (world, computer) = try #require(left.withLock { $0 })
        let url = world.server("mirror.example").route("/page", .text("page"))
        #expect(url.absoluteString == "http://mirror.example/page")
        await #expect(throws: CancellationError.self) { try await computer.run("player") {} }
    }

    @Test(arguments: ["", "a b", "mirror.example:81", "anna@mirror.example", "mirror.example/film", "a?b", "[::1]"])
    func whatIsNoHostIsRefused(name: String) throws {
        let failure = try #require(failure { world in _ = world.server(name) })
        #expect("\(failure.reason)".contains("“\(name)” is not the name of a host"))
    }

    @Test(arguments: ["bücher.example", "Mirror.Example", "10.9.8.7", "a_b"])
    func aServerIsReachedByItsName(name: String) throws {
        try Simulation(1).run { world in
            let url = world.server(name).route("/page", .text("page"))
            #expect(try await URLSession.shared.data(from: url).0 == Data("page".utf8))
            let written = try #require(URL(string: "http://\(name)/page"))
            #expect(try await URLSession.shared.data(from: written).0 == Data("page".utf8))
        }
    }

    @Test func anErrorOfTheProgramIsTheReason() throws {
        let failure = try #require(
            failure { _ in throw URLError(.userAuthenticationRequired) })
        guard case .thrown(let error) = failure.reason else {
            Issue.record("\(failure.reason)")
            return
        }
        #expect((error as? URLError)?.code == .userAuthenticationRequired)
    }

    @Test func theMainActorIsNotReached() throws {
        let failure = try #require(failure { _ in await MainActor.run {} })
        #expect("\(failure.reason)".contains("main actor"))
    }

    @Test func anOperationQueueIsRefused() throws {
        let failure = try #require(
            failure { _ in
                _ = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: OperationQueue())
                await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            })
        #expect("\(failure.reason)".contains("operation queue"))
    }

    @Test func aProgramThatDoesNotEndIsGivenUp() throws {
        var limits = Simulation.Limits()
        limits.steps = 500
        let failure = try #require(
            failure(limits) { world in
                while true { try await world.sleep(for: .seconds(1)) }
            })
        #expect("\(failure.reason)" == "the program does not end: 500 steps, and no end")
        limits.duration = .seconds(60)
        let second = try #require(
            self.failure(limits) { world in
                while true { try await world.sleep(for: .seconds(1)) }
            })
        #expect("\(second.reason)".contains("have passed"))
    }
}

import Foundation
import PurlIO
import PurlSimulation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("waitsForConnectivity", .timeLimit(.minutes(5)))
struct ConnectivityTests {
    /// A server that is stopped at first, and a client.
    private struct Stage: Sendable {
        let world: World
        let server: Server
        let url: URL
        let observer = TaskWitness()
        let sandbox = Sandbox()

        init(_ world: World) {
            self.world = world
            server = world.server("mirror.example")
            url = server.route("/file", .text("hello"))
            server.stop()
        }

        /// A session whose tasks wait.
        func session(_ change: (URLSessionConfiguration) -> Void = { _ in }) -> URLSession {
            sandbox.session(observer) { configuration in
                configuration.waitsForConnectivity = true
                change(configuration)
            }
        }
    }

    private func simulate(_ body: @escaping @Sendable (Stage) async throws -> Void) throws {
        try Simulation(1).run { world in try await body(Stage(world)) }
    }

    @Test("Without waitsForConnectivity a task that cannot connect fails")
    func withoutWaiting() throws {
        #expect(!URLSessionConfiguration.default.waitsForConnectivity)
        try simulate { stage in
            stage.sandbox.session(stage.observer).dataTask(with: stage.url).resume()
            await stage.observer.completion()
            #expect(stage.observer.events == [.created, .metrics(transactions: 1), .completed(.cannotConnectToHost)])
        }
    }

    @Test("A task waits, calls taskIsWaitingForConnectivity once, and is served once the server listens")
    func waits() throws {
        try simulate { stage in
            stage.session().dataTask(with: stage.url).resume()
            try await stage.world.sleep(for: .seconds(3600))
            #expect(stage.observer.events == [.created, .waiting])
            stage.server.start()
            await stage.observer.completion()
            #expect(
                stage.observer.events == [
                    .created, .waiting, .response(200), .data(5), .metrics(transactions: 1), .completed(nil),
                ])
            // Half a minute is the longest pause.
            #expect(stage.world.elapsed < .seconds(3631))
        }
    }

    @Test("A waiting task fails after timeoutIntervalForResource, not after timeoutIntervalForRequest")
    func timeout() throws {
        try simulate { stage in
            let session = stage.session {
                $0.timeoutIntervalForRequest = 10
                $0.timeoutIntervalForResource = 600
            }
            session.dataTask(with: stage.url).resume()
            await stage.observer.completion()
            #expect(stage.observer.events == [.created, .waiting, .metrics(transactions: 1), .completed(.timedOut)])
            #expect((.seconds(600) ... .seconds(601)).contains(stage.world.elapsed))
        }
    }

    @Test("A task waits for an unknown host name")
    func name() throws {
        let url = try #require(URL(string: "http://no-such-host.invalid/"))
        try simulate { stage in
            stage.session { $0.timeoutIntervalForResource = 600 }.dataTask(with: url).resume()
            await stage.observer.completion()
            #expect(stage.observer.events.suffix(1) == [.completed(.timedOut)])
        }
    }

    @Test("A waiting task that is cancelled ends at once")
    func cancel() throws {
        try simulate { stage in
            let task = stage.session().dataTask(with: stage.url).resumed()
            await stage.observer.wait { $0.contains(.waiting) }
            task.cancel()
            await stage.observer.completion()
            #expect(stage.observer.events.last == .completed(.cancelled))
            #expect(stage.world.elapsed < .seconds(1))
        }
    }

    @Test("A suspended task does not try to connect, and tries at once when it is resumed")
    func suspend() throws {
        try simulate { stage in
            let task = stage.session().dataTask(with: stage.url).resumed()
            await stage.observer.wait { $0.contains(.waiting) }
            task.suspend()
            stage.server.start()
            try await stage.world.sleep(for: .seconds(3600))
            #expect(stage.server.requests.isEmpty)
            task.resume()
            await stage.observer.completion()
            #expect(stage.observer.events.last == .completed(nil))
            #expect(stage.world.elapsed < .seconds(3602))
        }
    }

    @Test("A task whose connection was lost does not wait")
    func lost() throws {
        try simulate { stage in
            stage.server.start()
            stage.server.route("/file", .text("").cut(at: .beforeHead))
            stage.session().dataTask(with: stage.url).resume()
            await stage.observer.completion()
            #expect(stage.observer.events.last == .completed(.networkConnectionLost))
            #expect(!stage.observer.events.contains(.waiting))
        }
    }

    @Test("The pauses between attempts grow to half a minute")
    func delays() {
        let delays = (0..<8).map { Deadlines.redialDelay(after: $0) }
        #expect(delays == [1, 2, 4, 8, 16, 30, 30, 30].map { .seconds($0) })
        #expect(Deadlines.redialDelay(after: .max) == .seconds(30))
    }

    @Test(
        "A task does not wait for resources of its own process",
        arguments: [
            (ECONNREFUSED, true), (ENETUNREACH, true), (EHOSTUNREACH, true), (EMFILE, false), (EACCES, false),
        ])
    func reasons(code: Int32, isPassing: Bool) {
        let failure = ConnectFailure(address: .loopback(port: 80), error: SystemError(code: code, operation: "connect"))
        #expect(DialError.connect([failure]).isTransient == isPassing)
        #expect(DialError.resolve(.noSuchName(host: "x")).isTransient)
    }
}

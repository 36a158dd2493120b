import Faults
import Foundation
import PurlIO
import PurlTesting
import Testing

@testable import Purl

@Suite("waitsForConnectivity", .timeLimit(.minutes(5)))
struct ConnectivityTests {
    private let sandbox = Sandbox()
    private let observer = TaskWitness()

    /// The server's port, which is closed at first.
    private let port: DeadPort
    private var url: URL { port.url("/file") }

    init() throws {
        port = try DeadPort()
    }

    private func session(_ change: (URLSessionConfiguration) -> Void = { _ in }) -> URLSession {
        sandbox.session(observer) { configuration in
            configuration.waitsForConnectivity = true
            change(configuration)
        }
    }

    @Test("Without waitsForConnectivity a task that cannot connect fails")
    func withoutWaiting() async throws {
        #expect(!URLSessionConfiguration.default.waitsForConnectivity)
        sandbox.session(observer).dataTask(with: url).resume()
        await observer.completion()
        #expect(observer.events == [.created, .metrics(transactions: 1), .completed(.cannotConnectToHost)])
    }

    @Test("A task waits, calls taskIsWaitingForConnectivity once, and is served once the server listens")
    func waits() async throws {
        let session = session()
        session.dataTask(with: url).resume()
        await observer.wait { $0.contains(.waiting) }
        let server = try LoopbackServer(port: port.number)
        server.route("/file", .text("hello"))
        await observer.completion()
        #expect(
            observer.events == [
                .created, .waiting, .response(200), .data(5), .metrics(transactions: 1), .completed(nil),
            ])
    }

    @Test("A waiting task fails after timeoutIntervalForResource, not after timeoutIntervalForRequest")
    func timeout() async throws {
        let clock = ManualClock()
        let session = session {
            $0.clock = clock
            $0.timeoutIntervalForRequest = 0.1
            $0.timeoutIntervalForResource = 1.5
        }
        session.dataTask(with: url).resume()
        await observer.wait { $0.contains(.waiting) }
        await clock.passTime { await observer.completion() }
        #expect(observer.events == [.created, .waiting, .metrics(transactions: 1), .completed(.timedOut)])
    }

    @Test("A task waits for an unknown host name")
    func name() async throws {
        let session = session { $0.timeoutIntervalForResource = 0.5 }
        let url = try #require(URL(string: "http://no-such-host.invalid/"))
        session.dataTask(with: url).resume()
        await observer.completion()
        #expect(observer.events.suffix(1) == [.completed(.timedOut)])
    }

    @Test("A waiting task that is cancelled ends at once")
    func cancel() async throws {
        let session = session()
        let task = session.dataTask(with: url).resumed()
        await observer.wait { $0.contains(.waiting) }
        task.cancel()
        await observer.completion()
        #expect(observer.events.last == .completed(.cancelled))
    }

    @Test("A suspended task does not try to connect, and tries at once when it is resumed")
    func suspend() async throws {
        let session = session()
        let task = session.dataTask(with: url).resumed()
        await observer.wait { $0.contains(.waiting) }
        task.suspend()
        let server = try LoopbackServer(port: port.number)
        server.route("/file", .text("hello"))
        task.resume()
        await observer.completion()
        #expect(observer.events.last == .completed(nil))
    }

    @Test("A task whose connection was lost does not wait")
    func lost() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("").cut(at: .beforeHead))
        session().dataTask(with: url).resume()
        await observer.completion()
        #expect(observer.events.last == .completed(.networkConnectionLost))
        #expect(!observer.events.contains(.waiting))
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

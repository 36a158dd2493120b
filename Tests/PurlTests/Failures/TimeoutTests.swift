import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("timeoutIntervalForRequest", .timeLimit(.minutes(5)))
struct RequestTimeoutTests {
    static let moments: [(name: String, reply: Reply)] = [
        ("before the head", .generated(size: 300_000).stalled(at: .beforeHead)),
        ("in the head", .generated(size: 300_000).stalled(at: .midHead)),
        ("after an interim response", .text("hello").interim(103).stalled(at: .beforeHead)),
        ("right after the head", .generated(size: 300_000).stalled(afterBytes: 0)),
        ("in the body", .generated(size: 300_000).stalled(afterBytes: 100_000)),
        ("one byte early", .generated(size: 300_000).stalled(afterBytes: 299_999)),
        ("in a chunked body", .generated(size: 300_000).chunked(size: 1000).stalled(afterBytes: 1500)),
        ("before the last chunk", .generated(size: 3000).chunked(size: 1000).stalled(afterBytes: 3000)),
        ("in a body that runs until close", .generated(size: 300_000).untilClose().stalled(afterBytes: 1500)),
    ]

    @Test("A load without progress times out after the session's limit", arguments: moments, LoadForm.allCases)
    func bySession(moment: (name: String, reply: Reply), form: LoadForm) throws {
        try Simulation(1).run { world in
            let server = world.server("slow.example")
            let url = server.route("/file", moment.reply)
            let outcome = try await form.load(url) { $0.timeoutIntervalForRequest = 20 }
            outcome.expectFailure(.timedOut, at: url)
            #expect(outcome.sentence.contains("20 seconds"))
            // What had come by then came within a second.
            #expect((.seconds(20) ... .seconds(21)).contains(world.elapsed))
            await server.server.waitUntilDisconnected()
            #expect(server.requests.allSatisfy { $0.ending == .clientLeft })
        }
    }

    @Test("The request's own limit takes precedence over the session's", arguments: LoadForm.allCases)
    func byRequest(form: LoadForm) throws {
        try Simulation(1).run { world in
            let url = world.server("slow.example").route("/file", .text("hello").stalled(at: .beforeHead))
            let outcome = try await form.load(URLRequest(url: url, timeoutInterval: 20)) {
                $0.timeoutIntervalForRequest = 3600
            }
            outcome.expectFailure(.timedOut, at: url)
            #expect(world.elapsed < .seconds(21))
        }
    }

    @Test("A server that does not read the body makes the load time out")
    func whileSending() throws {
        try Simulation(1).run { world in
            let gate = ServerGate()
            let url = world.server("slow.example").route("/file", .text("hello").takingBody(after: gate))
            var request = URLRequest(url: url, timeoutInterval: 20)
            request.httpMethod = "POST"
            request.httpBody = Data(count: 2 << 20)
            try await LoadForm.dataDelegate.load(request).expectFailure(.timedOut, at: url)
            gate.open()
        }
    }

    #if os(Linux)
        @Test("A connection that is never accepted times out", arguments: LoadForm.allCases)
        func whileConnecting(form: LoadForm) async throws {
            let backlog = try #require(FullBacklog())
            let url = try #require(URL(string: "http://127.0.0.1:\(backlog.port)/file"))
            let outcome = try await form.load(url) { $0.timeoutIntervalForRequest = 0.2 }
            outcome.expectFailure(.timedOut, at: url)
        }
    #endif

    @Test("A limit of zero, below it, or out of range is none", arguments: [0, -1, -.infinity, .infinity, 1e300, .nan])
    func noLimit(limit: TimeInterval) throws {
        try Simulation(1).run { world in
            let url = world.server("slow.example").route("/file", .text("hello").delayed(by: .seconds(20 * 86_400)))
            let outcome = try await LoadForm.dataDelegate.load(URLRequest(url: url, timeoutInterval: limit)) {
                $0.timeoutIntervalForResource = limit
            }
            outcome.expectSuccess(Data("hello".utf8))
        }
    }
}

/// All but a second of the limit passes before each sign of progress, by a manual clock.
@Suite("What counts as progress for timeoutIntervalForRequest", .timeLimit(.minutes(5)))
struct ProgressTests {
    private static let forms = [LoadForm.dataDelegate, .downloadAsync]

    private let clock = ManualClock()

    private func oneMinute(_ configuration: URLSessionConfiguration) {
        configuration.clock = clock
        configuration.timeoutIntervalForRequest = 60
    }

    /// Sends the pieces to each client, with nearly a minute after each.
    private func listener(sending pieces: [String]) async throws -> RawListener {
        try await RawListener.started { [clock] peer in
            _ = await peer.head()
            for piece in pieces {
                peer.send(piece)
                await peer.othersTurn()
                clock.advance(by: .seconds(59))
            }
            _ = await peer.rest()
        }
    }

    @Test("A body that takes longer than the limit in all does not time out", arguments: forms)
    func slowBody(form: LoadForm) async throws {
        let listener = try await listener(
            sending: ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "h", "e", "l", "l", "o"])
        let outcome = try await form.load(try listener.url("/file"), oneMinute)
        outcome.expectSuccess(Data("hello".utf8))
    }

    @Test("Interim responses restart the limit", arguments: forms)
    func interimResponses(form: LoadForm) async throws {
        let listener = try await listener(
            sending: Array(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 8)
                + ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"])
        let outcome = try await form.load(try listener.url("/file"), oneMinute)
        outcome.expectSuccess(Data("hello".utf8))
    }

    @Test("A head that arrives in pieces restarts the limit", arguments: forms)
    func slowHead(form: LoadForm) async throws {
        let listener = try await listener(
            sending: ["HTTP/1.1 2", "00 OK\r\n", "X:", " y\r", "\nConte", "nt-Length:", " 5\r\n\r", "\nhello"])
        let outcome = try await form.load(try listener.url("/file"), oneMinute)
        outcome.expectSuccess(Data("hello".utf8))
    }

    @Test("The content that a protocol delivers restarts the limit")
    func slowProtocol() async throws {
        let delivered = DispatchSemaphore(value: 0)
        let url = try Stub.url { stub in
            stub.respond()
            for letter in "hello" {
                stub.send("\(letter)")
                delivered.wait()
            }
            stub.finish()
        }
        let witness = Witness(hook: { [clock] _, event in
            guard case .data = event else { return }
            clock.advance(by: .seconds(59))
            delivered.signal()
        })
        let outcome = try await LoadForm.dataDelegate.load(URLRequest(url: url), witness: witness) {
            oneMinute($0)
            $0.stub()
        }
        outcome.expectSuccess(Data("hello".utf8))
    }

    @Test("A body that is sent slowly restarts the limit")
    func slowUpload() async throws {
        let listener = try await RawListener.started { [clock] peer in
            _ = await peer.head()
            // A portion is more than the buffers hold, so some of it has to be sent in between.
            for _ in 0..<4 {
                _ = await peer.bytes(24 << 20)
                clock.advance(by: .seconds(59))
            }
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            _ = await peer.rest()
        }
        var request = URLRequest(url: try listener.url("/file"))
        request.httpMethod = "POST"
        request.httpBody = Data(count: 96 << 20)
        try await LoadForm.dataDelegate.load(request, oneMinute).expectSuccess(Data("hello".utf8))
    }
}

@Suite("timeoutIntervalForResource", .timeLimit(.minutes(5)))
struct ResourceTimeoutTests {
    @Test("A load with progress times out after timeoutIntervalForResource", arguments: LoadForm.allCases)
    func inSpiteOfProgress(form: LoadForm) throws {
        try Simulation(1).run { world in
            let server = world.server("slow.example")
            let url = server.route("/file", .generated(size: 100_000).throttled(bytesPerSecond: 1_000))
            let outcome = try await form.load(url) { $0.timeoutIntervalForResource = 30 }
            outcome.expectFailure(.timedOut, at: url)
            #expect(outcome.sentence.contains("30 seconds"))
            #expect((.seconds(30) ... .seconds(31)).contains(world.elapsed))
        }
    }

    @Test("timeoutIntervalForResource includes all redirects", arguments: LoadForm.allCases)
    func spansRedirects(form: LoadForm) throws {
        try Simulation(1).run { world in
            let server = world.server("slow.example")
            server.server.fallback(
                .computed { request in
                    .redirect(to: "/\((Int(request.path.dropFirst()) ?? 0) + 1)").delayed(by: .seconds(15))
                })
            let outcome = try await form.load(server.url("/0")) { $0.timeoutIntervalForResource = 50 }
            #expect(outcome.error?.code == .timedOut)
            #expect(outcome.error?.failingURL == server.url("/3"))
            #expect(server.requests.map(\.path) == ["/0", "/1", "/2", "/3"])
            #expect(outcome.completions == 1)
        }
    }

    @Test("timeoutIntervalForResource elapses while a task waits for a connection")
    func whileWaiting() throws {
        try Simulation(1).run { world in
            let url = world.server("slow.example").route("/file", .text("hello").stalled(at: .beforeHead))
            let (sandbox, witness) = (Sandbox(), Witness())
            let session = sandbox.session(witness) {
                $0.httpMaximumConnectionsPerHost = 1
                $0.timeoutIntervalForRequest = 3600
                $0.timeoutIntervalForResource = 90
            }
            for _ in 0..<3 { session.dataTask(with: url).resume() }
            await witness.completion(of: 3)
            #expect(witness.events == Array(repeating: .completed(.timedOut), count: 3))
            #expect(world.elapsed < .seconds(91))
        }
    }
}

@Suite("When timeoutIntervalForRequest does not elapse", .timeLimit(.minutes(5)))
struct PausedTimeoutTests {
    private let sandbox = Sandbox()
    private let clock = ManualClock()

    private func session(_ delegate: any URLSessionDelegate) -> URLSession {
        sandbox.session(delegate) {
            $0.clock = clock
            $0.timeoutIntervalForRequest = 2
            $0.httpMaximumConnectionsPerHost = 1
        }
    }

    @Test("The request time-out does not elapse while the task is suspended")
    func suspended() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        let content = GeneratedContent(size: 300_000, seed: 6)
        let url = server.route("/file", .generated(content).stalled(afterBytes: 100_000, until: gate))
        let isSuspended = Signal()
        let witness = Witness(hook: { task, event in
            guard case .data = event, !isSuspended.isSet else { return }
            task.suspend()
            isSuspended.set()
        })
        let session = session(witness)
        let task = session.dataTask(with: url).resumed()
        await isSuspended.wait()
        try await clock.pass(2.5)
        gate.open()
        task.resume()
        await witness.completion()
        #expect(witness.events == [.response(200), .data(300_000), .completed(nil)])
        #expect(witness.data(of: task).isSame(as: content.data))
    }

    @Test("The request time-out does not elapse before the task is resumed")
    func notStarted() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("hello"))
        let witness = Witness()
        let session = session(witness)
        let task = session.dataTask(with: url)
        try await clock.pass(2.5)
        #expect(witness.events == [])
        task.resume()
        await witness.completion()
        #expect(witness.events == [.response(200), .data(5), .completed(nil)])
    }

    @Test("The request time-out does not elapse while the task waits for a connection")
    func waiting() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        let first = server.route("/first", .text("hello").delayed(until: gate))
        let second = server.route("/second", .text("hello"))
        let witness = Witness()
        let session = session(witness)
        session.dataTask(with: URLRequest(url: first, timeoutInterval: 250)).resume()
        await gate.reached()
        session.dataTask(with: second).resume()
        try await clock.pass(2.5)
        gate.open()
        await witness.completion(of: 2)
        #expect(
            witness.events == [
                .response(200), .data(5), .completed(nil), .response(200), .data(5), .completed(nil),
            ])
    }

    @Test("The request time-out does not elapse until the delegate answers")
    func deciding() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("hello"))
        let delegate = HoldingDelegate(tasks: 1)
        let session = session(delegate)
        let task = session.dataTask(with: url).resumed()
        await delegate.hasResponse.wait()
        try await clock.pass(2.5)
        delegate.allow()
        await delegate.hasCompleted.wait()
        #expect(delegate.ending(of: task).error == nil)
        #expect(delegate.ending(of: task).data == Data("hello".utf8))
    }
}

import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Synchronization
import Testing

/// Programs that do what they may are never said to break a rule, and what breaks one is seen however a session is made.
@Suite struct WatchedProgramsTests {
    private static let film = Reply.generated(size: 60_000).entityTag("\"v1\"")

    @Test(arguments: Seeds.some(5))
    func severalSessionsHaveOneConfiguration(seed: Seed) throws {
        try Simulation(seed).run { world in
            let url = world.server("mirror.example").route("/film", Self.film)
            let configuration = URLSessionConfiguration.ephemeral
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    let session = URLSession(configuration: configuration)
                    let copy = URLSession(configuration: session.configuration)
                    group.addTask {
                        _ = try await session.data(from: url)
                        _ = try await copy.download(from: url)
                        session.finishTasksAndInvalidate()
                        copy.finishTasksAndInvalidate()
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test(arguments: Seeds.some(5))
    func aRangeIsDownloaded(seed: Seed) throws {
        try Simulation(seed).run { world in
            let url = world.server("mirror.example").route("/film", Self.film)
            var request = URLRequest(url: url)
            request.setValue("bytes=100-299", forHTTPHeaderField: "Range")
            let (file, _) = try await URLSession.shared.download(for: request)
            #expect(try Data(contentsOf: file) == GeneratedContent(size: 60_000).data[100..<300])
        }
    }

    /// The delegate of one task, which leaves it with the response.
    private final class ShortLived: NSObject, URLSessionDataDelegate, Sendable {
        private let state = Mutex((task: URLSessionTask?.none, calls: [String]()))
        private let leaves: Bool

        init(leaves: Bool) { self.leaves = leaves }

        var task: URLSessionTask? { state.withLock { $0.task } }
        var calls: [String] { state.withLock { $0.calls } }

        func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
            state.withLock { $0.task = task }
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            if leaves { dataTask.delegate = nil }
            completionHandler(.allow)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            state.withLock { $0.calls.append("data") }
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            state.withLock { $0.calls.append("metrics") }
        }
    }

    @Test(arguments: Seeds.some(20))
    func afterTheResultNoDelegateIsCalledOrKept(seed: Seed) throws {
        try Simulation(seed).run { world in
            let url = world.server("mirror.example").route("/film", Self.film)
            let (first, second) = (ShortLived(leaves: true), ShortLived(leaves: false))
            let session = URLSession(configuration: .ephemeral)
            _ = try await session.data(from: url, delegate: first)
            let task = try #require(first.task)
            task.delegate = second
            try await world.sleep(for: .seconds(1))
            #expect(first.calls + second.calls == [])
            #expect(task.delegate == nil)
            session.finishTasksAndInvalidate()
        }
    }

    /// Serves a host of the simulation by itself.
    private final class Greeting: URLProtocol {
        override class func canInit(with request: URLRequest) -> Bool { request.url?.path == "/film" }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
        override func startLoading() {
            guard let url = request.url else { return }
            let response = URLResponse(
                url: url, mimeType: "text/plain", expectedContentLength: 5, textEncodingName: nil)
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            client?.urlProtocol(self, didLoad: Data("hello".utf8))
            client?.urlProtocolDidFinishLoading(self)
        }
        override func stopLoading() {}
    }

    @Test func aProtocolOfTheProgramServesAServersURL() throws {
        try Simulation(1).run { world in
            let url = world.server("mirror.example").route("/film", Self.film)
            let configuration = URLSessionConfiguration.ephemeral
            configuration.protocolClasses = [Greeting.self]
            let session = URLSession(configuration: configuration)
            let (file, _) = try await session.download(from: url)
            #expect(try Data(contentsOf: file) == Data("hello".utf8))
            session.finishTasksAndInvalidate()
        }
    }

    @Test(arguments: Seeds.some(3))
    func aDownloadHasARequestBody(seed: Seed) throws {
        try Simulation(seed).run { world in
            let url = world.server("mirror.example").route("/film", method: "POST", Self.film)
            let delegate = RecordingDelegate()
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            var request = URLRequest(url: url)
            request.httpMethod = "POST"
            request.httpBody = Data(count: 200_000)
            session.downloadTask(with: request).resume()
            await delegate.completion()
            #expect(delegate.file == GeneratedContent(size: 60_000).data)
            session.finishTasksAndInvalidate()
        }
    }

    /// Passes credentials on to wherever it is redirected: what the watch is there to see.
    private final class Careless: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            var request = request
            request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
            completionHandler(request)
        }
    }

    enum TraceOfProgram: CaseIterable {
        case none, ofSession, ofTask
    }

    @Test(arguments: TraceOfProgram.allCases)
    func aTraceOfTheProgramDoesNotSwitchTheWatchOff(trace: TraceOfProgram) throws {
        let own = TransferTrace()
        let failure = #expect(throws: SimulationFailure.self) {
            try Simulation(1).run { world in
                let page = world.server("other.example").route("/page", .text("page"))
                let start = world.server("mirror.example").route("/", .redirect(to: page.absoluteString))
                let configuration = URLSessionConfiguration.ephemeral
                if trace == .ofSession { configuration.trace = own }
                let session = URLSession(configuration: configuration, delegate: Careless(), delegateQueue: nil)
                #expect(session.configuration.trace === configuration.trace)
                var request = URLRequest(url: start)
                request.setValue("Bearer secret", forHTTPHeaderField: "Authorization")
                let task = session.dataTask(with: request)
                if trace == .ofTask { task.trace = own }
                #expect(task.trace === (trace == .none ? nil : own))
                task.resume()
                try await world.sleep(for: .seconds(60))
            }
        }
        #expect(failure.map { "\($0.reason)".contains("the credentials for") } == true)
        #expect(failure?.report.transfers.contains { $0.contains("other.example") } == true)
        #expect(own.events.isEmpty == (trace == .none))
    }

    private final class Keeper: Sendable {
        private let kept = Mutex<URLSession?>(nil)

        var session: URLSession {
            kept.withLock { kept in
                let session = kept ?? URLSession(configuration: .default)
                kept = session
                return session
            }
        }
    }

    /// As a static property is.
    @Test func aSessionThatOutlivesItsProgramIsRefused() throws {
        let keeper = Keeper()
        let load: @Sendable (World) async throws -> Void = { world in
            let url = world.server("mirror.example").route("/page", .text("page"))
            let done = AsyncStream.makeStream(of: Void.self)
            keeper.session.dataTask(with: url) { _, _, _ in done.continuation.finish() }.resume()
            for await _ in done.stream {}
        }
        try Simulation(1).run(load)
        let failure = #expect(throws: SimulationFailure.self) { try Simulation(2).run(load) }
        #expect(failure.map { "\($0.reason)".contains("made by a program that has ended") } == true)
    }

    private struct Disappointed: Error {}

    @Test func theStoryHasTheTracesOfProgramsThatHaveEnded() throws {
        let failure = #expect(throws: SimulationFailure.self) {
            try Simulation(1).run { world in
                let url = world.server("mirror.example").route("/film", Self.film)
                let laptop = world.computer("laptop")
                try await laptop.run("player") { _ = try await URLSession.shared.data(from: url) }
                try await laptop.run("reader") {
                    _ = try await URLSession.shared.data(from: url)
                    throw Disappointed()
                }
            }
        }
        let transfers = failure?.report.transfers ?? []
        #expect(transfers.count == 2)
        #expect(transfers.first?.hasPrefix("laptop/player") == true)
        #expect(transfers.last?.hasPrefix("laptop/reader") == true)
    }

    @Test func aSimulationWithinASimulationIsRefused() throws {
        try Simulation(1).run { _ in
            let failure = #expect(throws: SimulationFailure.self) { try Simulation(2).run { _ in } }
            #expect(failure.map { "\($0.reason)" } == "this cannot be simulated: a simulation within a simulation")
        }
    }

    @Test func aWorldThatIsOverDoesNothing() async throws {
        let kept = Mutex<World?>(nil)
        try Simulation(1).run { world in kept.withLock { $0 = world } }
        let world = try #require(kept.withLock { $0 })
        world.note("late")
        await #expect(throws: CancellationError.self) { try await world.sleep(for: .seconds(1)) }
        await #expect(throws: CancellationError.self) { try await world.clock.sleep(for: .seconds(1)) }
    }

    @Test func excessiveNumbersAreNoTrap() throws {
        try Simulation(1).run { world in
            let url = world.server("mirror.example").route("/page", .text("page"))
            world.chaos = [.kills, .powerLoss]
            let surprises = Computer.Surprises(kills: .max, powerLosses: .max)
            // Killed at each of its beginnings, it ends when the moment is later than its end.
            try await world.computer("laptop").run("player", surprises: surprises) {}
            world.chaos = []
            world.network.latency = .seconds(Int64.max) ... .seconds(Int64.max)
            let session = URLSession(configuration: .default)
            session.dataTask(with: url).resume()
            try await world.sleep(for: .seconds(1))
            session.invalidateAndCancel()
            world.network.latency = .seconds(-1) ... .seconds(Int64.max)
            world.network.bytesPerSecond = 0
        }
    }

    @Test func theSameFailureHasTheSameWordsInEachProcess() throws {
        let failure = #expect(throws: SimulationFailure.self) {
            try Simulation(1).run { world in
                let url = world.server("mirror.example").route("/film", Self.film.cut(afterBytes: 4_000))
                _ = try await URLSession.shared.data(from: url)
            }
        }
        #expect(
            failure?.reason.description
                == "the program has thrown URLError -1005 at http://mirror.example/film: "
                + "The connection was lost in the middle of the response.",
            "\(failure?.reason.description ?? "")")
    }
}

import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

/// A failure that is due to a server alone has a script, which shows the same to a client on a real network.
@Suite(.timeLimit(.minutes(5))) struct ServerScriptTests {
    private struct Wrong: Error, Equatable {
        let data: Data
    }

    private static let versions = [GeneratedContent(size: 9_000, seed: 1), GeneratedContent(size: 9_000, seed: 2)]

    /// Asks for what is missing, and appends what comes: it looks neither at the status nor at the version.
    private static func load(_ url: URL, in session: URLSession) async throws {
        var data = Data()
        for _ in 0..<3 {
            var request = URLRequest(url: url)
            if !data.isEmpty { request.setValue("bytes=\(data.count)-", forHTTPHeaderField: "Range") }
            do {
                for try await byte in try await session.bytes(for: request).0 { data.append(byte) }
                break
            } catch is URLError {}
        }
        if !versions.contains(where: { $0.data == data }) { throw Wrong(data: data) }
    }

    private static func failure(_ serve: @escaping @Sendable (World) -> URL) throws -> SimulationFailure {
        do {
            try Simulation(1).run { world in
                let url = serve(world)
                let session = URLSession(configuration: .ephemeral)
                try await load(url, in: session)
                session.finishTasksAndInvalidate()
            }
        } catch {
            return error
        }
        throw CocoaError(.fileReadUnknown)
    }

    /// How the same program fails with a server that has loaded a script.
    private static func played(_ script: ServerScript) async throws -> Wrong? {
        let server = try LoopbackServer(script: script)
        let session = URLSession(configuration: .ephemeral)
        defer { session.finishTasksAndInvalidate() }
        do {
            try await load(server.url("/film"), in: session)
            return nil
        } catch let error as Wrong {
            return error
        }
    }

    @Test func aRangeThatIsIgnoredFailsOnARealNetworkToo() async throws {
        let failure = try Self.failure { world in
            world.server("mirror.example").route(
                "/film",
                .generated(Self.versions[0]).entityTag("\"v1\"").ignoringRange().cut(afterBytes: 4_000, times: 1))
        }
        let text = try #require(failure.report.serverScript)
        #expect(failure.description.contains(text))
        let script = try ServerScript(text)
        #expect(script.paths == ["/film"])
        #expect(script.notes["title"]?.hasPrefix("Seed 1 at mirror.example: the program has thrown Wrong") == true)
        guard case .thrown(let error as Wrong) = failure.reason else {
            Issue.record("it fails with \(failure.reason)")
            return
        }
        #expect(error.data.count == 13_000)
        #expect(try await Self.played(script) == error)
    }

    @Test func aRestartWithAnotherVersionFailsOnARealNetworkToo() async throws {
        let failure = try Self.failure { world in
            let server = world.server("mirror.example")
            let url = server.route(
                "/film",
                versions: Self.versions.map { .generated($0).throttled(bytesPerSecond: 10_000) })
            Task {
                await server.wait { ($0.requests.first?.bytesSent ?? 0) > 2_000 }
                server.restart(for: .milliseconds(1))
            }
            return url
        }
        let text = try #require(failure.report.serverScript)
        #expect(text.contains("\n  1: generated 9000 seed 1\n"))
        #expect(text.contains("\n  1: cut after "))
        guard case .thrown(let error as Wrong) = failure.reason else {
            Issue.record("it fails with \(failure.reason)")
            return
        }
        #expect(error.data.count == 9_000)
        #expect(try await Self.played(ServerScript(text)) == error)
    }

    @Test func aFailureOfTheNetworkHasNoScript() throws {
        let failures = (1...20).compactMap { seed -> SimulationFailure? in
            do throws(SimulationFailure) {
                try Simulation(Seed(UInt64(seed))).run { world in
                    let url = world.server("mirror.example").route("/film", .generated(Self.versions[0]))
                    world.chaos = .resets
                    for _ in 0..<9 { _ = try await URLSession.shared.data(from: url) }
                }
                return nil
            } catch {
                return error
            }
        }
        #expect(!failures.isEmpty)
        for failure in failures { #expect(failure.report.serverScript == nil) }
    }

    @Test func whatHasNotFailedHasNoScript() throws {
        let report = try Simulation(1).run { world in
            let url = world.server("mirror.example").route("/film", .generated(Self.versions[0]))
            _ = try await URLSession.shared.data(from: url)
        }
        #expect(report.serverScript == nil)
    }
}

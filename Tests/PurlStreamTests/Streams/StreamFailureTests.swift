import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Stream tasks that cannot connect", .timeLimit(.minutes(5)))
struct StreamFailureTests {
    private static let names = [
        "", " ", "a b", "a/b", "a?b", "a#b", "user@host", "a%62c", "[127.0.0.1]", "[", "]", "[]", "::g", ":", "a:80",
        "1::2::3", "a\nb", "a\0b", "a\\b", String(repeating: "a", count: 256),
    ]

    @Test("An invalid host fails the task, its reads and writes with badURL", arguments: names)
    func badHost(host: String) async throws {
        let stage = try await StreamStage()
        let task = stage.session.streamTask(withHostName: host, port: 80).resumed()
        await #expect(errorCode { _ = try await task.text(1) } == .badURL)
        await stage.witness.completion()
        #expect(stage.witness.events.last == .completed(.badURL))
        #expect(stage.witness.error?.failureSentence.isEmpty == false)
    }

    @Test("An invalid port fails with badURL", arguments: [0, -1, 65_536, .max, .min])
    func badPort(port: Int) async throws {
        let stage = try await StreamStage()
        stage.session.streamTask(withHostName: "127.0.0.1", port: port).resume()
        await stage.witness.completion()
        #expect(stage.witness.events.last == .completed(.badURL))
        #expect(stage.witness.error?.failureSentence.contains("\(port)") == true)
    }

    @Test("An unknown host fails with cannotFindHost or dnsLookupFailed")
    func unknownHost() async throws {
        let stage = try await StreamStage()
        stage.session.streamTask(withHostName: "nobody.invalid", port: 80).resume()
        await stage.witness.completion()
        let codes: [URLError.Code] = [.cannotFindHost, .dnsLookupFailed]
        #expect(codes.contains(try #require(stage.witness.error).code))
        #expect(stage.witness.error?.failingURL?.absoluteString == "tcp://nobody.invalid:80")
    }

    @Test("A stream to a closed port fails with cannotConnectToHost")
    func refused() async throws {
        let port = try DeadPort()
        let stage = try await StreamStage()
        let task = stage.session.streamTask(withHostName: "127.0.0.1", port: Int(port.number)).resumed()
        await #expect(errorCode { try await task.write("x") } == .cannotConnectToHost)
        await stage.witness.completion()
        #expect(stage.witness.events == [.metrics(transactions: 1), .completed(.cannotConnectToHost)])
    }

    @Test("With waitsForConnectivity the task waits for the port")
    func connectivity() async throws {
        let port = try DeadPort()
        let stage = try await StreamStage { $0.waitsForConnectivity = true }
        let task = stage.session.streamTask(withHostName: "127.0.0.1", port: Int(port.number)).resumed()
        await stage.witness.wait(for: .waiting)
        let server = try await LoopbackServer.started(port: port.number, stream: .echo)
        defer { server.stop() }
        try await task.write("at last")
        #expect(try await task.text(7) == "at last")
    }

    @Test("Connecting times out after timeoutIntervalForRequest")
    func connectTimeout() async throws {
        let backlog = try #require(FullBacklog())
        let stage = try await StreamStage { $0.timeoutIntervalForRequest = 0.3 }
        stage.session.streamTask(withHostName: "127.0.0.1", port: Int(backlog.port)).resume()
        await stage.witness.completion()
        #expect(stage.witness.error?.code == .timedOut)
    }

    @Test("A silent stream fails after timeoutIntervalForResource, not after timeoutIntervalForRequest")
    func silence() async throws {
        let clock = ManualClock()
        let stage = try await StreamStage(.listening) {
            $0.clock = clock
            $0.timeoutIntervalForRequest = 1
            $0.timeoutIntervalForResource = 100
        }
        let task = stage.open()
        try await task.write("x")
        clock.advance(by: .seconds(50))
        try await task.write("y")
        // The alarm that has rung sets the next one, by the time that it reads.
        await clock.waitForDeadlines()
        clock.advance(by: .seconds(60))
        await stage.witness.completion()
        #expect(stage.witness.error?.code == .timedOut)
    }

    @Test("startSecureConnection fails with an error that names TLS, after the earlier calls")
    func secure() async throws {
        let stage = try await StreamStage(.listening.expect("STARTTLS\r\n").send("220 go\r\n"))
        let task = stage.make()
        let witness = stage.witness
        task.write(Data("STARTTLS\r\n".utf8), timeout: 0) { witness.append("wrote \($0 == nil)") }
        task.readData(ofMinLength: 8, maxLength: 8, timeout: 0) { data, _, _ in
            witness.append("read \(data?.count ?? 0)")
        }
        task.startSecureConnection()
        task.readData(ofMinLength: 1, maxLength: 8, timeout: 0) { _, _, error in
            witness.append("\((error as? URLError)?.code == .unsupportedURL)")
        }
        task.resume()
        await witness.completion()
        #expect(
            witness.events == [
                .handler("wrote true"), .handler("read 8"), .handler("true"), .metrics(transactions: 1),
                .completed(.unsupportedURL),
            ])
        #expect(witness.error?.failureSentence.contains("TLS") == true)
    }

    @Test("A stream task of an invalid session fails")
    func invalidated() async throws {
        let stage = try await StreamStage()
        stage.session.invalidateAndCancel()
        let task = stage.open()
        await #expect(errorCode { try await task.write("x") } == .cancelled)
    }

    @Test("A data task cannot load the URL of a stream task")
    func scheme() async throws {
        let stage = try await StreamStage()
        let url = try #require(URL(string: "tcp://127.0.0.1:\(stage.server.port)/"))
        await #expect(errorCode { _ = try await stage.session.data(from: url) } == .unsupportedURL)
        #expect(stage.server.acceptedConnections == 0)
    }
}

import Foundation
import Purl
import PurlTesting
import Testing

@Suite("A stream that cannot be opened is an error", .timeLimit(.minutes(5)))
struct StreamFailureTests {
    private static let names = [
        "", " ", "a b", "a/b", "a?b", "a#b", "user@host", "a%62c", "[127.0.0.1]", "[", "]", "[]", "::g", ":", "a:80",
        "1::2::3", "a\nb", "a\0b", "a\\b", String(repeating: "a", count: 256),
    ]

    @Test("What names no host fails as a bad URL, and so do the reads and writes", arguments: names)
    func badHost(host: String) async throws {
        let stage = try await StreamStage()
        let task = stage.session.streamTask(withHostName: host, port: 80)
        task.resume()
        await #expect(errorCode { _ = try await task.text(1) } == .badURL)
        await stage.witness.completion()
        #expect(stage.witness.events.last == .completed(.badURL))
        #expect(stage.witness.error?.localizedDescription.isEmpty == false)
        stage.session.invalidateAndCancel()
    }

    @Test("So does what is no port", arguments: [0, -1, 65_536, .max, .min])
    func badPort(port: Int) async throws {
        let stage = try await StreamStage()
        let task = stage.session.streamTask(withHostName: "127.0.0.1", port: port)
        task.resume()
        await stage.witness.completion()
        #expect(stage.witness.events.last == .completed(.badURL))
        #expect(stage.witness.error?.localizedDescription.contains("\(port)") == true)
        stage.session.invalidateAndCancel()
    }

    @Test("A host that nobody knows")
    func unknownHost() async throws {
        let stage = try await StreamStage()
        let task = stage.session.streamTask(withHostName: "nobody.invalid", port: 80)
        task.resume()
        await stage.witness.completion()
        let codes: [URLError.Code] = [.cannotFindHost, .dnsLookupFailed]
        #expect(codes.contains(try #require(stage.witness.error).code))
        #expect(stage.witness.error?.failingURL?.absoluteString == "tcp://nobody.invalid:80")
        stage.session.invalidateAndCancel()
    }

    @Test("A port where nobody listens")
    func refused() async throws {
        let port = try DeadPort()
        let stage = try await StreamStage()
        let task = stage.session.streamTask(withHostName: "127.0.0.1", port: Int(port.number))
        task.resume()
        await #expect(errorCode { try await task.write("x") } == .cannotConnectToHost)
        await stage.witness.completion()
        #expect(stage.witness.events == [.metrics(transactions: 1), .completed(.cannotConnectToHost)])
        stage.session.invalidateAndCancel()
    }

    @Test("A session that waits for connectivity waits for the port")
    func connectivity() async throws {
        let port = try DeadPort()
        let stage = try await StreamStage { $0.waitsForConnectivity = true }
        let task = stage.session.streamTask(withHostName: "127.0.0.1", port: Int(port.number))
        task.resume()
        await stage.witness.wait(for: .waiting)
        let server = try await LoopbackServer.started(port: port.number, stream: .echo)
        defer { server.stop() }
        try await task.write("at last")
        #expect(try await task.text(7) == "at last")
        stage.session.invalidateAndCancel()
    }

    @Test("A connection that does not come about has the time of a request")
    func connectTimeout() async throws {
        let backlog = try #require(FullBacklog())
        let stage = try await StreamStage { $0.timeoutIntervalForRequest = 0.3 }
        let task = stage.session.streamTask(withHostName: "127.0.0.1", port: Int(backlog.port))
        task.resume()
        await stage.witness.completion()
        #expect(stage.witness.error?.code == .timedOut)
        stage.session.invalidateAndCancel()
    }

    @Test("A silent stream outlives the time of a request, but not that of a resource")
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
        clock.advance(by: .seconds(60))
        await stage.witness.completion()
        #expect(stage.witness.error?.code == .timedOut)
    }

    @Test("A secure connection is an error that names TLS, once everything before it has come about")
    func secure() async throws {
        let stage = try await StreamStage(.listening.expect("STARTTLS\r\n").send("220 go\r\n"))
        let task = stage.make()
        let witness = stage.witness
        task.write(Data("STARTTLS\r\n".utf8), timeout: 0) { witness.note("wrote \($0 == nil)") }
        task.readData(ofMinLength: 8, maxLength: 8, timeout: 0) { data, _, _ in witness.note("read \(data?.count ?? 0)")
        }
        task.startSecureConnection()
        task.readData(ofMinLength: 1, maxLength: 8, timeout: 0) { _, _, error in
            witness.note("\((error as? URLError)?.code == .unsupportedURL)")
        }
        task.resume()
        await witness.completion()
        #expect(
            witness.events == [
                .note("wrote true"), .note("read 8"), .note("true"), .metrics(transactions: 1),
                .completed(.unsupportedURL),
            ])
        #expect(witness.error?.localizedDescription.contains("TLS") == true)
    }

    @Test("A task of a session that has been invalidated fails")
    func invalidated() async throws {
        let stage = try await StreamStage()
        stage.session.invalidateAndCancel()
        let task = stage.open()
        await #expect(errorCode { try await task.write("x") } == .cancelled)
    }

    @Test("No task loads a URL that stands for a stream")
    func scheme() async throws {
        let stage = try await StreamStage()
        let url = try #require(URL(string: "tcp://127.0.0.1:\(stage.server.port)/"))
        await #expect(errorCode { _ = try await stage.session.data(from: url) } == .unsupportedURL)
        #expect(stage.server.acceptedConnections == 0)
        stage.session.invalidateAndCancel()
    }
}

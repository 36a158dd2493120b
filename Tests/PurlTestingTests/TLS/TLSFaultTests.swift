import Foundation
import Purl
import PurlTLS
import PurlTesting
import Testing

@Suite("Faults in TLS", .enabled(if: TestAuthority.isAvailable), .timeLimit(.minutes(5)))
struct TLSFaultTests {
    // MARK: The handshake

    static let handshakeFaults: [ServerTLS.HandshakeFault] = [
        .cut, .reset, .alert(.handshakeFailure), .plainText("HTTP/1.1 400 Bad Request\r\n\r\n"), .wrongLength(0xFFFF),
        .flippedBit(at: 100),
    ]

    @Test(
        "A fault in the first handshake fails that load and sends no request; the next load succeeds",
        arguments: handshakeFaults, ServerTLS.HandshakePhase.allCases)
    func handshakes(fault: ServerTLS.HandshakeFault, phase: ServerTLS.HandshakePhase) async throws {
        let server = try LoopbackServer(tls: ServerTLS(authority).fault(fault, at: phase, times: 1))
        let url = server.route("/file", .text("hello"))
        let session = try secureSession()
        let first = await outcome(of: url, in: session)
        let codes: [URLError.Code] = [.secureConnectionFailed, .networkConnectionLost]
        // A client that has finished its handshake may try again on a connection that broke without an answer.
        if phase != .afterFirstFlight { #expect(first.code.map(codes.contains) == true) }
        #expect(await outcome(of: url, in: session) == .success(Data("hello".utf8)))
        await server.wait { $0.unansweredRequests == 0 }
        #expect(server.record.handshakes.count >= 1)
    }

    @Test("A handshake that stalls continues when its gate opens", arguments: ServerTLS.HandshakePhase.allCases)
    func stalledHandshake(phase: ServerTLS.HandshakePhase) async throws {
        let gate = ServerGate()
        let server = try LoopbackServer(tls: ServerTLS(authority).fault(.stall(until: gate), at: phase))
        let url = server.route("/file", .text("hello"))
        let session = try secureSession()
        async let load = session.data(from: url)
        await gate.reached()
        #expect(server.handshakes.isEmpty)
        gate.open()
        #expect(try await load.0 == Data("hello".utf8))
    }

    @Test("A client that leaves during a handshake is recorded")
    func leaving() async throws {
        let gate = ServerGate()
        let server = try LoopbackServer(tls: ServerTLS(authority).fault(.stall(until: gate), at: .beforeFirstFlight))
        let url = server.route("/file", .text("hello"))
        let session = try secureSession()
        let load = Task { await outcome(of: url, in: session).code }
        await gate.reached()
        load.cancel()
        #expect(await load.value == .cancelled)
        await server.waitUntilDisconnected()
        #expect(server.record.failedHandshakes.count == 1)
        gate.open()
    }

    @Test("A client that leaves during a handshake is noticed also by a script that does not read")
    func leavingUnread() async throws {
        let (handshake, reading) = (ServerGate(), ServerGate())
        let tls = ServerTLS(authority).fault(.stall(until: handshake), at: .afterFirstFlight)
        let server = try LoopbackServer(
            stream: .listening.notReading(until: reading).send("hello").waitForEnd(), tls: tls)
        let url = server.route("/file", .text("never"))
        let session = try secureSession()
        let load = Task { await outcome(of: url, in: session).code }
        await handshake.reached()
        load.cancel()
        #expect(await load.value == .cancelled)
        await server.waitUntilDisconnected()
        #expect(server.streams.map(\.ending) == [.clientLeft])
    }

    @Test("A client without TLS gets the end of the stream, and is recorded")
    func plainClient() async throws {
        let server = try LoopbackServer(tls: authority)
        let client = try RawClient(to: server)
        await client.get("/file")
        #expect(await client.readToEnd().end == .closed)
        #expect(server.requests == [])
        #expect(server.record.failedHandshakes == ["http request"])
    }

    // MARK: The records

    static let recordFaults: [(Reply.RecordFault, URLError.Code)] = [
        (.truncated, .networkConnectionLost), (.closeNotify, .networkConnectionLost),
        (.wrongLength(0xFFFF), .secureConnectionFailed), (.flippedBit, .secureConnectionFailed),
    ]

    @Test("A fault in the records is the load's failure, and a download resumes behind it", arguments: recordFaults)
    func records(fault: Reply.RecordFault, code: URLError.Code) async throws {
        let server = try LoopbackServer(tls: authority)
        let content = GeneratedContent(size: 1 << 20, seed: 4)
        let reply = Reply.generated(content).entityTag("\"v1\"")
        let url = server.route("/film", reply.fault(.record(fault), at: .afterBodyBytes(300_000), times: 1))
        let session = try secureSession()
        let error = await #expect(throws: URLError.self) { try await session.download(from: url) }
        #expect(error?.code == code)
        if let data = error?.downloadTaskResumeData {
            let (file, _) = try await session.download(resumeFrom: data)
            defer { try? FileManager.default.removeItem(at: file) }
            #expect(content.matches(try Data(contentsOf: file)))
            #expect(server.requests.last?.fields["Range"] == "bytes=300000-")
        } else {
            Issue.record("no resume data")
        }
    }

    @Test("The end of the stream ends a body with close_notify alone", arguments: [false, true])
    func untilClose(isTruncated: Bool) async throws {
        let server = try LoopbackServer(tls: authority)
        let reply = Reply.generated(size: 50_000).untilClose()
        let url = server.route(
            "/file", isTruncated ? reply.fault(.record(.truncated), at: .afterBodyBytes(50_000)) : reply)
        let outcome = await outcome(of: url, in: try secureSession())
        #expect(outcome.code == (isTruncated ? .networkConnectionLost : nil))
    }

    @Test("A record that stalls in its middle continues when its gate opens")
    func stalledRecord() async throws {
        let gate = ServerGate()
        let server = try LoopbackServer(tls: authority)
        let url = server.route(
            "/file", .generated(size: 300_000).fault(.record(.stalled(until: gate)), at: .afterBodyBytes(100_000)))
        let session = try secureSession()
        async let load = session.data(from: url)
        await gate.reached()
        #expect(server.requests.map(\.ending) == [nil])
        gate.open()
        #expect(try await load.0.count == 300_000)
    }

    @Test("A client that leaves while a record stalls is noticed")
    func leavingStalledRecord() async throws {
        let gate = ServerGate()
        let server = try LoopbackServer(tls: authority)
        let url = server.route(
            "/file", .generated(size: 300_000).fault(.record(.stalled(until: gate)), at: .afterBodyBytes(100_000)))
        let session = try secureSession()
        let load = Task { await outcome(of: url, in: session).code }
        await gate.reached()
        load.cancel()
        #expect(await load.value == .cancelled)
        await server.waitUntilDisconnected()
        #expect(server.requests.map(\.ending) == [.clientLeft])
    }

    @Test("Faults in the records do nothing without TLS", arguments: recordFaults.map(\.0))
    func withoutTLS(fault: Reply.RecordFault) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(size: 50_000).fault(.record(fault), at: .midBody))
        #expect(await outcome(of: url, in: try secureSession()) == .success(GeneratedContent(size: 50_000).data))
    }
}

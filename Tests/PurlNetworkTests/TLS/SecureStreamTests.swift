import Faults
import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Streams that become secure", .timeLimit(.minutes(5)))
struct SecureStreamTests {
    private func task(_ stage: SecureStage, in session: URLSession) -> URLSessionStreamTask {
        let task = session.streamTask(withHostName: "127.0.0.1", port: Int(stage.port)).resumed()
        return task
    }

    @Test("startSecureConnection takes effect after the reads and writes before it; those after it are secure")
    func order() async throws {
        let stage = try await SecureStage(
            { $0.plainBytes = (fromClient: 10, fromServer: 8) },
            stream: .listening.expect("STARTTLS\r\n").send("220 go\r\n").expect("secret").send("secret")
                .expect("still").send("still"))
        let witness = StreamWitness()
        let session = stage.session(witness)
        let task = task(stage, in: session)
        task.write(Data("STARTTLS\r\n".utf8), timeout: 0) { _ in witness.append("wrote") }
        task.readData(ofMinLength: 8, maxLength: 8, timeout: 0) { data, _, _ in
            witness.append(data.map { String(decoding: $0, as: UTF8.self) } ?? "nothing")
        }
        task.startSecureConnection()
        try await task.write("secret")
        #expect(try await task.text(6) == "secret")
        task.stopSecureConnection()
        try await task.write("still")
        #expect(try await task.text(5) == "still")
        await witness.wait(for: .handler("220 go\r\n"))
        #expect(witness.events.prefix(2) == [.handler("wrote"), .handler("220 go\r\n")])
        #expect(stage.gate.seen.contentBytes == 11)
        #expect(stage.provider.requests.map(\.applicationProtocols) == [[]])
        task.closeWrite()
        task.closeRead()
        await witness.completion()
        #expect(witness.error == nil)
        let transaction = try #require(witness.metrics.last?.transactionMetrics.first)
        #expect(transaction.negotiatedTLSProtocolVersion == .TLSv13)
        #expect(transaction.secureConnectionStartDate != nil)
    }

    @Test("What the server has sent in the open and no read has taken does not pass for secure content")
    func injection() async throws {
        let stage = try await SecureStage(
            { $0.plainBytes = (fromClient: 0, fromServer: 14) }, stream: .listening.send("220 go\r\n+evil\n"))
        let witness = StreamWitness()
        let session = stage.session(witness)
        let task = task(stage, in: session)
        #expect(try await task.text(8) == "220 go\r\n")
        task.startSecureConnection()
        let code = await errorCode { _ = try await task.text(1) }
        #expect(code == .secureConnectionFailed)
        await witness.completion()
    }

    @Test("A stream whose server is not trusted ends, and nothing is written", arguments: SecureLayer.available)
    func untrusted(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer, problem: .expired, stream: .echo)
        let witness = StreamWitness()
        let session = stage.session(witness)
        let task = task(stage, in: session)
        task.startSecureConnection()
        let code = await errorCode { try await task.write("secret") }
        #expect(code == .serverCertificateHasBadDate)
        await witness.completion()
        #expect(witness.error?.code == .serverCertificateHasBadDate)
        if layer == .feigned { #expect(stage.gate.seen.contentBytes == 0) }
        #expect(stage.server.streams.allSatisfy { $0.byteCount == 0 })
    }

    @Test("The delegate is asked about a stream's server", arguments: SecureLayer.available)
    func trust(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer, problem: .expired, stream: .echo)
        let delegate = SessionTrustDelegate()
        let session = stage.session(delegate)
        let task = task(stage, in: session)
        task.startSecureConnection()
        try await task.write("hello")
        #expect(try await task.text(5) == "hello")
        #expect(delegate.answers.calls == ["session"])
    }

    @Test("A stream that is secure stays so when it is to become secure again", arguments: SecureLayer.available)
    func again(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer, stream: .echo)
        let session = stage.session()
        let task = task(stage, in: session)
        task.startSecureConnection()
        task.startSecureConnection()
        for text in ["hello", "again"] {
            try await task.write(text)
            #expect(try await task.text(5) == text)
            task.startSecureConnection()
        }
        #expect(stage.server.streams.map(\.byteCount) == [10])
    }

    @Test(
        "A stream that takes no more writes does not become secure: no handshake follows the half of a write",
        arguments: [
            (true, "An earlier write could not be finished, so nothing can follow it."),
            (false, "The stream is closed for writing."),
        ])
    func unwritable(cutsShort: Bool, sentence: String) async throws {
        let deaf = ServerGate()
        defer { deaf.open() }
        let stage = try await SecureStage(
            { $0.plainBytes = (fromClient: .max, fromServer: 0) }, stream: .listening.notReading(until: deaf))
        let witness = StreamWitness()
        let session = stage.session(witness)
        let task = session.streamTask(withHostName: "127.0.0.1", port: Int(stage.port))
        if cutsShort {
            task.resume()
            // The connection is open, so that only writing takes time.
            try await task.write("x")
            let code = await errorCode { try await task.write(Data(count: SocketRoom.overflowingSize), timeout: 0.3) }
            #expect(code == .timedOut)
        } else {
            task.closeWrite()
        }
        task.startSecureConnection()
        // The gate closes a connection that is closed for writing: the next step must be known by then.
        task.resume()
        await witness.completion()
        #expect(witness.error?.failureSentence == sentence)
        #expect(stage.gate.seen.hellos.isEmpty && stage.provider.requests.isEmpty)
    }

    @Test("A stream that is cancelled in its handshake closes the connection")
    func cancelling() async throws {
        let stage = try await SecureStage({ $0.handshake = .stalled }, stream: .echo)
        let witness = StreamWitness()
        let session = stage.session(witness)
        let task = task(stage, in: session)
        task.startSecureConnection()
        await stage.gate.wait { !$0.hellos.isEmpty }
        task.cancel()
        await witness.completion()
        #expect(witness.error?.code == .cancelled)
        await stage.gate.wait { $0.open == 0 }
    }

    @Test("The end of a secure stream without close_notify is an error, and with it the end", arguments: [false, true])
    func end(truncates: Bool) async throws {
        let stage = try await SecureStage(
            { $0.truncates = truncates }, stream: .listening.expect("go").send("bye").finish())
        let witness = StreamWitness()
        let session = stage.session(witness)
        let task = task(stage, in: session)
        task.startSecureConnection()
        try await task.write("go")
        #expect(try await task.text(3) == "bye")
        if truncates {
            let code = await errorCode { _ = try await task.text(1) }
            #expect(code == .networkConnectionLost)
            await witness.completion()
            #expect(witness.error?.failureSentence.contains("close_notify") == true)
        } else {
            #expect(try await task.readData(ofMinLength: 1, maxLength: 1, timeout: 0) == (nil, true))
            task.closeWrite()
            await witness.completion()
            #expect(witness.error == nil)
            await stage.gate.wait { $0.closeNotifies == 1 }
        }
    }

    @Test("A secure stream cannot be captured", arguments: SecureLayer.available)
    func capture(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer, stream: .echo)
        let witness = StreamWitness()
        let session = stage.session(witness)
        let task = task(stage, in: session)
        task.startSecureConnection()
        task.captureStreams()
        await witness.completion()
        #expect(witness.error?.code == .resourceUnavailable)
    }
}

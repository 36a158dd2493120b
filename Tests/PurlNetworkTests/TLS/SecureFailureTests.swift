import Faults
import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@testable import PurlIO
@testable import SessionFixtures

@Suite("Secure connections that fail", .timeLimit(.minutes(5)))
struct SecureFailureTests {
    // MARK: The handshake

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let handshake: FakeGate.Script.Handshake
        let code: URLError.Code
        let word: String

        init(_ description: String, _ handshake: FakeGate.Script.Handshake, _ code: URLError.Code, _ word: String) {
            (testDescription, self.handshake, self.code, self.word) = (description, handshake, code, word)
        }
    }

    static let handshakes: [Row] = [
        Row("plain HTTP", .inTheOpen, .secureConnectionFailed, "does not speak TLS"),
        Row("closed", .closed, .networkConnectionLost, "during the TLS handshake"),
        Row("reset", .reset, .networkConnectionLost, "during the TLS handshake"),
        Row("not TLS", .alert(.notTLS), .secureConnectionFailed, "does not speak TLS"),
        Row("no agreement", .alert(.noAgreement), .secureConnectionFailed, "version or cipher suite"),
        Row("refused", .alert(.refused), .secureConnectionFailed, "refuses to make a secure connection"),
        Row("certificate required", .alert(.certificateRequired), .clientCertificateRequired, "requires a certificate"),
        Row("certificate rejected", .alert(.certificateRejected), .clientCertificateRejected, "rejected the client"),
        Row("malformed", .alert(.malformed), .secureConnectionFailed, "broken"),
        Row("unusable", .alert(.unusableSettings), .secureConnectionFailed, "cannot use the settings"),
    ]

    @Test("Each failure of a handshake has its code and its sentence, and no request is sent", arguments: handshakes)
    func handshake(row: Row) async throws {
        let stage = try await SecureStage { $0.handshake = row.handshake }
        let url = stage.route("/file", .text("hello"))
        let outcome = try await LoadForm.dataDelegate.load(url) { $0.tlsProvider = stage.provider }
        outcome.expectFailure(row.code, at: url)
        #expect(outcome.sentence.contains(row.word))
        #expect(stage.server.requests == [])
        await stage.gate.wait { $0.open == 0 }
    }

    @Test("A provider that makes no session is a failure")
    func refusal() async throws {
        let stage = try await SecureStage(
            provider: FakeProvider { $0.refusal = TLSError(.unusableSettings, reason: "no such file") })
        let url = stage.route("/file", .text("hello"))
        let outcome = try await LoadForm.dataAsync.load(url) { $0.tlsProvider = stage.provider }
        outcome.expectFailure(.secureConnectionFailed, at: url)
        #expect(outcome.sentence.contains("no such file"))
    }

    @Test("A protocol that was not offered is a failure")
    func unaskedProtocol() async throws {
        let stage = try await SecureStage(provider: FakeProvider { $0.applicationProtocol = "h2" })
        let url = stage.route("/file", .text("hello"))
        let outcome = try await LoadForm.dataAsync.load(url) { $0.tlsProvider = stage.provider }
        outcome.expectFailure(.secureConnectionFailed, at: url)
        #expect(outcome.sentence.contains("h2"))
        #expect(stage.server.requests == [])
    }

    // MARK: Trust

    static let problems: [(TLSTrust.Problem, URLError.Code, String)] = [
        (.wrongHost, .serverCertificateUntrusted, "not one for “127.0.0.1”"),
        (.expired, .serverCertificateHasBadDate, "has expired"),
        (.notYetValid, .serverCertificateNotYetValid, "not valid yet"),
        (.unknownRoot, .serverCertificateHasUnknownRoot, "no root"),
        (.revoked, .serverCertificateUntrusted, "revoked"),
        (.invalid, .serverCertificateUntrusted, "invalid"),
    ]

    @Test(
        "Each problem with a server has its code and its sentence, and the error has the certificates",
        arguments: problems)
    func problem(problem: TLSTrust.Problem, code: URLError.Code, word: String) async throws {
        let stage = try await SecureStage(provider: FakeProvider { $0.problem = { _ in problem } })
        let url = stage.route("/file", .text("hello"))
        let outcome = try await LoadForm.dataHandler.load(url) { $0.tlsProvider = stage.provider }
        outcome.expectFailure(code, at: url)
        #expect(outcome.sentence.contains(word))
        #expect(outcome.sentence.contains("\(problem)"))
        let trust = try #require(outcome.error?.userInfo[NSURLErrorFailingURLPeerTrustErrorKey] as? TLSTrust)
        #expect(trust.problem == problem)
        #expect(trust.certificates == [Data("certificate of 127.0.0.1".utf8)])
        #expect(stage.server.requests == [])
    }

    // MARK: The end of the stream

    enum Framing: String, CaseIterable, Sendable {
        case length, chunked, untilClose

        var reply: Reply {
            let reply = Reply.generated(size: 50_000)
            return switch self {
            case .length: reply
            case .chunked: reply.chunked()
            case .untilClose: reply.untilClose()
            }
        }
    }

    @Test(
        "Without close_notify a body is whole where its length says so, and cut off where the end of the stream is its end",
        arguments: Framing.allCases, [false, true])
    func truncation(framing: Framing, truncates: Bool) async throws {
        let stage = try await SecureStage { $0.truncates = truncates }
        let url = stage.route("/file", framing.reply.field("Connection", "close"))
        let outcome = try await LoadForm.dataAsync.load(url) { $0.tlsProvider = stage.provider }
        if truncates, framing == .untilClose {
            outcome.expectFailure(.networkConnectionLost, at: url)
            #expect(outcome.sentence.contains("close_notify"))
        } else {
            #expect(outcome.error == nil)
            #expect(outcome.body?.count == 50_000)
        }
    }

    @Test("A body with a length that ends too soon is cut off, with close_notify or without", arguments: [false, true])
    func shortBody(truncates: Bool) async throws {
        let stage = try await SecureStage { $0.truncates = truncates }
        let url = stage.route("/file", .generated(size: 50_000).cut(afterBytes: 20_000))
        let outcome = try await LoadForm.dataAsync.load(url) { $0.tlsProvider = stage.provider }
        outcome.expectFailure(.networkConnectionLost, at: url)
    }

    @Test(
        "An idle connection that the server has closed is replaced, whichever way it was closed",
        arguments: [false, true])
    func idleEnd(truncates: Bool) async throws {
        let stage = try await SecureStage { $0.truncates = truncates }
        let url = stage.route("/file", .text("hello"))
        let session = stage.session()
        _ = try await session.data(from: url)
        stage.server.closeConnections()
        await stage.gate.wait { $0.open == 0 }
        #expect(try await session.data(from: url).0 == Data("hello".utf8))
        #expect(stage.gate.seen.hellos.count == 2)
    }

    @Test("An alert in place of a response has its code, also where the certificate is asked for after the handshake")
    func lateAlert() async throws {
        let stage = try await SecureStage { $0.alertForContent = .certificateRequired }
        let url = stage.route("/file", .text("hello"))
        let outcome = try await LoadForm.dataAsync.load(url) { $0.tlsProvider = stage.provider }
        outcome.expectFailure(.clientCertificateRequired, at: url)
    }

    @Test("Garbage in the middle of a response is a failure, and an alert goes out")
    func garbage() async throws {
        let stage = try await SecureStage { $0.afterContent = [99, 99, 99] }
        let url = stage.route("/file", .generated(size: 2_000_000))
        let outcome = try await LoadForm.dataAsync.load(url) { $0.tlsProvider = stage.provider }
        outcome.expectFailure(.secureConnectionFailed, at: url)
    }

    // MARK: Time and cancelling

    @Test("A handshake that stalls ends with the request's time-out")
    func stalled() async throws {
        let stage = try await SecureStage { $0.handshake = .stalled }
        let url = stage.route("/file", .text("hello"))
        let clock = ManualClock()
        let witness = Witness()
        let session = stage.session(witness) {
            $0.clock = clock
            $0.timeoutIntervalForRequest = 60
        }
        let task = session.dataTask(with: url).resumed()
        await stage.gate.wait { !$0.hellos.isEmpty }
        await NetworkThread.settle()
        clock.advance(by: .seconds(59))
        await NetworkThread.settle()
        #expect(witness.events == [])
        clock.advance(by: .seconds(2))
        await witness.completion()
        #expect(witness.error(of: task)?.code == .timedOut)
        await stage.gate.wait { $0.open == 0 }
    }

    @Test("A task that is cancelled in its handshake closes the connection")
    func cancelling() async throws {
        let stage = try await SecureStage { $0.handshake = .stalled }
        let url = stage.route("/file", .text("hello"))
        let witness = Witness()
        await stage.expectCancelling(url, in: stage.session(witness), witness)
    }

    @Test("The place of a task that was cancelled in its handshake is the next task's")
    func place() async throws {
        let stage = try await SecureStage { $0.handshake = .stalled }
        let url = stage.route("/file", .text("hello"))
        let session = stage.session { $0.httpMaximumConnectionsPerHost = 1 }
        let tasks = (0..<3).map { _ in session.dataTask(with: url) { _, _, _ in } }
        for (index, task) in tasks.enumerated() {
            task.resume()
            await stage.gate.wait { $0.hellos.count == index + 1 }
            task.cancel()
        }
        #expect(stage.gate.seen.hellos.count == 3)
    }
}

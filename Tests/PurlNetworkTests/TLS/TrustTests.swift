import Faults
import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The question whether a server is trusted", .timeLimit(.minutes(5)))
struct TrustTests {
    private func outcome(
        _ delegate: any URLSessionDelegate, over layer: SecureLayer, problem: TLSTrust.Problem?
    ) async throws -> (code: URLError.Code?, stage: SecureStage) {
        let stage = try await SecureStage(over: layer, problem: problem)
        let url = stage.route("/file", .text("hello"))
        let session = stage.session(delegate)
        defer { session.finishTasksAndInvalidate() }
        do {
            _ = try await session.data(from: url)
            return (nil, stage)
        } catch {
            return ((error as? URLError)?.code, stage)
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let answer: TrustAnswers.Answer
        let problem: TLSTrust.Problem?
        let code: URLError.Code?
    }

    static let rows: [Row] = [
        Row(
            testDescription: "default, trusted", answer: TrustAnswers.disposition(.performDefaultHandling),
            problem: nil,
            code: nil),
        Row(
            testDescription: "default, untrusted", answer: TrustAnswers.disposition(.performDefaultHandling),
            problem: .unknownRoot, code: .serverCertificateHasUnknownRoot),
        Row(testDescription: "accepted, untrusted", answer: TrustAnswers.accept, problem: .unknownRoot, code: nil),
        Row(
            testDescription: "no credential, untrusted", answer: TrustAnswers.disposition(.useCredential),
            problem: .expired, code: .serverCertificateHasBadDate),
        Row(
            testDescription: "another server's credential",
            answer: { _ in (.useCredential, URLCredential(trust: TLSTrust(host: "x", certificates: []))) },
            problem: .expired, code: .serverCertificateHasBadDate),
        Row(
            testDescription: "a password",
            answer: { _ in (.useCredential, URLCredential(user: "a", password: "b", persistence: .none)) },
            problem: .expired, code: .serverCertificateHasBadDate),
        Row(
            testDescription: "cancelled, trusted", answer: TrustAnswers.disposition(.cancelAuthenticationChallenge),
            problem: nil, code: .cancelled),
        Row(
            testDescription: "rejected, trusted", answer: TrustAnswers.disposition(.rejectProtectionSpace),
            problem: nil,
            code: .serverCertificateUntrusted),
    ]

    @Test(
        "The answer decides, with the method about the session or the one about a task", arguments: rows,
        SecureLayer.available)
    func answers(row: Row, layer: SecureLayer) async throws {
        for isAboutSession in [true, false] { try await answer(row, isAboutSession: isAboutSession, over: layer) }
    }

    private func answer(_ row: Row, isAboutSession: Bool, over layer: SecureLayer) async throws {
        let session = SessionTrustDelegate(row.answer)
        let task = TaskTrustDelegate(row.answer)
        let (code, stage) = try await outcome(isAboutSession ? session : task, over: layer, problem: row.problem)
        #expect(code == row.code)
        #expect((isAboutSession ? session.answers : task.answers).calls == [isAboutSession ? "session" : "task"])
        #expect(stage.server.requests.count == (row.code == nil ? 1 : 0))
    }

    @Test("A delegate with both methods is asked with the one about the session", arguments: SecureLayer.available)
    func both(layer: SecureLayer) async throws {
        let delegate = TwofoldTrustDelegate()
        #expect(try await outcome(delegate, over: layer, problem: .invalid).code == nil)
        #expect(delegate.answers.calls == ["session"])
    }

    @Test("The challenge names the server, the method and its certificates", arguments: SecureLayer.available)
    func challenge(layer: SecureLayer) async throws {
        let spaces = LockedValue<[URLProtectionSpace]>([])
        let delegate = SessionTrustDelegate { challenge in
            spaces.withLock { $0.append(challenge.protectionSpace) }
            return (.performDefaultHandling, nil)
        }
        let (code, stage) = try await outcome(delegate, over: layer, problem: .unknownRoot)
        #expect(code == .serverCertificateHasUnknownRoot)
        let space = try #require(spaces.withLock { $0.first })
        #expect(space.host == "127.0.0.1")
        #expect(space.port == Int(stage.port))
        #expect(space.protocol == NSURLProtectionSpaceHTTPS)
        #expect(space.authenticationMethod == NSURLAuthenticationMethodServerTrust)
        #expect(space.realm == nil)
        #expect(!space.isProxy())
        #expect(space.serverTrust?.problem == .unknownRoot)
        if layer == .feigned {
            #expect(space.serverTrust?.certificates == [Data("certificate of 127.0.0.1".utf8)])
        } else {
            #expect(space.serverTrust?.certificates == (try SecureLayer.authority.issue(.unknownRoot).certificates))
        }
    }

    @Test("The question is asked once for a connection, and again for a new one, also if an earlier session is resumed")
    func once() async throws {
        let stage = try await SecureStage(provider: FakeProvider { $0.isResumed = true })
        let url = stage.route("/file", .text("hello"))
        let delegate = SessionTrustDelegate()
        let session = stage.session(delegate)
        for _ in 0..<3 { _ = try await session.data(from: url) }
        #expect(delegate.answers.calls == ["session"])
        stage.server.closeConnections()
        await stage.gate.wait { $0.open == 0 }
        _ = try await session.data(from: url)
        #expect(delegate.answers.calls == ["session", "session"])
    }

    @Test(
        "A task's own delegate is asked before a connection carries its request that another delegate has accepted",
        arguments: SecureLayer.available)
    func sharing(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer, problem: .unknownRoot)
        let url = stage.route("/file", .text("hello"))
        let session = stage.session()
        let lenient = TaskTrustDelegate()
        let strict = TaskTrustDelegate(TrustAnswers.disposition(.performDefaultHandling))
        for _ in 0..<2 { _ = try await session.data(from: url, delegate: lenient) }
        let error = await #expect(throws: URLError.self) { try await session.data(from: url, delegate: strict) }
        #expect(error?.code == .serverCertificateHasUnknownRoot)
        // Without a delegate the provider's verdict counts.
        let other = await #expect(throws: URLError.self) { try await session.data(from: url) }
        #expect(other?.code == .serverCertificateHasUnknownRoot)
        _ = try await session.data(from: url, delegate: lenient)
        #expect(lenient.answers.calls == ["task"])
        #expect(strict.answers.calls == ["task"])
        #expect(stage.hosts.count == 1)
        #expect(stage.server.requests.count == 3)
    }

    @Test(
        "What the session's delegate accepts with its method about the session goes for all tasks",
        arguments: SecureLayer.available)
    func sessionWide(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer, problem: .unknownRoot)
        let url = stage.route("/file", .text("hello"))
        let delegate = SessionTrustDelegate()
        let session = stage.session(delegate)
        let own = TaskTrustDelegate(TrustAnswers.disposition(.rejectProtectionSpace))
        _ = try await session.data(from: url)
        _ = try await session.data(from: url, delegate: own)
        #expect(delegate.answers.calls == ["session"])
        #expect(own.answers.calls == [])
    }

    @Test(
        "A connection that the server closes while another task's delegate thinks is replaced",
        arguments: SecureLayer.available)
    func closedMeanwhile(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        let url = stage.route("/file", .text("hello"))
        let session = stage.session { $0.httpMaximumConnectionsPerHost = 1 }
        let server = stage.server
        let first = TaskTrustDelegate()
        let second = TaskTrustDelegate { challenge in
            server.closeConnections()
            return TrustAnswers.accept(challenge)
        }
        _ = try await session.data(from: url, delegate: first)
        for _ in 0..<2 { _ = try await session.data(from: url, delegate: first) }
        // It closes the first connection while it is asked about that, and the second one while it is asked about that.
        _ = try? await session.data(from: url, delegate: second)
        // The place of neither is lost, and none is counted twice.
        for _ in 0..<3 { #expect(try await session.data(from: url, delegate: first).0 == Data("hello".utf8)) }
    }

    @Test(
        "A task that is cancelled while its delegate thinks closes the connection, and the answer has no effect",
        arguments: SecureLayer.available)
    func cancelling(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        let url = stage.route("/file", .text("hello"))
        let task = LockedValue<URLSessionTask?>(nil)
        let delegate = SessionTrustDelegate { _ in
            task.withLock { $0?.cancel() }
            return (.performDefaultHandling, nil)
        }
        let session = stage.session(delegate)
        let code: URLError.Code? = await withCheckedContinuation { continuation in
            let made = session.dataTask(with: url) { _, _, error in
                continuation.resume(returning: (error as? URLError)?.code)
            }
            task.withLock { $0 = made }
            made.resume()
        }
        #expect(code == .cancelled)
        #expect(stage.server.requests == [])
        await stage.waitUntilClosed()
    }

    @Test("A task's delegate is asked before it learns of the end, also when the queue was behind")
    func order() async throws {
        let hasShaken = Watched(false)
        let stage = try await SecureStage(
            provider: FakeProvider {
                $0.problem = { _ in
                    hasShaken.change { $0 = true }
                    return nil
                }
            })
        let url = stage.route("/file", .text("hello"))
        let witness = Witness()
        let session = stage.session(witness)
        session.delegateQueue.isSuspended = true
        let task = session.dataTask(with: url).resumed()
        await hasShaken.wait { $0 }
        // The handshake's thread hands the question over after that.
        await NetworkThread.settle { session.delegateQueue.operationCount > 0 }
        task.cancel()
        for _ in 0..<3 { await NetworkThread.settle() }
        session.delegateQueue.isSuspended = false
        await witness.completion()
        #expect(
            witness.events == [
                .challenge(NSURLAuthenticationMethodServerTrust, nil, failures: 0), .completed(.cancelled),
            ])
    }

    @Test("A credential that accepts a server has no user, and is equal to one for the same certificates")
    func credential() {
        let trust = TLSTrust(host: "a.example", certificates: [Data([1])], problem: .expired)
        let credential = URLCredential(trust: trust)
        #expect(credential.user == nil)
        #expect(credential.password == nil)
        #expect(!credential.hasPassword)
        #expect(credential == URLCredential(trust: trust))
        #expect(credential != URLCredential(trust: TLSTrust(host: "a.example", certificates: [])))
        #expect(credential.description.contains("a.example"))
    }
}

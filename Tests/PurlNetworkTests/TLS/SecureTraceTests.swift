import Foundation
import Purl
import PurlTesting
import Testing

@testable import PurlIO
@testable import SessionFixtures

@Suite("Traces of secure connections", .timeLimit(.minutes(5)))
struct SecureTraceTests {
    @Test("A handshake is recorded with what it has agreed upon, once for a connection")
    func secured() async throws {
        let stage = try await SecureStage { _ in }
        let url = stage.route("/file", .text("hello"))
        let trace = TransferTrace()
        for _ in 1...2 {
            _ = try await LoadForm.dataAsync.load(url) {
                $0.tlsProvider = stage.provider
                $0.trace = trace
            }
        }
        let kinds = trace.events.map(\.kind)
        let begin = try #require(kinds.firstIndex { if case .handshake = $0 { true } else { false } })
        let end = try #require(kinds.firstIndex { if case .secured = $0 { true } else { false } })
        let request = try #require(kinds.firstIndex { if case .requestHead = $0 { true } else { false } })
        #expect(begin < end && end < request)
        guard case .secured(let security) = kinds[end] else { return }
        #expect(security.version.hasPrefix("TLS 1."))
    }

    @Test("The question whether the server is trusted is a call like any other", arguments: [true, false])
    func question(isAboutSession: Bool) async throws {
        let stage = try await SecureStage { _ in }
        let url = stage.route("/file", .text("hello"))
        let trace = TransferTrace()
        let session = stage.session(isAboutSession ? SessionTrustDelegate() : TaskTrustDelegate()) { $0.trace = trace }
        _ = try await session.data(from: url)
        session.finishTasksAndInvalidate()
        let kinds = trace.events.map(\.kind)
        let secured = try #require(kinds.firstIndex { if case .secured = $0 { true } else { false } })
        let began = try #require(
            kinds.firstIndex {
                if case .began(let call) = $0 { call.method == .didReceiveChallenge } else { false }
            })
        let answered = try #require(kinds.firstIndex(of: .answer(.didReceiveChallenge)))
        #expect(secured > answered && answered > began)
        guard case .began(let call) = kinds[began] else { return }
        #expect(call.arguments == .serverTrust(host: "127.0.0.1"))
    }

    @Test("A handshake that fails is recorded with the reason")
    func failed() async throws {
        let stage = try await SecureStage { $0.handshake = .alert(.noAgreement) }
        let url = stage.route("/file", .text("hello"))
        let trace = TransferTrace()
        let outcome = try await LoadForm.dataDelegate.load(url) {
            $0.tlsProvider = stage.provider
            $0.trace = trace
        }
        let reasons = trace.events.compactMap { event in
            if case .handshakeFailed(let reason) = event.kind { reason } else { nil }
        }
        #expect(reasons == [outcome.sentence])
    }
}

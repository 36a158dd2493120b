import Foundation
import MemoryTLS
import Purl
import PurlTLS
import PurlTesting
import Testing

@Suite("Sessions over the system's TLS", .enabled(if: hasOpenSSL), .timeLimit(.minutes(5)))
struct SecureSessionTests {
    private let authority = TestAuthority()

    private func session(_ provider: SystemTLS, delegate: (any URLSessionDelegate)? = nil) -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.tlsProvider = provider
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    /// The code of the failure of a request; `nil` when it is loaded.
    private func failure(
        _ tls: ServerTLS, _ provider: SystemTLS, delegate: (any URLSessionDelegate)? = nil
    ) async throws -> URLError.Code? {
        let server = try LoopbackServer(tls: tls)
        let url = server.route("/", .text("hello"))
        let session = session(provider, delegate: delegate)
        defer { session.invalidateAndCancel() }
        do {
            let (data, _) = try await session.data(from: url)
            #expect(data == Data("hello".utf8))
            return nil
        } catch let error as URLError {
            return error.code
        }
    }

    @Test("Content of any length is loaded and uploaded")
    func content() async throws {
        let server = try LoopbackServer(tls: authority)
        let session = session(try .trusting(authority))
        defer { session.invalidateAndCancel() }
        let content = GeneratedContent(size: 3_000_000)
        let (data, _) = try await session.data(from: server.route("/film", .generated(content)))
        #expect(data.count == 3_000_000)
        #expect(content.matches(data))
        var request = URLRequest(url: server.route("/up", method: "PUT", .text("taken")))
        request.httpMethod = "PUT"
        let (answer, _) = try await session.upload(for: request, from: data)
        #expect(answer == Data("taken".utf8))
        #expect(server.requests.last?.body == data)
    }

    struct Row: CustomTestStringConvertible, Sendable {
        let certificate: TestCertificate
        let code: URLError.Code?
        var testDescription: String { certificate.description }
    }

    @Test(
        "Each wrong certificate is refused with its own code",
        arguments: [
            Row(certificate: .valid, code: nil),
            Row(certificate: .valid.stapling(.good), code: nil),
            Row(certificate: .valid.stapling(.outdated), code: nil),
            Row(certificate: .valid.stapling(.unknown), code: nil),
            Row(certificate: .valid.key(.ed25519), code: nil),
            Row(certificate: .valid.key(.rsa(bits: 2048)), code: nil),
            Row(certificate: .intermediate, code: nil),
            Row(certificate: .expired, code: .serverCertificateHasBadDate),
            Row(certificate: .notYetValid, code: .serverCertificateNotYetValid),
            Row(certificate: .otherHost, code: .serverCertificateUntrusted),
            Row(certificate: .commonNameOnly, code: .serverCertificateUntrusted),
            Row(certificate: .revoked, code: .serverCertificateUntrusted),
            // A response that does not say when the next one comes counts for a week.
            Row(certificate: .valid.stapling(.revoked, undatedFor: 6), code: .serverCertificateUntrusted),
            Row(certificate: .valid.stapling(.revoked, undatedFor: 8), code: nil),
            Row(certificate: .clientOnly, code: .serverCertificateUntrusted),
            Row(certificate: .selfSigned, code: .serverCertificateHasUnknownRoot),
            Row(certificate: .unknownRoot, code: .serverCertificateHasUnknownRoot),
            Row(certificate: .missingIntermediate, code: .serverCertificateHasUnknownRoot),
            Row(certificate: .intermediateWithoutAuthority, code: .serverCertificateUntrusted),
        ])
    func codes(row: Row) async throws {
        let provider = try SystemTLS.trusting(authority)
        #expect(try await failure(ServerTLS(authority, row.certificate), provider) == row.code)
    }

    @Test("A certificate of the client's is sent where the server asks, and missed where it requires one")
    func clientCertificate() async throws {
        let me = try authority.issueClient(name: "me")
        let identity = SystemTLS.Identity.pem(
            certificates: .data(Data(me.certificatesPEM.utf8)), key: .data(Data(try me.privateKeyPEM.utf8)))
        var tls = ServerTLS(authority)
        tls.clientCertificate = .required
        for version in [ServerTLS.Version.tls12, .tls13] {
            tls.minimumVersion = version
            tls.maximumVersion = version
            #expect(try await failure(tls, .trusting(authority) { $0.identity = identity }) == nil)
            let code = try await failure(tls, .trusting(authority))
            // TLS 1.2 has no alert of its own for it.
            #expect(code == (version == .tls13 ? .clientCertificateRequired : .secureConnectionFailed))
            let stranger = try TestAuthority().issueClient(name: "stranger")
            let other = SystemTLS.Identity.pem(
                certificates: .data(Data(stranger.certificatesPEM.utf8)),
                key: .data(Data(try stranger.privateKeyPEM.utf8)))
            let refused = try await failure(tls, .trusting(authority) { $0.identity = other })
            #expect(refused == .clientCertificateRejected)
        }
    }

    @Test("A protocol that was not offered ends the connection")
    func applicationProtocol() async throws {
        var tls = ServerTLS(authority)
        tls.applicationProtocol = .always("h2")
        #expect(try await failure(tls, .trusting(authority)) == .secureConnectionFailed)
        tls.applicationProtocol = .none
        #expect(try await failure(tls, .trusting(authority)) == nil)
        tls.applicationProtocol = .firstOffered(of: ["h2"])
        #expect(try await failure(tls, .trusting(authority)) == .secureConnectionFailed)
    }

    @Test("A delegate has the last word, in either direction")
    func delegate() async throws {
        let provider = try SystemTLS.trusting(authority)
        let accepts = Decision(.useCredential)
        let rejects = Decision(.rejectProtectionSpace)
        #expect(try await failure(ServerTLS(authority, .unknownRoot), provider, delegate: accepts) == nil)
        #expect(
            try await failure(ServerTLS(authority), provider, delegate: rejects) == .serverCertificateUntrusted)
        // What one session's delegate has accepted stands for no other's verdict.
        #expect(
            try await failure(ServerTLS(authority, .unknownRoot), provider) == .serverCertificateHasUnknownRoot)
    }

    @Test("A library or a file that is missing fails the transfer with a sentence that says so")
    func unusable() async throws {
        let server = try LoopbackServer(tls: authority)
        let url = server.route("/", .text("hello"))
        let rows = [
            (SystemTLS(SystemTLS.Options(), libraryFolder: "/nowhere"), "install “libssl3”"),
            (SystemTLS(SystemTLS.Options(roots: .only([.file("/nowhere.pem")]))), "“/nowhere.pem” does not exist"),
        ]
        for (provider, sentence) in rows {
            let session = session(provider)
            defer { session.invalidateAndCancel() }
            let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
            #expect(error?.code == .secureConnectionFailed)
            #expect((error as NSError?)?.localizedFailureReason?.contains(sentence) == true)
            #expect(server.requests.isEmpty)
        }
    }

    @Test("A fault in the handshake ends in one error", arguments: ServerTLS.HandshakePhase.allCases)
    func faults(phase: ServerTLS.HandshakePhase) async throws {
        let faults: [ServerTLS.HandshakeFault] = [
            .cut, .reset, .plainText("HTTP/1.1 400 Bad Request\r\n\r\n"), .flippedBit(at: 0), .flippedBit(at: 60),
        ]
        for fault in faults where !(phase == .afterFirstFlight && fault == .flippedBit(at: 60)) {
            let tls = ServerTLS(authority).fault(fault, at: phase)
            let code = try await failure(tls, .trusting(authority))
            #expect(code == .secureConnectionFailed || code == .networkConnectionLost, "\(fault)")
        }
    }
}

/// Answers every question about a server in the same way.
private final class Decision: NSObject, URLSessionDelegate {
    private let disposition: URLSession.AuthChallengeDisposition

    init(_ disposition: URLSession.AuthChallengeDisposition) {
        self.disposition = disposition
    }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        completionHandler(disposition, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
    }
}

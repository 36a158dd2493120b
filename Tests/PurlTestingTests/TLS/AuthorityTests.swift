import Foundation
import Purl
import PurlTLS
import PurlTesting
import Testing

@Suite("Certificates for tests", .enabled(if: TestAuthority.isAvailable), .timeLimit(.minutes(5)))
struct AuthorityTests {
    @Test("The root is one certificate, in DER, in PEM and in a file, and another authority's is another")
    func root() throws {
        let authority = TestAuthority()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).pem")
        defer { try? FileManager.default.removeItem(at: file) }
        try authority.writeRoot(to: file)
        let pem = try authority.rootPEM
        #expect(try String(contentsOf: file, encoding: .utf8) == pem)
        let lines = pem.split(separator: "\n")
        #expect(lines.first == "-----BEGIN CERTIFICATE-----")
        #expect(lines.last == "-----END CERTIFICATE-----")
        #expect(Data(base64Encoded: lines.dropFirst().dropLast().joined()) == (try authority.rootDER))
        #expect(lines.allSatisfy { $0.utf8.count <= 64 })
        #expect(try authority.rootDER != TestAuthority().rootDER)
    }

    @Test("One description gives one certificate, another one another with a key of its own")
    func identities() throws {
        let authority = TestAuthority()
        let first = try authority.issue(.valid(for: ["a.test"]))
        #expect(try authority.issue(.valid(for: ["a.test"])).certificates == first.certificates)
        let second = try authority.issue(.valid(for: ["b.test"]))
        #expect(second.certificates != first.certificates)
        #expect(second.publicKeyDigest != first.publicKeyDigest)
        #expect(first.publicKeyDigest.count == 32)
        #expect(try first.privateKeyPEM.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        #expect(!first.certificatesPEM.contains("PRIVATE"))
    }

    @Test(
        "As many certificates are sent as the description says",
        arguments: [
            (TestCertificate.valid, 1), (.intermediate, 2), (.missingIntermediate, 1),
            (.intermediateWithoutAuthority, 2), (.selfSigned, 1), (.unknownRoot, 1), (.revoked, 2),
        ])
    func chains(_ certificate: TestCertificate, count: Int) throws {
        #expect(try TestAuthority().issue(certificate).certificates.count == count)
    }

    @Test("An authority that is asked by many threads at once has one root")
    func threads() async throws {
        let authority = TestAuthority()
        try await withThrowingTaskGroup(of: Data.self) { group in
            for number in 0..<64 {
                group.addTask {
                    _ = try authority.issue(.valid(for: ["host-\(number % 8).test"]))
                    return try authority.rootDER
                }
            }
            var roots: Set<Data> = []
            for try await root in group { roots.insert(root) }
            #expect(roots.count == 1)
        }
    }

    @Test("Each description is in words that tell it from the others")
    func descriptions() {
        let all = TestCertificate.wrong + [.valid, .intermediate, .valid.key(.ed25519), .valid.stapling(.good)]
        #expect(Set(all.map(\.description)).count == all.count)
    }

    @Test(
        "A client that trusts the root trusts a certificate that is right",
        arguments: [
            TestCertificate.valid, .valid(for: ["127.0.0.1"]), .intermediate, .valid.key(.rsa(bits: 2048)),
            .valid.key(.p384), .valid.key(.ed25519), .valid.stapling(.good),
            .valid.valid(from: .now - 60, until: .now + 3600),
        ])
    func right(certificate: TestCertificate) async throws {
        let server = try LoopbackServer(tls: authority, certificate: certificate)
        let url = server.route("/file", .text("hello"))
        #expect(await outcome(of: url, in: try secureSession()) == .success(Data("hello".utf8)))
    }

    static let codes: [(TestCertificate, URLError.Code)] = [
        (.expired, .serverCertificateHasBadDate), (.notYetValid, .serverCertificateNotYetValid),
        (.otherHost, .serverCertificateUntrusted), (.selfSigned, .serverCertificateHasUnknownRoot),
        (.unknownRoot, .serverCertificateHasUnknownRoot), (.missingIntermediate, .serverCertificateHasUnknownRoot),
        (.intermediateWithoutAuthority, .serverCertificateUntrusted), (.revoked, .serverCertificateUntrusted),
        (.commonNameOnly, .serverCertificateUntrusted), (.clientOnly, .serverCertificateUntrusted),
    ]

    @Test("What is wrong with a certificate is what the client says, and no request is sent", arguments: codes)
    func wrong(certificate: TestCertificate, code: URLError.Code) async throws {
        let server = try LoopbackServer(tls: authority, certificate: certificate)
        let url = server.route("/file", .text("hello"))
        let outcome = await outcome(of: url, in: try secureSession())
        #expect(outcome.code == code)
        #expect(server.requests == [])
        await server.waitUntilDisconnected()
    }

    @Test("The wrong certificates are those of the table")
    func wrongs() {
        #expect(TestCertificate.wrong == Self.codes.map(\.0))
    }

    @Test("A wildcard is for one label", arguments: [("a.example.test", true), ("a.b.example.test", false)])
    func wildcard(host: String, isTrusted: Bool) async throws {
        let server = try LoopbackServer(.memory, tls: authority, certificate: .valid(for: ["*.example.test"]))
        server.route("/file", .text("hello"))
        let session = try secureSession { $0.connector = server.connector }
        let url = try #require(URL(string: "https://\(host)/file"))
        let outcome = await outcome(of: url, in: session)
        #expect(outcome.code == (isTrusted ? nil : .serverCertificateUntrusted))
    }

    @Test("A certificate is right for whatever host a client asks for by its name")
    func askedHost() async throws {
        let server = try LoopbackServer(.memory, tls: authority)
        server.route("/file", .text("hello"))
        let session = try secureSession { $0.connector = server.connector }
        for host in ["one.test", "two.example", "localhost"] {
            let url = try #require(URL(string: "https://\(host)/file"))
            #expect(await outcome(of: url, in: session) == .success(Data("hello".utf8)))
        }
        #expect(server.handshakes.map(\.serverName) == ["one.test", "two.example", "localhost"])
    }

    @Test("A key can be pinned")
    func pin() async throws {
        let certificate = TestCertificate.valid(for: ["127.0.0.1"])
        let server = try LoopbackServer(tls: authority, certificate: certificate)
        let url = server.route("/file", .text("hello"))
        for isRight in [true, false] {
            let digest =
                isRight ? try authority.issue(certificate).publicKeyDigest : Data(repeating: 1, count: 32)
            let pin = try #require(PublicKeyPin("sha256//\(digest.base64EncodedString())"))
            let session = try secureSession {
                $0.tlsProvider = SystemTLS(
                    SystemTLS.Options(roots: .only([.data(try authority.rootDER)]), pins: [pin]))
            }
            let outcome = await outcome(of: url, in: session)
            #expect((outcome.code == nil) == isRight)
        }
    }
}

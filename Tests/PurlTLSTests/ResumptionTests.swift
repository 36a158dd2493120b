import Foundation
import MemoryTLS
import Purl
import PurlTLS
import PurlTesting
import Testing

@Suite("Resumption of TLS sessions", .enabled(if: hasOpenSSL))
struct ResumptionTests {
    private static let authority = TestAuthority()

    /// Connects several times to one server; returns which connections were resumed.
    private func resumed(
        _ providers: [SystemTLS], _ requests: [TLSConnectionRequest], version: UInt16, certificate: TestCertificate
    ) throws -> [Bool] {
        let functions = try ServerFunctions.shared.get()
        let context = try functions.context(Self.authority.issue(certificate), versions: version...version)
        defer { functions.freeContext(context) }
        return try zip(providers, requests).map { provider, request in
            let pair = try MemoryPair(provider, serverContext: context, request)
            let result = try pair.handshake()
            // With TLS 1.3 what to resume with comes after the handshake.
            _ = try pair.read()
            #expect(!result.trust.certificates.isEmpty)
            return result.isResumed
        }
    }

    private static let versions: [UInt16] = [0x0303, 0x0304]
    private let here = TLSConnectionRequest(host: "localhost", port: 443)

    @Test("Later connections to a server resume its session", arguments: versions)
    func same(version: UInt16) throws {
        let provider = try SystemTLS.trusting(Self.authority)
        let found = try resumed(
            [provider, provider, provider, provider], [here, here, here, here], version: version,
            certificate: .valid(for: ["localhost"]))
        #expect(found == [false, true, true, true])
    }

    @Test("Not with another port, other protocols, other versions or another host", arguments: versions)
    func otherRequest(version: UInt16) throws {
        let others = [
            TLSConnectionRequest(host: "localhost", port: 444),
            TLSConnectionRequest(host: "localhost", port: 443, applicationProtocols: []),
            TLSConnectionRequest(
                host: "localhost", port: 443, minimumVersion: version == 0x0304 ? .TLSv13 : .TLSv12,
                maximumVersion: version == 0x0304 ? .TLSv13 : .TLSv12),
            TLSConnectionRequest(host: "127.0.0.1", port: 443),
        ]
        for other in others {
            let provider = try SystemTLS.trusting(Self.authority)
            let found = try resumed(
                [provider, provider], [here, other], version: version,
                certificate: .valid(for: ["localhost", "127.0.0.1"]))
            #expect(found == [false, false])
        }
    }

    @Test("Not with the settings of another provider", arguments: versions)
    func otherProvider(version: UInt16) throws {
        let lax = try SystemTLS.trusting(Self.authority) { $0.verification = .insecure }
        let strict = try SystemTLS.trusting(Self.authority)
        let found = try resumed(
            [lax, strict, strict], [here, here, here], version: version, certificate: .valid(for: ["localhost"]))
        #expect(found == [false, false, true])
    }

    @Test("Not of a server that was not trusted", arguments: versions)
    func untrusted(version: UInt16) throws {
        let provider = try SystemTLS.trusting(Self.authority)
        let pinned = try SystemTLS.trusting(Self.authority) {
            $0.pins = [PublicKeyPin("sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")!]
        }
        #expect(
            try resumed([provider, provider], [here, here], version: version, certificate: .expired) == [false, false])
        let valid = TestCertificate.valid(for: ["localhost"])
        #expect(try resumed([pinned, pinned], [here, here], version: version, certificate: valid) == [false, false])
    }
}

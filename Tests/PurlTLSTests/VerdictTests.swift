import Foundation
import MemoryTLS
import Purl
import PurlTLS
import PurlTesting
import Testing

@Suite("What the provider says about servers", .enabled(if: hasOpenSSL))
struct VerdictTests {
    private static let authority = TestAuthority()

    struct Row: CustomTestStringConvertible, Sendable {
        let certificate: TestCertificate
        let outcome: MemoryServer.Outcome

        init(_ certificate: TestCertificate, _ outcome: MemoryServer.Outcome) {
            (self.certificate, self.outcome) = (certificate, outcome)
        }

        var testDescription: String { certificate.description }
    }

    @Test(
        "Each certificate has its verdict, with TLS 1.2 and 1.3",
        arguments: [
            Row(.valid(for: ["localhost"]), .trusted),
            Row(.intermediate, .trusted),
            Row(.expired, .problem(.expired)),
            Row(.notYetValid, .problem(.notYetValid)),
            Row(.otherHost, .problem(.wrongHost)),
            Row(.commonNameOnly, .problem(.wrongHost)),
            Row(.selfSigned, .problem(.unknownRoot)),
            Row(.unknownRoot, .problem(.unknownRoot)),
            Row(.missingIntermediate, .problem(.unknownRoot)),
            Row(.intermediateWithoutAuthority, .problem(.invalid)),
            Row(.clientOnly, .problem(.invalid)),
        ], [0x0303, 0x0304] as [UInt16])
    func verdict(row: Row, version: UInt16) throws {
        let identity = try Self.authority.issue(row.certificate)
        let pair = try MemoryPair(.trusting(Self.authority), identity, versions: version...version)
        let result = try pair.handshake()
        #expect(result.trust.problem.map { .problem($0) } ?? .trusted == row.outcome)
        #expect(result.trust.certificates.first == identity.certificates.first)
        #expect(result.version.rawValue == version)
        #expect((result.trust.reason == nil) == (result.trust.problem == nil))
    }

    struct HostRow: CustomTestStringConvertible, Sendable {
        let host: String
        let names: [String]
        let isRight: Bool

        init(_ host: String, _ names: [String], _ isRight: Bool) {
            (self.host, self.names, self.isRight) = (host, names, isRight)
        }

        var testDescription: String { "\(host) with \(names)" }
    }

    @Test(
        "A host is among the names of its certificate, by RFC 9525",
        arguments: [
            HostRow("example.test", ["example.test"], true),
            HostRow("EXAMPLE.test", ["example.TEST"], true),
            HostRow("example.test.", ["example.test"], true),
            HostRow("example.test", ["other.test", "example.test"], true),
            HostRow("www.example.test", ["*.example.test"], true),
            HostRow("example.test", ["*.example.test"], false),
            HostRow("a.www.example.test", ["*.example.test"], false),
            HostRow("www.example.test", ["w*.example.test"], false),
            HostRow("www.example.test", ["*w.example.test"], false),
            HostRow("www.example.test", ["www.*.test"], false),
            HostRow("www.example.test", ["*.*.test"], false),
            HostRow("example.test", ["*.test"], false),
            HostRow("localhost", ["*"], false),
            HostRow("example.test", ["www.example.test"], false),
            HostRow("notexample.test", ["example.test"], false),
            HostRow("my_www.example.test", ["*.example.test"], true),
            HostRow("My_www.example.test.", ["*.EXAMPLE.test"], true),
            HostRow("my_www.example.test", ["my_www.example.test"], true),
            HostRow("www.my_example.test", ["*.my_example.test"], true),
            HostRow("a.my_www.example.test", ["*.example.test"], false),
            HostRow("my_www.example.test", ["my*.example.test"], false),
            HostRow("my_www.example.test", ["*.test"], false),
            HostRow("my_www.test", ["*.test"], false),
            HostRow("xn--mnchen-3ya.test", ["xn--mnchen-3ya.test"], true),
            HostRow("xn--mnchen-3ya.test", ["xn--*.test"], false),
            HostRow("127.0.0.1", ["127.0.0.1"], true),
            HostRow("127.0.0.2", ["127.0.0.1"], false),
            HostRow("::1", ["::1"], true),
            HostRow("::2", ["::1"], false),
            HostRow("0:0:0:0:0:0:0:1", ["::1"], true),
            HostRow("127.0.0.1", ["localhost"], false),
        ])
    func hostName(row: HostRow) throws {
        let identity = try Self.authority.issue(.valid(for: row.names))
        let pair = try MemoryPair(.trusting(Self.authority), identity, host: row.host)
        #expect(pair.outcome == (row.isRight ? .trusted : .problem(.wrongHost)))
    }

    @Test(
        "What cannot be a host's name is refused before anything is sent",
        arguments: ["", ".", ".example.test", "a\0b.test", "bücher.test", "a b", String(repeating: "a", count: 300)])
    func impossibleHost(host: String) throws {
        let provider = try SystemTLS.trusting(Self.authority)
        #expect(throws: TLSError.self) {
            try provider.makeConnection(TLSConnectionRequest(host: host, port: 443))
        }
    }

    @Test("Without verification a server is accepted whatever its certificate is, and its pin still counts")
    func insecure() throws {
        for certificate in [TestCertificate.expired, .unknownRoot, .otherHost, .selfSigned] {
            let identity = try Self.authority.issue(certificate)
            let insecure = try SystemTLS.trusting(Self.authority) { $0.verification = .insecure }
            #expect(try MemoryPair(insecure, identity).outcome == .trusted)
            let pinned = try SystemTLS.trusting(Self.authority) {
                $0.verification = .insecure
                $0.pins = [Self.wrongPin]
            }
            #expect(try MemoryPair(pinned, identity).outcome == .problem(.invalid))
        }
    }

    private static let wrongPin = PublicKeyPin("sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")!

    @Test("A pin is asked for on top of all else")
    func pins() throws {
        let right = try Self.authority.issue(.valid(for: ["localhost"]))
        let pin = try #require(PublicKeyPin("sha256//" + right.publicKeyDigest.base64EncodedString()))
        #expect(pin.sha256 == right.publicKeyDigest)
        func outcome(_ pins: Set<PublicKeyPin>, _ identity: TestIdentity) throws -> MemoryServer.Outcome {
            try MemoryPair(.trusting(Self.authority) { $0.pins = pins }, identity).outcome
        }
        #expect(try outcome([pin], right) == .trusted)
        #expect(try outcome([Self.wrongPin, pin], right) == .trusted)
        #expect(try outcome([Self.wrongPin], right) == .problem(.invalid))
        let expired = try Self.authority.issue(.expired)
        let expiredPin = try #require(PublicKeyPin("sha256//" + expired.publicKeyDigest.base64EncodedString()))
        #expect(try outcome([expiredPin], expired) == .problem(.expired))
    }

    @Test("A certificate that is given as a root is trusted, a server's own too")
    func ownRoot() throws {
        let identity = try Self.authority.issue(.selfSigned)
        let provider = SystemTLS(SystemTLS.Options(roots: .only([.data(identity.certificates[0])])))
        #expect(try MemoryPair(provider, identity).outcome == .trusted)
        let none = SystemTLS(SystemTLS.Options(roots: .only([])))
        #expect(try MemoryPair(none, identity).outcome == .problem(.unknownRoot))
    }

    @Test("More roots are added to the system's")
    func moreRoots() throws {
        let identity = try Self.authority.issue(.valid(for: ["localhost"]))
        let provider = SystemTLS(SystemTLS.Options(roots: .systemAnd([.data(try Self.authority.rootDER)])))
        #expect(try MemoryPair(provider, identity).outcome == .trusted)
        #expect(try MemoryPair(SystemTLS(), identity).outcome == .problem(.unknownRoot))
    }

    @Test("Versions below TLS 1.2 are not offered, whatever the session's settings are")
    func versions() throws {
        let identity = try Self.authority.issue(.valid(for: ["localhost"]))
        for version in [0x0301, 0x0302] as [UInt16] {
            let pair = try MemoryPair(.trusting(Self.authority), identity, versions: version...version) {
                TLSConnectionRequest(host: $0, port: 443, minimumVersion: .TLSv10)
            }
            #expect(pair.outcome == .failed(.noAgreement))
        }
        let provider = try SystemTLS.trusting(Self.authority)
        #expect(throws: TLSError.self) {
            try provider.makeConnection(TLSConnectionRequest(host: "localhost", port: 443, maximumVersion: .TLSv11))
        }
        let newest = try MemoryPair(provider, identity, versions: 0x0303...0x0303) {
            TLSConnectionRequest(host: $0, port: 443, minimumVersion: .TLSv13)
        }
        #expect(newest.outcome == .failed(.noAgreement))
    }

    @Test("Content passes both ways, in pieces of any size")
    func content() throws {
        let identity = try Self.authority.issue(.valid(for: ["localhost"]))
        let pair = try MemoryPair(.trusting(Self.authority), identity)
        _ = try pair.handshake()
        for size in [1, 16_383, 16_384, 16_385, 65_536, 300_000] {
            let content = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            #expect(pair.server.receive(try pair.write(content)) == content)
            // In portions that have nothing to do with the records.
            var received = [UInt8]()
            let ciphertext = pair.server.send(content)
            for start in stride(from: 0, to: ciphertext.count, by: 1000) {
                ciphertext[start..<min(start + 1000, ciphertext.count)].withUnsafeBytes {
                    pair.client.receiveCiphertext($0)
                }
                received += try pair.read()
            }
            #expect(received == content)
        }
        pair.client.finishWriting()
        #expect(!pair.takeCiphertext().isEmpty)
    }
}

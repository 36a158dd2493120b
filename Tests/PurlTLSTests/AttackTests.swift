import Foundation
import MemoryTLS
import Purl
import PurlOpenSSL
import PurlTesting
import Synchronization
import Testing

@testable import PurlTLS

@Suite("What a server or a network does to a client", .enabled(if: hasOpenSSL))
struct AttackTests {
    private static let authority = TestAuthority()

    @Test(
        "What getaddrinfo takes for an address and inet_pton does not is refused, and so is what has a meaning in URLs",
        arguments: [
            "0177.0.0.1", "127.1", "0x7f.0.0.1", "0x7F000001", "2130706433", "1.2.3.4.5", "127.0.0.1..", "a.0x", "a.1",
            "127.0.0.1.", "%31.test", "evil.test%25.example.test", "evil.test/example.test", "a:b", "::1%lo", "[::1]",
            "a@b.test", "a#b.test",
        ])
    func numbers(host: String) throws {
        let provider = try SystemTLS.trusting(Self.authority)
        #expect {
            try provider.makeConnection(TLSConnectionRequest(host: host, port: 443))
        } throws: { error in
            (error as? TLSError)?.kind == .unusableSettings
        }
    }

    @Test("Names with digits are names, and literals are addresses")
    func names() throws {
        #expect(try ServerName("1.2.3.4") == .address([1, 2, 3, 4]))
        #expect(try ServerName("::ffff:1.2.3.4") == .address([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 1, 2, 3, 4]))
        for name in ["1.2.3.4.test", "7zip.test", "a.0xg", "1a", "x0", "_a.test"] {
            #expect(try ServerName(name) == .name(name))
        }
    }

    // MARK: The client's certificate

    /// Answers a server that asks for a certificate; says how the handshake ends.
    private func outcome(
        _ tls: ServerTLS, _ options: (inout SystemTLS.Options) -> Void
    ) async throws -> (URLError.Code?, String?) {
        let me = try Self.authority.issueClient(name: "me")
        let provider = try SystemTLS.trusting(Self.authority) {
            $0.identity = .pem(
                certificates: .data(Data(me.certificatesPEM.utf8)),
                key: .data(Data((try? me.privateKeyPEM)?.utf8 ?? "".utf8)))
            options(&$0)
        }
        var tls = tls
        tls.clientCertificate = .required
        let server = try LoopbackServer(tls: tls)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.tlsProvider = provider
        let session = URLSession(configuration: configuration, delegate: Accepting(), delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        do {
            _ = try await session.data(from: server.route("/", .text("hello")))
            return (nil, nil)
        } catch let error as URLError {
            return (error.code, (error as NSError).localizedFailureReason)
        }
    }

    @Test(
        "A server that is not trusted does not receive the client's certificate, although the delegate accepts it",
        arguments: [TestCertificate.unknownRoot, .expired, .otherHost, .revoked])
    func identity(certificate: TestCertificate) async throws {
        var tls = ServerTLS(Self.authority, certificate)
        tls.minimumVersion = .tls13
        #expect(try await outcome(tls) { _ in }.0 == .clientCertificateRequired)
        tls.minimumVersion = .tls12
        tls.maximumVersion = .tls12
        let (code, reason) = try await outcome(tls) { _ in }
        #expect(code == .secureConnectionFailed)
        #expect(reason?.contains("the client's certificate was withheld") == true)
    }

    @Test("Nor does one whose key is none of the pins; with `insecure` alone it does")
    func identityWithPins() async throws {
        let wrong = try #require(PublicKeyPin("sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="))
        let pinned = try await outcome(ServerTLS(Self.authority)) { $0.pins = [wrong] }
        #expect(pinned.0 == .clientCertificateRequired)
        let lax = try await outcome(ServerTLS(Self.authority, .unknownRoot)) { $0.verification = .insecure }
        #expect(lax.0 == nil)
        let both = try await outcome(ServerTLS(Self.authority, .unknownRoot)) {
            $0.verification = .insecure
            $0.pins = [wrong]
        }
        #expect(both.0 == .clientCertificateRequired)
    }

    // MARK: Hosts that want TLS

    /// Names that lead to this machine.
    private struct Names: HostResolver {
        func addresses(of host: String) async throws -> [String] { ["127.0.0.1"] }
    }

    @Test(
        "Only a server whose certificates were verified can ask for TLS (RFC 6797 §8.1)",
        arguments: [(SystemTLS.Verification.required, true), (.insecure, false)])
    func strictTransport(verification: SystemTLS.Verification, isLearned: Bool) async throws {
        let server = try LoopbackServer(tls: ServerTLS(Self.authority))
        let local = server.route("/", .text("x").field("Strict-Transport-Security", "max-age=1000"))
        let port = try #require(local.port)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.tlsProvider = try SystemTLS.trusting(Self.authority) { $0.verification = verification }
        configuration.resolver = Names()
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        _ = try await session.data(from: try #require(URL(string: "https://site.test:\(port)/")))
        // The server closes a connection in the open.
        let later = try? await session.data(from: try #require(URL(string: "http://site.test:\(port)/")))
        #expect(later?.1.url?.scheme == (isLearned ? "https" : nil))
    }

    // MARK: Answers without end

    @Test("A server that asks for answers and reads none of them fails the connection")
    func flood() throws {
        let identity = try Self.authority.issue(.valid(for: ["localhost"]))
        let pair = try MemoryPair(.trusting(Self.authority), identity, versions: 0x0304...0x0304)
        _ = try pair.handshake()
        _ = try pair.read()
        _ = pair.takeCiphertext()
        var error: TLSError?
        for _ in 0..<100 {
            let asked = pair.server.askForNewKeys(count: 1000)
            asked.withUnsafeBytes { pair.client.receiveCiphertext($0) }
            do { _ = try pair.read() } catch let failure as TLSError {
                error = failure
                break
            }
        }
        #expect(error?.kind == .malformed)
        #expect(error?.reason.contains("asks for more and more answers") == true)
    }

    @Test("As many answers are no reason while the other side takes them")
    func answers() throws {
        let identity = try Self.authority.issue(.valid(for: ["localhost"]))
        let pair = try MemoryPair(.trusting(Self.authority), identity, versions: 0x0304...0x0304)
        _ = try pair.handshake()
        _ = try pair.read()
        var length = 0
        for _ in 0..<50 {
            let asked = pair.server.askForNewKeys(count: 1000)
            asked.withUnsafeBytes { pair.client.receiveCiphertext($0) }
            _ = try pair.read()
            length += pair.takeCiphertext().count
        }
        #expect(length > 1 << 20)
    }

    // MARK: Cipher suites

    @Test("Of TLS 1.2 only suites with new keys of elliptic curves are offered")
    func suites() throws {
        let client = try SystemTLS.trusting(Self.authority).makeConnection(
            TLSConnectionRequest(host: "localhost", port: 443))
        #expect(try client.handshake() == .waiting)
        var hello = [UInt8](repeating: 0, count: 4096)
        _ = hello.withUnsafeMutableBytes { client.sendCiphertext(into: $0) }
        // The record's head, the message's, the version and the random bytes; the session's identifier.
        let start = 5 + 4 + 2 + 32
        let list = start + 1 + Int(hello[start])
        let length = Int(hello[list]) << 8 | Int(hello[list + 1])
        let suites = stride(from: list + 2, to: list + 2 + length, by: 2).map {
            UInt16(hello[$0]) << 8 | UInt16(hello[$0 + 1])
        }
        // TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_AES_128_GCM_SHA256
        #expect(suites.contains(0xC02F) && suites.contains(0x1301))
        // TLS_EMPTY_RENEGOTIATION_INFO_SCSV is not a suite.
        #expect(suites.allSatisfy { [0x13, 0xC0, 0xCC].contains($0 >> 8) || $0 == 0x00FF })
        // TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256
        #expect(!suites.contains(0xCCAA))
    }

    // MARK: Words

    @Test("The end of the connection and the alerts in a handshake are told apart")
    func alerts() throws {
        let rows: [(UInt8, TLSError.Kind, String)] = [
            (0, .refused, "the server has ended the connection during the handshake"),
            (40, .noAgreement, "the alert handshake_failure"), (70, .noAgreement, "the alert protocol_version"),
            (112, .refused, "the alert unrecognized_name"), (80, .refused, "the alert internal_error"),
            (90, .refused, "the alert user_canceled"), (200, .refused, "the alert 200"),
            (116, .certificateRequired, "the alert certificate_required"), (50, .malformed, "the alert decode_error"),
            (48, .certificateRejected, "the alert unknown_ca"),
        ]
        for (number, kind, words) in rows {
            let client = try SystemTLS.trusting(Self.authority).makeConnection(
                TLSConnectionRequest(host: "localhost", port: 443))
            #expect(try client.handshake() == .waiting)
            let record: [UInt8] = [21, 3, 3, 0, 2, number == 0 ? 1 : 2, number]
            record.withUnsafeBytes { client.receiveCiphertext($0) }
            #expect {
                try client.handshake()
            } throws: { error in
                (error as? TLSError)?.kind == kind && (error as? TLSError)?.reason.contains(words) == true
            }
        }
    }

    // MARK: Resumption

    @Test(
        "A server's chain is verified anew after seven days, however often its session was resumed",
        arguments: [0x0303, 0x0304] as [UInt16])
    func resumption(version: UInt16) throws {
        #expect(
            try resumed(.valid(for: ["localhost"]), version, days: [0, 3, 6.9, 7.1, 7.2]) == [
                false, true, true, false, true,
            ])
        // A certificate that ends sooner.
        let short = TestCertificate.valid(for: ["localhost"]).valid(from: .now - 86_400, until: .now + 2 * 86_400)
        #expect(try resumed(short, version, days: [0, 1.9, 2.1]) == [false, true, false])
    }

    private func resumed(_ certificate: TestCertificate, _ version: UInt16, days: [Double]) throws -> [Bool] {
        let start = Date.now
        let time = Mutex(start)
        let provider = SystemTLS(SystemTLS.Options(roots: .only([.data(try Self.authority.rootDER)]))) {
            time.withLock { $0 }
        }
        let functions = try ServerFunctions.shared.get()
        let context = try functions.context(Self.authority.issue(certificate), versions: version...version)
        defer { functions.freeContext(context) }
        return try days.map { day in
            time.withLock { $0 = start + day * 86_400 }
            let pair = try MemoryPair(
                provider, serverContext: context, TLSConnectionRequest(host: "localhost", port: 443))
            let result = try pair.handshake()
            _ = try pair.read()
            return result.isResumed
        }
    }
}

@Suite("Files of the provider that are not what they should be", .enabled(if: hasOpenSSL))
struct UnusableFileTests {
    private static let authority = TestAuthority()

    /// A folder for a test.
    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "purl-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.path)
    }

    private func outcome(_ roots: SystemTLS.Roots) throws -> MemoryServer.Outcome {
        let identity = try Self.authority.issue(.valid(for: ["localhost"]))
        return try MemoryPair(SystemTLS(SystemTLS.Options(roots: roots)), identity).outcome
    }

    @Test("A pipe that nothing is written to is given up, with a program at its other end and without one")
    func pipe() throws {
        try withFolder { folder in
            let path = folder + "/pipe"
            #expect(mkfifo(path, 0o600) == 0)
            func reason() -> String? {
                do throws(TLSError) {
                    _ = try SourceContent(.file(path), .brief(milliseconds: 20))
                    return nil
                } catch {
                    return error.reason
                }
            }
            #expect(reason() == "“\(path)” is a pipe to which nothing is written")
            let writer = open(path, O_RDWR)
            #expect(writer >= 0)
            defer { close(writer) }
            #expect(reason() == "“\(path)” is a pipe to which nothing is written")
            let options = SystemTLS.Options(roots: .only([]), keyLogFile: folder + "/unread")
            #expect(mkfifo(folder + "/unread", 0o600) == 0)
            let request = TLSConnectionRequest(host: "localhost", port: 443)
            #expect(throws: TLSError.self) { try SystemTLS(options).makeConnection(request) }
            #expect(throws: TLSError.self) { try SystemTLS(options).prepare() }
        }
    }

    @Test("A pipe is read once, by `prepare` or by the first of several connections", arguments: [true, false])
    func pipeOfRoots(isPrepared: Bool) async throws {
        let pem = [UInt8](try Self.authority.rootPEM.utf8)
        var ends: [Int32] = [0, 0]
        #expect(Foundation.pipe(&ends) == 0)
        // Not for the processes of other tests: as long as one has the end for writing, there is no end of the text.
        for end in ends { #expect(fcntl(end, F_SETFD, FD_CLOEXEC) == 0) }
        #expect(write(ends[1], pem, pem.count) == pem.count)
        close(ends[1])
        defer { close(ends[0]) }
        let provider = SystemTLS(SystemTLS.Options(roots: .only([.file("/dev/fd/\(ends[0])")])))
        if isPrepared { try provider.prepare() }
        let identity = try Self.authority.issue(.valid(for: ["localhost"]))
        try await withThrowingTaskGroup(of: MemoryServer.Outcome.self) { group in
            for _ in 0..<4 { group.addTask { try MemoryPair(provider, identity).outcome } }
            for try await outcome in group { #expect(outcome == .trusted) }
        }
    }

    @Test("In a folder of roots what is no certificate is passed over, whatever the folder is called")
    func folders() throws {
        try withFolder { folder in
            for name in ["plain", "a:b"] {
                let roots = folder + "/" + name
                try FileManager.default.createDirectory(atPath: roots, withIntermediateDirectories: true)
                try Self.authority.writeRoot(to: URL(filePath: roots + "/root.pem"))
                try Data("hello".utf8).write(to: URL(filePath: roots + "/notes.crt"))
                #expect(mkfifo(roots + "/pipe.pem", 0o600) == 0)
                #expect(try outcome(.only([.folder(roots)])) == .trusted)
            }
            // The name that `openssl rehash` gives, and a name that OpenSSL would take for two folders.
            let hashed = folder + "/c:d"
            try FileManager.default.createDirectory(atPath: hashed, withIntermediateDirectories: true)
            try Self.authority.writeRoot(to: URL(filePath: hashed + "/0123abcd.0"))
            #expect(try outcome(.only([.folder(hashed)])) == .trusted)
        }
    }

    @Test("An encrypted key in DER takes its passphrase")
    func encryptedDER() throws {
        let sealed = try SealedIdentity(Self.authority.issueClient(name: "me"), passphrase: "correct horse")
        let lines = String(decoding: sealed.key, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("-----") }
        let der = try #require(Data(base64Encoded: lines.joined()))
        func reason(_ passphrase: String?) -> String? {
            let identity = SystemTLS.Identity.pem(
                certificates: .data(sealed.certificate), key: .data(der), passphrase: passphrase)
            do {
                try SystemTLS(SystemTLS.Options(roots: .only([]), identity: identity)).prepare()
                return nil
            } catch {
                return error.reason
            }
        }
        #expect(reason("correct horse") == nil)
        #expect(reason(nil) == "the data in memory has a private key that needs its passphrase")
        #expect(reason("wrong") == "the data in memory has a private key with another passphrase")
    }
}

/// Accepts every server.
private final class Accepting: NSObject, URLSessionDelegate {
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        completionHandler(.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
    }
}

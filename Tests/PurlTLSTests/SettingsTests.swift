import Foundation
import MemoryTLS
import Purl
import PurlOpenSSL
import PurlTesting
import Testing

@testable import PurlTLS

@Suite("Settings of the provider", .enabled(if: hasOpenSSL))
final class SettingsTests {
    private static let authority = TestAuthority()
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "purl-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    private func file(_ name: String, _ content: String) throws -> String {
        let file = folder.appending(path: name)
        try content.write(to: file, atomically: true, encoding: .utf8)
        return file.path
    }

    @Test("An error of the provider prints its reason as a sentence")
    func sentence() {
        let error: any Error = TLSError(.unusableSettings, reason: "“root.pem” does not exist")
        #expect(error.localizedDescription == "“root.pem” does not exist.")
        #expect((error as? any LocalizedError)?.failureReason == "“root.pem” does not exist.")
    }

    private func reason(_ options: SystemTLS.Options) -> String? {
        do {
            try SystemTLS(options).prepare()
            return nil
        } catch {
            #expect(error.kind == .unusableSettings)
            return error.reason
        }
    }

    @Test("The system's roots are in OpenSSL's own file, else where Debian, Fedora, Alpine or openSUSE have them")
    func systemFile() {
        let own = "/usr/lib/ssl/cert.pem"
        let debian = "/etc/ssl/certs/ca-certificates.crt"
        let rows: [([String], String?)] = [
            ([own, debian], own),
            ([debian, "/etc/ssl/cert.pem"], debian),
            (
                ["/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem"],
                "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"
            ),
            (["/etc/pki/tls/certs/ca-bundle.crt"], "/etc/pki/tls/certs/ca-bundle.crt"),
            (["/etc/ssl/cert.pem"], "/etc/ssl/cert.pem"),
            (["/etc/ssl/ca-bundle.pem"], "/etc/ssl/ca-bundle.pem"),
            (["/etc/hosts"], nil),
        ]
        for (files, expected) in rows {
            #expect(RootLoader.systemFile(own, where: files.contains) == expected)
        }
        #expect(RootLoader.systemFile(nil, where: [own].contains) == nil)
    }

    @Test("A file of roots that cannot be used is named, with what is wrong")
    func wrongRoots() throws {
        let damaged = try file("damaged.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        let rows: [(SystemTLS.Source, String)] = [
            (.file("/nowhere/root.pem"), "“/nowhere/root.pem” does not exist"),
            (.file(folder.path), "“\(folder.path)” is a folder"),
            (.folder("/nowhere"), "“/nowhere” does not exist"),
            (.folder(try file("file", "")), "“\(folder.path)/file” is not a folder"),
            (.file(try file("empty.pem", "")), "“\(folder.path)/empty.pem” contains no certificate in PEM or DER"),
            (.file(try file("text", "hello")), "“\(folder.path)/text” contains no certificate in PEM or DER"),
            (
                .file(try file("key.pem", Self.authority.issue(.valid).privateKeyPEM)),
                "“\(folder.path)/key.pem” contains no certificate"
            ),
            (.data(Data([0x30, 0x80])), "the data in memory contains no certificate in PEM or DER"),
        ]
        for (source, expected) in rows {
            #expect(reason(SystemTLS.Options(roots: .only([source]))) == expected)
        }
        let found = reason(SystemTLS.Options(roots: .only([.file(damaged)])))
        #expect(found?.hasPrefix("“\(damaged)” has a damaged certificate: ") == true)
        let empty = folder.appending(path: "none")
        try FileManager.default.createDirectory(at: empty, withIntermediateDirectories: true)
        #expect(
            reason(SystemTLS.Options(roots: .only([.folder(empty.path)]))) == "“\(empty.path)” contains no certificates"
        )
    }

    @Test("Roots are read from files and folders in PEM and DER")
    func roots() throws {
        let identity = try Self.authority.issue(.valid(for: ["localhost"]))
        let pem = try file("root.pem", "Purl's root\n" + Self.authority.rootPEM)
        let der = folder.appending(path: "root.der")
        try Self.authority.rootDER.write(to: der)
        let sources: [SystemTLS.Source] = [
            .file(pem), .file(der.path), .folder(folder.path), .data(Data(try Self.authority.rootPEM.utf8)),
        ]
        for source in sources {
            let provider = SystemTLS(SystemTLS.Options(roots: .only([source])))
            #expect(try MemoryPair(provider, identity).outcome == .trusted)
        }
    }

    @Test("A client's certificate that cannot be used is named, with what is wrong, and no secret is")
    func wrongIdentity() throws {
        let one = try Self.authority.issueClient(name: "one")
        let other = try Self.authority.issueClient(name: "other")
        let certificates = try file("one.pem", one.certificatesPEM)
        let key = try file("other.key", other.privateKeyPEM)
        let rows: [(SystemTLS.Identity, String)] = [
            (.pem(certificates: .file("/nowhere.pem")), "“/nowhere.pem” does not exist"),
            (.pem(certificates: .folder(folder.path)), "“\(folder.path)” is a folder"),
            (.pem(certificates: .file(certificates)), "“\(certificates)” contains no private key"),
            (
                .pem(certificates: .file(certificates), key: .file(key)),
                "“\(key)” has a private key that is not that of the certificate in “\(certificates)”"
            ),
            (.pkcs12(.file(certificates)), "“\(certificates)” is not in PKCS #12"),
        ]
        for (identity, expected) in rows {
            #expect(reason(SystemTLS.Options(roots: .only([]), identity: identity)) == expected)
        }
        let right = SystemTLS.Identity.pem(
            certificates: .data(Data(one.certificatesPEM.utf8)), key: .data(Data(try one.privateKeyPEM.utf8)))
        #expect(reason(SystemTLS.Options(roots: .only([]), identity: right)) == nil)
        let binary = SystemTLS.Identity.pem(
            certificates: .data(one.certificates[0]), key: .data(try one.privateKeyDER))
        #expect(reason(SystemTLS.Options(roots: .only([]), identity: binary)) == nil)
    }

    @Test("A key that is encrypted takes its passphrase, in PEM and in PKCS #12")
    func passphrases() throws {
        let sealed = try SealedIdentity(Self.authority.issueClient(name: "me"), passphrase: "correct horse")
        let certificates = SystemTLS.Source.data(sealed.certificate)
        func found(_ identity: SystemTLS.Identity) -> String? {
            reason(SystemTLS.Options(roots: .only([]), identity: identity))
        }
        let key = SystemTLS.Source.data(sealed.key)
        #expect(found(.pem(certificates: certificates, key: key, passphrase: "correct horse")) == nil)
        #expect(
            found(.pem(certificates: certificates, key: key, passphrase: "wrong"))
                == "the data in memory has a private key with another passphrase")
        #expect(
            found(.pem(certificates: certificates, key: key))
                == "the data in memory has a private key that needs its passphrase")
        let archive = SystemTLS.Source.data(sealed.archive)
        #expect(found(.pkcs12(archive, passphrase: "correct horse")) == nil)
        #expect(found(.pkcs12(archive, passphrase: "wrong")) == "the data in memory has another passphrase")
        #expect(found(.pkcs12(archive)) == "the data in memory has another passphrase")
    }

    @Test("No description and no dump contains a key or a passphrase")
    func secrets() throws {
        let identity = try Self.authority.issueClient(name: "me")
        let key = try identity.privateKeyPEM
        let options = SystemTLS.Options(
            roots: .systemAnd([.data(Data(key.utf8))]),
            identity: .pem(
                certificates: .data(Data(identity.certificatesPEM.utf8)), key: .data(Data(key.utf8)),
                passphrase: "correct horse"))
        let archive = SystemTLS.Identity.pkcs12(.data(Data(key.utf8)), passphrase: "correct horse")
        let provider = SystemTLS(options)
        for value in [options, options.identity as Any, options.roots, archive, provider] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            for text in [dumped, "\(value)", String(reflecting: value), String(describing: Mirror(reflecting: value))] {
                #expect(!text.contains("correct horse"))
                // The bytes would be numbers.
                #expect(!text.contains("45\n") && !text.contains("PRIVATE"))
                #expect(!text.contains("- 45"))
            }
        }
    }

    @Test("Secrets of connections are written only where a file is named, which is its owner's alone")
    func keyLog() async throws {
        // The environment is the whole process's.
        await #expect(processExitsWith: .success) { [folder = folder as URL] in
            setenv("SSLKEYLOGFILE", folder.appending(path: "environment.log").path, 1)
            let identity = try SettingsTests.authority.issue(.valid(for: ["localhost"]))
            #expect(try MemoryPair(.trusting(SettingsTests.authority), identity).outcome == .trusted)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        let identity = try Self.authority.issue(.valid(for: ["localhost"]))
        let file = folder.appending(path: "keys.log")
        let provider = try SystemTLS.trusting(Self.authority) { $0.keyLogFile = file.path }
        #expect(try MemoryPair(provider, identity).outcome == .trusted)
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("CLIENT_TRAFFIC_SECRET_0 ") })
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        var options = SystemTLS.Options(roots: .only([]))
        options.keyLogFile = "/nowhere/keys.log"
        #expect(reason(options)?.hasPrefix("the key log “/nowhere/keys.log” cannot be written") == true)
    }

    @Test("A library that is not there is an error that says what to install")
    func missingLibrary() throws {
        let provider = SystemTLS(SystemTLS.Options(), libraryFolder: folder.path)
        #expect {
            try provider.makeConnection(TLSConnectionRequest(host: "localhost", port: 443))
        } throws: { error in
            guard let error = error as? TLSError else { return false }
            return error.kind == .unavailable && error.reason.contains("“libssl3” (Debian, Ubuntu, Alpine)")
                && error.reason.contains("“openssl-libs” (Fedora)")
        }
    }

    @Test("A file that is no library, or not OpenSSL's, is an error as well")
    func wrongLibrary() throws {
        _ = try file("libcrypto.so.3", "not a library")
        #expect(throws: OpenSSLUnavailable.self) { try OpenSSLLibrary(folder: folder.path) }
    }

    @Test("Pins are 32 bytes in base64 behind their algorithm")
    func pins() {
        let text = "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        #expect(PublicKeyPin(text)?.description == text)
        for wrong in [
            "", "sha256//", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            "sha1//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            "sha256//47DEQpj8HBSa", "sha256//!!!!",
        ] {
            #expect(PublicKeyPin(wrong) == nil)
        }
    }
}

/// A certificate of a client's whose key is encrypted.
struct SealedIdentity {
    typealias Pointer = OpaquePointer
    typealias Bytes = UnsafePointer<UInt8>
    typealias Text = UnsafePointer<CChar>

    let certificate: Data
    /// In PEM.
    let key: Data
    /// In PKCS #12.
    let archive: Data

    init(_ identity: TestIdentity, passphrase: String) throws {
        let library = try OpenSSLLibrary.shared()
        typealias Decode = @convention(c) (Pointer?, UnsafeMutablePointer<Bytes?>, Int) -> Pointer?
        func decoded(_ data: Data, _ name: String) throws -> Pointer? {
            let decode = try library.function(name, Decode.self)
            return data.withUnsafeBytes { bytes in
                var position = bytes.bindMemory(to: UInt8.self).baseAddress
                return decode(nil, &position, bytes.count)
            }
        }
        func free(_ pointer: Pointer?, _ name: String) throws {
            try library.function(name, (@convention(c) (Pointer?) -> Void).self)(pointer)
        }
        certificate = Data(identity.certificatesPEM.utf8)
        let own = try decoded(identity.certificates[0], "d2i_X509")
        let key = try decoded(identity.privateKeyDER, "d2i_AutoPrivateKey")
        let seal = try library.function(
            "PKCS12_create",
            (@convention(c) (
                Text, Text, Pointer?, Pointer?, Pointer?, Int32, Int32, Int32, Int32, Int32
            ) -> Pointer?).self)
        let sealed = seal(passphrase, "me", key, own, nil, 0, 0, 0, 0, 0)
        let encode = try library.function(
            "i2d_PKCS12", (@convention(c) (Pointer?, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32).self
        )
        var bytes = [UInt8](repeating: 0, count: Int(encode(sealed, nil)))
        bytes.withUnsafeMutableBufferPointer {
            var position = $0.baseAddress
            _ = encode(sealed, &position)
        }
        archive = Data(bytes)
        let functions = try ServerFunctions.shared.get()
        let bio = functions.newBIO(functions.memory())
        let write = try library.function(
            "PEM_write_bio_PKCS8PrivateKey",
            (@convention(c) (Pointer?, Pointer?, Pointer?, Text, Int32, Pointer?, Pointer?) -> Int32).self)
        let cipher = try library.function("EVP_aes_256_cbc", (@convention(c) () -> Pointer?).self)
        _ = write(bio, key, cipher(), passphrase, Int32(passphrase.utf8.count), nil, nil)
        var text = [UInt8](repeating: 0, count: 8192)
        let length = Int(functions.readBIO(bio, &text, Int32(text.count)))
        self.key = Data(text.prefix(length))
        try free(bio, "BIO_free")
        try free(sealed, "PKCS12_free")
        try free(own, "X509_free")
        try free(key, "EVP_PKEY_free")
    }
}

@Suite("What a certificate says", .enabled(if: hasOpenSSL))
struct CertificateDescriptionTests {
    private static let authority = TestAuthority()

    @Test("Subject, issuer, dates, names and pin are read")
    func right() throws {
        let start = Date(timeIntervalSince1970: 1_700_000_000)
        let end = Date(timeIntervalSince1970: 1_900_000_000)
        let identity = try Self.authority.issue(
            .valid(for: ["example.test", "*.example.test", "192.0.2.1", "::1"]).valid(from: start, until: end))
        let description = try CertificateDescription(der: identity.certificates[0])
        #expect(description.subject == "CN=example.test")
        #expect(description.issuer.hasPrefix("CN=Purl Test Root"))
        #expect(description.notBefore == start)
        #expect(description.notAfter == end)
        #expect(
            description.subjectAlternativeNames
                == ["DNS:example.test", "DNS:*.example.test", "IP:192.0.2.1", "IP:::1"])
        #expect(description.publicKeyPin.sha256 == identity.publicKeyDigest)
        #expect(
            "\(description)" == """
                CN=example.test (DNS:example.test, DNS:*.example.test, IP:192.0.2.1, IP:::1), from \(start) to \(end), issued by \
                \(description.issuer)
                """)
    }

    @Test("Bytes that are not a certificate are an error")
    func wrong() throws {
        let der = [UInt8](try Self.authority.rootDER)
        for bytes in [[], [0x30], [UInt8](der.dropLast()), [UInt8](repeating: 0xFF, count: 100)] {
            #expect(throws: TLSError.self) { try CertificateDescription(der: Data(bytes)) }
        }
    }

    @Test("A bit that is flipped anywhere is no crash")
    func flipped() throws {
        let der = [UInt8](try Self.authority.rootDER)
        for position in der.indices {
            for bit in 0..<8 {
                var changed = der
                changed[position] ^= 1 << bit
                _ = try? CertificateDescription(der: Data(changed))
            }
        }
    }
}

import Foundation
import Purl
internal import PurlOpenSSL
import Synchronization

#if !os(Linux)
    #warning("SystemTLS uses OpenSSL on Linux alone: set a TLSProvider over this system's TLS library instead")
#endif

/// TLS 1.2 and 1.3 over the system's OpenSSL 3, which is found when the program runs.
///
/// ```swift
/// URLSessionConfiguration.defaultTLSProvider = SystemTLS()
/// ```
///
/// Share one among the sessions that use the same settings: it keeps what servers give it to resume TLS sessions with.
/// OpenSSL is loaded and the files are read at the first connection, or by ``prepare()``; what is missing then fails that
/// connection with a `TLSError`, and nothing is sent in the open instead.
public final class SystemTLS: TLSProvider {
    /// What this provider was made with.
    public let options: Options
    private let context = Mutex<TLSContext?>(nil)
    /// Held while a connection reads the files: a pipe can be read once.
    private let reading = Mutex(())
    private let library: @Sendable () throws(OpenSSLUnavailable) -> OpenSSL
    private let now: @Sendable () -> Date

    /// Makes a provider. Nothing is loaded or read yet.
    public init(_ options: Options = Options()) {
        self.options = options
        library = { () throws(OpenSSLUnavailable) in try OpenSSL.shared() }
        now = { Date() }
    }

    /// A provider with a time of its own for the sessions that it keeps; OpenSSL judges certificates by the system's.
    package init(_ options: Options, now: @escaping @Sendable () -> Date) {
        self.options = options
        library = { () throws(OpenSSLUnavailable) in try OpenSSL.shared() }
        self.now = now
    }

    /// A provider that looks for OpenSSL in one folder.
    package init(_ options: Options = Options(), libraryFolder: String) {
        self.options = options
        library = { () throws(OpenSSLUnavailable) in
            _ = try OpenSSLLibrary(folder: libraryFolder)
            return try OpenSSL.shared()
        }
        now = { Date() }
    }

    /// Loads OpenSSL and reads the files of ``options``, which otherwise happens at the first connection. Has no effect once
    /// it has succeeded.
    ///
    /// It may wait, for a slow disk or for what a program writes into a pipe. A connection waits for a pipe, too, which can be
    /// read once, but fails when nothing is written to it for five seconds.
    ///
    /// - Throws: `TLSError` of the kind `.unavailable` without OpenSSL 3, and of the kind `.unusableSettings` for a
    ///   file that is missing, cannot be read or is not what it should be.
    public func prepare() throws(TLSError) { _ = try preparedContext(.patient) }

    /// The version of the system's OpenSSL, such as `3.0.17`.
    ///
    /// - Throws: `TLSError` of the kind `.unavailable`, whose reason names what to install.
    public static func libraryVersion() throws(TLSError) -> String {
        try unavailable { () throws(OpenSSLUnavailable) in try OpenSSL.shared() }.version
    }

    public func makeConnection(_ request: TLSConnectionRequest) throws -> any TLSConnection {
        try SystemTLSConnection(request, sharedContext())
    }

    private func sharedContext() throws(TLSError) -> TLSContext {
        if let made = context.withLock({ $0 }) { return made }
        return try reading.withLock { _ throws(TLSError) in try preparedContext(.brief(milliseconds: 5000)) }
    }

    private func preparedContext(_ files: FileReader) throws(TLSError) -> TLSContext {
        if let made = context.withLock({ $0 }) { return made }
        // Without the lock: a connection does not wait for a file that `prepare` is reading.
        let made = try TLSContext(options, Self.unavailable(library), files, now: now)
        return context.withLock { context in
            if let context { return context }
            context = made
            return made
        }
    }

    static func unavailable<Success>(
        _ load: () throws(OpenSSLUnavailable) -> Success
    ) throws(TLSError) -> Success {
        do throws(OpenSSLUnavailable) { return try load() } catch { throw TLSError(.unavailable, reason: error.reason) }
    }
}

extension SystemTLS {
    /// The settings of a ``SystemTLS``.
    public struct Options: Sendable, Hashable {
        /// The issuers that are trusted: the system's by default.
        public var roots: Roots
        /// What the client proves to servers who it is with, where they ask, and are trusted. `nil` by default.
        public var identity: Identity?
        /// Unless it is empty, which is the default, a server's own key has to be one of these, besides all else.
        public var pins: Set<PublicKeyPin>
        /// Whether servers have to prove who they are.
        public var verification: Verification
        /// A file to which the secrets of all connections are appended, by which Wireshark decrypts a recording of them
        /// (the format of `SSLKEYLOGFILE`, which is not looked at). It is created readable for its owner alone. `nil` by
        /// default: with this file one can read what was sent.
        public var keyLogFile: String?

        public init(
            roots: Roots = .system, identity: Identity? = nil, pins: Set<PublicKeyPin> = [],
            verification: Verification = .required, keyLogFile: String? = nil
        ) {
            self.roots = roots
            self.identity = identity
            self.pins = pins
            self.verification = verification
            self.keyLogFile = keyLogFile
        }
    }

    /// The certificates of the issuers that are trusted.
    ///
    /// Each certificate that is given is trusted, also one of an issuer that has an issuer itself, or of a server.
    public enum Roots: Sendable, Hashable {
        /// The system's: those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name, else those of OpenSSL's own places, else those
        /// of the places that Debian, Fedora, Alpine and others have.
        case system
        /// The system's, and more.
        case systemAnd([Source])
        /// These, and no others.
        case only([Source])
    }

    /// Where certificates or a key are.
    public enum Source: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        /// A file in PEM or DER, or PKCS #12 where that is expected.
        case file(String)
        /// A folder of certificates: one that `openssl rehash` has prepared, or the files in it that end in `pem`, `crt`,
        /// `cer` or `der`, as far as they contain certificates; at least one has to.
        case folder(String)
        /// What such a file contains.
        case data(Data)

        public var description: String {
            switch self {
            case .file(let path), .folder(let path): "“\(path)”"
            case .data(let data): "\(data.count) bytes in memory"
            }
        }

        public var debugDescription: String { description }
        /// Without the bytes, which may be a key.
        public var customMirror: Mirror { Mirror(self, children: ["source": description]) }
    }

    /// A certificate of the client, with those of its issuers, and its private key.
    ///
    /// Only a server that is trusted gets the certificate, which says who the client is: its chain, its name and its pin are
    /// judged first, and a server that a delegate accepts later has not received it. With ``Verification/insecure`` every
    /// server gets it whose pin is right, if there are pins.
    ///
    /// No description of it contains the key or its passphrase.
    public struct Identity: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
    {
        enum Form: Hashable {
            case separate(certificates: Source, key: Source)
            case archive(Source)
        }

        let form: Form
        let passphrase: String?

        /// A certificate and its key, in PEM or DER.
        ///
        /// - Parameters:
        ///   - certificates: The client's certificate, and after it, in PEM, those of its issuers.
        ///   - key: The private key; `nil` where it is in the same place.
        ///   - passphrase: What the key is encrypted with, if it is.
        public static func pem(certificates: Source, key: Source? = nil, passphrase: String? = nil) -> Identity {
            Identity(form: .separate(certificates: certificates, key: key ?? certificates), passphrase: passphrase)
        }

        /// A certificate and its key in PKCS #12 (`.p12`, `.pfx`).
        ///
        /// - Parameters:
        ///   - source: A file of that form, or what it contains.
        ///   - passphrase: What it is encrypted with.
        public static func pkcs12(_ source: Source, passphrase: String = "") -> Identity {
            Identity(form: .archive(source), passphrase: passphrase)
        }

        public var description: String {
            switch form {
            case .separate(let certificates, let key) where certificates == key: "client certificate in \(certificates)"
            case .separate(let certificates, let key): "client certificate in \(certificates), key in \(key)"
            case .archive(let source): "client certificate in \(source)"
            }
        }

        public var debugDescription: String { description }
        /// Without the passphrase.
        public var customMirror: Mirror { Mirror(self, children: ["identity": description]) }
    }

    /// Whether servers have to prove who they are.
    public enum Verification: Sendable, Hashable {
        /// They do. What is not trusted fails, unless the session's delegate accepts it.
        case required
        /// They do not: an attacker on the way to a server can read and change everything. ``Options/pins`` still count.
        case insecure
    }
}

/// The SHA-256 digest of a server's public key (its SubjectPublicKeyInfo in DER), which stays the same when the server's
/// certificate is renewed with the same key.
public struct PublicKeyPin: Sendable, Hashable, CustomStringConvertible {
    /// The digest's 32 bytes.
    public let sha256: Data

    /// - Parameter text: `sha256//` and the digest in base64, as curl's `--pinnedpubkey` takes it; `nil` for anything else.
    public init?(_ text: String) {
        let prefix = "sha256//"
        guard text.hasPrefix(prefix), let digest = Data(base64Encoded: String(text.dropFirst(prefix.count))),
            digest.count == 32
        else { return nil }
        sha256 = digest
    }

    init(sha256: Data) {
        self.sha256 = sha256
    }

    public var description: String { "sha256//\(sha256.base64EncodedString())" }
}

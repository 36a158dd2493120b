internal import COpenSSL
import Foundation
import Purl
import Synchronization

/// TLS 1.2 and 1.3 for Purl over the system's OpenSSL 3.
///
/// Set one in `URLSessionConfiguration.tlsProvider` and share it among sessions: it keeps what servers give it to resume
/// TLS sessions with.
public final class OpenSSLProvider: TLSProvider {
    /// The certificates of issuers that are trusted.
    public enum Roots: Sendable, Hashable {
        /// The system's.
        case system
        /// Those of a file in PEM, and no others.
        case file(String)
    }

    /// What the client proves to a server who it is with.
    public struct Identity: Sendable, Hashable {
        /// A file in PEM: the client's certificate, then those of its issuers.
        public let certificates: String
        /// A file in PEM: the private key, without a passphrase.
        public let key: String

        public init(certificates: String, key: String) {
            self.certificates = certificates
            self.key = key
        }
    }

    // An SSL_CTX may be used by many threads, and is not changed after `init`.
    private nonisolated(unsafe) let context: OpaquePointer
    private let resumable = ResumableSessions()

    /// - Throws: ``TLSError`` of kind `.unusableSettings` when a file cannot be read or the key is another certificate's.
    public init(roots: Roots = .system, identity: Identity? = nil) throws {
        guard let context = SSL_CTX_new(TLS_client_method()) else {
            throw TLSError(.unusableSettings, reason: OpenSSLErrors.take().sentence)
        }
        self.context = context
        purl_set_modes(context)
        purl_hand_over_sessions(context)
        // The chain is verified; what comes of it is the delegate's to judge, so the handshake continues either way.
        SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nil)
        SSL_CTX_sess_set_new_cb(context) { ssl, session in
            guard let session, let owner = purl_owner(ssl) else { return 0 }
            Unmanaged<OpenSSLConnection>.fromOpaque(owner).takeUnretainedValue().keep(ResumableSession(owning: session))
            return 1
        }
        switch roots {
        case .system: try Self.require(SSL_CTX_set_default_verify_paths(context), "the system's certificates")
        case .file(let path): try Self.require(SSL_CTX_load_verify_file(context, path), path)
        }
        if let identity {
            let certificates = SSL_CTX_use_certificate_chain_file(context, identity.certificates)
            try Self.require(certificates, identity.certificates)
            try Self.require(SSL_CTX_use_PrivateKey_file(context, identity.key, SSL_FILETYPE_PEM), identity.key)
        }
    }

    deinit {
        SSL_CTX_free(context)
    }

    public func makeConnection(_ request: TLSConnectionRequest) throws -> any TLSConnection {
        try OpenSSLConnection(request, context, resumable)
    }

    private static func require(_ result: Int32, _ subject: String) throws {
        if result != 1 {
            throw TLSError(.unusableSettings, reason: "\(subject) cannot be used: \(OpenSSLErrors.take().sentence)")
        }
    }
}

/// What servers have given to resume sessions with, by host and port. RFC 8446 §C.4: each is used once.
final class ResumableSessions: Sendable {
    private struct Entries {
        var sessions: [String: [ResumableSession]] = [:]
        /// In the order in which they came.
        var hosts: [String] = []
    }

    private static let hostLimit = 256
    private static let limitPerHost = 8

    private let entries = Mutex(Entries())

    func keep(_ session: ResumableSession, for host: String) {
        entries.withLock { entries in
            if entries.sessions[host] == nil {
                entries.hosts.append(host)
                if entries.hosts.count > Self.hostLimit { entries.sessions[entries.hosts.removeFirst()] = nil }
            }
            entries.sessions[host] = [session] + (entries.sessions[host] ?? []).prefix(Self.limitPerHost - 1)
        }
    }

    /// The newest session of a host, which is not kept any longer.
    func take(for host: String) -> ResumableSession? {
        entries.withLock { entries in
            guard let newest = entries.sessions[host]?.first else { return nil }
            entries.sessions[host]?.removeFirst()
            return newest
        }
    }
}

/// Owns an `SSL_SESSION`.
final class ResumableSession: Sendable {
    // OpenSSL counts the references atomically, and nothing here changes what it points to.
    nonisolated(unsafe) let pointer: OpaquePointer

    /// Takes over a reference.
    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        SSL_SESSION_free(pointer)
    }
}

/// The errors that OpenSSL has queued for this thread.
struct OpenSSLErrors {
    /// What went wrong first, in OpenSSL's words.
    let sentence: String
    /// Its number, of those that begin with `SSL_R_`.
    let reason: Int32

    /// Takes all, so that a later call does not find them.
    static func take() -> OpenSSLErrors {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0 else { return OpenSSLErrors(sentence: "OpenSSL gives no reason", reason: 0) }
        let text = ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)"
        // ERR_GET_REASON: the lower 23 bits.
        return OpenSSLErrors(sentence: text, reason: Int32(truncatingIfNeeded: code & 0x7F_FFFF))
    }

    /// What kind of error it is to a user of Purl.
    var kind: TLSError.Kind {
        switch reason {
        case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_UNKNOWN_PROTOCOL,
            SSL_R_BAD_RECORD_TYPE, SSL_R_RECORD_LENGTH_MISMATCH:
            .notTLS
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE,
            SSL_R_TLSV1_ALERT_INSUFFICIENT_SECURITY, SSL_R_NO_PROTOCOLS_AVAILABLE, SSL_R_WRONG_SSL_VERSION,
            SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
            .noAgreement
        case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
            .certificateRequired
        case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, SSL_R_TLSV1_ALERT_UNKNOWN_CA,
            SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,
            SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE, SSL_R_TLSV1_ALERT_ACCESS_DENIED:
            .certificateRejected
        default:
            .malformed
        }
    }
}

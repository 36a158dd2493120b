import Foundation
import Purl
import Synchronization

/// What servers have given to resume sessions with, by server and what was offered to it. RFC 8446 §C.4: each is used once.
///
/// Only sessions of servers that were trusted are kept, and each provider has its own, so that a session never stands in
/// for a verdict that other settings would have.
final class ResumableSessions: Sendable {
    private struct Entries {
        var sessions: [TLSConnectionRequest: [ResumableSession]] = [:]
        /// In the order in which they came.
        var requests: [TLSConnectionRequest] = []
    }

    private static let limit = 256
    private static let limitPerServer = 16

    private let entries = Mutex(Entries())

    func keep(_ session: ResumableSession, for request: TLSConnectionRequest) {
        entries.withLock { entries in
            if entries.sessions[request] == nil {
                entries.requests.append(request)
                if entries.requests.count > Self.limit { entries.sessions[entries.requests.removeFirst()] = nil }
            }
            entries.sessions[request] = [session] + (entries.sessions[request] ?? []).prefix(Self.limitPerServer - 1)
        }
    }

    /// The newest session for such a connection, which is not kept any longer.
    func take(for request: TLSConnectionRequest) -> ResumableSession? {
        entries.withLock { entries in
            guard let newest = entries.sessions[request]?.first else { return nil }
            entries.sessions[request]?.removeFirst()
            return newest
        }
    }
}

/// Owns an `SSL_SESSION`.
final class ResumableSession: Sendable {
    // OpenSSL counts the references atomically, and nothing here changes what it points to.
    nonisolated(unsafe) let pointer: OpaquePointer
    private let openSSL: OpenSSL

    /// Takes over a reference.
    init(owning pointer: OpaquePointer, _ openSSL: OpenSSL) {
        self.pointer = pointer
        self.openSSL = openSSL
    }

    deinit {
        openSSL.SSL_SESSION_free(pointer)
    }

    /// Whether it may be used several times: until TLS 1.2, where servers do not give a new one each time.
    var isReusable: Bool { openSSL.SSL_SESSION_get_protocol_version(pointer) < 0x0304 }
}

import Foundation
import Purl
import Synchronization

/// What servers have given to resume sessions with, by server and what was offered to it. RFC 8446 §C.4: each is used once.
///
/// Only sessions of servers that were trusted are kept, and each provider has its own, so that a session never stands in
/// for a verdict that other settings would have.
final class ResumableSessions: Sendable {
    private struct Entry {
        let session: ResumableSession
        /// When the verdict about the server has to be made anew.
        let end: Date
    }

    private struct Entries {
        var sessions: [TLSConnectionRequest: [Entry]] = [:]
        /// In the order in which they came.
        var requests: [TLSConnectionRequest] = []
    }

    private static let limit = 256
    static let limitPerServer = 4
    /// Servers choose the length of what they give, up to 64 KiB, and what they need is far less.
    private static let ticketLimit = 16_384

    private let entries = Mutex(Entries())

    func keep(_ session: ResumableSession, for request: TLSConnectionRequest, until end: Date) {
        guard session.ticketLength <= Self.ticketLimit else { return }
        entries.withLock { entries in
            if entries.sessions[request] == nil {
                entries.requests.append(request)
                if entries.requests.count > Self.limit { entries.sessions[entries.requests.removeFirst()] = nil }
            }
            let others = (entries.sessions[request] ?? []).prefix(Self.limitPerServer - 1)
            entries.sessions[request] = [Entry(session: session, end: end)] + others
        }
    }

    /// The newest session for such a connection, which is not kept any longer, and when its verdict ends.
    func take(for request: TLSConnectionRequest, at now: Date) -> (session: ResumableSession, end: Date)? {
        entries.withLock { entries in
            entries.sessions[request]?.removeAll { $0.end <= now }
            guard let newest = entries.sessions[request]?.first else { return nil }
            entries.sessions[request]?.removeFirst()
            return (newest.session, newest.end)
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

    var ticketLength: Int {
        var length = 0
        openSSL.SSL_SESSION_get0_ticket(pointer, nil, &length)
        return length
    }
}

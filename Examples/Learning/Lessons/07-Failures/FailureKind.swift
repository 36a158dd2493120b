import Foundation
import Purl

/// What a program can do about a failure.
enum FailureKind: Sendable, Equatable {
    /// The program itself has cancelled the task: this is what was wanted.
    case cancelled
    /// The network or the server was not there. Later they may be.
    case temporary
    /// The same request would fail again.
    case permanent

    init(_ error: any Error) {
        switch (error as? URLError)?.code {
        case .cancelled: self = .cancelled
        case .timedOut, .networkConnectionLost: self = .temporary
        case .cannotConnectToHost, .notConnectedToInternet, .cannotFindHost, .dnsLookupFailed: self = .temporary
        default: self = .permanent
        }
    }

    /// A status is not an error for a session, and may be a failure all the same; `nil` when it is none.
    init?(status: Int) {
        switch status {
        case 200, 206: return nil
        case 429, 502, 503, 504: self = .temporary
        default: self = .permanent
        }
    }
}

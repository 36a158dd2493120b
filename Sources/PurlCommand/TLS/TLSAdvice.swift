import Foundation
import Purl

extension Error {
    /// What happened, and where an option helps, which one.
    var sentenceWithAdvice: String {
        guard let advice = (self as? URLError)?.code.advice else { return failureSentence }
        return "\(failureSentence) \(advice)"
    }
}

extension URL {
    /// Whether it is loaded over TLS.
    var isLoadedOverTLS: Bool { ["https", "wss"].contains(scheme?.lowercased()) }
}

extension HTTPURLResponse {
    /// Whether a redirect to `next` leaves TLS.
    func leavesTLS(for next: URLRequest) -> Bool {
        url?.isLoadedOverTLS == true && next.url?.isLoadedOverTLS != true
    }
}

extension CommandFailure {
    /// A redirect that leaves TLS and is not followed.
    static func leavesTLS(to next: URLRequest) -> CommandFailure {
        let target = next.url?.shownOrigin ?? ""
        return CommandFailure(
            "The server redirects to \(target), which is neither encrypted nor checked. Nothing was sent there.")
    }
}

extension URLError.Code {
    /// Whether a server was not asked because it could not be trusted, or this side's options or libraries were not enough: a
    /// command with others may ask it.
    var isOfTLSOptions: Bool {
        switch self {
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot, .clientCertificateRequired,
            .clientCertificateRejected:
            true
        default: false
        }
    }

    fileprivate var advice: String? {
        switch self {
        case .serverCertificateHasUnknownRoot: "“--cacert FILE” names the root to trust."
        case .clientCertificateRequired: "“--cert FILE” shows one."
        default: nil
        }
    }
}

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

extension URLError.Code {
    fileprivate var advice: String? {
        switch self {
        case .serverCertificateHasUnknownRoot: "“--cacert FILE” names the root to trust."
        case .clientCertificateRequired: "“--cert FILE” shows one."
        default: nil
        }
    }
}

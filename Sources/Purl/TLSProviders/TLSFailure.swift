import Foundation
internal import PurlConnections
internal import PurlIO

/// Why there is no secure connection, or none that may be used.
enum TLSFailure: Error {
    /// The TLS library has failed.
    case library(TLSError)
    /// The connection ended before the handshake was done.
    case lost(SystemError?)
    /// The server has chosen a protocol that was not offered.
    case unaskedProtocol(String)
    /// The server is not trusted.
    case untrusted(TLSTrust)
    /// The delegate has rejected the server.
    case rejected(TLSTrust)
    /// The delegate has cancelled the question whether the server is trusted.
    case questionCancelled
    /// A proxy did not open a way to the server.
    case tunnelRefused(status: Int)

    /// What a program does that has no provider.
    // The name in two pieces: a program that looks for uses of types in the text of a file would take it for one.
    static let howToProvide =
        "add the product PurlTLS and set URL" + "SessionConfiguration.defaultTLSProvider = SystemTLS()"

    /// The server's certificates, where they are the reason.
    var trust: TLSTrust? {
        switch self {
        case .untrusted(let trust), .rejected(let trust): trust
        case .library, .lost, .unaskedProtocol, .questionCancelled, .tunnelRefused: nil
        }
    }

    var explanation: (code: URLError.Code, sentence: String, underlying: (any Error)?) {
        switch self {
        case .library(let error): Self.explain(error)
        case .lost(let error):
            (.networkConnectionLost, "The connection was lost during the TLS handshake.", error)
        case .unaskedProtocol(let name):
            (.secureConnectionFailed, "The server has chosen the protocol “\(name)”, which was not offered.", nil)
        case .untrusted(let trust): Self.explain(trust)
        case .rejected(let trust):
            (.serverCertificateUntrusted, "The delegate has rejected the certificate of “\(trust.host)”.", nil)
        case .questionCancelled:
            (.cancelled, "The question whether the server is trusted was cancelled, and the transfer with it.", nil)
        case .tunnelRefused(let status): TunnelFailure.explanation(ofStatus: status)
        }
    }

    private static func explain(_ error: TLSError) -> (URLError.Code, String, (any Error)?) {
        let (code, sentence): (URLError.Code, String) =
            switch error.kind {
            case .notTLS: (.secureConnectionFailed, "The server does not speak TLS")
            case .noAgreement:
                (.secureConnectionFailed, "The server accepts no version or cipher suite of TLS that is offered")
            case .refused: (.secureConnectionFailed, "The server refuses to make a secure connection")
            case .certificateRequired: (.clientCertificateRequired, "The server requires a certificate of the client")
            case .certificateRejected: (.clientCertificateRejected, "The server has rejected the client's certificate")
            case .malformed: (.secureConnectionFailed, "The TLS connection is broken, or was tampered with")
            case .unusableSettings:
                (.secureConnectionFailed, "The TLS provider cannot use the settings that it was given")
            case .unavailable: (.secureConnectionFailed, "There is no TLS library that can be used")
            }
        // A library's words for what is not TLS, such as “wrong version number”, lead astray.
        let reason = error.kind == .notTLS ? "it has answered as a server of plain “http” does" : error.reason
        return (code, sentence + detail(reason), error)
    }

    private static func explain(_ trust: TLSTrust) -> (URLError.Code, String, (any Error)?) {
        let (code, sentence): (URLError.Code, String) =
            switch trust.problem {
            case .wrongHost:
                (.serverCertificateUntrusted, "The server's certificate is not one for “\(trust.host)”")
            case .expired: (.serverCertificateHasBadDate, "The certificate of “\(trust.host)” has expired")
            case .notYetValid: (.serverCertificateNotYetValid, "The certificate of “\(trust.host)” is not valid yet")
            case .unknownRoot:
                (.serverCertificateHasUnknownRoot, "The certificate of “\(trust.host)” leads to no root that is known")
            case .revoked: (.serverCertificateUntrusted, "The certificate of “\(trust.host)” has been revoked")
            case .invalid, nil: (.serverCertificateUntrusted, "The certificate of “\(trust.host)” is invalid")
            }
        let reason = trust.reason ?? ""
        return (code, sentence + detail(adds(reason, to: sentence) ? reason : ""), nil)
    }

    /// Whether a provider's description has a word that the sentence does not have: “certificate has expired” has none.
    private static func adds(_ reason: String, to sentence: String) -> Bool {
        !Set(reason.lowercased().split(separator: " ")).isSubset(of: sentence.lowercased().split(separator: " "))
    }

    /// The end of a sentence: the provider's description.
    private static func detail(_ reason: String) -> String { reason.isEmpty ? "." : ": \(reason)." }
}

extension TunnelFailure {
    /// What a transfer fails with whose proxy answers CONNECT with another status than 2xx.
    static func explanation(
        ofStatus status: Int
    ) -> (code: URLError.Code, sentence: String, underlying: (any Error)?) {
        let failure = TunnelFailure.refused(status: status)
        let advice =
            status == 407
            ? ": \(failure); they belong in the proxy’s URL (https_proxy), or in connectionProxyDictionary" : ""
        let sentence = "The proxy refused a connection to the server with the status \(status)\(advice)."
        return (.cannotConnectToHost, sentence, failure)
    }
}

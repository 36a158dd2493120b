import Foundation
import Purl
import PurlTLS

/// Shows each server's certificate, and asks about one that is not trusted.
final class AskingDelegate: NSObject, URLSessionDelegate {
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard let trust = challenge.protectionSpace.serverTrust else {
            return completionHandler(.performDefaultHandling, nil)
        }
        if let own = trust.certificates.first, let certificate = try? CertificateDescription(der: own) {
            print("\(trust.host) is \(certificate.subject), says \(certificate.issuer), until \(certificate.notAfter)")
            print("pin: \(certificate.publicKeyPin)")
        }
        // Nothing is wrong: the provider's verdict counts. Nothing of the request has been sent yet in either case.
        guard trust.problem != nil else { return completionHandler(.performDefaultHandling, nil) }
        print("It is not trusted: \(trust.reason ?? "for no known reason"). Load from it all the same? [y/n]")
        if readLine() == "y" {
            completionHandler(.useCredential, URLCredential(trust: trust))
        } else {
            completionHandler(.rejectProtectionSpace, nil)
        }
    }
}

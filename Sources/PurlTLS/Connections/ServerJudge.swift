import Foundation
import Purl

/// What a handshake has shown of the server: its certificates, and whether they prove who it is.
struct ServerJudge {
    private let context: TLSContext
    private let certificates: [Data]
    /// Why the server is not trusted, with a sentence; `nil` when it is.
    let problem: (kind: TLSTrust.Problem, reason: String)?

    init(context: TLSContext, ssl: OpaquePointer, isResumed: Bool) {
        let openSSL = context.openSSL
        let chain = openSSL.SSL_get_peer_cert_chain(ssl)
        self.context = context
        certificates = (0..<max(0, openSSL.OPENSSL_sk_num(chain))).compactMap {
            openSSL.encoding(of: openSSL.OPENSSL_sk_value(chain, $0))
        }
        problem = Self.problem(context, ssl, chain, isResumed: isResumed)
    }

    /// The verdict as the session has it, for which ``SystemTLS/Verification/insecure`` overlooks all but the pins.
    func trust(in host: String) -> TLSTrust {
        TLSTrust(host: host, certificates: certificates, problem: problem?.kind, reason: problem?.reason)
    }

    private static func problem(
        _ context: TLSContext, _ ssl: OpaquePointer, _ chain: OpaquePointer?, isResumed: Bool
    ) -> (TLSTrust.Problem, String)? {
        let openSSL = context.openSSL
        // OpenSSL finds nothing wrong with a server that has sent none.
        guard let own = openSSL.OPENSSL_sk_value(chain, 0) else {
            return context.verification == .insecure && context.pins.isEmpty
                ? nil : (.invalid, "the server has sent no certificate")
        }
        if context.verification == .required {
            let result = openSSL.SSL_get_verify_result(ssl)
            // X509_V_OK
            guard result == 0 else { return verdict(result, openSSL) }
            // A session was verified when it began.
            if isResumed, openSSL.X509_cmp_current_time(openSSL.X509_get0_notAfter(own)) < 0 {
                return (.expired, "certificate has expired")
            }
            if !isResumed, let problem = StapledResponse.problem(context, ssl, own) { return problem }
        }
        if !context.pins.isEmpty, openSSL.pin(of: own).map(context.pins.contains) != true {
            return (.invalid, "its public key is none of those that are pinned")
        }
        return nil
    }

    /// X509_V_ERR….
    private static func verdict(_ result: Int, _ openSSL: OpenSSL) -> (TLSTrust.Problem, String) {
        let problem: TLSTrust.Problem =
            switch result {
            // HOSTNAME_MISMATCH, IP_ADDRESS_MISMATCH
            case 62, 64: .wrongHost
            // CERT_HAS_EXPIRED
            case 10: .expired
            // CERT_NOT_YET_VALID
            case 9: .notYetValid
            // CERT_REVOKED
            case 23: .revoked
            // UNABLE_TO_GET_ISSUER_CERT, DEPTH_ZERO_SELF_SIGNED_CERT, SELF_SIGNED_CERT_IN_CHAIN,
            // UNABLE_TO_GET_ISSUER_CERT_LOCALLY, UNABLE_TO_VERIFY_LEAF_SIGNATURE, CERT_UNTRUSTED
            case 2, 18...21, 27: .unknownRoot
            default: .invalid
            }
        let reason = openSSL.X509_verify_cert_error_string(result).map { String(cString: $0) }
        return (problem, reason ?? "OpenSSL's result \(result)")
    }
}

extension OpenSSL {
    /// A certificate in DER.
    func encoding(of certificate: OpaquePointer?) -> Data? { take { i2d_X509(certificate, $0) } }

    /// The digest of a certificate's SubjectPublicKeyInfo.
    func pin(of certificate: OpaquePointer?) -> PublicKeyPin? {
        guard let key = take({ i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), $0) }) else { return nil }
        var digest = [UInt8](repeating: 0, count: 64)
        var length: UInt32 = 0
        let isDone = key.withUnsafeBytes {
            EVP_Digest($0.baseAddress, $0.count, &digest, &length, EVP_sha256(), nil) == 1
        }
        return isDone ? PublicKeyPin(sha256: Data(digest.prefix(Int(length)))) : nil
    }

    /// What OpenSSL encodes into memory of its own.
    private func take(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32) -> Data? {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = encode(&bytes)
        guard count > 0, let bytes else { return nil }
        defer { CRYPTO_free(bytes, nil, 0) }
        return Data(bytes: bytes, count: Int(count))
    }
}

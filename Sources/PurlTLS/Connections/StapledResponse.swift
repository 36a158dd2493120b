import Foundation
import Purl

/// What the issuer says about the server's certificate (OCSP, RFC 6960), where the server has stapled it to the handshake.
///
/// A response that is signed by the issuer and of now counts. Any other is as good as none, which is all that an attacker
/// could reach by one: none is enough, unless the certificate says that there has to be one (RFC 7633).
enum StapledResponse {
    private enum Status {
        case good
        case revoked
        /// There is none, or none that counts.
        case none
    }

    /// A verified chain is assumed.
    static func problem(
        _ context: TLSContext, _ ssl: OpaquePointer, _ certificate: OpaquePointer
    ) -> (TLSTrust.Problem, String)? {
        switch status(context, ssl, certificate) {
        case .good: nil
        case .revoked: (.revoked, "its issuer has said so in the response that the server sends along")
        case .none:
            isRequired(by: certificate, context.openSSL)
                ? (.invalid, "it has to come with a response of its issuer about revocation, and has not") : nil
        }
    }

    private static func status(_ context: TLSContext, _ ssl: OpaquePointer, _ certificate: OpaquePointer) -> Status {
        let openSSL = context.openSSL
        // SSL_get_tlsext_status_ocsp_resp: its length, or -1.
        var bytes: OpenSSL.Bytes?
        let length = openSSL.SSL_ctrl(ssl, 70, 0, &bytes)
        guard length > 0, bytes != nil, let response = openSSL.d2i_OCSP_RESPONSE(nil, &bytes, length) else {
            return .none
        }
        defer { openSSL.OCSP_RESPONSE_free(response) }
        // `nil` for a response without a status of success, too.
        guard let basic = openSSL.OCSP_response_get1_basic(response) else { return .none }
        defer { openSSL.OCSP_BASICRESP_free(basic) }
        let chain = openSSL.SSL_get0_verified_chain(ssl)
        let store = openSSL.SSL_CTX_get_cert_store(context.pointer)
        guard let issuer = openSSL.OPENSSL_sk_value(chain, 1) ?? openSSL.OPENSSL_sk_value(chain, 0),
            openSSL.OCSP_basic_verify(basic, chain, store, 0) == 1
        else { return .none }
        // The responder chooses the digest by which it names the certificate.
        for digest in [openSSL.EVP_sha1(), openSSL.EVP_sha256()] {
            guard let identifier = openSSL.OCSP_cert_to_id(digest, certificate, issuer) else { continue }
            defer { openSSL.OCSP_CERTID_free(identifier) }
            var status: Int32 = 0
            var reason: Int32 = 0
            var revoked: OpaquePointer?
            var updated: OpaquePointer?
            var nextUpdate: OpaquePointer?
            // Five minutes for clocks that differ.
            guard
                openSSL.OCSP_resp_find_status(basic, identifier, &status, &reason, &revoked, &updated, &nextUpdate)
                    == 1,
                openSSL.OCSP_check_validity(updated, nextUpdate, 300, -1) == 1
            else { continue }
            // V_OCSP_CERTSTATUS_GOOD, V_OCSP_CERTSTATUS_REVOKED
            if status == 0 { return .good }
            if status == 1 { return .revoked }
        }
        return .none
    }

    /// RFC 7633: a certificate with the feature status_request (5).
    private static func isRequired(by certificate: OpaquePointer, _ openSSL: OpenSSL) -> Bool {
        // NID_tlsfeature
        guard let features = openSSL.X509_get_ext_d2i(certificate, 1020, nil, nil) else { return false }
        defer { openSSL.OPENSSL_sk_pop_free(features, openSSL.ASN1_INTEGER_free) }
        return (0..<max(0, openSSL.OPENSSL_sk_num(features))).contains {
            openSSL.ASN1_INTEGER_get(openSSL.OPENSSL_sk_value(features, $0)) == 5
        }
    }
}

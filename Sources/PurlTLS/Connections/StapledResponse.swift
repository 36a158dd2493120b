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
        guard isSignedStrongly(basic, openSSL) else { return .none }
        var isGood = false
        for index in 0..<max(0, openSSL.OCSP_resp_count(basic)) {
            let single = openSSL.OCSP_resp_get0(basic, index)
            guard isAbout(certificate, of: issuer, single, openSSL) else { continue }
            var updated: OpaquePointer?
            var nextUpdate: OpaquePointer?
            let status = openSSL.OCSP_single_get0_status(single, nil, nil, &updated, &nextUpdate)
            // Five minutes for clocks that differ. A response that does not say when the next one comes counts for a week.
            let longest = nextUpdate == nil ? 7 * 86_400 : -1
            guard openSSL.OCSP_check_validity(updated, nextUpdate, 300, longest) == 1 else { continue }
            // V_OCSP_CERTSTATUS_REVOKED, V_OCSP_CERTSTATUS_GOOD
            if status == 1 { return .revoked }
            if status == 0 { isGood = true }
        }
        return isGood ? .good : .none
    }

    /// Whether a part of a response is about a certificate, which the responder names by a digest of its choice.
    private static func isAbout(
        _ certificate: OpaquePointer, of issuer: OpaquePointer, _ single: OpaquePointer?, _ openSSL: OpenSSL
    ) -> Bool {
        let identifier = openSSL.OCSP_SINGLERESP_get0_id(single)
        var algorithm: OpaquePointer?
        guard openSSL.OCSP_id_get0_info(nil, &algorithm, nil, nil, identifier) == 1,
            let digest = openSSL.EVP_get_digestbyname(openSSL.OBJ_nid2sn(openSSL.OBJ_obj2nid(algorithm))),
            let own = openSSL.OCSP_cert_to_id(digest, certificate, issuer)
        else { return false }
        defer { openSSL.OCSP_CERTID_free(own) }
        return openSSL.OCSP_id_cmp(own, identifier) == 0
    }

    /// Whether the signature is over a digest of at least 112 bits: neither MD5 nor SHA-1. The keys and the chain of
    /// its certificate are verified with the store's level.
    private static func isSignedStrongly(_ basic: OpaquePointer, _ openSSL: OpenSSL) -> Bool {
        var object: OpaquePointer?
        var kind: Int32 = 0
        var value: OpaquePointer?
        openSSL.X509_ALGOR_get0(&object, &kind, &value, openSSL.OCSP_resp_get0_tbs_sigalg(basic))
        let signature = openSSL.OBJ_obj2nid(object)
        // NID_rsassaPss, which names its digest in its parameters.
        if signature == 912 { return kind == 16 && isDigestStrong(ofParameters: value, openSSL) }
        var digest: Int32 = 0
        var key: Int32 = 0
        guard openSSL.OBJ_find_sigid_algs(signature, &digest, &key) == 1 else { return false }
        // Ed25519 and Ed448 have no digest of their own.
        return digest == 0 || isStrong(digest, openSSL)
    }

    /// RSASSA-PSS-params (RFC 8017 §A.2.3).
    private static func isDigestStrong(ofParameters value: OpaquePointer?, _ openSSL: OpenSSL) -> Bool {
        var bytes = openSSL.ASN1_STRING_get0_data(value)
        guard bytes != nil,
            let parameters = openSSL.d2i_RSA_PSS_PARAMS(nil, &bytes, Int(openSSL.ASN1_STRING_length(value)))
        else { return false }
        defer { openSSL.RSA_PSS_PARAMS_free(parameters) }
        // The first field is the digest's X509_ALGOR; without one it is SHA-1.
        guard let algorithm = UnsafeRawPointer(parameters).load(as: OpaquePointer?.self) else { return false }
        var object: OpaquePointer?
        var kind: Int32 = 0
        var none: OpaquePointer?
        openSSL.X509_ALGOR_get0(&object, &kind, &none, algorithm)
        return isStrong(openSSL.OBJ_obj2nid(object), openSSL)
    }

    private static func isStrong(_ digest: Int32, _ openSSL: OpenSSL) -> Bool {
        guard let digest = openSSL.EVP_get_digestbyname(openSSL.OBJ_nid2sn(digest)) else { return false }
        // Half of the digest's bits: 28 bytes are 112 bits.
        return openSSL.EVP_MD_get_size(digest) >= 28
    }

    /// RFC 7633: a certificate with the feature status_request (5). An extension that is damaged or there twice may be one.
    private static func isRequired(by certificate: OpaquePointer, _ openSSL: OpenSSL) -> Bool {
        var found: Int32 = 0
        // NID_tlsfeature. -1: there is none.
        guard let features = openSSL.X509_get_ext_d2i(certificate, 1020, &found, nil) else { return found != -1 }
        defer { openSSL.OPENSSL_sk_pop_free(features, openSSL.ASN1_INTEGER_free) }
        return (0..<max(0, openSSL.OPENSSL_sk_num(features))).contains {
            openSSL.ASN1_INTEGER_get(openSSL.OPENSSL_sk_value(features, $0)) == 5
        }
    }
}

import Purl
internal import PurlOpenSSL

/// OpenSSL's functions by their names, each with its signature as the manual has it, and what all connections share of it.
///
/// Every pointer to a type of OpenSSL's is an `OpaquePointer`. Where the manual has a macro, there is the function that it
/// calls.
// swift-format-ignore: AlwaysUseLowerCamelCase
final class OpenSSL: Sendable {
    /// A function without a result that takes over a pointer.
    typealias Free = @Sendable @convention(c) (OpaquePointer?) -> Void
    typealias Bytes = UnsafePointer<UInt8>
    typealias Text = UnsafePointer<CChar>

    // MARK: Errors, memory, lists

    let ERR_clear_error: @Sendable @convention(c) () -> Void
    let ERR_get_error: @Sendable @convention(c) () -> UInt
    let ERR_peek_last_error: @Sendable @convention(c) () -> UInt
    let ERR_reason_error_string: @Sendable @convention(c) (UInt) -> Text?
    let CRYPTO_free: @Sendable @convention(c) (UnsafeMutableRawPointer?, Text?, Int32) -> Void
    private let CRYPTO_get_ex_new_index:
        @Sendable @convention(c) (Int32, Int, OpaquePointer?, OpaquePointer?, OpaquePointer?, OpaquePointer?) -> Int32
    let OPENSSL_sk_num: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let OPENSSL_sk_value: @Sendable @convention(c) (OpaquePointer?, Int32) -> OpaquePointer?
    let OPENSSL_sk_pop_free: @Sendable @convention(c) (OpaquePointer?, Free) -> Void

    // MARK: Bytes in and out

    let BIO_new: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let BIO_new_mem_buf: @Sendable @convention(c) (UnsafeRawPointer?, Int32) -> OpaquePointer?
    let BIO_s_mem: @Sendable @convention(c) () -> OpaquePointer?
    let BIO_free: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let BIO_read: @Sendable @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, Int32) -> Int32
    let BIO_set_data: @Sendable @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void
    let BIO_get_data: @Sendable @convention(c) (OpaquePointer?) -> UnsafeMutableRawPointer?
    let BIO_set_init: @Sendable @convention(c) (OpaquePointer?, Int32) -> Void
    let BIO_set_flags: @Sendable @convention(c) (OpaquePointer?, Int32) -> Void
    let BIO_clear_flags: @Sendable @convention(c) (OpaquePointer?, Int32) -> Void

    // MARK: Contexts

    let TLS_client_method: @Sendable @convention(c) () -> OpaquePointer?
    let SSL_CTX_new: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let SSL_CTX_free: Free
    let SSL_CTX_ctrl: @Sendable @convention(c) (OpaquePointer?, Int32, Int, UnsafeMutableRawPointer?) -> Int
    let SSL_CTX_set_options: @Sendable @convention(c) (OpaquePointer?, UInt64) -> UInt64
    let SSL_CTX_set_cert_cb:
        @Sendable @convention(c) (
            OpaquePointer?, @Sendable @convention(c) (OpaquePointer?, OpaquePointer?) -> Int32, OpaquePointer?
        ) -> Void
    let SSL_CTX_get_ciphers: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let SSL_CTX_set_cipher_list: @Sendable @convention(c) (OpaquePointer?, Text) -> Int32
    let SSL_CTX_set_verify: @Sendable @convention(c) (OpaquePointer?, Int32, OpaquePointer?) -> Void
    let SSL_CTX_get_security_level: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let SSL_CTX_set_security_level: @Sendable @convention(c) (OpaquePointer?, Int32) -> Void
    let SSL_CTX_get_cert_store: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let SSL_CTX_use_certificate: @Sendable @convention(c) (OpaquePointer?, OpaquePointer?) -> Int32
    let SSL_CTX_use_PrivateKey: @Sendable @convention(c) (OpaquePointer?, OpaquePointer?) -> Int32
    let SSL_CTX_check_private_key: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let SSL_CTX_sess_set_new_cb:
        @Sendable @convention(c) (
            OpaquePointer?, @Sendable @convention(c) (OpaquePointer?, OpaquePointer?) -> Int32
        ) -> Void
    let SSL_CTX_set_keylog_callback:
        @Sendable @convention(c) (OpaquePointer?, @Sendable @convention(c) (OpaquePointer?, Text?) -> Void) -> Void

    // MARK: Connections

    let SSL_new: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let SSL_free: Free
    let SSL_ctrl: @Sendable @convention(c) (OpaquePointer?, Int32, Int, UnsafeMutableRawPointer?) -> Int
    let SSL_set_bio: @Sendable @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?) -> Void
    let SSL_set_connect_state: @Sendable @convention(c) (OpaquePointer?) -> Void
    let SSL_set_ex_data: @Sendable @convention(c) (OpaquePointer?, Int32, UnsafeMutableRawPointer?) -> Int32
    let SSL_get_ex_data: @Sendable @convention(c) (OpaquePointer?, Int32) -> UnsafeMutableRawPointer?
    let SSL_get0_param: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let SSL_set1_host: @Sendable @convention(c) (OpaquePointer?, Text) -> Int32
    let SSL_add1_host: @Sendable @convention(c) (OpaquePointer?, Text) -> Int32
    let SSL_set_hostflags: @Sendable @convention(c) (OpaquePointer?, UInt32) -> Void
    let SSL_set_alpn_protos: @Sendable @convention(c) (OpaquePointer?, Bytes?, UInt32) -> Int32
    let SSL_set_session: @Sendable @convention(c) (OpaquePointer?, OpaquePointer?) -> Int32
    let SSL_do_handshake: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let SSL_get_error: @Sendable @convention(c) (OpaquePointer?, Int32) -> Int32
    let SSL_read_ex:
        @Sendable @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, Int, UnsafeMutablePointer<Int>) -> Int32
    let SSL_has_pending: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let SSL_write_ex:
        @Sendable @convention(c) (OpaquePointer?, UnsafeRawPointer?, Int, UnsafeMutablePointer<Int>) -> Int32
    let SSL_shutdown: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let SSL_set_shutdown: @Sendable @convention(c) (OpaquePointer?, Int32) -> Void
    let SSL_version: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let SSL_certs_clear: Free
    let SSL_CIPHER_get_name: @Sendable @convention(c) (OpaquePointer?) -> Text?
    let SSL_CIPHER_get_kx_nid: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let SSL_get_current_cipher: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let SSL_CIPHER_get_protocol_id: @Sendable @convention(c) (OpaquePointer?) -> UInt16
    let SSL_get0_alpn_selected:
        @Sendable @convention(c) (OpaquePointer?, UnsafeMutablePointer<Bytes?>, UnsafeMutablePointer<UInt32>) -> Void
    let SSL_session_reused: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let SSL_get_verify_result: @Sendable @convention(c) (OpaquePointer?) -> Int
    let SSL_get_peer_cert_chain: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let SSL_get0_verified_chain: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let SSL_SESSION_free: Free
    let SSL_SESSION_get0_ticket:
        @Sendable @convention(c) (OpaquePointer?, UnsafeMutablePointer<Bytes?>?, UnsafeMutablePointer<Int>) -> Void
    let SSL_SESSION_is_resumable: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let SSL_SESSION_get_protocol_version: @Sendable @convention(c) (OpaquePointer?) -> Int32

    // MARK: Certificates and keys

    let d2i_X509: @Sendable @convention(c) (OpaquePointer?, UnsafeMutablePointer<Bytes?>, Int) -> OpaquePointer?
    let i2d_X509: @Sendable @convention(c) (OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32
    let X509_free: Free
    let PEM_read_bio_X509_AUX:
        @Sendable @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?, Text) -> OpaquePointer?
    let PEM_read_bio_PrivateKey:
        @Sendable @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?, Text) -> OpaquePointer?
    let d2i_AutoPrivateKey:
        @Sendable @convention(c) (OpaquePointer?, UnsafeMutablePointer<Bytes?>, Int) -> OpaquePointer?
    let d2i_PKCS8PrivateKey_bio:
        @Sendable @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?, Text) -> OpaquePointer?
    let d2i_X509_SIG: @Sendable @convention(c) (OpaquePointer?, UnsafeMutablePointer<Bytes?>, Int) -> OpaquePointer?
    let X509_SIG_free: Free
    let EVP_PKEY_free: Free
    let d2i_PKCS12: @Sendable @convention(c) (OpaquePointer?, UnsafeMutablePointer<Bytes?>, Int) -> OpaquePointer?
    let PKCS12_parse:
        @Sendable @convention(c) (
            OpaquePointer?, Text, UnsafeMutablePointer<OpaquePointer?>, UnsafeMutablePointer<OpaquePointer?>,
            UnsafeMutablePointer<OpaquePointer?>
        ) -> Int32
    let PKCS12_free: Free
    let X509_get_X509_PUBKEY: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let i2d_X509_PUBKEY:
        @Sendable @convention(c) (OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32
    let EVP_Digest:
        @Sendable @convention(c) (
            UnsafeRawPointer?, Int, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt32>, OpaquePointer?,
            OpaquePointer?
        ) -> Int32
    let EVP_sha256: @Sendable @convention(c) () -> OpaquePointer?
    let X509_get_subject_name: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let X509_get_issuer_name: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let X509_NAME_print_ex: @Sendable @convention(c) (OpaquePointer?, OpaquePointer?, Int32, UInt) -> Int32
    let X509_get0_notBefore: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let X509_get0_notAfter: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let X509_cmp_current_time: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let X509_get_ext_d2i:
        @Sendable @convention(c) (
            OpaquePointer?, Int32, UnsafeMutablePointer<Int32>?, OpaquePointer?
        ) -> OpaquePointer?
    let GENERAL_NAME_get0_value:
        @Sendable @convention(c) (OpaquePointer?, UnsafeMutablePointer<Int32>) -> OpaquePointer?
    let GENERAL_NAME_free: Free
    let ASN1_STRING_get0_data: @Sendable @convention(c) (OpaquePointer?) -> Bytes?
    let ASN1_STRING_length: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let ASN1_INTEGER_get: @Sendable @convention(c) (OpaquePointer?) -> Int
    let ASN1_INTEGER_free: Free
    let ASN1_TIME_set: @Sendable @convention(c) (OpaquePointer?, Int) -> OpaquePointer?
    let ASN1_TIME_diff:
        @Sendable @convention(c) (
            UnsafeMutablePointer<Int32>, UnsafeMutablePointer<Int32>, OpaquePointer?, OpaquePointer?
        ) -> Int32
    let ASN1_TIME_free: Free

    // MARK: Verification

    let X509_STORE_add_cert: @Sendable @convention(c) (OpaquePointer?, OpaquePointer?) -> Int32
    let X509_STORE_load_path: @Sendable @convention(c) (OpaquePointer?, Text) -> Int32
    let X509_STORE_get0_param: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let X509_VERIFY_PARAM_set_auth_level: @Sendable @convention(c) (OpaquePointer?, Int32) -> Void
    let X509_STORE_set_flags: @Sendable @convention(c) (OpaquePointer?, UInt) -> Int32
    let X509_VERIFY_PARAM_set1_ip: @Sendable @convention(c) (OpaquePointer?, Bytes?, Int) -> Int32
    let X509_verify_cert_error_string: @Sendable @convention(c) (Int) -> Text?
    let X509_get_default_cert_file: @Sendable @convention(c) () -> Text?
    let X509_get_default_cert_dir: @Sendable @convention(c) () -> Text?

    // MARK: Stapled responses

    let d2i_OCSP_RESPONSE:
        @Sendable @convention(c) (OpaquePointer?, UnsafeMutablePointer<Bytes?>, Int) -> OpaquePointer?
    let OCSP_RESPONSE_free: Free
    let OCSP_response_get1_basic: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let OCSP_BASICRESP_free: Free
    let OCSP_basic_verify: @Sendable @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?, UInt) -> Int32
    let OCSP_id_cmp: @Sendable @convention(c) (OpaquePointer?, OpaquePointer?) -> Int32
    let OCSP_id_get0_info:
        @Sendable @convention(c) (
            OpaquePointer?, UnsafeMutablePointer<OpaquePointer?>, OpaquePointer?, OpaquePointer?, OpaquePointer?
        ) -> Int32
    let OCSP_resp_count: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let OCSP_resp_get0: @Sendable @convention(c) (OpaquePointer?, Int32) -> OpaquePointer?
    let OCSP_SINGLERESP_get0_id: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let OCSP_single_get0_status:
        @Sendable @convention(c) (
            OpaquePointer?, UnsafeMutablePointer<Int32>?, OpaquePointer?, UnsafeMutablePointer<OpaquePointer?>,
            UnsafeMutablePointer<OpaquePointer?>
        ) -> Int32
    let OCSP_resp_get0_tbs_sigalg: @Sendable @convention(c) (OpaquePointer?) -> OpaquePointer?
    let X509_ALGOR_get0:
        @Sendable @convention(c) (
            UnsafeMutablePointer<OpaquePointer?>, UnsafeMutablePointer<Int32>, UnsafeMutablePointer<OpaquePointer?>,
            OpaquePointer?
        ) -> Void
    let OBJ_obj2nid: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let OBJ_nid2sn: @Sendable @convention(c) (Int32) -> Text?
    let OBJ_find_sigid_algs:
        @Sendable @convention(c) (Int32, UnsafeMutablePointer<Int32>, UnsafeMutablePointer<Int32>) -> Int32
    let EVP_get_digestbyname: @Sendable @convention(c) (Text?) -> OpaquePointer?
    let EVP_MD_get_size: @Sendable @convention(c) (OpaquePointer?) -> Int32
    let d2i_RSA_PSS_PARAMS:
        @Sendable @convention(c) (OpaquePointer?, UnsafeMutablePointer<Bytes?>, Int) -> OpaquePointer?
    let RSA_PSS_PARAMS_free: Free
    let OCSP_cert_to_id: @Sendable @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?) -> OpaquePointer?
    let OCSP_CERTID_free: Free
    let OCSP_check_validity: @Sendable @convention(c) (OpaquePointer?, OpaquePointer?, Int, Int) -> Int32

    // MARK: Shared by all connections

    /// OpenSSL's version.
    let version: String
    /// Where a connection keeps a pointer to the object that it belongs to.
    let ownerIndex: Int32
    /// The kind of BIO that reads and writes ``CiphertextBuffers``. It is never freed.
    nonisolated(unsafe) let ciphertextMethod: OpaquePointer

    /// The system's library, loaded at the first call.
    static func shared() throws(OpenSSLUnavailable) -> OpenSSL { try result.get() }

    /// The library once it is loaded: for what OpenSSL calls.
    static var loaded: OpenSSL { try! result.get() }

    private static let result = Result { () throws(OpenSSLUnavailable) in try OpenSSL(.shared()) }

    private init(_ library: OpenSSLLibrary) throws(OpenSSLUnavailable) {
        func find<Signature>(_ name: String) throws(OpenSSLUnavailable) -> Signature {
            try library.function(name, Signature.self)
        }
        ERR_clear_error = try find("ERR_clear_error")
        ERR_get_error = try find("ERR_get_error")
        ERR_peek_last_error = try find("ERR_peek_last_error")
        ERR_reason_error_string = try find("ERR_reason_error_string")
        CRYPTO_free = try find("CRYPTO_free")
        CRYPTO_get_ex_new_index = try find("CRYPTO_get_ex_new_index")
        OPENSSL_sk_num = try find("OPENSSL_sk_num")
        OPENSSL_sk_value = try find("OPENSSL_sk_value")
        OPENSSL_sk_pop_free = try find("OPENSSL_sk_pop_free")
        BIO_new = try find("BIO_new")
        BIO_new_mem_buf = try find("BIO_new_mem_buf")
        BIO_s_mem = try find("BIO_s_mem")
        BIO_free = try find("BIO_free")
        BIO_read = try find("BIO_read")
        BIO_set_data = try find("BIO_set_data")
        BIO_get_data = try find("BIO_get_data")
        BIO_set_init = try find("BIO_set_init")
        BIO_set_flags = try find("BIO_set_flags")
        BIO_clear_flags = try find("BIO_clear_flags")
        TLS_client_method = try find("TLS_client_method")
        SSL_CTX_new = try find("SSL_CTX_new")
        SSL_CTX_free = try find("SSL_CTX_free")
        SSL_CTX_ctrl = try find("SSL_CTX_ctrl")
        SSL_CTX_set_options = try find("SSL_CTX_set_options")
        SSL_CTX_set_cert_cb = try find("SSL_CTX_set_cert_cb")
        SSL_CTX_get_ciphers = try find("SSL_CTX_get_ciphers")
        SSL_CTX_set_cipher_list = try find("SSL_CTX_set_cipher_list")
        SSL_CTX_set_verify = try find("SSL_CTX_set_verify")
        SSL_CTX_get_security_level = try find("SSL_CTX_get_security_level")
        SSL_CTX_set_security_level = try find("SSL_CTX_set_security_level")
        SSL_CTX_get_cert_store = try find("SSL_CTX_get_cert_store")
        SSL_CTX_use_certificate = try find("SSL_CTX_use_certificate")
        SSL_CTX_use_PrivateKey = try find("SSL_CTX_use_PrivateKey")
        SSL_CTX_check_private_key = try find("SSL_CTX_check_private_key")
        SSL_CTX_sess_set_new_cb = try find("SSL_CTX_sess_set_new_cb")
        SSL_CTX_set_keylog_callback = try find("SSL_CTX_set_keylog_callback")
        SSL_new = try find("SSL_new")
        SSL_free = try find("SSL_free")
        SSL_ctrl = try find("SSL_ctrl")
        SSL_set_bio = try find("SSL_set_bio")
        SSL_set_connect_state = try find("SSL_set_connect_state")
        SSL_set_ex_data = try find("SSL_set_ex_data")
        SSL_get_ex_data = try find("SSL_get_ex_data")
        SSL_get0_param = try find("SSL_get0_param")
        SSL_set1_host = try find("SSL_set1_host")
        SSL_add1_host = try find("SSL_add1_host")
        SSL_set_hostflags = try find("SSL_set_hostflags")
        SSL_set_alpn_protos = try find("SSL_set_alpn_protos")
        SSL_set_session = try find("SSL_set_session")
        SSL_do_handshake = try find("SSL_do_handshake")
        SSL_get_error = try find("SSL_get_error")
        SSL_read_ex = try find("SSL_read_ex")
        SSL_has_pending = try find("SSL_has_pending")
        SSL_write_ex = try find("SSL_write_ex")
        SSL_shutdown = try find("SSL_shutdown")
        SSL_set_shutdown = try find("SSL_set_shutdown")
        SSL_version = try find("SSL_version")
        SSL_certs_clear = try find("SSL_certs_clear")
        SSL_CIPHER_get_name = try find("SSL_CIPHER_get_name")
        SSL_CIPHER_get_kx_nid = try find("SSL_CIPHER_get_kx_nid")
        SSL_get_current_cipher = try find("SSL_get_current_cipher")
        SSL_CIPHER_get_protocol_id = try find("SSL_CIPHER_get_protocol_id")
        SSL_get0_alpn_selected = try find("SSL_get0_alpn_selected")
        SSL_session_reused = try find("SSL_session_reused")
        SSL_get_verify_result = try find("SSL_get_verify_result")
        SSL_get_peer_cert_chain = try find("SSL_get_peer_cert_chain")
        SSL_get0_verified_chain = try find("SSL_get0_verified_chain")
        SSL_SESSION_free = try find("SSL_SESSION_free")
        SSL_SESSION_get0_ticket = try find("SSL_SESSION_get0_ticket")
        SSL_SESSION_is_resumable = try find("SSL_SESSION_is_resumable")
        SSL_SESSION_get_protocol_version = try find("SSL_SESSION_get_protocol_version")
        d2i_X509 = try find("d2i_X509")
        i2d_X509 = try find("i2d_X509")
        X509_free = try find("X509_free")
        PEM_read_bio_X509_AUX = try find("PEM_read_bio_X509_AUX")
        PEM_read_bio_PrivateKey = try find("PEM_read_bio_PrivateKey")
        d2i_AutoPrivateKey = try find("d2i_AutoPrivateKey")
        d2i_PKCS8PrivateKey_bio = try find("d2i_PKCS8PrivateKey_bio")
        d2i_X509_SIG = try find("d2i_X509_SIG")
        X509_SIG_free = try find("X509_SIG_free")
        EVP_PKEY_free = try find("EVP_PKEY_free")
        d2i_PKCS12 = try find("d2i_PKCS12")
        PKCS12_parse = try find("PKCS12_parse")
        PKCS12_free = try find("PKCS12_free")
        X509_get_X509_PUBKEY = try find("X509_get_X509_PUBKEY")
        i2d_X509_PUBKEY = try find("i2d_X509_PUBKEY")
        EVP_Digest = try find("EVP_Digest")
        EVP_sha256 = try find("EVP_sha256")
        X509_get_subject_name = try find("X509_get_subject_name")
        X509_get_issuer_name = try find("X509_get_issuer_name")
        X509_NAME_print_ex = try find("X509_NAME_print_ex")
        X509_get0_notBefore = try find("X509_get0_notBefore")
        X509_get0_notAfter = try find("X509_get0_notAfter")
        X509_cmp_current_time = try find("X509_cmp_current_time")
        X509_get_ext_d2i = try find("X509_get_ext_d2i")
        GENERAL_NAME_get0_value = try find("GENERAL_NAME_get0_value")
        GENERAL_NAME_free = try find("GENERAL_NAME_free")
        ASN1_STRING_get0_data = try find("ASN1_STRING_get0_data")
        ASN1_STRING_length = try find("ASN1_STRING_length")
        ASN1_INTEGER_get = try find("ASN1_INTEGER_get")
        ASN1_INTEGER_free = try find("ASN1_INTEGER_free")
        ASN1_TIME_set = try find("ASN1_TIME_set")
        ASN1_TIME_diff = try find("ASN1_TIME_diff")
        ASN1_TIME_free = try find("ASN1_TIME_free")
        X509_STORE_add_cert = try find("X509_STORE_add_cert")
        X509_STORE_load_path = try find("X509_STORE_load_path")
        X509_STORE_get0_param = try find("X509_STORE_get0_param")
        X509_VERIFY_PARAM_set_auth_level = try find("X509_VERIFY_PARAM_set_auth_level")
        X509_STORE_set_flags = try find("X509_STORE_set_flags")
        X509_VERIFY_PARAM_set1_ip = try find("X509_VERIFY_PARAM_set1_ip")
        X509_verify_cert_error_string = try find("X509_verify_cert_error_string")
        X509_get_default_cert_file = try find("X509_get_default_cert_file")
        X509_get_default_cert_dir = try find("X509_get_default_cert_dir")
        d2i_OCSP_RESPONSE = try find("d2i_OCSP_RESPONSE")
        OCSP_RESPONSE_free = try find("OCSP_RESPONSE_free")
        OCSP_response_get1_basic = try find("OCSP_response_get1_basic")
        OCSP_BASICRESP_free = try find("OCSP_BASICRESP_free")
        OCSP_basic_verify = try find("OCSP_basic_verify")
        OCSP_id_cmp = try find("OCSP_id_cmp")
        OCSP_id_get0_info = try find("OCSP_id_get0_info")
        OCSP_resp_count = try find("OCSP_resp_count")
        OCSP_resp_get0 = try find("OCSP_resp_get0")
        OCSP_SINGLERESP_get0_id = try find("OCSP_SINGLERESP_get0_id")
        OCSP_single_get0_status = try find("OCSP_single_get0_status")
        OCSP_resp_get0_tbs_sigalg = try find("OCSP_resp_get0_tbs_sigalg")
        X509_ALGOR_get0 = try find("X509_ALGOR_get0")
        OBJ_obj2nid = try find("OBJ_obj2nid")
        OBJ_nid2sn = try find("OBJ_nid2sn")
        OBJ_find_sigid_algs = try find("OBJ_find_sigid_algs")
        EVP_get_digestbyname = try find("EVP_get_digestbyname")
        EVP_MD_get_size = try find("EVP_MD_get_size")
        d2i_RSA_PSS_PARAMS = try find("d2i_RSA_PSS_PARAMS")
        RSA_PSS_PARAMS_free = try find("RSA_PSS_PARAMS_free")
        OCSP_cert_to_id = try find("OCSP_cert_to_id")
        OCSP_CERTID_free = try find("OCSP_CERTID_free")
        OCSP_check_validity = try find("OCSP_check_validity")
        version = library.version
        // CRYPTO_EX_INDEX_SSL is 0.
        ownerIndex = CRYPTO_get_ex_new_index(0, 0, nil, nil, nil, nil)
        ciphertextMethod = try CiphertextBuffers.makeMethod(library)
    }
}

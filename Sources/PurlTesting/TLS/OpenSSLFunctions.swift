internal import PurlOpenSSL

/// The functions of OpenSSL that a test server and its authority call, each with its signature, found when the first of them
/// is needed.
///
/// They are named as in OpenSSL, in the writing of Swift: `SSL_CTX_new` is `sslContextNew`.
// Sendable: functions of C, which are the same for every thread.
struct OpenSSLFunctions: @unchecked Sendable {
    /// A pointer to an object of OpenSSL.
    typealias Object = OpaquePointer
    /// What `i2d_` functions allocate.
    typealias Allocated = UnsafeMutablePointer<UInt8>

    /// The functions; the same error each time where there is no OpenSSL.
    static func shared() throws(OpenSSLUnavailable) -> OpenSSLFunctions { try found.get() }

    private static let found = Result { () throws(OpenSSLUnavailable) in try OpenSSLFunctions(.shared()) }

    // MARK: Memory and errors

    let cryptoMalloc: @convention(c) (Int, UnsafePointer<CChar>?, Int32) -> UnsafeMutableRawPointer?
    let cryptoFree: @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, Int32) -> Void
    let errGetError: @convention(c) () -> UInt
    let errClearError: @convention(c) () -> Void
    let errReasonErrorString: @convention(c) (UInt) -> UnsafePointer<CChar>?

    // MARK: Keys and signatures

    let keyContextNewFromName: @convention(c) (Object?, UnsafePointer<CChar>, UnsafePointer<CChar>?) -> Object?
    let keyContextFree: @convention(c) (Object?) -> Void
    let keygenInit: @convention(c) (Object) -> Int32
    let setGroupName: @convention(c) (Object, UnsafePointer<CChar>) -> Int32
    let setRSABits: @convention(c) (Object, Int32) -> Int32
    let generate: @convention(c) (Object, UnsafeMutablePointer<Object?>) -> Int32
    let keyFree: @convention(c) (Object?) -> Void
    let encodePublicKey: @convention(c) (Object, UnsafeMutablePointer<Allocated?>) -> Int32
    let keyToPKCS8: @convention(c) (Object) -> Object?
    let encodePKCS8: @convention(c) (Object, UnsafeMutablePointer<Allocated?>) -> Int32
    let pkcs8Free: @convention(c) (Object?) -> Void
    let digestContextNew: @convention(c) () -> Object?
    let digestContextFree: @convention(c) (Object?) -> Void
    let digestSignInit:
        @convention(c) (
            Object, UnsafeMutablePointer<Object?>?, UnsafePointer<CChar>?, Object?, UnsafePointer<CChar>?, Object,
            UnsafeRawPointer?
        ) -> Int32
    let digestSign:
        @convention(c) (
            Object, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int>, UnsafePointer<UInt8>, Int
        ) -> Int32

    // MARK: Certificates

    let decodeCertificate:
        @convention(c) (UnsafeMutablePointer<Object?>?, UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> Object?
    let certificateFree: @convention(c) (Object?) -> Void
    let subjectName: @convention(c) (Object) -> Object?
    let nameText: @convention(c) (Object, Int32, UnsafeMutablePointer<CChar>?, Int32) -> Int32
    let stackNew: @convention(c) () -> Object?
    let stackPush: @convention(c) (Object, Object) -> Int32
    let stackFree: @convention(c) (Object?) -> Void
    let storeAddCertificate: @convention(c) (Object, Object) -> Int32

    // MARK: What the connections of a server share

    let serverMethod: @convention(c) () -> Object?
    let sslContextNew: @convention(c) (Object?) -> Object?
    let sslContextFree: @convention(c) (Object?) -> Void
    let sslContextControl: @convention(c) (Object, Int32, Int, UnsafeMutableRawPointer?) -> Int
    let sslContextSetOptions: @convention(c) (Object, UInt64) -> UInt64
    let sslContextSetSecurityLevel: @convention(c) (Object, Int32) -> Void
    let sslContextSetNumberOfTickets: @convention(c) (Object, Int) -> Int32
    let sslContextSetSessionIDContext: @convention(c) (Object, UnsafePointer<UInt8>, UInt32) -> Int32
    let sslContextSetVerify: @convention(c) (Object, Int32, (@convention(c) (Int32, Object?) -> Int32)?) -> Void
    let sslContextCertificateStore: @convention(c) (Object) -> Object?
    let sslContextAddClientAuthority: @convention(c) (Object, Object) -> Int32
    let sslContextSetCertificateCallback: @convention(c) (Object, CertificateCallback, UnsafeMutableRawPointer?) -> Void
    let sslContextSetALPNCallback: @convention(c) (Object, ALPNCallback, UnsafeMutableRawPointer?) -> Void
    let sslContextCallbackControl: @convention(c) (Object, Int32, @convention(c) () -> Void) -> Int

    typealias CertificateCallback = @convention(c) (Object?, UnsafeMutableRawPointer?) -> Int32
    typealias ALPNCallback =
        @convention(c) (
            Object?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?, UnsafePointer<UInt8>?,
            UInt32, UnsafeMutableRawPointer?
        ) -> Int32

    // MARK: One connection

    let sslNew: @convention(c) (Object) -> Object?
    let sslFree: @convention(c) (Object?) -> Void
    let sslSetBIO: @convention(c) (Object, Object, Object) -> Void
    let sslSetAcceptState: @convention(c) (Object) -> Void
    let sslControl: @convention(c) (Object, Int32, Int, UnsafeMutableRawPointer?) -> Int
    let sslUseCertificateAndKey: @convention(c) (Object, Object, Object, Object?, Int32) -> Int32
    let sslDoHandshake: @convention(c) (Object) -> Int32
    let sslRead: @convention(c) (Object, UnsafeMutableRawPointer?, Int, UnsafeMutablePointer<Int>) -> Int32
    let sslWrite: @convention(c) (Object, UnsafeRawPointer?, Int, UnsafeMutablePointer<Int>) -> Int32
    let sslShutdown: @convention(c) (Object) -> Int32
    let sslGetError: @convention(c) (Object, Int32) -> Int32
    let sslVersion: @convention(c) (Object) -> UnsafePointer<CChar>?
    let sslServerName: @convention(c) (Object, Int32) -> UnsafePointer<CChar>?
    let sslSelectedALPN:
        @convention(c) (Object, UnsafeMutablePointer<UnsafePointer<UInt8>?>, UnsafeMutablePointer<UInt32>) -> Void
    let sslSessionReused: @convention(c) (Object) -> Int32
    let sslPeerCertificate: @convention(c) (Object) -> Object?
    let sslCurrentCipher: @convention(c) (Object) -> Object?
    let cipherName: @convention(c) (Object?) -> UnsafePointer<CChar>?
    let memoryBIOMethod: @convention(c) () -> Object?
    let bioNew: @convention(c) (Object?) -> Object?
    let bioFree: @convention(c) (Object?) -> Int32
    let bioRead: @convention(c) (Object, UnsafeMutableRawPointer?, Int, UnsafeMutablePointer<Int>) -> Int32
    let bioWrite: @convention(c) (Object, UnsafeRawPointer?, Int, UnsafeMutablePointer<Int>) -> Int32

    private init(_ library: OpenSSLLibrary) throws(OpenSSLUnavailable) {
        func find<Signature>(_ name: String) throws(OpenSSLUnavailable) -> Signature {
            try library.function(name, Signature.self)
        }
        cryptoMalloc = try find("CRYPTO_malloc")
        cryptoFree = try find("CRYPTO_free")
        errGetError = try find("ERR_get_error")
        errClearError = try find("ERR_clear_error")
        errReasonErrorString = try find("ERR_reason_error_string")
        keyContextNewFromName = try find("EVP_PKEY_CTX_new_from_name")
        keyContextFree = try find("EVP_PKEY_CTX_free")
        keygenInit = try find("EVP_PKEY_keygen_init")
        setGroupName = try find("EVP_PKEY_CTX_set_group_name")
        setRSABits = try find("EVP_PKEY_CTX_set_rsa_keygen_bits")
        generate = try find("EVP_PKEY_generate")
        keyFree = try find("EVP_PKEY_free")
        encodePublicKey = try find("i2d_PUBKEY")
        keyToPKCS8 = try find("EVP_PKEY2PKCS8")
        encodePKCS8 = try find("i2d_PKCS8_PRIV_KEY_INFO")
        pkcs8Free = try find("PKCS8_PRIV_KEY_INFO_free")
        digestContextNew = try find("EVP_MD_CTX_new")
        digestContextFree = try find("EVP_MD_CTX_free")
        digestSignInit = try find("EVP_DigestSignInit_ex")
        digestSign = try find("EVP_DigestSign")
        decodeCertificate = try find("d2i_X509")
        certificateFree = try find("X509_free")
        subjectName = try find("X509_get_subject_name")
        nameText = try find("X509_NAME_get_text_by_NID")
        stackNew = try find("OPENSSL_sk_new_null")
        stackPush = try find("OPENSSL_sk_push")
        stackFree = try find("OPENSSL_sk_free")
        storeAddCertificate = try find("X509_STORE_add_cert")
        serverMethod = try find("TLS_server_method")
        sslContextNew = try find("SSL_CTX_new")
        sslContextFree = try find("SSL_CTX_free")
        sslContextControl = try find("SSL_CTX_ctrl")
        sslContextSetOptions = try find("SSL_CTX_set_options")
        sslContextSetSecurityLevel = try find("SSL_CTX_set_security_level")
        sslContextSetNumberOfTickets = try find("SSL_CTX_set_num_tickets")
        sslContextSetSessionIDContext = try find("SSL_CTX_set_session_id_context")
        sslContextSetVerify = try find("SSL_CTX_set_verify")
        sslContextCertificateStore = try find("SSL_CTX_get_cert_store")
        sslContextAddClientAuthority = try find("SSL_CTX_add_client_CA")
        sslContextSetCertificateCallback = try find("SSL_CTX_set_cert_cb")
        sslContextSetALPNCallback = try find("SSL_CTX_set_alpn_select_cb")
        sslContextCallbackControl = try find("SSL_CTX_callback_ctrl")
        sslNew = try find("SSL_new")
        sslFree = try find("SSL_free")
        sslSetBIO = try find("SSL_set_bio")
        sslSetAcceptState = try find("SSL_set_accept_state")
        sslControl = try find("SSL_ctrl")
        sslUseCertificateAndKey = try find("SSL_use_cert_and_key")
        sslDoHandshake = try find("SSL_do_handshake")
        sslRead = try find("SSL_read_ex")
        sslWrite = try find("SSL_write_ex")
        sslShutdown = try find("SSL_shutdown")
        sslGetError = try find("SSL_get_error")
        sslVersion = try find("SSL_get_version")
        sslServerName = try find("SSL_get_servername")
        sslSelectedALPN = try find("SSL_get0_alpn_selected")
        sslSessionReused = try find("SSL_session_reused")
        sslPeerCertificate = try find("SSL_get1_peer_certificate")
        sslCurrentCipher = try find("SSL_get_current_cipher")
        cipherName = try find("SSL_CIPHER_get_name")
        memoryBIOMethod = try find("BIO_s_mem")
        bioNew = try find("BIO_new")
        bioFree = try find("BIO_free")
        bioRead = try find("BIO_read_ex")
        bioWrite = try find("BIO_write_ex")
    }

    /// What went wrong first on this thread, in OpenSSL's words. Removes all, so that a later call does not find them.
    func takeErrors() -> String {
        let code = errGetError()
        errClearError()
        return errReasonErrorString(code).map { String(cString: $0) } ?? "OpenSSL gives no reason"
    }

    /// The bytes that an `i2d_` function has allocated, which are given back.
    func encoded(_ object: Object, by encode: (Object, UnsafeMutablePointer<Allocated?>) -> Int32) -> [UInt8]? {
        var bytes: Allocated?
        let count = encode(object, &bytes)
        guard count > 0, let bytes else { return nil }
        defer { cryptoFree(bytes, nil, 0) }
        return [UInt8](UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// A certificate of OpenSSL's from its encoding; the caller frees it.
    func certificate(_ encoding: some Collection<UInt8>) -> Object? {
        let bytes = [UInt8](encoding)
        return bytes.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return decodeCertificate(nil, &start, buffer.count)
        }
    }
}

/// The numbers of OpenSSL's headers.
enum OpenSSLConstants {
    /// What `SSL_CTX_ctrl` and `SSL_ctrl` are asked for.
    enum Control: Int32 {
        case mode = 33
        case sessionCacheMode = 44
        case statusCallback = 63
        case statusResponse = 71
        case minimumVersion = 123
        case maximumVersion = 124
    }

    /// What a callback answers.
    enum Answer {
        static let accepted: Int32 = 0
        static let fatal: Int32 = 2
        static let ignored: Int32 = 3
    }

    /// What `SSL_get_error` returns.
    enum Outcome {
        static let wantRead: Int32 = 2
        static let wantWrite: Int32 = 3
        static let end: Int32 = 6
    }

    static let movingWriteBuffer = 0x02
    static let releaseBuffers = 0x10
    static let noSessionCache = 0
    static let noTicket: UInt64 = 1 << 14
    static let noRenegotiation: UInt64 = 1 << 30
    static let verifyPeer: Int32 = 1
    static let failWithoutCertificate: Int32 = 2
    /// The kind of name in SNI.
    static let hostName: Int32 = 0
    static let commonName: Int32 = 13
}

extension OpenSSLFunctions {
    func control(_ context: Object, _ control: OpenSSLConstants.Control, _ value: Int) -> Int {
        sslContextControl(context, control.rawValue, value, nil)
    }

    /// Sets what is called when a client asks for a response about the certificate.
    func setStatusCallback(_ context: Object, _ callback: @escaping CertificateCallback) {
        // OpenSSL takes callbacks of all signatures there, and knows this one by the number.
        let generic = unsafeBitCast(callback, to: (@convention(c) () -> Void).self)
        _ = sslContextCallbackControl(context, OpenSSLConstants.Control.statusCallback.rawValue, generic)
    }

    /// Sets the response about its certificate that a connection sends to a client that asks.
    func staple(_ response: [UInt8], to ssl: Object) {
        // It belongs to the connection from then on.
        guard let copy = cryptoMalloc(response.count, nil, 0) else { return }
        copy.copyMemory(from: response, byteCount: response.count)
        if sslControl(ssl, OpenSSLConstants.Control.statusResponse.rawValue, response.count, copy) != 1 {
            cryptoFree(copy, nil, 0)
        }
    }
}

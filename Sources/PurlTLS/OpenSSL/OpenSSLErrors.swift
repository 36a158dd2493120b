import Purl

/// The errors that OpenSSL has queued for this thread.
struct OpenSSLErrors {
    /// What went wrong first, in OpenSSL's words.
    let sentence: String
    /// The number of the library within OpenSSL that has found it.
    let library: Int
    /// Its number among those of that library.
    let reason: Int

    /// SSL_R_ALERT…: this added to the number of an alert of the server's (RFC 8446 §6).
    private static let alerts = 1000

    /// Takes all, so that a later call does not find them.
    static func take(_ openSSL: OpenSSL) -> OpenSSLErrors {
        let code = openSSL.ERR_get_error()
        openSSL.ERR_clear_error()
        guard code != 0 else { return OpenSSLErrors(sentence: "OpenSSL gives no reason", library: 0, reason: 0) }
        let text = openSSL.ERR_reason_error_string(code).map { String(cString: $0) }
        // ERR_GET_LIB and ERR_GET_REASON.
        let library = Int(code >> 23 & 0xFF)
        let reason = Int(code & 0x7F_FFFF)
        // ERR_LIB_SSL
        let alert = library == 20 && 0...255 ~= reason - alerts ? Self.name(ofAlert: reason - alerts) : nil
        return OpenSSLErrors(
            sentence: alert.map { "the server has sent the alert \($0)" } ?? text ?? "OpenSSL's error \(code)",
            library: library, reason: reason)
    }

    /// RFC 8446 §6 and those that were before it.
    private static func name(ofAlert number: Int) -> String {
        let names = [
            10: "unexpected_message", 20: "bad_record_mac", 22: "record_overflow", 40: "handshake_failure",
            42: "bad_certificate", 43: "unsupported_certificate", 44: "certificate_revoked", 45: "certificate_expired",
            46: "certificate_unknown", 47: "illegal_parameter", 48: "unknown_ca", 49: "access_denied",
            50: "decode_error", 51: "decrypt_error", 70: "protocol_version", 71: "insufficient_security",
            80: "internal_error", 86: "inappropriate_fallback", 90: "user_canceled", 109: "missing_extension",
            110: "unsupported_extension", 112: "unrecognized_name", 113: "bad_certificate_status_response",
            115: "unknown_psk_identity", 116: "certificate_required", 120: "no_application_protocol",
        ]
        return names[number] ?? "\(number)"
    }

    /// What kind of error of a connection it is to a user of Purl.
    var kind: TLSError.Kind {
        // ERR_LIB_SSL: the others have numbers of their own.
        guard library == 20 else { return .malformed }
        return switch reason {
        // WRONG_VERSION_NUMBER, HTTP_REQUEST, PACKET_LENGTH_TOO_LONG, UNKNOWN_PROTOCOL, BAD_RECORD_TYPE,
        // RECORD_LENGTH_MISMATCH
        case 267, 156, 198, 252, 443, 213: .notTLS
        // UNSUPPORTED_PROTOCOL, NO_PROTOCOLS_AVAILABLE, WRONG_SSL_VERSION, UNSAFE_LEGACY_RENEGOTIATION_DISABLED,
        // DH_KEY_TOO_SMALL, VERSION_TOO_LOW; the alerts handshake_failure, protocol_version, insufficient_security,
        // inappropriate_fallback, no_application_protocol
        case 258, 191, 266, 338, 394, 396, Self.alerts + 40, Self.alerts + 70, Self.alerts + 71, Self.alerts + 86,
            Self.alerts + 120:
            .noAgreement
        // The alert certificate_required
        case Self.alerts + 116: .certificateRequired
        // The alerts from bad_certificate to certificate_unknown, unknown_ca, access_denied
        case Self.alerts + 42...Self.alerts + 46, Self.alerts + 48, Self.alerts + 49: .certificateRejected
        // The alerts unexpected_message, bad_record_mac, record_overflow, illegal_parameter, decode_error, decrypt_error
        case Self.alerts + 10, Self.alerts + 20, Self.alerts + 22, Self.alerts + 47, Self.alerts + 50,
            Self.alerts + 51:
            .malformed
        // Any other alert.
        case Self.alerts...Self.alerts + 255: .refused
        default: .malformed
        }
    }
}

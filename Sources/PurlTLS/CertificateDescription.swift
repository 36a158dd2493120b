import Foundation
import Purl
internal import PurlOpenSSL

/// What a certificate says, such as one of the `certificates` of a `TLSTrust`: read, not verified.
///
/// Everything in it was chosen by the certificate's maker. Control characters are escaped.
public struct CertificateDescription: Sendable, Hashable, CustomStringConvertible {
    /// Who it was issued for, such as `CN=example.com,O=Example` (RFC 4514).
    public let subject: String
    /// Who has issued it, in the same form.
    public let issuer: String
    /// The first moment at which it is valid.
    public let notBefore: Date
    /// The last moment at which it is valid.
    public let notAfter: Date
    /// The names of hosts and the addresses that it is for, each with its kind in front: `DNS:example.com`, `IP:192.0.2.1`.
    public let subjectAlternativeNames: [String]
    /// What to pin its public key with.
    public let publicKeyPin: PublicKeyPin

    /// Whose it is, from when to when, and who has issued it, in one line.
    public var description: String {
        let names = subjectAlternativeNames.isEmpty ? "" : " (\(subjectAlternativeNames.joined(separator: ", ")))"
        return "\(subject)\(names), from \(notBefore) to \(notAfter), issued by \(issuer)"
    }

    /// Reads a certificate.
    ///
    /// - Parameter der: The certificate in DER.
    /// - Throws: `TLSError`: of the kind `.malformed` when it is not a certificate, and `.unavailable` without
    ///   OpenSSL 3.
    public init(der: Data) throws(TLSError) {
        let openSSL = try SystemTLS.unavailable { () throws(OpenSSLUnavailable) in try OpenSSL.shared() }
        defer { openSSL.ERR_clear_error() }
        guard let certificate = CertificateReader(openSSL: openSSL).decode(der, openSSL.d2i_X509) else {
            throw TLSError(.malformed, reason: "this is not a certificate in DER")
        }
        defer { openSSL.X509_free(certificate) }
        guard let subject = openSSL.text(of: openSSL.X509_get_subject_name(certificate)),
            let issuer = openSSL.text(of: openSSL.X509_get_issuer_name(certificate)),
            let notBefore = openSSL.date(openSSL.X509_get0_notBefore(certificate)),
            let notAfter = openSSL.date(openSSL.X509_get0_notAfter(certificate)), let pin = openSSL.pin(of: certificate)
        else { throw TLSError(.malformed, reason: "the certificate has a field that cannot be read") }
        self.subject = subject
        self.issuer = issuer
        self.notBefore = notBefore
        self.notAfter = notAfter
        subjectAlternativeNames = openSSL.names(of: certificate)
        publicKeyPin = pin
    }
}

extension OpenSSL {
    /// The text of an `X509_NAME`.
    fileprivate func text(of name: OpaquePointer?) -> String? {
        guard let bio = BIO_new(BIO_s_mem()) else { return nil }
        defer { _ = BIO_free(bio) }
        // XN_FLAG_RFC2253 without ASN1_STRFLGS_ESC_MSB, so that letters that are not ASCII can be read.
        guard X509_NAME_print_ex(bio, name, 0, 0x111_0313) >= 0 else { return nil }
        var text = [UInt8]()
        var piece = [UInt8](repeating: 0, count: 1024)
        while case let count = BIO_read(bio, &piece, Int32(piece.count)), count > 0 { text += piece[..<Int(count)] }
        return String(decoding: text, as: UTF8.self)
    }

    /// The date of an `ASN1_TIME`.
    func date(_ time: OpaquePointer?) -> Date? {
        guard let epoch = ASN1_TIME_set(nil, 0) else { return nil }
        defer { ASN1_TIME_free(epoch) }
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
        return Date(timeIntervalSince1970: Double(days) * 86_400 + Double(seconds))
    }

    /// The names of hosts and addresses in a certificate.
    fileprivate func names(of certificate: OpaquePointer?) -> [String] {
        // NID_subject_alt_name
        guard let names = X509_get_ext_d2i(certificate, 85, nil, nil) else { return [] }
        defer { OPENSSL_sk_pop_free(names, GENERAL_NAME_free) }
        return (0..<max(0, OPENSSL_sk_num(names))).compactMap { index in
            var kind: Int32 = 0
            guard let value = GENERAL_NAME_get0_value(OPENSSL_sk_value(names, index), &kind) else { return nil }
            // GEN_DNS, GEN_IPADD
            guard kind == 2 || kind == 7, let start = ASN1_STRING_get0_data(value) else { return nil }
            let bytes = [UInt8](UnsafeBufferPointer(start: start, count: Int(max(0, ASN1_STRING_length(value)))))
            return kind == 2 ? "DNS:\(Self.escaped(bytes))" : "IP:\(Self.address(bytes))"
        }
    }

    private static func escaped(_ bytes: [UInt8]) -> String {
        bytes.map { byte in
            0x21...0x7E ~= byte && byte != UInt8(ascii: "\\")
                ? String(UnicodeScalar(byte)) : "\\" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }

    private static func address(_ bytes: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : bytes.count == 16 ? AF_INET6 : nil
        guard let family, inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return escaped(bytes) }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

import Foundation
import Purl

/// How files are read that may be pipes.
enum FileReader {
    /// However long the program at the other end takes.
    case patient
    /// Until the program at the other end has written nothing for so many milliseconds: other handshakes wait meanwhile.
    case brief(milliseconds: Int32)
    /// Not at all: they are an error.
    case regularFilesOnly

    func open(_ path: String) throws(TLSError) -> Int32 {
        let waiting: Int32 =
            switch self {
            case .patient: 0
            case .brief, .regularFilesOnly: O_NONBLOCK
            }
        let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC | waiting)
        guard descriptor >= 0 else { throw SourceContent.unusable(path, errno) }
        do throws(TLSError) {
            try check(descriptor, path)
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    private func check(_ descriptor: Int32, _ path: String) throws(TLSError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SourceContent.unusable(path, errno) }
        switch (status.st_mode & S_IFMT, self) {
        case (S_IFDIR, _): throw SourceContent.unusable(path, EISDIR)
        case (S_IFREG, _), (_, .patient), (_, .brief): break
        case (_, .regularFilesOnly): throw TLSError(.unusableSettings, reason: "“\(path)” is not a regular file")
        }
    }

    /// Waits for what a program writes. False when nothing comes.
    func wait(for descriptor: Int32) -> Bool {
        switch self {
        case .patient, .regularFilesOnly: return true
        case .brief(let milliseconds):
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&entry, 1, milliseconds) > 0
        }
    }
}

/// What was read of a source, and how it is called in errors.
struct SourceContent {
    let bytes: Data
    let name: String

    /// More than any file of certificates has, and less than what a device without an end gives.
    private static let limit = 64 << 20

    init(_ source: SystemTLS.Source, _ files: FileReader) throws(TLSError) {
        switch source {
        case .data(let data): (bytes, name) = (data, "the data in memory")
        case .file(let path): (bytes, name) = (try Self.read(path, files), "“\(path)”")
        case .folder(let path): throw TLSError(.unusableSettings, reason: "“\(path)” is a folder")
        }
    }

    private static func read(_ path: String, _ files: FileReader) throws(TLSError) -> Data {
        let descriptor = try files.open(path)
        defer { close(descriptor) }
        var content = Data()
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while content.count <= limit {
            // Before the first piece, too: a pipe that no program has opened yet reads as one that has ended.
            guard files.wait(for: descriptor) else {
                throw TLSError(.unusableSettings, reason: "“\(path)” is a pipe to which nothing is written")
            }
            let count = Foundation.read(descriptor, &piece, piece.count)
            switch (count, errno) {
            case (1..., _): content += piece[..<count]
            case (0, _): return content
            case (_, EINTR), (_, EAGAIN): continue
            default: throw unusable(path, errno)
            }
        }
        throw unusable(path, EFBIG)
    }

    static func unusable(_ path: String, _ code: Int32) -> TLSError {
        let reason =
            switch code {
            case ENOENT, ENOTDIR: "“\(path)” does not exist"
            case EISDIR: "“\(path)” is a folder"
            case EACCES, EPERM: "“\(path)” may not be read"
            default: "“\(path)” cannot be read: \(String(cString: strerror(code)))"
            }
        return TLSError(.unusableSettings, reason: reason)
    }

    var isPEM: Bool { bytes.range(of: Data("-----BEGIN ".utf8)) != nil }

    func contains(_ text: String) -> Bool { bytes.range(of: Data(text.utf8)) != nil }

    func error(_ sentence: String) -> TLSError { TLSError(.unusableSettings, reason: "\(name) \(sentence)") }
}

/// Reads certificates and keys with OpenSSL.
struct CertificateReader {
    let openSSL: OpenSSL

    /// Calls `body` with each certificate of a content, at least one, which are freed afterwards.
    func certificates(
        in content: SourceContent, _ body: (OpaquePointer) throws(TLSError) -> Void
    ) throws(TLSError) {
        openSSL.ERR_clear_error()
        defer { openSSL.ERR_clear_error() }
        guard content.isPEM else {
            guard let certificate = decode(content.bytes, openSSL.d2i_X509) else {
                throw content.error("contains no certificate in PEM or DER")
            }
            defer { openSSL.X509_free(certificate) }
            return try body(certificate)
        }
        var count = 0
        let failure = withBIO(content.bytes) { bio -> TLSError? in
            // An empty passphrase keeps OpenSSL from asking for one on the terminal.
            while let certificate = openSSL.PEM_read_bio_X509_AUX(bio, nil, nil, "") {
                defer { openSSL.X509_free(certificate) }
                count += 1
                do throws(TLSError) { try body(certificate) } catch { return error }
            }
            // ERR_LIB_PEM and PEM_R_NO_START_LINE: there are no more.
            let last = openSSL.ERR_peek_last_error()
            guard last >> 23 & 0xFF == 9, last & 0x7F_FFFF == 108 else {
                return content.error("has a damaged certificate: \(OpenSSLErrors.take(openSSL).sentence)")
            }
            return nil
        }
        if let failure { throw failure }
        if count == 0 { throw content.error("contains no certificate") }
    }

    /// A private key, which the caller frees.
    func privateKey(in content: SourceContent, passphrase: String?) throws(TLSError) -> OpaquePointer {
        openSSL.ERR_clear_error()
        defer { openSSL.ERR_clear_error() }
        let key =
            content.isPEM
            ? withBIO(content.bytes) { openSSL.PEM_read_bio_PrivateKey($0, nil, nil, passphrase ?? "") }
            : decode(content.bytes, openSSL.d2i_AutoPrivateKey)
                ?? withBIO(content.bytes) { openSSL.d2i_PKCS8PrivateKey_bio($0, nil, nil, passphrase ?? "") }
        if let key { return key }
        let isEncryptedDER = !content.isPEM && isEncrypted(content.bytes)
        guard isEncryptedDER || content.isPEM && content.contains("PRIVATE KEY-----") else {
            throw content.error("contains no private key")
        }
        guard isEncryptedDER || content.contains("ENCRYPTED") else {
            throw content.error("has a private key that cannot be used: \(OpenSSLErrors.take(openSSL).sentence)")
        }
        throw content.error(
            passphrase == nil
                ? "has a private key that needs its passphrase" : "has a private key with another passphrase")
    }

    /// Whether it is an EncryptedPrivateKeyInfo in DER (RFC 5958 §3).
    private func isEncrypted(_ bytes: Data) -> Bool {
        guard let sealed = decode(bytes, openSSL.d2i_X509_SIG) else { return false }
        openSSL.X509_SIG_free(sealed)
        return true
    }

    func decode(
        _ bytes: Data, _ function: (OpaquePointer?, UnsafeMutablePointer<OpenSSL.Bytes?>, Int) -> OpaquePointer?
    ) -> OpaquePointer? {
        bytes.withUnsafeBytes { buffer in
            var position = buffer.bindMemory(to: UInt8.self).baseAddress
            return position == nil ? nil : function(nil, &position, buffer.count)
        }
    }

    private func withBIO<Result>(_ bytes: Data, _ body: (OpaquePointer?) -> Result) -> Result {
        bytes.withUnsafeBytes { buffer in
            let bio = openSSL.BIO_new_mem_buf(buffer.baseAddress, Int32(clamping: buffer.count))
            defer { _ = openSSL.BIO_free(bio) }
            return body(bio)
        }
    }
}

import Foundation
import Purl

/// Fills the store of the certificates that are trusted.
struct RootLoader {
    private let openSSL: OpenSSL
    private let store: OpaquePointer?
    private let files: FileReader

    /// Where Linux systems have the certificates of all roots, in the order in which they are tried.
    static let knownFiles = [
        "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Gentoo
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
        "/etc/pki/tls/certs/ca-bundle.crt",  // Fedora, RHEL of old
        "/etc/ssl/cert.pem",  // Alpine
        "/etc/ssl/ca-bundle.pem",  // openSUSE
    ]

    init(_ openSSL: OpenSSL, store: OpaquePointer?, _ files: FileReader) {
        self.files = files
        self.openSSL = openSSL
        self.store = store
    }

    func load(_ roots: SystemTLS.Roots) throws(TLSError) {
        // X509_V_FLAG_PARTIAL_CHAIN: what is in the store is trusted, also where its issuer is not.
        _ = openSSL.X509_STORE_set_flags(store, 0x80000)
        switch roots {
        case .system: try loadSystem()
        case .systemAnd(let sources):
            try loadSystem()
            for source in sources { try load(source) }
        case .only(let sources):
            for source in sources { try load(source) }
        }
    }

    private func loadSystem() throws(TLSError) {
        let environment = ProcessInfo.processInfo.environment.filter { !$0.value.isEmpty }
        let file = environment["SSL_CERT_FILE"]
        let folder = environment["SSL_CERT_DIR"]
        if file != nil || folder != nil {
            if let file { try naming("SSL_CERT_FILE") { () throws(TLSError) in try load(.file(file)) } }
            try naming("SSL_CERT_DIR") { () throws(TLSError) in
                try loadFolders(folder ?? "", areNeeded: file == nil)
            }
            return
        }
        // A prepared folder first: of that only the certificates that are needed are read.
        let ownFolder = openSSL.X509_get_default_cert_dir().map { String(cString: $0) }
        if let ownFolder, Self.isPrepared(ownFolder) { return try load(.folder(ownFolder)) }
        let ownFile = openSSL.X509_get_default_cert_file().map { String(cString: $0) }
        if let path = Self.systemFile(ownFile, where: FileManager.default.fileExists(atPath:)) {
            return try load(.file(path))
        }
        throw TLSError(
            .unusableSettings,
            reason: "this system has no certificates of roots: install “ca-certificates”, or set SSL_CERT_FILE")
    }

    /// The file of the system's roots: OpenSSL's own, or else the first of those that are known.
    static func systemFile(_ own: String?, where exists: (String) -> Bool) -> String? {
        ([own].compactMap(\.self) + knownFiles).first(where: exists)
    }

    /// A path like PATH, of which folders that cannot be used are passed over.
    private func loadFolders(_ path: String, areNeeded: Bool) throws(TLSError) {
        var failure: TLSError?
        var areFound = false
        for part in path.split(separator: ":") {
            do throws(TLSError) {
                try loadFolder(String(part))
                areFound = true
            } catch {
                failure = failure ?? error
            }
        }
        if areNeeded, !areFound, let failure { throw failure }
    }

    private func naming(_ variable: String, _ body: () throws(TLSError) -> Void) throws(TLSError) {
        do throws(TLSError) { try body() } catch {
            throw TLSError(error.kind, reason: "\(error.reason), which \(variable) names")
        }
    }

    private func load(_ source: SystemTLS.Source) throws(TLSError) {
        if case .folder(let path) = source { return try loadFolder(path) }
        try CertificateReader(openSSL: openSSL).certificates(in: SourceContent(source, files)) {
            certificate throws(TLSError) in
            guard openSSL.X509_STORE_add_cert(store, certificate) == 1 else {
                throw TLSError(
                    .unusableSettings, reason: "\(source) cannot be used: \(OpenSSLErrors.take(openSSL).sentence)")
            }
        }
    }

    private func loadFolder(_ path: String) throws(TLSError) {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            var isFolder: ObjCBool = false
            let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
            if exists, !isFolder.boolValue {
                throw TLSError(.unusableSettings, reason: "“\(path)” is not a folder")
            }
            throw SourceContent.unusable(path, exists ? EACCES : ENOENT)
        }
        // Where OpenSSL would take the name for several (X509_STORE_load_path), the files are read here.
        if names.contains(where: Self.isHash), !path.contains(":") {
            guard openSSL.X509_STORE_load_path(store, path) == 1 else {
                throw TLSError(
                    .unusableSettings, reason: "“\(path)” cannot be used: \(OpenSSLErrors.take(openSSL).sentence)")
            }
            return
        }
        var isEmpty = true
        for name in names.sorted() where Self.isHash(name) || Self.isCertificates(name) {
            // What is not a certificate is passed over, and so is a pipe, which no such folder has.
            do throws(TLSError) {
                try RootLoader(openSSL, store: store, .regularFilesOnly).load(.file("\(path)/\(name)"))
                isEmpty = false
            } catch {}
        }
        if isEmpty { throw TLSError(.unusableSettings, reason: "“\(path)” contains no certificates") }
    }

    private static func isCertificates(_ name: String) -> Bool {
        ["pem", "crt", "cer", "der"].contains((name as NSString).pathExtension.lowercased())
    }

    private static func isPrepared(_ path: String) -> Bool {
        (try? FileManager.default.contentsOfDirectory(atPath: path))?.contains(where: isHash) ?? false
    }

    /// Whether a file's name is one of `openssl rehash`: a hash of the subject in eight hexadecimal digits, and a number.
    private static func isHash(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 2 && parts[0].count == 8 && parts[0].allSatisfy(\.isHexDigit) && Int(parts[1]) != nil
    }
}

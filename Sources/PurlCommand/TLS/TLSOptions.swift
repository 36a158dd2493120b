import Foundation
import Purl
import PurlTLS

/// The options of `https` and `wss`.
struct TLSOptions: Equatable {
    /// The file with the roots that are trusted in place of the system's.
    var rootsFile: String?
    /// The folder with such roots.
    var rootsFolder: String?
    /// The file with the client's certificate.
    var certificate: String?
    /// The file with its private key.
    var key: String?
    /// The file with the key's passphrase.
    var passphraseFile: String?
    /// The pins of each `--pin`.
    var pins: [Set<PublicKeyPin>] = []
    var verification = SystemTLS.Verification.required

    /// - Parameter words: The words that were given, for the error's sentence.
    func check(_ words: ParsedWords<some Any>) throws(UsageError) {
        if key != nil, certificate == nil { throw words.error("“--key” needs “--cert”.") }
        if passphraseFile != nil, certificate == nil { throw words.error("“--passphrase-file” needs “--cert”.") }
    }

    /// Throws when there are pins and a URL has no key that could be one of them.
    func checkPins(for urls: [URL]) throws(CommandFailure) {
        guard !pins.isEmpty, let url = urls.first(where: { !$0.isLoadedOverTLS }) else { return }
        throw .pinned(url)
    }

    /// Why a redirect to a request is not followed; `nil` where it is.
    func refusal(of request: URLRequest) -> CommandFailure? {
        do throws(CommandFailure) {
            try checkPins(for: [request.url].compactMap(\.self))
            return nil
        } catch {
            return error
        }
    }

    /// Sets the provider of a command. A configuration's own stays where no option is given.
    ///
    /// OpenSSL is loaded at the first connection that needs it, or where files are named, which fails when they cannot be
    /// used.
    ///
    /// - Parameters:
    ///   - messages: Where a warning is printed.
    ///   - isVerbose: Each handshake is printed as well.
    func apply(
        to configuration: URLSessionConfiguration, _ messages: MessagePrinter, isVerbose: Bool
    ) throws(CommandFailure) {
        let provider =
            self == TLSOptions() ? configuration.tlsProvider ?? SystemTLS() : try preparedProvider()
        if verification == .insecure {
            messages.warning(
                "--insecure: who the servers are is not checked"
                    + (pins.isEmpty ? "; anyone on the way can read and change everything" : " but by --pin"))
        }
        configuration.tlsProvider = isVerbose ? VerboseTLS(provider, messages.console) : provider
    }

    /// A provider that has read the files. Asks for the passphrase of a key on the terminal where it is needed and not given.
    private func preparedProvider() throws(CommandFailure) -> SystemTLS {
        let passphrase = try passphraseFile.map { path throws(CommandFailure) in try Passphrase(fileAt: path) }
        let provider = SystemTLS(options(passphrase))
        guard !files.isEmpty, let defect = defect(of: provider) else { return provider }
        let needsPassphrase = passphrase == nil && defect.reason.hasSuffix("passphrase")
        guard needsPassphrase else { throw failure(defect) }
        guard let file = key ?? certificate, let typed = Passphrase(askingFor: file) else {
            throw CommandFailure("\(failure(defect).sentence) “--passphrase-file FILE” names a file that has it.")
        }
        let unlocked = SystemTLS(options(typed))
        if let defect = self.defect(of: unlocked) { throw failure(defect) }
        return unlocked
    }

    private func options(_ passphrase: Passphrase?) -> SystemTLS.Options {
        let roots = [rootsFile.map { SystemTLS.Source.file($0) }, rootsFolder.map { .folder($0) }].compactMap(\.self)
        return SystemTLS.Options(
            roots: roots.isEmpty ? .system : .only(roots), identity: identity(passphrase),
            pins: pins.reduce([]) { $0.union($1) },
            verification: verification)
    }

    private func identity(_ passphrase: Passphrase?) -> SystemTLS.Identity? {
        guard let certificate else { return nil }
        let isArchive = ["p12", "pfx"].contains((certificate as NSString).pathExtension.lowercased())
        if isArchive, key == nil { return .pkcs12(.file(certificate), passphrase: passphrase?.text ?? "") }
        return .pem(certificates: .file(certificate), key: key.map { .file($0) }, passphrase: passphrase?.text)
    }

    /// The paths of what is read.
    var inputs: [String] { files.map(\.path) + [passphraseFile].compactMap(\.self) }

    /// The files that are named, and by which options.
    private var files: [(option: String, path: String)] {
        [("--cacert", rootsFile), ("--capath", rootsFolder), ("--cert", certificate), ("--key", key)].compactMap {
            option, path in path.map { (option, $0) }
        }
    }

    /// What is wrong with a file, which is said before anything is sent. A machine without OpenSSL may still load what is not
    /// secure.
    private func defect(of provider: SystemTLS) -> TLSError? {
        do throws(TLSError) {
            try provider.prepare()
            return nil
        } catch {
            return error.kind == .unusableSettings ? error : nil
        }
    }

    private func failure(_ defect: TLSError) -> CommandFailure {
        let option = files.first { defect.reason.hasPrefix("“\($0.path)”") }.map { "\($0.option): " }
        return CommandFailure((option ?? "") + defect.localizedDescription)
    }
}

extension CommandFailure {
    /// A URL whose server has no key, with `--pin`.
    static func pinned(_ url: URL) -> CommandFailure {
        CommandFailure("--pin needs https: the server of \(url.shownOrigin) has no key to compare.")
    }
}

extension OptionRow {
    /// `--cacert`, `--capath`, `--cert`, `--key`, `--pin` and `--insecure`.
    static func tls(_ path: WritableKeyPath<Values, TLSOptions>) -> [Self] {
        [
            .value(
                "--cacert", "FILE", path.appending(path: \.rootsFile), tlsFile,
                """
                trust the root certificates in FILE (PEM or DER), and with --capath those of its folder, in place of the
                system's
                """),
            .value(
                "--capath", "FOLDER", path.appending(path: \.rootsFolder), tlsFile,
                "trust the root certificates in FOLDER, in place of the system's"),
            .value(
                "--cert", "FILE", path.appending(path: \.certificate), tlsFile,
                """
                show this certificate to servers that ask for one: PEM with those of its issuers after it, or PKCS #12 (.p12)
                """),
            .value(
                "--key", "FILE", path.appending(path: \.key), tlsFile,
                "the private key of --cert; without it the key is in the same FILE"),
            .value(
                "--passphrase-file", "FILE", path.appending(path: \.passphraseFile), passphraseFile,
                """
                the passphrase of the private key is the first line of FILE; without it, a terminal asks for one that is
                needed
                """),
            .list(
                "--pin", "PIN", path.appending(path: \.pins), tlsPins,
                """
                accept only servers whose public key is this one: sha256//BASE64, as -v prints it, the SHA-256 of the key in
                DER. Several, separated by “;” or each with its --pin: any of them
                """),
            .flag(
                "-k, --insecure", path.appending(path: \.verification), .insecure,
                """
                do not check who servers are, as a line says each time: anyone on the way can read and change everything. A
                --pin still counts
                """),
        ]
    }

    private static func tlsFile(_ text: String) throws(BadValue) -> String? {
        guard !text.isEmpty else { throw BadValue("needs a name") }
        return text
    }

    private static func passphraseFile(_ text: String) throws(BadValue) -> String? {
        guard !text.isEmpty, text != "-" else { throw BadValue("needs the name of a file") }
        return text
    }

    private static func tlsPins(_ text: String) throws(BadValue) -> Set<PublicKeyPin> {
        let words = text.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
        let pins = words.compactMap { PublicKeyPin($0) }
        guard !pins.isEmpty, pins.count == words.count else {
            throw BadValue("needs sha256// and the digest of a key in base64, not “\(text)”")
        }
        return Set(pins)
    }
}

import Foundation
import PurlDownloads

/// The arguments of `purl get`.
struct GetOptions: Equatable {
    /// The URLs of the command line, each once.
    private(set) var requests: [DownloadRequest] = []
    /// The file with more of them; "-" is standard input.
    private(set) var inputFile: String?
    /// The file with the checksums of all files; "-" is standard input.
    private(set) var checksumFile: String?
    /// How many files are downloaded at the same time.
    private(set) var maximumAtOnce = 4
    /// How many connections fetch one file at the same time.
    private(set) var connections: ConnectionCount = 1
    /// How many times in a row a failed transfer is retried without progress.
    private(set) var retries = 0
    /// The rate limit of all downloads together.
    private(set) var limit: ByteRate?
    /// Additional header fields, in the order given.
    private(set) var headers: [HeaderOption] = []
    /// Whether partial files of earlier attempts are used, and those of this one kept.
    private(set) var resumes = true
    /// Whether a file that there is already is replaced only by a newer version.
    private(set) var updates = false
    /// The most bytes that a file may have; `nil` if there is no limit.
    private(set) var maximumLength: Int64?
    /// Whether the digests of a file's pieces are left beside it.
    private(set) var keepsDigests = false
    /// Whether the damaged pieces of a file that is there are replaced, and nothing else is downloaded.
    private(set) var repairs = false
    /// The list of its pieces' digests; “-” is standard input, and `nil` the list beside it.
    private(set) var digestList: String?
    /// The length of the pieces in bytes, for a list that does not say it.
    private(set) var pieceLength: Int64?
    /// What is made of bodies with content codings.
    private(set) var codings = ContentCodings.kept
    private(set) var verbosity = Verbosity.normal
    /// Whether events are printed in place of messages.
    private(set) var printsEvents = false
    private(set) var proxy = ProxyChoice.environment
    private(set) var tls = TLSOptions()
    /// Where what happens is recorded.
    private(set) var trace: TraceFile?

    // Of the only URL.
    private var output: String?
    private var checksum: Checksum?
    private var mirrors: [URL] = []

    private init(_ words: ParsedWords<Self>) throws(UsageError) {
        self = try words.applied(to: self)
        try tls.check(words)
        var list = DownloadRequestList()
        for word in words.operands {
            guard let url = URLWord.url(word) else { throw words.error(URLWord.refusal(word)) }
            list.add(DownloadRequest(url: url))
        }
        requests = list.requests
        guard !requests.isEmpty || inputFile != nil else { throw words.error("The URL is missing.") }
        if inputFile == "-", checksumFile == "-" {
            throw words.error("“--input-file” and “--check” cannot both read standard input.")
        }
        try checkRepair(words)
        guard let option = optionForOneURL else { return }
        guard requests.count == 1, inputFile == nil else {
            throw words.error("“\(option)” needs exactly one URL. For several, use the lines of an --input-file.")
        }
        requests[0].output = output
        requests[0].checksum = checksum
        requests[0].mirrors = mirrors
    }

    private init() {}

    /// The paths of the files that are read, the one that is repaired and its list among them.
    var inputs: [String] {
        let lists = [inputFile, checksumFile, digestList].compactMap(\.self).filter { $0 != "-" }
        let repaired = repairs ? requests.compactMap(\.output) : []
        return lists + tls.inputs + repaired + repaired.map { $0 + PieceDigests.suffix }
    }

    private func checkRepair(_ words: ParsedWords<Self>) throws(UsageError) {
        guard repairs else {
            guard digestList != nil || pieceLength == nil else {
                throw words.error("“--piece-length” needs “--digests” or “--repair”.")
            }
            return
        }
        guard output != nil else { throw words.error("“--repair” needs the damaged file: -o FILE.") }
    }

    /// An option that was given and is about one file.
    private var optionForOneURL: String? {
        if output != nil { return "-o" }
        if checksum != nil { return "--sha256" }
        if digestList != nil { return "--digests" }
        return mirrors.isEmpty ? nil : "--mirror"
    }
}

extension GetOptions {
    static var syntax: CommandSyntax<GetOptions> {
        CommandSyntax(
            "get", "URL…", "download URLs into files",
            text: """
                Downloads each URL into a FILE. Until FILE is complete, its bytes are in FILE.part, and the record needed to
                resume is in FILE.resume. After an interruption the same command resumes. With several URLs it skips files
                that are complete, which it recognises by their FILE.resume; these records are removed when all files are
                complete.

                Without -o, FILE is the name in the URL or the one that the server gives, and index.html where there is
                neither; no file is replaced.
                """,
            rows: rows,
            notes: """
                -o, --sha256, --digests and --mirror need exactly one URL. A URL that is given twice is downloaded once.

                Exit status: 0 all complete, 1 failed, 2 usage, 22 HTTP status of 400 or above, 130 interrupted; when files
                end differently, 130 takes precedence over 1, and 1 over 22.
                """
        ) { words throws(UsageError) in try GetOptions(words) }
    }

    private static var rows: [OptionRow<GetOptions>] {
        [
            .value(
                "-o, --output", "FILE", \.output, path,
                """
                save as FILE; replaces FILE when the download is complete. A FIFO, a device or /dev/stdout takes the bytes
                as they arrive, and is not resumed
                """),
            .value(
                "-P, --parallel", "N", \.maximumAtOnce, OptionValue.number(in: 1...1000),
                "download N files at once; the others wait in order (4)"),
            .value(
                "--connections", "N", \.connections, connections,
                """
                fetch each file over N connections at the same time (1), or with “auto” over one more as long as that makes
                it faster, at most 6. More than one are used where the server proves that all parts are of one version
                """),
            .value(
                "--sha256", "HEX", \.checksum, digest, "the file's SHA-256; a file with another one is removed"),
            .value(
                "--check", "FILE", \.checksumFile, list, not: "--sha256",
                """
                the SHA-256 of every file is in FILE, a list as sha256sum writes it, by the name under which the file is
                saved; “-” is standard input
                """),
            .list(
                "--mirror", "URL", \.mirrors, OptionValue.url,
                """
                another URL of the same file, requested when the one before it has failed, with its retries. With --sha256,
                --check or --digests it continues the bytes that have arrived, and with --connections it is asked for
                parts at the same time, also where both servers name the same digest; otherwise it starts over
                """),
            .value(
                "--input-file", "FILE", \.inputFile, OptionValue.text,
                """
                a list with a URL in each line; “-” is standard input. A URL may be followed by sha256=HEX, mirror=URL, and
                out=NAME, which means the same as -o. Empty lines and text after a # are skipped
                """),
            .retry(\.retries),
            .limitRate(\.limit, "receive at most RATE bytes a second, all files together"),
            .header(\.headers, of: "every request"),
        ] + OptionRow.proxies(\.proxy) + OptionRow.tls(\.tls) + [
            .flag("--no-resume", \.resumes, false, "start over, and leave no partial files"),
            .flag(
                "-N, --timestamping", \.updates, true, not: "--no-resume",
                """
                download only what is newer than the FILE of an earlier -N, by its entity tag or its date, and replace FILE
                then. FILE gets the server's time, and FILE.resume stays beside it: it holds the tag. A newer version that
                was cut off is resumed; until then, the tag is in FILE.resume.old
                """),
            .flag(
                "--compressed", \.codings, .undone,
                """
                ask for gzip, and unpack it; what was compressed on the way cannot be resumed. Without it a file is saved as
                the server sends it
                """),
            .flag(
                "--keep-digests", \.keepsDigests, true,
                """
                leave the SHA-256 of each piece of 1 MiB in FILE.digests, with which purl check finds what is damaged later
                """),
            .flag(
                "--repair", \.repairs, true, not: "--keep-digests",
                """
                download only the pieces of FILE that differ from FILE.digests, and write those over them that have the right
                digest. Needs -o
                """),
            .value(
                "--digests", "LIST", \.digestList, OptionValue.text,
                """
                the SHA-256 of each piece is in LIST: a piece that differs is downloaded again, from another server if there
                is a mirror. With --repair: it is not in FILE.digests; “-” is standard input
                """),
            .pieceLength(\.pieceLength),
            .value(
                "--max-filesize", "BYTES", \.maximumLength, OptionValue.length,
                """
                refuse a file of more than BYTES, at the latest when more arrive; with the suffixes of --limit-rate
                """),
            .trace(
                \.trace,
                """
                record what happens, and write it to FILE at the end: as a timeline (.txt), a sequence diagram (.svg), a
                page to step through (.html), an HTTP Archive (.har), packets (.pcapng), or for purl trace (.json, .trace).
                Passwords and cookies are left out; other fields, those of -H among them, and the queries of URLs are in it
                """),
            .quiet(\.verbosity, "print errors only"),
            .json(\.printsEvents, not: "--quiet"),
            .verbose(\.verbosity),
        ]
    }

    private static func path(_ text: String) throws(BadValue) -> String {
        guard !text.isEmpty, text != "-" else {
            throw BadValue("needs the name of a file; a download into a pipe cannot be resumed")
        }
        return text
    }

    private static func connections(_ text: String) throws(BadValue) -> ConnectionCount {
        if text == "auto" { return .adaptive }
        guard let number = Int(text), (1...ConnectionCount.maximum).contains(number) else {
            throw BadValue("needs a number from 1 to \(ConnectionCount.maximum), or “auto”, not “\(text)”")
        }
        return ConnectionCount(number)
    }

    private static func digest(_ text: String) throws(BadValue) -> Checksum {
        guard let checksum = Checksum(text) else { throw BadValue("needs 64 hexadecimal digits, not “\(text)”") }
        return checksum
    }

    /// A list that came with the files could be as wrong as they are, and another one could come with the next command.
    private static func list(_ text: String) throws(BadValue) -> String {
        guard URLWord.url(text) == nil else {
            throw BadValue("needs a file. Download the list first, from a server that you trust")
        }
        return text
    }
}

import Foundation

/// The arguments of `purl put`.
struct PutOptions: Equatable {
    /// The path of the file.
    private(set) var file: String
    /// Where it is uploaded to.
    private(set) var url: URL
    /// The request's method.
    private(set) var method = "PUT"
    /// How many times in a row a failed transfer is retried without progress.
    private(set) var retries = 0
    /// The rate limit.
    private(set) var limit: ByteRate?
    /// Additional header fields, in the order given.
    private(set) var headers: [HeaderOption] = []
    /// Whether the record of an earlier attempt is used, and one is kept.
    private(set) var resumes = true
    private(set) var verbosity = Verbosity.normal
    /// Whether events are printed in place of messages.
    private(set) var printsEvents = false
    private(set) var proxy = ProxyChoice.environment
    private(set) var tls = TLSOptions()
    /// Where what happens is recorded.
    private(set) var trace: TraceFile?

    private init(_ words: ParsedWords<Self>) throws(UsageError) {
        guard let file = words.operands.first, !file.isEmpty else { throw words.error("The file is missing.") }
        guard words.operands.count > 1 else {
            let isURL = URLWord.url(file) != nil
            throw words.error(isURL ? "The file is missing: “put” takes it before the URL." : "The URL is missing.")
        }
        guard words.operands.count == 2 else { throw words.error("“put” takes one file and one URL.") }
        guard file != "-" else { throw words.error("“put” needs a file; standard input cannot be read a second time.") }
        guard var url = URLWord.url(words.operands[1]) else {
            guard URLWord.url(file) == nil else { throw words.error("“put” takes the file before the URL.") }
            throw words.error(URLWord.refusal(words.operands[1]))
        }
        // As with other programs: a folder's URL takes the file under its own name.
        let path = url.path(percentEncoded: true)
        if path.hasSuffix("/") || path.isEmpty, url.query == nil {
            url.appendPathComponent(URL(fileURLWithPath: file).lastPathComponent)
        }
        (self.file, self.url) = (file, url)
        self = try words.applied(to: self)
        try tls.check(words)
    }
}

extension PutOptions {
    static var syntax: CommandSyntax<PutOptions> {
        CommandSyntax(
            "put", "FILE URL", "upload a file",
            text: """
                Uploads FILE to URL, and prints the body of the response. To a URL that ends with “/” the name of FILE is
                appended. From a server that takes uploads in parts (draft-ietf-httpbis-resumable-upload) the same command
                resumes after an interruption, with the -H that are given then; until FILE is complete, the record needed for
                that is in FILE.upload. It is for one URL and one METHOD: to another one purl refuses to upload, without
                --no-resume. A FILE that has changed is uploaded from its beginning; one that has only been moved, with its
                folder or with FILE.upload, is resumed. One whose length or modification time changes meanwhile fails.
                """,
            rows: rows,
            notes: """
                Exit status: 0 complete, 1 failed, 2 usage, 22 HTTP status of 400 or above, 130 interrupted.
                """
        ) { words throws(UsageError) in try PutOptions(words) }
    }

    private static let methods = ["PUT", "POST", "PATCH"]

    private static var rows: [OptionRow<PutOptions>] {
        [
            .value(
                "-X, --method", "METHOD", \.method, method, choices: methods, "PUT, POST or PATCH (PUT)"),
            .retry(\.retries),
            .limitRate(\.limit, "send at most RATE bytes a second"),
            .header(\.headers, of: "every request"),
        ] + OptionRow.proxies(\.proxy) + OptionRow.tls(\.tls) + [
            .flag(
                "--no-resume", \.resumes, false, "start over, and keep no record; one of another URL or METHOD stays"),
            .trace(\.trace, "record what happens, as purl get does: --trace upload.svg"),
            .quiet(\.verbosity, "print errors and the response's body only"),
            .json(\.printsEvents, not: "--quiet"),
            .verbose(\.verbosity),
        ]
    }

    private static func method(_ text: String) throws(BadValue) -> String {
        guard methods.contains(text.uppercased()) else { throw BadValue("needs PUT, POST or PATCH, not “\(text)”") }
        return text.uppercased()
    }
}

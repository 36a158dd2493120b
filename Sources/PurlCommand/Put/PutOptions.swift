import Foundation

/// The arguments of `purl put`.
struct PutOptions: Equatable {
    /// The path of the file.
    let file: String
    /// Where it is uploaded to.
    let url: URL
    /// The request's method.
    let method: String
    /// How many times in a row a failed transfer is retried without progress.
    let retries: Int
    /// The rate limit.
    let limit: ByteRate?
    /// Additional header fields, in the order given.
    let headers: [HeaderOption]
    /// Whether the record of an earlier attempt is used, and one is kept.
    let resumes: Bool
    let verbosity: Verbosity
    let proxy: ProxyChoice
    /// Where what happens is recorded.
    let trace: TraceFile?

    /// - Parameter arguments: The words after `put`.
    init(arguments: [String]) throws(UsageError) {
        var draft = Draft()
        var words = arguments[...]
        while let word = words.popFirst() {
            try draft.take(word, &words)
        }
        (file, url) = try draft.finishedPlaces()
        method = draft.method ?? "PUT"
        retries = draft.retries ?? 0
        limit = draft.limit
        headers = draft.headers
        resumes = draft.resumes
        verbosity = draft.verbosity ?? .normal
        proxy = draft.proxy ?? .environment
        trace = draft.trace
    }

    /// The options while they are being read.
    private struct Draft {
        private var places: [String] = []
        private(set) var method: String?
        private(set) var retries: Int?
        private(set) var limit: ByteRate?
        private(set) var headers: [HeaderOption] = []
        private(set) var resumes = true
        private(set) var verbosity: Verbosity?
        private(set) var proxy: ProxyChoice?
        private(set) var trace: TraceFile?
        private var onlyPlacesFollow = false

        /// Takes one word, and its value from `words`.
        mutating func take(_ word: String, _ words: inout ArraySlice<String>) throws(UsageError) {
            guard word.hasPrefix("-"), !onlyPlacesFollow else { return places.append(word) }
            switch word {
            case "--method", "-X": try takeMethod(try words.takeValue(of: word, .put), word)
            case "--retry": try takeRetries(try words.takeValue(of: word, .put))
            case "--limit-rate": try takeLimit(try words.takeValue(of: word, .put))
            case "-H", "--header": headers.append(try HeaderOption(line: try words.takeValue(of: word, .put), .put))
            case "--no-resume": resumes = false
            case "--proxy": try proxy.take(.named(try words.takeValue(of: word, .put)), .put)
            case "--no-proxy": try proxy.take(.none, .put)
            case "--trace": try Self.set(&trace, try TraceFile(try words.takeValue(of: word, .put), .put), word)
            case "-q", "--quiet": try verbosity.take(.quiet, .put)
            case "-v", "--verbose": try verbosity.take(.verbose, .put)
            case "--": onlyPlacesFollow = true
            default: throw UsageError("There is no option “\(word)”.", .put)
            }
        }

        /// The file and the URL, after the last word.
        func finishedPlaces() throws(UsageError) -> (file: String, url: URL) {
            guard let file = places.first, !file.isEmpty else { throw UsageError("The file is missing.", .put) }
            guard places.count > 1 else { throw UsageError("The URL is missing.", .put) }
            guard places.count == 2 else { throw UsageError("“put” takes one file and one URL.", .put) }
            guard file != "-" else {
                throw UsageError("“put” needs a file; standard input cannot be read a second time.", .put)
            }
            guard var url = DownloadRequest.url(places[1]) else {
                throw UsageError("“\(DownloadRequest.shown(places[1]))” is not a URL such as http://host/file.", .put)
            }
            // As with other programs: a folder's URL takes the file under its own name.
            let path = url.path(percentEncoded: true)
            if path.hasSuffix("/") || path.isEmpty, url.query == nil {
                url.appendPathComponent(URL(fileURLWithPath: file).lastPathComponent)
            }
            return (file, url)
        }

        private mutating func takeMethod(_ text: String, _ option: String) throws(UsageError) {
            guard ["PUT", "POST", "PATCH"].contains(text.uppercased()) else {
                throw UsageError("“\(option)” needs PUT, POST or PATCH, not “\(text)”.", .put)
            }
            try Self.set(&method, text.uppercased(), option)
        }

        private mutating func takeRetries(_ text: String) throws(UsageError) {
            guard let number = Int(text), (0...1000).contains(number) else {
                throw UsageError("“--retry” needs a number from 0 to 1000, not “\(text)”.", .put)
            }
            try Self.set(&retries, number, "--retry")
        }

        private mutating func takeLimit(_ text: String) throws(UsageError) {
            guard let rate = ByteRate(text) else {
                throw UsageError(
                    "“--limit-rate” needs bytes a second such as 500000, 200K or 1.5M, not “\(text)”.", .put)
            }
            try Self.set(&limit, rate, "--limit-rate")
        }

        private static func set<Value>(
            _ place: inout Value?, _ value: Value, _ option: String
        ) throws(UsageError) {
            guard place == nil else { throw UsageError("“\(option)” was given twice.", .put) }
            place = value
        }
    }
}

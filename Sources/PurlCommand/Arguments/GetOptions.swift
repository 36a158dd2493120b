import Foundation

/// The arguments of `purl get`.
struct GetOptions: Equatable {
    /// The URLs of the command line, each once.
    let requests: [DownloadRequest]
    /// The file with more of them; "-" is standard input.
    let inputFile: String?
    /// The file with the checksums of all files; "-" is standard input.
    let checksumFile: String?
    /// How many files are downloaded at the same time.
    let maximumAtOnce: Int
    /// How many times in a row a failed transfer is retried without progress.
    let retries: Int
    /// The rate limit of all downloads together.
    let limit: ByteRate?
    /// Additional header fields, in the order given.
    let headers: [HeaderOption]
    /// Whether partial files of earlier attempts are used, and those of this one kept.
    let resumes: Bool
    /// Whether a file that there is already is replaced only by a newer version.
    let updates: Bool
    /// The most bytes that a file may have; `nil` if there is no limit.
    let maximumLength: Int64?
    /// What is made of bodies with content codings.
    let codings: ContentCodings
    let verbosity: Verbosity
    let proxy: ProxyChoice
    /// Where what happens is recorded.
    let trace: TraceFile?

    /// - Parameter arguments: The words after `get`.
    init(arguments: [String]) throws(UsageError) {
        var draft = Draft()
        var words = arguments[...]
        while let word = words.popFirst() {
            try draft.take(word, &words)
        }
        requests = try draft.finishedRequests()
        inputFile = draft.inputFile
        checksumFile = draft.checksumFile
        maximumAtOnce = draft.maximumAtOnce ?? 4
        retries = draft.retries ?? 0
        limit = draft.limit
        headers = draft.headers
        resumes = draft.resumes
        updates = draft.updates
        maximumLength = draft.maximumLength.map { Int64($0.bytesPerSecond) }
        codings = draft.codings
        if inputFile == "-", checksumFile == "-" {
            throw UsageError("“--input-file” and “--check” cannot both read standard input.", .get)
        }
        if updates, !resumes {
            throw UsageError("“-N” needs the record of the file, which “--no-resume” does not keep.", .get)
        }
        verbosity = draft.verbosity ?? .normal
        proxy = draft.proxy ?? .environment
        trace = draft.trace
    }

    /// The options while they are being read.
    private struct Draft {
        private var list = DownloadRequestList()
        private var output: String?
        private var checksum: Checksum?
        private var mirrors: [URL] = []
        var inputFile: String?
        var checksumFile: String?
        var maximumAtOnce: Int?
        var retries: Int?
        var limit: ByteRate?
        var headers: [HeaderOption] = []
        var resumes = true
        var updates = false
        var maximumLength: ByteRate?
        var codings = ContentCodings.kept
        var verbosity: Verbosity?
        var proxy: ProxyChoice?
        var trace: TraceFile?
        private var onlyURLsFollow = false

        /// Takes one word, and its value from `words`.
        mutating func take(_ word: String, _ words: inout ArraySlice<String>) throws(UsageError) {
            guard word.hasPrefix("-"), !onlyURLsFollow else { return try takeURL(word) }
            switch word {
            case "-o", "--output": try takeOutput(try words.takeValue(of: word, .get))
            case "-P", "--parallel":
                try Self.set(&maximumAtOnce, try Self.number(of: word, &words, in: 1...1000), "-P")
            case "--sha256": try takeChecksum(try words.takeValue(of: word, .get))
            case "--check": try takeChecksumFile(try words.takeValue(of: word, .get))
            case "--mirror": mirrors.append(try Self.url(try words.takeValue(of: word, .get)))
            case "--input-file": try Self.set(&inputFile, try words.takeValue(of: word, .get), word)
            case "--retry": try Self.set(&retries, try Self.number(of: word, &words, in: 0...1000), word)
            case "--limit-rate": try Self.set(&limit, try Self.rate(of: word, &words), word)
            case "-H", "--header": headers.append(try HeaderOption(line: try words.takeValue(of: word, .get), .get))
            case "--no-resume": resumes = false
            case "-N", "--timestamping": updates = true
            case "--compressed": codings = .undone
            case "--max-filesize": try Self.set(&maximumLength, try Self.length(of: word, &words), word)
            case "--proxy": try proxy.take(.named(try words.takeValue(of: word, .get)), .get)
            case "--no-proxy": try proxy.take(.none, .get)
            case "-q", "--quiet": try verbosity.take(.quiet, .get)
            case "-v", "--verbose": try verbosity.take(.verbose, .get)
            case "--trace": try Self.set(&trace, try TraceFile(try words.takeValue(of: word, .get), .get), word)
            case "--": onlyURLsFollow = true
            default: throw UsageError("There is no option “\(word)”.", .get)
            }
        }

        /// The requests, after the last word.
        func finishedRequests() throws(UsageError) -> [DownloadRequest] {
            let requests = list.requests
            guard !requests.isEmpty || inputFile != nil else { throw UsageError("The URL is missing.", .get) }
            if checksum != nil, checksumFile != nil {
                throw UsageError("Give either “--sha256” or “--check”.", .get)
            }
            guard let option = optionForOneURL else { return requests }
            guard requests.count == 1, inputFile == nil, let request = requests.first else {
                throw UsageError(
                    "“\(option)” needs exactly one URL. For several, use the lines of an --input-file.", .get)
            }
            return [DownloadRequest(url: request.url, output: output, checksum: checksum, mirrors: mirrors)]
        }

        /// An option that was given and is about one file.
        private var optionForOneURL: String? {
            if output != nil { return "-o" }
            if checksum != nil { return "--sha256" }
            return mirrors.isEmpty ? nil : "--mirror"
        }

        private static func number(
            of option: String, _ words: inout ArraySlice<String>, in range: ClosedRange<Int>
        ) throws(UsageError) -> Int {
            let text = try words.takeValue(of: option, .get)
            guard let number = Int(text), range.contains(number) else {
                throw UsageError(
                    "“\(option)” needs a number from \(range.lowerBound) to \(range.upperBound), not “\(text)”.", .get)
            }
            return number
        }

        private static func rate(
            of option: String, _ words: inout ArraySlice<String>
        ) throws(UsageError) -> ByteRate {
            let text = try words.takeValue(of: option, .get)
            guard let rate = ByteRate(text) else {
                throw UsageError("“\(option)” needs bytes a second such as 500000, 200K or 1.5M, not “\(text)”.", .get)
            }
            return rate
        }

        private static func length(
            of option: String, _ words: inout ArraySlice<String>
        ) throws(UsageError) -> ByteRate {
            let text = try words.takeValue(of: option, .get)
            guard let length = ByteRate(text) else {
                throw UsageError(
                    "“\(option)” needs a number of bytes such as 500000, 200K or 1.5M, not “\(text)”.", .get)
            }
            return length
        }

        private static func set<Value>(
            _ place: inout Value?, _ value: Value, _ option: String
        ) throws(UsageError) {
            guard place == nil else { throw UsageError("“\(option)” was given twice.", .get) }
            place = value
        }

        private static func url(_ word: String) throws(UsageError) -> URL {
            guard let url = DownloadRequest.url(word) else {
                throw UsageError("“\(DownloadRequest.shown(word))” is not a URL such as http://host/file.", .get)
            }
            return url
        }

        private mutating func takeURL(_ word: String) throws(UsageError) {
            list.add(DownloadRequest(url: try Self.url(word)))
        }

        /// A list that came with the files could be as wrong as they are, and another one could come with the next command.
        private mutating func takeChecksumFile(_ path: String) throws(UsageError) {
            guard DownloadRequest.url(path) == nil else {
                throw UsageError("“--check” needs a file. Download the list first, from a server that you trust.", .get)
            }
            try Self.set(&checksumFile, path, "--check")
        }

        private mutating func takeOutput(_ path: String) throws(UsageError) {
            guard !path.isEmpty, path != "-" else {
                throw UsageError("“-o” needs the name of a file; a download into a pipe cannot be resumed.", .get)
            }
            try Self.set(&output, path, "-o")
        }

        private mutating func takeChecksum(_ text: String) throws(UsageError) {
            guard let value = Checksum(text) else {
                throw UsageError("“--sha256” needs 64 hexadecimal digits, not “\(text)”.", .get)
            }
            try Self.set(&checksum, value, "--sha256")
        }
    }
}

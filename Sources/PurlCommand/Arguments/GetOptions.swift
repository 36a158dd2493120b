import Foundation

/// What `purl get` was told.
struct GetOptions: Equatable {
    /// How much is printed.
    enum Verbosity: Equatable {
        /// Errors only.
        case quiet
        case normal
        /// Requests, responses and delegate calls too.
        case verbose
    }

    /// One header field.
    struct Header: Equatable {
        let name: String
        let value: String

        init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// - Parameters:
        ///   - line: `NAME: VALUE`.
        ///   - topic: Which text helps.
        init(line: String, _ topic: Usage) throws(UsageError) {
            guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
                throw UsageError("“\(line)” is not a header field such as 'Name: value'.", topic)
            }
            name = String(line[..<colon])
            // A range chosen by hand would contradict the one that goes on with FILE.part.
            guard !["range", "if-range"].contains(name.lowercased()) else {
                throw UsageError("“\(name)” is set by purl itself.", topic)
            }
            value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
    }

    /// What to load: the URLs of the command line, each once.
    let orders: [Order]
    /// The list with more of them; "-" is standard input.
    let inputFile: String?
    /// How many are loaded at the same time.
    let maximumAtOnce: Int
    /// How often a transfer that failed is tried again.
    let retries: Int
    /// How fast all of them together may be loaded.
    let limit: ByteRate?
    /// More header fields, in the order given.
    let headers: [Header]
    /// Whether parts of earlier attempts are used, and parts of this one left.
    let resumes: Bool
    let verbosity: Verbosity
    let proxy: ProxyChoice

    /// - Parameter arguments: The words after `get`.
    init(arguments: [String]) throws(UsageError) {
        var draft = Draft()
        var words = arguments[...]
        while let word = words.popFirst() {
            try draft.take(word, &words)
        }
        orders = try draft.finishedOrders()
        inputFile = draft.inputFile
        maximumAtOnce = draft.maximumAtOnce ?? 4
        retries = draft.retries ?? 0
        limit = draft.limit
        headers = draft.headers
        resumes = draft.resumes
        verbosity = draft.verbosity ?? .normal
        proxy = draft.proxy ?? .environment
    }

    /// The options while they are being read.
    private struct Draft {
        private var list = OrderList()
        private var output: String?
        private var checksum: Checksum?
        var inputFile: String?
        var maximumAtOnce: Int?
        var retries: Int?
        var limit: ByteRate?
        var headers: [Header] = []
        var resumes = true
        var verbosity: Verbosity?
        var proxy: ProxyChoice?
        private var onlyURLsFollow = false

        /// Takes one word, and from `words` the values that belong to it.
        mutating func take(_ word: String, _ words: inout ArraySlice<String>) throws(UsageError) {
            guard word.hasPrefix("-"), !onlyURLsFollow else { return try takeURL(word) }
            switch word {
            case "-o", "--output": try takeOutput(try words.takeValue(of: word, .get))
            case "-P", "--parallel":
                try Self.set(&maximumAtOnce, try Self.number(of: word, &words, in: 1...1000), "-P")
            case "--sha256": try takeChecksum(try words.takeValue(of: word, .get))
            case "--input-file": try Self.set(&inputFile, try words.takeValue(of: word, .get), word)
            case "--retry": try Self.set(&retries, try Self.number(of: word, &words, in: 0...1000), word)
            case "--limit-rate": try Self.set(&limit, try Self.rate(of: word, &words), word)
            case "-H", "--header": headers.append(try Header(line: try words.takeValue(of: word, .get), .get))
            case "--no-resume": resumes = false
            case "--proxy": try takeProxy(.named(try words.takeValue(of: word, .get)))
            case "--no-proxy": try takeProxy(.none)
            case "-q", "--quiet": try takeVerbosity(.quiet)
            case "-v", "--verbose": try takeVerbosity(.verbose)
            case "--": onlyURLsFollow = true
            default: throw UsageError("There is no option “\(word)”.", .get)
            }
        }

        /// The orders, when all words have been taken.
        func finishedOrders() throws(UsageError) -> [Order] {
            let orders = list.orders
            guard !orders.isEmpty || inputFile != nil else { throw UsageError("The URL is missing.", .get) }
            guard output != nil || checksum != nil else { return orders }
            guard orders.count == 1, inputFile == nil, let order = orders.first else {
                let option = output == nil ? "--sha256" : "-o"
                throw UsageError(
                    "“\(option)” goes with one URL. For several, the lines of an --input-file can say it.", .get)
            }
            return [Order(url: order.url, output: output, checksum: checksum)]
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

        private static func set<Value>(
            _ place: inout Value?, _ value: Value, _ option: String
        ) throws(UsageError) {
            guard place == nil else { throw UsageError("“\(option)” was given twice.", .get) }
            place = value
        }

        private mutating func takeURL(_ word: String) throws(UsageError) {
            guard let url = Order.url(word) else {
                throw UsageError("“\(word)” is not a URL such as http://host/file.", .get)
            }
            // On the command line, orders for the same URL are the same.
            list.add(Order(url: url))
        }

        private mutating func takeOutput(_ path: String) throws(UsageError) {
            guard !path.isEmpty, path != "-" else {
                throw UsageError("“-o” needs the name of a file; a download cannot go on in a pipe.", .get)
            }
            try Self.set(&output, path, "-o")
        }

        private mutating func takeChecksum(_ text: String) throws(UsageError) {
            guard let value = Checksum(text) else {
                throw UsageError("“--sha256” needs 64 hexadecimal digits, not “\(text)”.", .get)
            }
            try Self.set(&checksum, value, "--sha256")
        }

        private mutating func takeVerbosity(_ wanted: Verbosity) throws(UsageError) {
            guard verbosity == nil || verbosity == wanted else {
                throw UsageError("“-q” and “-v” contradict each other.", .get)
            }
            verbosity = wanted
        }

        private mutating func takeProxy(_ wanted: ProxyChoice) throws(UsageError) {
            if case .named("") = wanted { throw UsageError("“--proxy” needs a host, or a URL.", .get) }
            guard proxy == nil || proxy == wanted else {
                throw UsageError("Only one of “--proxy” and “--no-proxy” can be meant, and once.", .get)
            }
            proxy = wanted
        }
    }
}

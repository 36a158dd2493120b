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
    }

    /// What to load: a URL with a scheme.
    let url: URL
    /// Where to save; `nil` leaves the choice to the server.
    private(set) var output: String?
    /// More header fields, in the order given.
    private(set) var headers: [Header] = []
    /// Whether parts of earlier attempts are used, and parts of this one left.
    private(set) var resumes = true
    private(set) var verbosity = Verbosity.normal

    /// - Parameter arguments: The words after `get`.
    init(arguments: [String]) throws(UsageError) {
        var draft = Draft()
        var words = arguments[...]
        while let word = words.popFirst() {
            try draft.take(word, &words)
        }
        guard let url = draft.url else { throw UsageError("The URL is missing.", .get) }
        self.url = url
        output = draft.output
        headers = draft.headers
        resumes = draft.resumes
        verbosity = draft.verbosity ?? .normal
    }

    /// The options while they are being read.
    private struct Draft {
        var url: URL?
        var output: String?
        var headers: [Header] = []
        var resumes = true
        var verbosity: Verbosity?
        private var onlyURLFollows = false

        /// Takes one word, and from `words` the values that belong to it.
        mutating func take(_ word: String, _ words: inout ArraySlice<String>) throws(UsageError) {
            guard word.hasPrefix("-"), !onlyURLFollows else { return try takeURL(word) }
            switch word {
            case "-o", "--output": try takeOutput(try Self.value(of: word, &words))
            case "-H", "--header": headers.append(try Self.header(try Self.value(of: word, &words)))
            case "--no-resume": resumes = false
            case "-q", "--quiet": try takeVerbosity(.quiet)
            case "-v", "--verbose": try takeVerbosity(.verbose)
            case "--": onlyURLFollows = true
            default: throw UsageError("There is no option “\(word)”.", .get)
            }
        }

        private static func value(
            of option: String, _ words: inout ArraySlice<String>
        ) throws(UsageError) -> String {
            guard let value = words.popFirst() else { throw UsageError("“\(option)” needs a value.", .get) }
            return value
        }

        private mutating func takeURL(_ word: String) throws(UsageError) {
            guard url == nil else { throw UsageError("One URL at a time, please: what is “\(word)”?", .get) }
            guard let parsed = URL(string: word), parsed.scheme != nil, word.contains("://") else {
                throw UsageError("“\(word)” is not a URL such as http://host/file.", .get)
            }
            url = parsed
        }

        private mutating func takeOutput(_ path: String) throws(UsageError) {
            guard output == nil else { throw UsageError("“-o” was given twice.", .get) }
            guard !path.isEmpty, path != "-" else {
                throw UsageError("“-o” needs the name of a file; a download cannot go on in a pipe.", .get)
            }
            output = path
        }

        private mutating func takeVerbosity(_ wanted: Verbosity) throws(UsageError) {
            guard verbosity == nil || verbosity == wanted else {
                throw UsageError("“-q” and “-v” contradict each other.", .get)
            }
            verbosity = wanted
        }

        private static func header(_ text: String) throws(UsageError) -> Header {
            guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else {
                throw UsageError("“\(text)” is not a header field such as 'Name: value'.", .get)
            }
            let name = String(text[..<colon])
            // A range chosen by hand would contradict the one that goes on with FILE.part.
            guard !["range", "if-range"].contains(name.lowercased()) else {
                throw UsageError("“\(name)” is set by purl itself.", .get)
            }
            return Header(
                name: name,
                value: text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces))
        }
    }
}

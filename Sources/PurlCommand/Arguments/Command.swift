/// The command that the arguments name.
enum Command: Equatable {
    case help(Usage)
    case version
    case demo(TraceFile?)
    case get(GetOptions)
    case put(PutOptions)
    case list(FolderOptions)
    case clean(FolderOptions)
    case ws(WebSocketOptions)
    case serve(ServeOptions)
    case trace(TraceOptions)

    /// - Parameter arguments: The words after the program's name.
    init(arguments: [String]) throws(UsageError) {
        guard let first = arguments.first else {
            self = .help(.all)
            return
        }
        let rest = Array(arguments.dropFirst())
        switch first {
        case "help", "--help", "-h":
            self = .help(try Self.topic(rest))
        case "--version":
            self = .version
        case "demo":
            self = try Self.demo(rest)
        case "get":
            self = rest.contains(where: Self.isHelp) ? .help(.get) : .get(try GetOptions(arguments: rest))
        case "put":
            self = rest.contains(where: Self.isHelp) ? .help(.put) : .put(try PutOptions(arguments: rest))
        case "list":
            self =
                rest.contains(where: Self.isHelp)
                ? .help(.list) : .list(try FolderOptions(arguments: rest, flags: [], .list))
        case "clean":
            self =
                rest.contains(where: Self.isHelp)
                ? .help(.clean) : .clean(try FolderOptions(arguments: rest, flags: ["--all", "--dry-run"], .clean))
        case "ws":
            self = rest.contains(where: Self.isHelp) ? .help(.ws) : .ws(try WebSocketOptions(arguments: rest))
        case "serve":
            self = rest.contains(where: Self.isHelp) ? .help(.serve) : .serve(try ServeOptions(arguments: rest))
        case "trace":
            self = rest.contains(where: Self.isHelp) ? .help(.trace) : .trace(try TraceOptions(arguments: rest))
        default:
            throw UsageError("There is no command “\(first)”.", .all)
        }
    }

    private static func topic(_ words: [String]) throws(UsageError) -> Usage {
        switch words.first {
        case nil: .all
        case "get": .get
        case "put": .put
        case "list": .list
        case "clean": .clean
        case "ws": .ws
        case "serve": .serve
        case "demo": .demo
        case "trace": .trace
        case let other?: throw UsageError("There is no command “\(other)”.", .all)
        }
    }

    private static func demo(_ words: [String]) throws(UsageError) -> Command {
        if words.contains(where: isHelp) { return .help(.demo) }
        var trace: TraceFile?
        var rest = words[...]
        while let word = rest.popFirst() {
            guard word == "--trace", trace == nil else {
                throw UsageError("“demo” takes no arguments but “--trace FILE”.", .demo)
            }
            trace = try TraceFile(try rest.takeValue(of: word, .demo), .demo)
        }
        return .demo(trace)
    }

    private static func isHelp(_ word: String) -> Bool {
        word == "--help" || word == "-h"
    }
}

/// The command line is invalid.
struct UsageError: Error, Equatable {
    /// The error, as a sentence.
    let sentence: String
    /// The help text to print with it.
    let topic: Usage

    init(_ sentence: String, _ topic: Usage) {
        self.sentence = sentence
        self.topic = topic
    }
}

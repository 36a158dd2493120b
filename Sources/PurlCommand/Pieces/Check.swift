import Foundation
import Purl

/// The arguments of `purl check`.
struct CheckOptions: Equatable {
    /// The files to check.
    private(set) var files: [String] = []
    /// The list of the only file; “-” is standard input, and `nil` the list beside each file.
    private(set) var list: String?
    /// The length of the pieces in bytes, for a list that does not say it.
    private(set) var pieceLength: Int64?
    private(set) var verbosity = Verbosity.normal
    /// Whether events are printed in place of messages.
    private(set) var printsEvents = false

    private init(_ words: ParsedWords<Self>) throws(UsageError) {
        self = try words.applied(to: self)
        files = words.operands
        guard !files.isEmpty, !files.contains("") else { throw words.error("The file is missing.") }
        guard list == nil || files.count == 1 else { throw words.error("“--digests” needs exactly one file.") }
    }

    private init() {}

    static var syntax: CommandSyntax<CheckOptions> {
        CommandSyntax(
            "check", "FILE…", "find the damaged pieces of files",
            text: """
                Compares each FILE, piece by piece, with the SHA-256 in FILE.digests, which purl get --keep-digests has written,
                and names the bytes of the pieces that differ. purl get --repair replaces these alone.

                A list that sha256sum has made of the files into which split cuts FILE will do as well.
                """,
            rows: [
                .digests(\.list, "FILE.digests"), .pieceLength(\.pieceLength),
                .quiet(\.verbosity, "print errors only, and nothing about files that are right"),
                .json(\.printsEvents, not: "--quiet"),
            ],
            notes: "Exit status: 0 all right, 1 a file is damaged or cannot be checked, 2 usage, 130 interrupted."
        ) { words throws(UsageError) in try CheckOptions(words) }
    }
}

extension OptionRow {
    static func digests(_ path: WritableKeyPath<Values, String?>, _ usual: String) -> Self {
        .value(
            "--digests", "LIST", path, OptionValue.text,
            "the SHA-256 of each piece is in LIST, not in \(usual); “-” is standard input")
    }

    static func pieceLength(_ path: WritableKeyPath<Values, Int64?>) -> Self {
        .value(
            "--piece-length", "BYTES", path, OptionValue.pieceLength,
            "how long the pieces are of a list that does not say it (1M), with the suffixes of --limit-rate")
    }
}

extension OptionValue {
    fileprivate static func pieceLength(_ text: String) throws(BadValue) -> Int64 {
        let length = try length(text)
        guard length <= PieceDigests.longestPiece else { throw BadValue("needs at most 64M, not “\(text)”") }
        return length
    }
}

/// `purl check`: finds the damaged pieces of files.
struct Check {
    private let options: CheckOptions
    private let output: MessagePrinter
    private let errors: MessagePrinter

    /// - Parameters:
    ///   - output: Where the results are printed.
    ///   - errors: Where errors are printed.
    ///   - events: Where events are written in place of both.
    init(_ options: CheckOptions, output: Console, errors: Console, events: EventLog? = nil) {
        self.options = options
        let isQuiet = options.verbosity == .quiet
        self.output = MessagePrinter(console: output, isQuiet: isQuiet, subject: nil, events: events)
        self.errors = MessagePrinter(console: errors, isQuiet: isQuiet, subject: nil, events: events)
    }

    func run() async -> ExitCode {
        await Interrupts.cancelling(errors.console) { await checkAll() }
    }

    private func checkAll() async -> ExitCode {
        var code = ExitCode.success
        for path in options.files {
            do throws(CommandFailure) {
                let file = try await CheckedFile(path, list: options.list, pieceLength: options.pieceLength)
                if !report(file) { code = .failure }
            } catch .interrupted {
                return .interrupted
            } catch {
                errors.error(error.sentence, CommandEvent(.error, file: path))
                code = .failure
            }
        }
        return code
    }

    /// Prints whether a file is right.
    private func report(_ file: CheckedFile) -> Bool {
        let event = CommandEvent(.checked, file: file.name).with {
            ($0.bytes, $0.total) = (file.length, file.expected.length)
            $0.damaged = file.damaged.isEmpty ? nil : file.ranges.map { [$0.lowerBound, $0.upperBound] }
            $0.result = file.isRight ? "right" : "damaged"
        }
        guard !file.isRight else {
            output.info("\(file.name): right, \(ByteText.count(file.length)) in \(file.pieceCount)", event)
            return true
        }
        if let events = output.events {
            events.write(event)
        } else {
            output.console.print("\(file.name): \(file.findings)")
        }
        return false
    }
}

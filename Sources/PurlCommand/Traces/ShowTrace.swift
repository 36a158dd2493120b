import Foundation
import Purl
internal import PurlIO
import PurlTrace

/// The arguments of `purl trace`.
struct TraceOptions: Equatable {
    /// The file, which `--trace` has written as `.json` or `.trace`.
    private(set) var path: String
    /// Whether heads are shown with their fields.
    private(set) var showsFields = false
    /// Where the trace is written in another form.
    private(set) var output: TraceFile?

    private init(_ words: ParsedWords<Self>) throws(UsageError) {
        guard let path = try words.operand("file") else { throw words.error("The file is missing.") }
        self.path = path
        self = try words.applied(to: self)
    }

    static var syntax: CommandSyntax<TraceOptions> {
        CommandSyntax(
            "trace", "FILE", "show what --trace has recorded",
            text: """
                Shows a FILE that --trace has saved as .json or .trace: a timeline of what the program, its delegate, the
                network thread and the file worker have done.
                """,
            rows: [
                .flag("--fields", \.showsFields, true, "also print the fields of requests and responses"),
                .value(
                    "-o, --output", "FILE", \.output, TraceFile.init,
                    "write it in another form instead, by the extension: .txt, .svg, .html, .har or .pcapng"),
            ],
            notes: "Exit status: 0 shown or written, 1 FILE cannot be read or is not a trace, 2 usage."
        ) { words throws(UsageError) in try TraceOptions(words) }
    }
}

/// `purl trace`: shows a trace that was saved, or writes it in another form.
struct ShowTrace {
    private let options: TraceOptions
    private let output: Console
    private let errors: Console

    /// - Parameters:
    ///   - output: Where the timeline is printed.
    ///   - errors: Where errors are printed.
    init(_ options: TraceOptions, output: Console, errors: Console) {
        self.options = options
        self.output = output
        self.errors = errors
    }

    func run() -> ExitCode {
        do throws(CommandFailure) {
            // Of what a later version has saved, some would be lost.
            let place = try options.output?.checked(besides: [URL(fileURLWithPath: options.path)])
            let recording = try recording()
            if let place {
                try place.write(recording)
            } else {
                var text = TextTrace.Options()
                text.showsFields = options.showsFields
                text.showsTasks = Set(recording.events.compactMap(\.task)).count > 1
                for line in TextTrace(recording, options: text).lines { output.print(line) }
            }
            return .success
        } catch {
            errors.print("purl: \(error.sentence)")
            return .failure
        }
    }

    /// Whether it is a file of browsers and others, which lacks most of what a trace has.
    private static func isArchive(_ data: Data) -> Bool {
        struct Archive: Decodable {
            struct Log: Decodable {
                let version: String
            }

            let log: Log
        }
        return (try? JSONDecoder().decode(Archive.self, from: data)) != nil
    }

    private func recording() throws(CommandFailure) -> TransferTrace.Recording {
        try FileEntry.checkReadable(options.path)
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: options.path))
        } catch {
            throw CommandFailure("“\(options.path)” cannot be read: \((error as NSError).localizedDescription)")
        }
        do {
            return try TransferTrace.Recording(json: data)
        } catch {
            guard !Self.isArchive(data) else {
                throw CommandFailure(
                    "“\(options.path)” is an HTTP Archive, which cannot be shown: save traces as .json or .trace.")
            }
            let reason = (error as? DamagedRecording).map { ": \($0.reason)" } ?? ""
            throw CommandFailure(
                "“\(options.path)” is not a trace that “--trace” has saved as .json or .trace\(reason).")
        }
    }
}

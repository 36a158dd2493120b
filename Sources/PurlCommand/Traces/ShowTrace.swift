import Foundation
import Purl
import PurlTrace

/// The arguments of `purl trace`.
struct TraceOptions: Equatable {
    /// The file, which `--trace` has written as `.json` or `.trace`.
    let path: String
    /// Whether heads are shown with their fields.
    let showsFields: Bool
    /// Where the trace is written in another form.
    let output: TraceFile?

    /// - Parameter arguments: The words after `trace`.
    init(arguments: [String]) throws(UsageError) {
        var path: String?
        var showsFields = false
        var output: TraceFile?
        var words = arguments[...]
        while let word = words.popFirst() {
            switch word {
            case "--fields": showsFields = true
            case "-o", "--output": output = try TraceFile(try words.takeValue(of: word, .trace), .trace)
            default:
                guard !word.hasPrefix("-") else { throw UsageError("There is no option “\(word)”.", .trace) }
                guard path == nil else { throw UsageError("“trace” shows one file.", .trace) }
                path = word
            }
        }
        guard let path else { throw UsageError("The file is missing.", .trace) }
        self.path = path
        self.showsFields = showsFields
        self.output = output
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
            let recording = try recording()
            if let file = options.output {
                try file.write(recording)
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
            throw CommandFailure("“\(options.path)” is no trace that “--trace” has saved as .json or .trace.")
        }
    }
}

import Foundation
import Purl
import PurlTrace

/// What `--trace` records for one command; nothing where it was not given.
struct RequestedTrace {
    /// The recorder, for the session's configuration.
    let trace: TransferTrace?
    private let file: TraceFile?
    private let inputs: [URL]

    /// - Parameter inputs: The files that the command reads, which the trace must not replace.
    init(_ file: TraceFile?, besides inputs: [URL] = []) {
        self.file = file
        self.inputs = inputs
        trace = file?.makeTrace()
    }

    /// Runs `command`, and writes what was recorded. The exit code is that of the command, or `.failure` when the file cannot
    /// be written; then the command does not run where that can be known.
    ///
    /// - Parameter messages: Where errors are printed.
    func record(_ messages: MessagePrinter, _ command: () async -> ExitCode) async -> ExitCode {
        do throws(CommandFailure) {
            let place = try file?.checked(besides: inputs)
            let code = await command()
            // A command that has not begun leaves an earlier trace as it is.
            if let recording = trace?.recording, code == .success || !recording.events.isEmpty {
                try place?.write(recording)
            }
            return code
        } catch {
            messages.error(error.sentence)
            return .failure
        }
    }
}

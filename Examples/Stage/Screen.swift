import Foundation

/// What a program shows: lines on the standard output, and its progress at every tenth.
///
/// Marks at fixed percentages are the same in every run, so that the output of an example can be compared with its page.
@MainActor
public final class Screen {
    private var lines: [String] = []
    private var linesSeen = 0
    private var waiting: (line: String, continuation: CheckedContinuation<Void, Never>)?
    /// The last mark; `nil` before the first.
    private var tenths: Int64?
    private var hasPrintedUnknown = false

    public init() {}

    /// Prints a line, without buffering when the output is a pipe.
    public func print(_ line: String) {
        write(line + "\n")
        lines.append(line)
        resumeWaiting()
    }

    /// Writes text without a newline: escape sequences of a terminal.
    public func write(_ text: String) {
        // The reader may have closed the pipe, as `head` does.
        try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    }

    /// Prints each tenth that has been passed since the last call; without a total, one line that it is unknown.
    ///
    /// A count of 0, or one below the last, starts anew and prints nothing.
    public func show(_ received: Int64, of total: Int64?) {
        guard received > 0 else { return begin(at: 0) }
        guard let total, total > 0 else {
            if !hasPrintedUnknown { print("  some bytes, total unknown") }
            hasPrintedUnknown = true
            return
        }
        let reached = Self.tenths(received, of: total)
        let last = tenths.map { min($0, reached) } ?? reached - 1
        tenths = reached
        for tenth in (last + 1)..<(reached + 1) where tenth > 0 { print("  \(tenth * 10) %") }
    }

    /// Prints the progress on disk, before any request.
    public func printOnDisk(_ received: Int64, of total: Int64?) {
        switch (received, total) {
        case (0, _): print("on disk: nothing")
        case (_, nil): print("on disk: some bytes, total unknown")
        case (_, let total?):
            let reached = Self.tenths(received, of: total)
            begin(at: reached)
            print("on disk: \(reached * 10) %")
        }
    }

    private func begin(at tenths: Int64) {
        self.tenths = tenths
        hasPrintedUnknown = false
    }

    /// Returns when this line has been printed. Each line is matched once.
    public func waitFor(_ line: String) async {
        await withCheckedContinuation { continuation in
            waiting = (line, continuation)
            resumeWaiting()
        }
    }

    private func resumeWaiting() {
        guard let waiting, let place = lines[linesSeen...].firstIndex(of: waiting.line) else { return }
        linesSeen = place + 1
        self.waiting = nil
        waiting.continuation.resume()
    }

    private static func tenths(_ received: Int64, of total: Int64) -> Int64 {
        total > 0 ? min(10, max(0, received) / max(1, total / 10)) : 0
    }
}

/// Calls the handler on the main queue with each line of the standard input, and with `nil` at its end.
public func onTypedLine(_ handler: @escaping @MainActor @Sendable (String?) -> Void) {
    // Reading blocks, so it runs on a thread of its own.
    Thread.detachNewThread {
        var isOpen = true
        while isOpen {
            let line = readLine()
            isOpen = line != nil
            DispatchQueue.main.async { handler(line) }
        }
    }
}

import Foundation

/// What a program shows: lines on the standard output, and a progress at every tenth.
///
/// A bar that moves with the network would look different every time; marks at fixed places come out the same on any
/// machine, so that what an example prints can be compared with its page.
@MainActor
public final class Screen {
    private var lines: [String] = []
    private var linesSeen = 0
    private var waiting: (line: String, continuation: CheckedContinuation<Void, Never>)?
    /// Where the bar stands; `nil` while nothing has been shown.
    private var tenths: Int64?
    private var hasSaidUnknown = false

    public init() {}

    /// Prints a line, at once also when the output is a pipe.
    public func say(_ line: String) {
        write(line + "\n")
        lines.append(line)
        resumeWaiting()
    }

    /// Writes what is no line: what moves the cursor of a terminal.
    public func write(_ text: String) {
        // The reader may have gone: `head`, for one, takes what it wants and leaves.
        try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    }

    /// Says where a bar stands the first time, then each tenth that it has passed since; without a total, once that nobody
    /// knows it.
    ///
    /// A count that is less than the last one, or nothing, is a new beginning, and says nothing.
    public func show(_ received: Int64, of total: Int64?) {
        guard received > 0 else { return begin(at: 0) }
        guard let total, total > 0 else {
            if !hasSaidUnknown { say("  some bytes of an unknown number") }
            hasSaidUnknown = true
            return
        }
        let reached = Self.tenths(received, of: total)
        let last = tenths.map { min($0, reached) } ?? reached - 1
        tenths = reached
        for tenth in (last + 1)..<(reached + 1) where tenth > 0 { say("  \(tenth * 10) %") }
    }

    /// What a program shows before it has asked anybody: the progress that is on disk.
    public func sayOnDisk(_ received: Int64, of total: Int64?) {
        switch (received, total) {
        case (0, _): say("on disk: nothing")
        case (_, nil): say("on disk: some bytes of an unknown number")
        case (_, let total?):
            let reached = Self.tenths(received, of: total)
            begin(at: reached)
            say("on disk: \(reached * 10) %")
        }
    }

    private func begin(at tenths: Int64) {
        self.tenths = tenths
        hasSaidUnknown = false
    }

    /// Returns when this line has been said, or as soon as it is. Each line is found once.
    public func heard(_ line: String) async {
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

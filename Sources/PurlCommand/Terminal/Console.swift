import Foundation
import Synchronization

/// Standard output or standard error: lines that stay, and on a terminal one line that is drawn again and again.
///
/// Everything is written in one piece, so that a line never flickers. From any thread.
final class Console: Sendable {
    /// Somebody watches: lines can be drawn over.
    let isTerminal: Bool

    private let descriptor: Int32
    /// The line being drawn; empty when there is none.
    private let drawn = Mutex("")

    private static let eraseToEnd = "\u{1B}[K"

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
    }

    /// How many characters fit in a line.
    var width: Int { TerminalWidth.current(of: descriptor) }

    /// Prints a line. One being drawn stays below it.
    func say(_ line: String) {
        drawn.withLock { drawn in
            write(drawn.isEmpty ? line + "\n" : "\r\(Self.eraseToEnd)\(line)\n\(drawn)")
        }
    }

    /// Draws a line over the one drawn before. Only on a terminal.
    func draw(_ line: String) {
        guard isTerminal else { return }
        drawn.withLock { drawn in
            guard line != drawn else { return }
            drawn = line
            // The end is erased last: erasing first would show an empty line for a moment.
            write("\r\(line)\(Self.eraseToEnd)")
        }
    }

    /// Takes the drawn line away.
    func erase() {
        drawn.withLock { drawn in
            guard !drawn.isEmpty else { return }
            drawn = ""
            write("\r\(Self.eraseToEnd)")
        }
    }

    private func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            // Nobody reads any more: there is nobody to tell.
            guard count > 0 || errno == EINTR else { return }
            rest = rest.dropFirst(max(0, count))
        }
    }
}

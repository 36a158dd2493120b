import Foundation
import Synchronization

/// Standard output or standard error: lines that stay, and on a terminal a block of lines below them that is drawn again
/// and again.
///
/// Everything is written in one piece, so that nothing flickers. From any thread.
final class Console: Sendable {
    /// Somebody watches: lines can be drawn over.
    let isTerminal: Bool

    private let descriptor: Int32
    private let block = Mutex(TerminalBlock())

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
    }

    /// How many characters fit.
    var size: TerminalSize { TerminalSize.current(of: descriptor) }

    /// Prints a line. A block being drawn stays below it.
    func say(_ line: String) {
        let line = DisplayText.printable(line)
        block.withLock { write($0.say(line, width: size.width)) }
    }

    /// Draws lines over those drawn before. Only on a terminal.
    func draw(_ lines: [String]) {
        guard isTerminal else { return }
        let lines = lines.map(DisplayText.printable)
        block.withLock { write($0.draw(lines, width: size.width)) }
    }

    /// Takes the drawn lines away.
    func erase() {
        block.withLock { write($0.erase(width: size.width)) }
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

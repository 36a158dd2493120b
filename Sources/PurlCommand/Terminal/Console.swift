import Foundation
import Synchronization

/// Standard output or standard error: lines that stay and, on a terminal, a block of lines below them that is redrawn.
///
/// Each change is one write, so that nothing flickers. All methods can be called from any thread.
final class Console: Sendable {
    /// Lines can be redrawn.
    let isTerminal: Bool

    private let descriptor: Int32
    private let block = Mutex(TerminalBlock())

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
    }

    /// The size in characters.
    var size: TerminalSize { TerminalSize.current(of: descriptor) }

    /// Prints a line above the block.
    func print(_ line: String) {
        let line = DisplayText.printable(line)
        block.withLock { write($0.print(line, width: size.width)) }
    }

    /// Writes bytes as they are. On a terminal, control characters in them are not.
    func write(_ data: Data) {
        guard !isTerminal else {
            for line in String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline) { print(String(line)) }
            return
        }
        block.withLock { _ in write(Array(data)[...]) }
    }

    /// Replaces the block. Does nothing unless this is a terminal.
    func draw(_ lines: [String]) {
        guard isTerminal else { return }
        let lines = lines.map(DisplayText.printable)
        block.withLock { write($0.draw(lines, width: size.width)) }
    }

    /// Removes the block.
    func erase() {
        block.withLock { write($0.erase(width: size.width)) }
    }

    private func write(_ text: String) {
        write(Array(text.utf8)[...])
    }

    private func write(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            // The reader has closed the pipe: the rest is dropped.
            guard count > 0 || errno == EINTR else { return }
            rest = rest.dropFirst(max(0, count))
        }
    }
}

/// The size of a terminal in characters.
struct TerminalSize: Equatable {
    let width: Int
    let height: Int

    /// The terminal's size, otherwise `COLUMNS` and `LINES`, otherwise 80 by 24.
    static func current(of descriptor: Int32) -> TerminalSize {
        var size = winsize()
        let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0
        return TerminalSize(
            width: choose(
                terminal: isKnown ? Int(size.ws_col) : 0, variable: variable("COLUMNS"), otherwise: 80),
            height: choose(
                terminal: isKnown ? Int(size.ws_row) : 0, variable: variable("LINES"), otherwise: 24))
    }

    /// - Parameters:
    ///   - terminal: The terminal's value; 0 when it has none.
    ///   - variable: The environment variable's value.
    ///   - otherwise: The value when there is neither.
    static func choose(terminal: Int, variable: String?, otherwise: Int) -> Int {
        if terminal > 0 { return terminal }
        guard let number = variable.flatMap({ Int($0) }), number > 0 else { return otherwise }
        return number
    }

    /// Reads one variable: this happens with every line of progress, and `ProcessInfo` would build a dictionary of all.
    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}

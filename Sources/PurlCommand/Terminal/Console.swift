import Foundation
internal import PurlIO
import Synchronization

/// Standard output or standard error: lines that stay and, on a terminal, a block of lines below them that is redrawn.
///
/// Each change is one write, so that nothing flickers. All methods can be called from any thread.
final class Console: Sendable {
    let isTerminal: Bool
    /// Lines can be redrawn: it is a terminal that moves its cursor.
    let canRedraw: Bool

    private let descriptor: Int32
    private let block: Mutex<TerminalBlock>
    private let writeError = Mutex<Int32?>(nil)

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
        let environment = TerminalEnvironment(
            terminal: Environment.variable("TERM"), noColour: Environment.variable("NO_COLOR"))
        canRedraw = isTerminal && environment.movesCursor
        block = Mutex(TerminalBlock(usesColour: environment.hasColour))
    }

    /// The size in characters.
    var size: TerminalSize { TerminalSize.current(of: descriptor) }

    /// Why something could not be written, as the system says it; `nil` also where the reader of a pipe has closed it.
    var failure: String? {
        writeError.withLock { $0 }.map { String(cString: strerror($0)) }
    }

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

    /// Replaces the block. Does nothing where lines cannot be redrawn.
    func draw(_ lines: [TerminalLine]) {
        guard canRedraw else { return }
        block.withLock { write($0.draw(lines, width: size.width)) }
    }

    /// Removes the block.
    func erase() {
        block.withLock { write($0.erase(width: size.width)) }
    }

    private func write(_ text: String) {
        write(Array(text.utf8)[...])
    }

    /// A pipe whose reader has closed it does not end the process: what is transferred is worth more than the words about it.
    private func write(_ bytes: ArraySlice<UInt8>) {
        BrokenPipe.withoutSignal { writeAll(bytes) }
    }

    private func writeAll(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else {
                // The rest is dropped.
                let code = errno
                if code != EPIPE { writeError.withLock { $0 = $0 ?? code } }
                return
            }
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
                terminal: isKnown ? Int(size.ws_col) : 0, variable: Environment.variable("COLUMNS"), otherwise: 80),
            height: choose(
                terminal: isKnown ? Int(size.ws_row) : 0, variable: Environment.variable("LINES"), otherwise: 24))
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
}

/// What the environment says about a terminal.
struct TerminalEnvironment: Equatable {
    /// Whether lines can be redrawn.
    let movesCursor: Bool
    /// Whether text may have a colour (<https://no-color.org>).
    let hasColour: Bool

    /// - Parameters:
    ///   - terminal: The value of `TERM`.
    ///   - noColour: The value of `NO_COLOR`.
    init(terminal: String?, noColour: String?) {
        movesCursor = terminal != "dumb"
        hasColour = movesCursor && noColour?.isEmpty != false
    }
}

/// The variables of the process.
private enum Environment {
    /// Reads one variable: this happens with every line of progress, and `ProcessInfo` would build a dictionary of all.
    static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}

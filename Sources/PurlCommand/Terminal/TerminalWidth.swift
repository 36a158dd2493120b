import Foundation

/// How wide the terminal is.
enum TerminalWidth {
    /// What the terminal says, else `COLUMNS`, else 80.
    static func current(of descriptor: Int32) -> Int {
        var size = winsize()
        let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0
        return choose(
            terminal: isKnown ? Int(size.ws_col) : 0,
            columns: ProcessInfo.processInfo.environment["COLUMNS"])
    }

    /// - Parameters:
    ///   - terminal: What the terminal says; 0 when it does not know.
    ///   - columns: The environment's `COLUMNS`.
    static func choose(terminal: Int, columns: String?) -> Int {
        if terminal > 0 { return terminal }
        guard let width = columns.flatMap({ Int($0) }), width > 0 else { return 80 }
        return width
    }
}

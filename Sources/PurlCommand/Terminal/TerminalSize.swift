import Foundation

/// How many characters a terminal shows.
struct TerminalSize: Equatable {
    let width: Int
    let height: Int

    /// What the terminal says, else `COLUMNS` and `LINES`, else 80 by 24.
    static func current(of descriptor: Int32) -> TerminalSize {
        var size = winsize()
        let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0
        let environment = ProcessInfo.processInfo.environment
        return TerminalSize(
            width: choose(terminal: isKnown ? Int(size.ws_col) : 0, variable: environment["COLUMNS"], otherwise: 80),
            height: choose(terminal: isKnown ? Int(size.ws_row) : 0, variable: environment["LINES"], otherwise: 24))
    }

    /// - Parameters:
    ///   - terminal: What the terminal says; 0 when it does not know.
    ///   - variable: What the environment says.
    static func choose(terminal: Int, variable: String?, otherwise: Int) -> Int {
        if terminal > 0 { return terminal }
        guard let number = variable.flatMap({ Int($0) }), number > 0 else { return otherwise }
        return number
    }
}

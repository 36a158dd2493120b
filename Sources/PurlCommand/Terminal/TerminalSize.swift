import Foundation

/// How many characters a terminal shows.
struct TerminalSize: Equatable {
    let width: Int
    let height: Int

    /// What the terminal says, else `COLUMNS` and `LINES`, else 80 by 24.
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
    ///   - terminal: What the terminal says; 0 when it does not know.
    ///   - variable: What the environment says.
    static func choose(terminal: Int, variable: String?, otherwise: Int) -> Int {
        if terminal > 0 { return terminal }
        guard let number = variable.flatMap({ Int($0) }), number > 0 else { return otherwise }
        return number
    }

    /// Asked for by name: this happens with every line of progress, and a dictionary of all of it takes its time.
    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}

import Foundation

/// A run of the built executable on a terminal of its own.
final class PurlTerminal: Sendable {
    /// What it writes to the terminal, as it arrives; ends with the process.
    let output: AsyncStream<String>

    private let terminal: Int32
    private let process: PurlProcess

    /// Starts `purl` with these arguments.
    ///
    /// - Parameter environment: Additional variables. `TERM` is that of a terminal which moves its cursor.
    init(
        _ arguments: [String], in folder: TemporaryFolder, width: Int, height: Int = 24,
        environment: [String: String] = [:]
    ) throws {
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var (number, locked) = (Int32(0), Int32(0))
        guard terminal >= 0, ioctl(terminal, Self.setLock, &locked) == 0, ioctl(terminal, Self.getNumber, &number) == 0
        else {
            throw NSError(domain: NSPOSIXErrorDomain, code: Int(errno))
        }
        _ = fcntl(terminal, F_SETFD, FD_CLOEXEC)
        self.terminal = terminal
        Self.resize(terminal, width, height)
        process = try PurlProcess(
            terminal: "/dev/pts/\(number)", arguments, in: folder,
            environment: ["TERM": "xterm", "NO_COLOR": ""].merging(environment) { $1 })
        let (output, toOutput) = AsyncStream<String>.makeStream()
        self.output = output
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            var rest: [UInt8] = []
            while true {
                // It fails when the process has closed the terminal.
                let count = read(terminal, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                rest += buffer[..<count]
                // The end may be in the middle of a character.
                guard let text = String(validating: rest, as: UTF8.self) else { continue }
                toOutput.yield(text)
                rest = []
            }
            toOutput.finish()
        }
    }

    deinit { close(terminal) }

    var exitCode: Int32 { get async { await process.exitCode } }

    func type(_ text: String) {
        _ = Array(text.utf8).withUnsafeBytes { write(terminal, $0.baseAddress, $0.count) }
    }

    func resize(width: Int, height: Int = 24) {
        Self.resize(terminal, width, height)
    }

    /// TIOCSPTLCK and TIOCGPTN, which the Glibc module lacks, as it does `openpty`.
    private static let (setLock, getNumber) = (UInt(0x4004_5431), UInt(0x8004_5430))

    private static func resize(_ terminal: Int32, _ width: Int, _ height: Int) {
        var size = winsize(ws_row: UInt16(height), ws_col: UInt16(width), ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(terminal, UInt(TIOCSWINSZ), &size)
    }
}

/// What a terminal shows of what is written to it. It knows the controls that `purl` uses.
struct TerminalScreen {
    let width: Int
    /// The colours that were selected.
    private(set) var colours: Set<String> = []
    private var rows: [[Unicode.Scalar]] = [[]]
    private var (row, column) = (0, 0)
    private var escape: String?

    init(width: Int) {
        self.width = width
    }

    /// The rows, without spaces at their ends, and without the empty ones at the end.
    var lines: [String] {
        var lines = rows.map { scalars in
            let text = String(String.UnicodeScalarView(scalars))
            return String(text.reversed().drop { $0 == " " }.reversed())
        }
        while lines.last == "" { lines.removeLast() }
        return lines
    }

    mutating func write(_ text: String) {
        for scalar in text.unicodeScalars {
            if escape != nil {
                control(scalar)
            } else if scalar == "\u{1B}" {
                escape = ""
            } else if scalar == "\r" {
                column = 0
            } else if scalar == "\n" {
                newRow()
            } else {
                put(scalar)
            }
        }
    }

    private mutating func put(_ scalar: Unicode.Scalar) {
        if column == width {
            newRow()
            column = 0
        }
        while rows[row].count <= column { rows[row].append(" ") }
        rows[row][column] = scalar
        column += 1
    }

    private mutating func newRow() {
        row += 1
        if row == rows.count { rows.append([]) }
    }

    private mutating func control(_ scalar: Unicode.Scalar) {
        guard let parameters = escape else { return }
        guard CharacterSet.letters.contains(scalar) else {
            escape = parameters + String(scalar)
            return
        }
        escape = nil
        switch scalar {
        case "A": row = max(0, row - (Int(parameters.dropFirst()) ?? 1))
        case "K": rows[row] = Array(rows[row].prefix(column))
        case "J":
            rows[row] = Array(rows[row].prefix(column))
            rows.removeSubrange((row + 1)...)
        default: colours.insert(String(parameters.dropFirst()))
        }
    }
}

import Foundation

/// The passphrase of a client's private key: it is on no command line, which other users can see.
struct Passphrase {
    let text: String

    /// The first line of a file.
    init(fileAt path: String) throws(CommandFailure) {
        let bytes = try ListFile(path).bytes.prefix { $0 != UInt8(ascii: "\n") }
        guard let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(0) else {
            throw CommandFailure("--passphrase-file: the first line of “\(path)” is not UTF-8 text.")
        }
        self.text = text.hasSuffix("\r") ? String(text.unicodeScalars.dropLast()) : text
    }

    /// What is typed on the process's terminal, which does not show it. `nil` when the process has none, and where Ctrl-C or
    /// the end of the input is typed.
    init?(askingFor file: String) {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        var old = termios()
        guard tcgetattr(terminal, &old) == 0 else { return nil }
        var new = old
        // Ctrl-C is read as a character, since its signal would leave a terminal that shows nothing.
        new.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        guard tcsetattr(terminal, TCSAFLUSH, &new) == 0 else { return nil }
        defer {
            tcsetattr(terminal, TCSAFLUSH, &old)
            Self.write("\n", to: terminal)
        }
        Self.write(DisplayText.printable("Passphrase of \(file): "), to: terminal)
        var line = TypedLine()
        while true {
            var byte: UInt8 = 0
            let count = read(terminal, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return nil }
            switch line.type(byte) {
            case .more: break
            case .cancelled: return nil
            case .complete(let text):
                self.text = text
                return
            }
        }
    }

    private static func write(_ text: String, to terminal: Int32) {
        _ = Array(text.utf8).withUnsafeBytes { Foundation.write(terminal, $0.baseAddress, $0.count) }
    }
}

/// A line as it is typed, byte by byte.
struct TypedLine {
    enum Step: Equatable {
        case more
        case complete(String)
        case cancelled
    }

    private var bytes: [UInt8] = []

    /// Takes a byte that was typed: Backspace takes the last character away, Ctrl-U all; Ctrl-C, and Ctrl-D at the beginning,
    /// cancel.
    mutating func type(_ byte: UInt8) -> Step {
        switch byte {
        case 0x0A, 0x0D: return .complete(String(decoding: bytes, as: UTF8.self))
        case 0x03, 0x1C: return .cancelled
        case 0x04: return bytes.isEmpty ? .cancelled : .complete(String(decoding: bytes, as: UTF8.self))
        case 0x08, 0x7F:
            while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
        case 0x15: bytes = []
        case 0: break
        default: bytes.append(byte)
        }
        return .more
    }
}

import Foundation

/// Parses a conversation line by line.
struct ConversationParser {
    /// What is wrong with a line.
    struct Failure: Error {
        let reason: String
    }

    private(set) var exchanges: [Conversation.Exchange] = []
    private var isAnswering = true
    private var hasEnded = false

    /// Parses a line.
    ///
    /// - Parameter line: The line, without its end.
    mutating func parse(_ line: Substring) throws(Failure) {
        guard let speaker = line.first, speaker != "#" else { return }
        let rest = line.dropFirst()
        switch speaker {
        case ">":
            if isAnswering { exchanges.append(Conversation.Exchange(request: Data(), answer: Data())) }
            isAnswering = false
            hasEnded = false
            exchanges[exchanges.count - 1].request += try Self.bytes(rest)
        case "<":
            guard !exchanges.isEmpty else { throw Failure(reason: "an answer without a request") }
            guard !hasEnded else { throw Failure(reason: "a line of an answer that has ended") }
            isAnswering = true
            if rest.hasPrefix("!") {
                exchanges[exchanges.count - 1].ending = try Self.ending(rest.dropFirst())
                hasEnded = true
            } else {
                exchanges[exchanges.count - 1].answer += try Self.bytes(rest)
            }
        default:
            throw Failure(reason: "begins with neither “>” nor “<” nor “#”")
        }
    }

    private static func ending(_ text: Substring) throws(Failure) -> Reply.RawEnding {
        switch text.trimmingCharacters(in: .whitespaces) {
        case "end": return .close
        case "reset": return .reset
        default: throw Failure(reason: "“<!\(text)” is neither “<! end” nor “<! reset”")
        }
    }

    private static func bytes(_ line: Substring) throws(Failure) -> Data {
        switch line.first {
        case nil: return Data("\r\n".utf8)
        case " ": return Data(try unescaped(line.dropFirst()) + Array("\r\n".utf8))
        case "-": return Data(try unescaped(try text(line)))
        case "=":
            guard let data = Data(base64Encoded: String(try text(line))) else {
                throw Failure(reason: "no base64")
            }
            return data
        default: throw Failure(reason: "no blank after the first character")
        }
    }

    /// What follows the second character of a line, and a blank.
    private static func text(_ line: Substring) throws(Failure) -> Substring {
        let rest = line.dropFirst()
        guard rest.first == " " else {
            if rest.isEmpty { return rest }
            throw Failure(reason: "no blank after the first two characters")
        }
        return rest.dropFirst()
    }

    private static func unescaped(_ text: Substring) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "\\"): bytes.append(UInt8(ascii: "\\"))
            case UInt8(ascii: "n"): bytes.append(10)
            case UInt8(ascii: "r"): bytes.append(13)
            case UInt8(ascii: "t"): bytes.append(9)
            case UInt8(ascii: "x"):
                let digits = rest.prefix(2)
                guard digits.count == 2, let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) else {
                    throw Failure(reason: "\\x without two hexadecimal digits")
                }
                bytes.append(byte)
                rest = rest.dropFirst(2)
            default: throw Failure(reason: "a backslash that begins no escape")
            }
        }
        return bytes
    }
}

/// Formats what one side sent as lines of text.
enum ConversationFormatter {
    /// How many bytes a line of base64 has.
    private static let bytesPerLine = 57

    /// Formats `data`.
    ///
    /// - Returns: Lines, each with its end.
    static func lines(of data: Data, speaker: String) -> String {
        if String(validating: data, as: UTF8.self) != nil { return texts(in: data, speaker) }
        // Of a message with a binary body, the head stays readable.
        let end = data.firstRange(of: Data("\r\n\r\n".utf8))?.upperBound ?? data.startIndex
        let (head, body) = (data[..<end], data[end...])
        guard String(validating: head, as: UTF8.self) != nil else { return base64(data, speaker) }
        return texts(in: head, speaker) + base64(body, speaker)
    }

    private static func texts(in data: Data, _ speaker: String) -> String {
        var lines = ""
        var rest = data[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 10).map { $0 + 1 } ?? rest.endIndex
            let line = rest[..<end]
            rest = rest[end...]
            if line.count == 2, line.first == 13, line.last == 10 {
                lines += speaker + "\n"
            } else if line.suffix(2) == Data("\r\n".utf8) {
                lines += speaker + " " + escaped(line.dropLast(2)) + "\n"
            } else {
                lines += speaker + "- " + escaped(line) + "\n"
            }
        }
        return lines
    }

    private static func base64(_ data: Data, _ speaker: String) -> String {
        stride(from: data.startIndex, to: data.endIndex, by: bytesPerLine).map { start in
            speaker + "= " + data[start..<min(start + bytesPerLine, data.endIndex)].base64EncodedString() + "\n"
        }.joined()
    }

    /// Text, with escapes for what an editor would not show, or would remove.
    private static func escaped(_ data: Data) -> String {
        var text = ""
        for scalar in String(decoding: data, as: UTF8.self).unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.value < 32 || scalar.value == 127:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                text += "\\x" + (digits.count < 2 ? "0" : "") + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        if text.hasSuffix(" ") { text = text.dropLast() + "\\x20" }
        return text
    }
}

import Foundation

/// Reads a conversation line by line.
struct ConversationReader {
    /// What is wrong with a line.
    struct Fault: Error {
        let reason: String
    }

    private(set) var exchanges: [Conversation.Exchange] = []
    private var isAnswering = true
    private var isOver = false

    /// Takes a line without its end.
    mutating func read(_ line: Substring) throws(Fault) {
        guard let speaker = line.first, speaker != "#" else { return }
        let rest = line.dropFirst()
        switch speaker {
        case ">":
            if isAnswering { exchanges.append(Conversation.Exchange(request: Data(), answer: Data())) }
            isAnswering = false
            isOver = false
            exchanges[exchanges.count - 1].request += try Self.bytes(rest)
        case "<":
            guard !exchanges.isEmpty else { throw Fault(reason: "an answer, and nothing was asked") }
            guard !isOver else { throw Fault(reason: "more of an answer that has ended") }
            isAnswering = true
            if rest.hasPrefix("!") {
                exchanges[exchanges.count - 1].ending = try Self.ending(rest.dropFirst())
                isOver = true
            } else {
                exchanges[exchanges.count - 1].answer += try Self.bytes(rest)
            }
        default:
            throw Fault(reason: "begins with neither “>” nor “<” nor “#”")
        }
    }

    private static func ending(_ text: Substring) throws(Fault) -> Reply.RawEnding {
        switch text.trimmingCharacters(in: .whitespaces) {
        case "end": return .close
        case "reset": return .reset
        default: throw Fault(reason: "“<!\(text)” is neither “<! end” nor “<! reset”")
        }
    }

    private static func bytes(_ line: Substring) throws(Fault) -> Data {
        switch line.first {
        case nil: return Data("\r\n".utf8)
        case " ": return Data(try unescaped(line.dropFirst()) + Array("\r\n".utf8))
        case "-": return Data(try unescaped(try text(line)))
        case "=":
            guard let data = Data(base64Encoded: String(try text(line))) else {
                throw Fault(reason: "no base64")
            }
            return data
        default: throw Fault(reason: "no blank after the first character")
        }
    }

    /// What follows the kind of a line, and a blank.
    private static func text(_ line: Substring) throws(Fault) -> Substring {
        let rest = line.dropFirst()
        guard rest.first == " " else {
            if rest.isEmpty { return rest }
            throw Fault(reason: "no blank after the first two characters")
        }
        return rest.dropFirst()
    }

    private static func unescaped(_ text: Substring) throws(Fault) -> [UInt8] {
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
                    throw Fault(reason: "\\x without two hexadecimal digits")
                }
                bytes.append(byte)
                rest = rest.dropFirst(2)
            default: throw Fault(reason: "a backslash before something that it does not go with")
            }
        }
        return bytes
    }
}

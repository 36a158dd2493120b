import Foundation

/// Writes what one side said as lines of text.
enum ConversationText {
    /// How many bytes there are to a line of base64.
    private static let bytesPerLine = 57

    /// The lines of `data`, each with its end.
    static func lines(of data: Data, speaker: String) -> String {
        if String(validating: data, as: UTF8.self) != nil { return texts(in: data, speaker) }
        // The head is read by people even where the body is not.
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

    /// Text as it is, but for what an editor would not show, or would remove.
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

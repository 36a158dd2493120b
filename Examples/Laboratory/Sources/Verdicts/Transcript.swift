/// Lines of words with tabs between them. Words may come from anywhere: what would end one or a line is escaped, as `\x0A`.
struct Transcript {
    private(set) var bytes: [UInt8] = []

    /// Writes one line.
    mutating func line(_ words: String...) {
        for (index, word) in words.enumerated() {
            if index > 0 { bytes.append(0x09) }
            append(word.utf8)
        }
        bytes.append(0x0A)
    }

    /// Writes one line that ends with bytes: their number, and as much of them as one can look at, with a checksum of all.
    mutating func line(_ name: String, content: [UInt8]) {
        let shown = content.prefix(200).map { $0 < 0x80 ? $0 : 0x2E }
        line(name, "\(content.count)", String(checksum(of: content), radix: 16), String(decoding: shown, as: UTF8.self))
    }

    private mutating func append(_ word: String.UTF8View) {
        for byte in word {
            guard byte < 0x20 || byte == 0x7F || byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            bytes.append(contentsOf: "\\x".utf8)
            for digit in [byte >> 4, byte & 0x0F] {
                bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10)
            }
        }
    }

    private func checksum(of content: [UInt8]) -> UInt64 {
        var sum: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in content { sum = (sum ^ UInt64(byte)) &* 0x0100_0000_01b3 }
        return sum
    }
}

extension Bool {
    /// `yes` or `no`.
    var word: String { self ? "yes" : "no" }
}

extension Int64? {
    /// The number, or a hyphen.
    var word: String { map { String($0) } ?? "-" }
}

extension String? {
    /// The text in quotes, or a hyphen.
    var word: String { map { "“\($0)”" } ?? "-" }
}

import PurlHTTP
import Testing

/// A body with codings that another program made, and what it means.
struct CodedSample: Sendable, CustomTestStringConvertible {
    /// What the body means, in a form that is short to write down.
    enum Content: Sendable {
        case text(String)
        case words(Int)
        case zeros(Int)
        case noise(Int)
        /// Some letters are as rare as a code can be long.
        case unequal
        /// The beginning comes again 32,768 bytes later.
        case far
    }

    let name: String
    let codings: [String]
    let content: Content
    private let text: String

    init(_ name: String, _ codings: [String], _ content: Content, _ text: String) {
        self.name = name
        self.codings = codings
        self.content = content
        self.text = text
    }

    var testDescription: String { name }

    /// The coded body.
    var coded: [UInt8] { Base64.decode(text.utf8) ?? [] }

    /// What it means.
    var expected: [UInt8] {
        switch content {
        case .text(let text): text.bytes
        case .words(let count): CodedSample.words(count)
        case .zeros(let count): [UInt8](repeating: 0, count: count)
        case .noise(let count): CodedSample.noise(count)
        case .unequal: CodedSample.unequal
        case .far:
            CodedSample.noise(300) + [UInt8](repeating: 0, count: 32_468) + CodedSample.noise(300) + "end".bytes
        }
    }

    /// Words in an order that looks like none.
    static func words(_ count: Int) -> [UInt8] {
        let words = "the quick brown fox jumps over a lazy dog and then some bytes are written to disk again"
            .split(separator: " ").map { Array($0.utf8) }
        var state = 1
        var text: [UInt8] = []
        while text.count < count {
            state = (state * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
            text += words[(state >> 16) % words.count]
            text.append((state >> 8) % 11 == 0 ? 0x0A : 0x20)
        }
        return Array(text[..<count])
    }

    /// Bytes that have no pattern.
    static func noise(_ count: Int) -> [UInt8] {
        var state = 7
        return (0..<count).map { _ in
            state = (state * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
            return UInt8(state >> 16 & 0xFF)
        }
    }

    private static var unequal: [UInt8] {
        var (count, next) = (1, 1)
        var bytes: [UInt8] = []
        for letter in UInt8(97)..<114 {
            bytes += [UInt8](repeating: letter, count: count)
            (count, next) = (next, count + next)
        }
        return bytes
    }
}

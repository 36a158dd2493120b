import Foundation

/// A line of a ``ServerScript``, word by word.
struct ScriptLine {
    typealias Failure = ServerScript.ParseError

    /// A word, and where it begins.
    struct Word: Equatable {
        var text: String
        /// From 1.
        let column: Int
    }

    private let characters: [Character]
    private let number: Int
    private var position = 0

    /// A line of this number, from 1.
    init(_ text: Substring, number: Int) {
        characters = Array(text)
        self.number = number
        skipBlanks()
    }

    /// Whether the line has no words, or is a comment.
    var isEmpty: Bool { position == characters.count || characters[position] == "#" }

    /// An error at a word.
    func failure(_ reason: String, _ word: Word) -> Failure {
        Failure(line: number, column: word.column, reason: reason)
    }

    // MARK: Words

    /// The next word; an empty one at the end.
    func peek() -> Word {
        let rest = characters[position...].prefix { !$0.isWhitespace }
        return Word(text: String(rest), column: position + 1)
    }

    /// The next word.
    ///
    /// - Parameter expected: What is missing when there is none.
    mutating func word(_ expected: String) throws(Failure) -> Word {
        let word = peek()
        guard !word.text.isEmpty else { throw failure("Here should be \(expected).", word) }
        position += word.text.count
        skipBlanks()
        return word
    }

    /// The next word, if there is one.
    mutating func wordIfAny() throws(Failure) -> Word? {
        peek().text.isEmpty ? nil : try word("")
    }

    /// What is left of the line, without blanks at its end; `nil` when nothing is.
    mutating func restIfAny() -> String? {
        var rest = characters[position...]
        while rest.last?.isWhitespace == true { rest.removeLast() }
        position = characters.count
        return rest.isEmpty ? nil : String(rest)
    }

    /// What is left of the line.
    mutating func rest(_ expected: String) throws(Failure) -> String {
        let word = peek()
        guard let rest = restIfAny() else { throw failure("Here should be \(expected).", word) }
        return rest
    }

    /// Checks that nothing is left of the line.
    func end() throws(Failure) {
        let word = peek()
        if !word.text.isEmpty { throw failure("“\(word.text)” is one word too many.", word) }
    }

    private mutating func skipBlanks() {
        while position < characters.count, characters[position].isWhitespace { position += 1 }
    }

    // MARK: Values

    /// A number of 0 or more without a suffix.
    mutating func count(_ expected: String) throws(Failure) -> Int {
        let word = try word(expected)
        guard let count = Self.digits(word.text) else { throw failure("“\(word.text)” is not a number.", word) }
        return count
    }

    /// A number of bytes: digits, and perhaps K, M or G for powers of 1024.
    mutating func size(_ expected: String) throws(Failure) -> Int {
        let word = try word(expected)
        guard let size = Self.size(word.text) else {
            throw failure("“\(word.text)” is not a number of bytes such as 1000, 64K or 2M.", word)
        }
        return size
    }

    /// A number of bytes, perhaps with a sign.
    mutating func signedSize(_ expected: String) throws(Failure) -> Int {
        let word = try word(expected)
        let hasSign = word.text.hasPrefix("-") || word.text.hasPrefix("+")
        guard let size = Self.size(hasSign ? word.text.dropFirst() : word.text[...]) else {
            throw failure("“\(word.text)” is not a number of bytes such as 1000, -64K or +2M.", word)
        }
        return word.text.hasPrefix("-") ? -size : size
    }

    /// A duration: `200ms` or `3s`.
    mutating func milliseconds() throws(Failure) -> Int {
        let word = try word("a duration such as 200ms or 3s")
        for (suffix, factor) in [("ms", 1), ("s", 1000)] where word.text.hasSuffix(suffix) {
            guard let count = Self.digits(word.text.dropLast(suffix.count)), count < 1_000_000 else { break }
            return count * factor
        }
        throw failure("“\(word.text)” is not a duration such as 200ms or 3s.", word)
    }

    /// A status code.
    mutating func status(_ range: ClosedRange<Int>) throws(Failure) -> Int {
        let word = try word("a status")
        guard let status = Self.digits(word.text), range.contains(status) else {
            throw failure("“\(word.text)” is not a status from \(range.lowerBound) to \(range.upperBound).", word)
        }
        return status
    }

    /// `Name: value`.
    mutating func field() throws(Failure) -> (name: String, value: String) {
        let start = peek()
        let text = try rest("a field such as Name: value")
        guard let colon = text.firstIndex(of: ":"), colon != text.startIndex,
            !text[..<colon].contains(where: \.isWhitespace)
        else { throw failure("“\(text)” is not a field such as Name: value.", start) }
        return (String(text[..<colon]), text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces))
    }

    /// One of a few words.
    mutating func choice(_ choices: [String: ScriptDirective]) throws(Failure) -> ScriptDirective {
        let names = choices.keys.sorted().map { "“\($0)”" }.joined(separator: ", ")
        let word = try word(names)
        guard let directive = choices[word.text] else {
            throw failure("“\(word.text)” should be \(names).", word)
        }
        return directive
    }

    /// What is left of the line as bytes, with `\n`, `\r`, `\t`, `\\` and `\xHH`.
    mutating func escapedRest() throws(Failure) -> Data {
        let start = position
        let rest = Array(restIfAny() ?? "")
        var data = Data()
        var index = 0
        while index < rest.count {
            guard rest[index] == "\\" else {
                data.append(contentsOf: String(rest[index]).utf8)
                index += 1
                continue
            }
            let escape = Self.escape(rest[(index + 1)...])
            guard let (byte, length) = escape else {
                throw Failure(
                    line: number, column: start + index + 1,
                    reason: "A “\\” is followed by n, r, t, another “\\”, or x and two hexadecimal digits.")
            }
            data.append(byte)
            index += 1 + length
        }
        return data
    }

    /// The byte of an escape, and how many characters it takes after the backslash.
    private static func escape(_ text: ArraySlice<Character>) -> (UInt8, Int)? {
        switch text.first {
        case "n": (0x0A, 1)
        case "r": (0x0D, 1)
        case "t": (0x09, 1)
        case "\\": (0x5C, 1)
        case "x":
            if text.count >= 3, let byte = UInt8(String(text.dropFirst().prefix(2)), radix: 16) {
                (byte, 3)
            } else {
                nil
            }
        default: nil
        }
    }

    /// The next word of a selector, whose `:` may end the selector.
    mutating func selectorWord(_ expected: String, _ isOpen: inout Bool) throws(Failure) -> Word {
        var word = try word(expected)
        if word.text.hasSuffix(":") {
            word.text.removeLast()
            isOpen = false
        }
        return word
    }

    /// The word after `every` or `from`, for example, which belongs to the selector as well.
    mutating func selectorWord(_ expected: String, ifOpen isOpen: inout Bool) throws(Failure) -> Word {
        guard isOpen else { throw failure("Here should be \(expected) before the “:”.", peek()) }
        return try selectorWord(expected, &isOpen)
    }

    /// The number after `every` or `chance`.
    mutating func selectorCount(upTo limit: Int, _ isOpen: inout Bool) throws(Failure) -> Int {
        let word = try selectorWord("a number", ifOpen: &isOpen)
        let text = limit == 100 && word.text.hasSuffix("%") ? word.text.dropLast() : word.text[...]
        guard let count = Self.digits(text), count >= 1, count <= limit else {
            throw failure("“\(word.text)” is not a number from 1\(limit == 100 ? " to 100" : "").", word)
        }
        return count
    }

    /// A number in decimal digits.
    static func digits(_ text: some StringProtocol) -> Int? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
    }

    /// A number of bytes.
    static func size(_ text: some StringProtocol) -> Int? {
        let shifts: [Character: Int] = ["K": 10, "M": 20, "G": 30]
        guard let last = text.last, let shift = shifts[last] else { return digits(text) }
        guard let count = digits(text.dropLast()), count <= Int.max >> shift else { return nil }
        return count << shift
    }
}

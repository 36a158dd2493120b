/// The fields of a head or of a trailer section: order kept, repeats kept.
///
/// All names and values lie in one byte array; a line is two ranges of it. Parsing therefore makes no `String`
/// per field, and a look-up compares bytes. Text is made on request: UTF-8 when the bytes are valid UTF-8,
/// Latin-1 otherwise.
package struct HeaderFields: Sendable {
    /// One field line as text.
    package struct Field: Sendable {
        /// The name in the case it came in.
        package var name: String
        /// The value without blanks around it.
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Where one field line lies in `bytes`.
    struct Line: Sendable {
        var name: Range<Int>
        var value: Range<Int>
    }

    private(set) var bytes: [UInt8] = []
    private(set) var lines: [Line] = []
    /// A bit for each of 64 classes of names, set when a line's name is of that class. Most look-ups are for absent fields,
    /// and the bit answers most of those.
    private var classes: UInt64 = 0

    /// Makes an empty section.
    package init() {}

    /// The approximate number of bytes the fields take in memory.
    package var memorySize: Int { bytes.count + lines.count * MemoryLayout<Line>.stride }

    /// All values of `name` joined with `", "`, or nil when there is none.
    /// Setting replaces every line of that name at the place of the first; nil removes them.
    package subscript(name: FieldName) -> String? {
        get {
            guard mayContain(name) else { return nil }
            var joined: String?
            for line in lines where matches(line, name) {
                let value = String(fieldBytes: bytes[line.value])
                if let previous = joined {
                    joined = previous + ", " + value
                } else {
                    joined = value
                }
            }
            return joined
        }
        set {
            guard let newValue else { return removeAll(name) }
            guard let first = lines.firstIndex(where: { matches($0, name) }) else { return append(name, newValue) }
            let kept = lines[...first] + lines[(first + 1)...].filter { !matches($0, name) }
            let replacement = appendBytes(name, newValue.utf8)
            lines = Array(kept)
            lines[first] = replacement
            compact()
        }
    }

    /// Like the subscript, with one character for each byte (Latin-1): a text that can be sent back as the bytes it came in.
    package func latin1(_ name: FieldName) -> String? {
        guard contains(name) else { return nil }
        let values = lines.compactMap { matches($0, name) ? String(latin1: bytes[$0.value]) : nil }
        return values.joined(separator: ", ")
    }

    /// The value of each line of that name, in order.
    package func values(of name: FieldName) -> [String] {
        guard mayContain(name) else { return [] }
        return lines.compactMap { matches($0, name) ? String(fieldBytes: bytes[$0.value]) : nil }
    }

    /// Whether there is a line of that name.
    package func contains(_ name: FieldName) -> Bool {
        mayContain(name) && lines.contains { matches($0, name) }
    }

    /// False when there is certainly no line of that name.
    func mayContain(_ name: FieldName) -> Bool {
        let text = name.text.utf8
        return classes & HeaderFields.nameClass(text.count, text.first) != 0
    }

    /// Adds a line after all others.
    package mutating func append(_ name: FieldName, _ value: String) {
        lines.append(appendBytes(name, value.utf8))
    }

    /// Adds a line after all others, whose value has one character for each byte, as ``latin1(_:)`` returns it.
    package mutating func append(_ name: FieldName, latin1 value: String) {
        lines.append(appendBytes(name, value.fieldBytes))
    }

    /// Removes every line of that name.
    package mutating func removeAll(_ name: FieldName) {
        guard contains(name) else { return }
        lines = lines.filter { !matches($0, name) }
        compact()
    }

    /// Whether the line has that name, in any case. Most names differ in their length, which is compared without a call.
    @inline(always)
    func matches(_ line: Line, _ name: FieldName) -> Bool {
        name.text.utf8.count == line.name.count && hasText(of: name, at: line.name.lowerBound)
    }

    /// Whether the text of a name lies at a position, in any case.
    private func hasText(of name: FieldName, at start: Int) -> Bool {
        let text = name.text.utf8.span
        let bytes = bytes.span
        for index in text.indices {
            let (byte, other) = (text[index], bytes[start + index])
            if byte != other, byte.lowercased != other.lowercased { return false }
        }
        return true
    }

    private mutating func appendBytes(_ name: FieldName, _ value: some Collection<UInt8>) -> Line {
        let start = bytes.count
        bytes.append(contentsOf: name.text.utf8)
        let middle = bytes.count
        bytes.append(contentsOf: value)
        classes |= HeaderFields.nameClass(middle - start, name.text.utf8.first)
        return Line(name: start..<middle, value: middle..<bytes.count)
    }

    /// The bit of a name's class: its length and its first letter in either case.
    private static func nameClass(_ length: Int, _ first: UInt8?) -> UInt64 {
        1 &<< UInt64(truncatingIfNeeded: length &* 5 &+ Int((first ?? 0) | 0x20))
    }

    /// Drops the bytes that no line refers to any more, so that setting a field again and again does not grow.
    private mutating func compact() {
        var packed: [UInt8] = []
        packed.reserveCapacity(lines.reduce(0) { $0 + $1.name.count + $1.value.count })
        for index in lines.indices {
            let line = lines[index]
            let start = packed.count
            packed.append(contentsOf: bytes[line.name])
            let middle = packed.count
            packed.append(contentsOf: bytes[line.value])
            lines[index] = Line(name: start..<middle, value: middle..<packed.count)
        }
        bytes = packed
    }
}

// MARK: - Parsing

extension HeaderFields {
    /// Makes room for a head of ordinary size in one step.
    package mutating func reserve(bytes count: Int, lines lineCount: Int) {
        bytes.reserveCapacity(count)
        lines.reserveCapacity(lineCount)
    }

    /// Copies a line whose parts lie in `source`, the value after the name. The bytes between them are copied too:
    /// one copy of a few bytes more is cheaper than two.
    mutating func append(from source: Span<UInt8>, name: Range<Int>, value: Range<Int>) {
        classes |= HeaderFields.nameClass(name.count, source[name.lowerBound])
        let shift = bytes.count - name.lowerBound
        bytes.append(source, name.lowerBound..<value.upperBound)
        lines.append(
            Line(
                name: (name.lowerBound + shift)..<(name.upperBound + shift),
                value: (value.lowerBound + shift)..<(value.upperBound + shift)))
    }

    /// Continues the value of the last line with `SP` and the bytes of `range`. False when there is no line yet.
    mutating func extendLast(from source: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard var last = lines.popLast() else { return false }
        // The value of the last line ends where the bytes end, so it can grow in place.
        if !range.isEmpty {
            if !last.value.isEmpty { bytes.append(.space) }
            bytes.append(source, range)
            last.value = last.value.lowerBound..<bytes.count
        }
        lines.append(last)
        return true
    }
}

extension HeaderFields: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { lines.count }

    package subscript(position: Int) -> Field {
        let line = lines[position]
        return Field(
            name: String(fieldBytes: bytes[line.name]),
            value: String(fieldBytes: bytes[line.value]))
    }
}

extension HeaderFields: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (FieldName, String)...) {
        for (name, value) in elements { append(name, value) }
    }
}

extension HeaderFields.Field: Equatable {
    /// Names without regard to case, values exactly.
    package static func == (left: HeaderFields.Field, right: HeaderFields.Field) -> Bool {
        left.name.equalsIgnoringCase(right.name) && left.value.utf8.elementsEqual(right.value.utf8)
    }
}

extension HeaderFields: Equatable {
    /// The same lines in the same order: names without regard to case, values exactly.
    package static func == (left: HeaderFields, right: HeaderFields) -> Bool {
        left.elementsEqual(right)
    }
}

// MARK: - Lists

/// Fields whose value is a comma-separated list (RFC 9110 §5.6.1), spread over any number of lines.
extension HeaderFields {
    /// The elements of the list over all lines of that name, trimmed, empty ones dropped.
    /// A comma inside a quoted string does not divide.
    package func listElements(of name: FieldName) -> [String] {
        guard mayContain(name) else { return [] }
        var elements: [String] = []
        for line in lines where matches(line, name) {
            var scanner = ListScanner(line.value)
            while let element = scanner.next(in: bytes) {
                elements.append(String(fieldBytes: bytes[element]))
            }
        }
        return elements
    }

    /// Whether the list holds that element; the case of ASCII letters does not matter.
    package func hasToken(_ token: String, in name: FieldName) -> Bool {
        guard mayContain(name) else { return false }
        for line in lines where matches(line, name) {
            var scanner = ListScanner(line.value)
            while let element = scanner.next(in: bytes) {
                if element.count == token.utf8.count,
                    zip(bytes[element], token.utf8).allSatisfy({ $0.lowercased == $1.lowercased })
                {
                    return true
                }
            }
        }
        return false
    }
}

/// Finds the elements of one comma-separated value.
struct ListScanner {
    private var position: Int
    private let end: Int

    /// A scanner over the bytes in `range`.
    init(_ range: Range<Int>) {
        position = range.lowerBound
        end = range.upperBound
    }

    /// The range of the next element without blanks around it; empty elements are skipped. nil at the end.
    /// A quoted string that is never closed reaches to the end.
    mutating func next(in bytes: [UInt8]) -> Range<Int>? {
        while position < end {
            let start = position
            var isQuoted = false
            while position < end, isQuoted || bytes[position] != .comma {
                if bytes[position] == .quote { isQuoted.toggle() }
                // Inside quotes a backslash escapes the next byte.
                if isQuoted, bytes[position] == .backslash, position + 1 < end { position += 1 }
                position += 1
            }
            var lower = start
            var upper = position
            position += 1
            while lower < upper, bytes[lower].isBlank { lower += 1 }
            while upper > lower, bytes[upper - 1].isBlank { upper -= 1 }
            if lower < upper { return lower..<upper }
        }
        return nil
    }
}

// MARK: - Ages and dates

extension HeaderFields {
    /// `Age` in seconds (RFC 9111 §5.1). Of several values the first counts; nil when there is none or it is broken.
    package var age: Int64? {
        listElements(of: .age).first.flatMap { CacheControl.seconds($0) }
    }

    /// `Date`; nil when there is none or it is broken.
    package var date: HTTPDate? {
        values(of: .date).first.flatMap { HTTPDate($0) }
    }

    /// `Last-Modified`; nil when there is none or it is broken.
    package var lastModified: HTTPDate? {
        values(of: .lastModified).first.flatMap { HTTPDate($0) }
    }

    /// `Expires`; nil when there is none. A broken one, such as `0`, is a moment in the past
    /// (RFC 9111 §5.3).
    package var expires: HTTPDate? {
        values(of: .expires).first.map { HTTPDate($0) ?? HTTPDate(secondsSinceEpoch: 0) }
    }
}

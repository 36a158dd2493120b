#if !canImport(Darwin)
    /// Finds the elements of a text in its bytes.
    @usableFromInline
    protocol TextScanner {
        associatedtype Element

        init()

        /// Removes the next element, once it is certain.
        mutating func next(in text: inout TextBytes) -> Element?
    }

    /// Finds lines that are not empty; ``AsyncLineSequence`` has the rules.
    @usableFromInline
    struct LineScanner: TextScanner {
        /// So many bytes of the line are known to contain no end.
        private var length = 0

        @usableFromInline
        init() {}

        @usableFromInline
        mutating func next(in text: inout TextBytes) -> String? {
            text.bytes.withUnsafeBufferPointer { bytes in
                var index = text.position + length
                while index < bytes.count {
                    let byte = bytes[index]
                    index += 1
                    // Most bytes do not end a line.
                    if byte > 0x0D, byte < 0x80 { continue }
                    let length = index - text.position - Self.endLength(bytes, text.position..<index)
                    guard length < index - text.position else { continue }
                    defer { text.position = index }
                    // LF after CR ends an empty line, too: nothing has to be remembered of a CR.
                    guard length == 0 else {
                        self.length = 0
                        return bytes.text(text.position..<text.position + length)
                    }
                }
                length = index - text.position
                guard text.isComplete, length > 0 else { return nil }
                defer {
                    text.position = index
                    length = 0
                }
                return bytes.text(text.position..<index)
            }
        }

        /// The length of the line end that these bytes end with.
        private static func endLength(_ bytes: UnsafeBufferPointer<UInt8>, _ line: Range<Int>) -> Int {
            let last = line.upperBound - 1
            switch bytes[last] {
            case 0x0A...0x0D: return 1
            case 0x85 where line.count > 1 && bytes[last - 1] == 0xC2: return 2
            case 0xA8...0xA9 where line.count > 2 && bytes[last - 2] == 0xE2 && bytes[last - 1] == 0x80: return 3
            default: return 0
            }
        }
    }

    /// Finds Unicode scalars.
    @usableFromInline
    struct UnicodeScalarScanner: TextScanner {
        @usableFromInline
        init() {}

        @inlinable @inline(__always)
        mutating func next(in text: inout TextBytes) -> UnicodeScalar? {
            if text.position < text.bytes.count, text.bytes[text.position] < 0x80 {
                defer { text.position += 1 }
                return UnicodeScalar(text.bytes[text.position])
            }
            return text.nextScalar()
        }
    }

    /// Finds characters.
    @usableFromInline
    struct CharacterScanner: TextScanner {
        /// Faster than to make them each time.
        private static let madeOfASCII = (0..<0x80).map { Character(UnicodeScalar($0)) }

        @usableFromInline let asciiCharacters: [Character]
        /// So many bytes are the scalars that the character has so far.
        @usableFromInline var length = 0
        private var lastScalar: UnicodeScalar = "\0"
        /// What it has seen is the character's scalars; `nil` while it was not needed.
        private var recognizer: Unicode._CharacterRecognizer?

        @usableFromInline
        init() {
            asciiCharacters = Self.madeOfASCII
        }

        @inlinable @inline(__always)
        mutating func next(in text: inout TextBytes) -> Character? {
            // Of two ASCII characters the first is complete, unless they may be CR LF.
            if length == 0, text.position + 1 < text.bytes.count {
                let (byte, following) = (text.bytes[text.position], text.bytes[text.position + 1])
                if byte | following < 0x80, byte != 0x0D {
                    text.position += 1
                    return asciiCharacters[Int(byte)]
                }
            }
            return nextOfAny(in: &text)
        }

        /// Removes the next character when a scalar that does not add to it, or the end of the text, has arrived.
        @usableFromInline
        mutating func nextOfAny(in text: inout TextBytes) -> Character? {
            text.bytes.withUnsafeBufferPointer { bytes in
                var (isSingle, isCertain) = (length == 0, text.isComplete)
                while let (scalar, width) = bytes.scalar(at: text.position + length, isComplete: text.isComplete) {
                    if length > 0 {
                        guard adds(scalar) else {
                            isCertain = true
                            break
                        }
                        isSingle = false
                    }
                    lastScalar = scalar
                    length += width
                }
                guard isCertain, length > 0 else { return nil }
                defer {
                    text.position += length
                    length = 0
                    recognizer = nil
                }
                return isSingle
                    ? Character(lastScalar) : Character(bytes.text(text.position..<text.position + length))
            }
        }

        /// Whether a scalar belongs to the character.
        private mutating func adds(_ scalar: UnicodeScalar) -> Bool {
            // Of scalars below U+0300 none adds to another, except LF to CR.
            if lastScalar.value < 0x300, scalar.value < 0x300 { return lastScalar == "\r" && scalar == "\n" }
            var recognizer = recognizer ?? Self.recognizer(of: lastScalar)
            defer { self.recognizer = recognizer }
            return !recognizer.hasBreak(before: scalar)
        }

        private static func recognizer(of scalar: UnicodeScalar) -> Unicode._CharacterRecognizer {
            var recognizer = Unicode._CharacterRecognizer()
            _ = recognizer.hasBreak(before: scalar)
            return recognizer
        }
    }

    extension TextBytes {
        /// Removes the next scalar.
        @usableFromInline
        mutating func nextScalar() -> UnicodeScalar? {
            let next = bytes.withUnsafeBufferPointer { $0.scalar(at: position, isComplete: isComplete) }
            guard let (scalar, width) = next else { return nil }
            position += width
            return scalar
        }
    }

    extension UnsafeBufferPointer<UInt8> {
        fileprivate func text(_ range: Range<Int>) -> String {
            String(decoding: UnsafeBufferPointer(rebasing: self[range]), as: UTF8.self)
        }

        /// The scalar at `index`, and its width in bytes; `nil` when it may be cut off, and at the end. For bytes that
        /// are not a scalar U+FFFD: for the longest beginning of a scalar, or for one byte (Unicode, table 3-7).
        ///
        /// - Parameter isComplete: No bytes follow these.
        fileprivate func scalar(at index: Int, isComplete: Bool) -> (UnicodeScalar, width: Int)? {
            guard index < count else { return nil }
            let first = self[index]
            let (width, payload): (Int, UInt8)
            var continuation: ClosedRange<UInt8> = 0x80...0xBF
            switch first {
            case 0x00...0x7F: return (UnicodeScalar(first), 1)
            case 0xC2...0xDF: (width, payload) = (2, first & 0x1F)
            case 0xE0...0xEF: (width, payload) = (3, first & 0x0F)
            case 0xF0...0xF4: (width, payload) = (4, first & 0x07)
            default: return ("\u{FFFD}", 1)
            }
            switch first {
            case 0xE0: continuation = 0xA0...0xBF
            case 0xED: continuation = 0x80...0x9F
            case 0xF0: continuation = 0x90...0xBF
            case 0xF4: continuation = 0x80...0x8F
            default: break
            }
            var value = UInt32(payload)
            for offset in 1..<width {
                guard index + offset < count else { return isComplete ? ("\u{FFFD}", offset) : nil }
                let byte = self[index + offset]
                guard continuation.contains(byte) else { return ("\u{FFFD}", offset) }
                continuation = 0x80...0xBF
                value = value << 6 | UInt32(byte & 0x3F)
            }
            return (UnicodeScalar(value) ?? "\u{FFFD}", width)
        }
    }
#endif

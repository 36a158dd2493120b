#if !canImport(Darwin)
    /// The lines of a sequence of bytes in UTF-8, without their ends, and without those that are empty.
    ///
    /// A line ends with LF, VT, FF, CR, CR LF, NEL (U+0085), LS (U+2028) or PS (U+2029), or where the bytes end. What is
    /// not UTF-8 is replaced by U+FFFD. Foundation has this on Apple's systems only.
    public struct AsyncLineSequence<Base: AsyncSequence>: AsyncSequence where Base.Element == UInt8 {
        public typealias Element = String

        private let base: Base

        init(_ base: Base) {
            self.base = base
        }

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(base.makeAsyncIterator())
        }

        public struct AsyncIterator: AsyncIteratorProtocol {
            private var source: Base.AsyncIterator
            private var line: [UInt8] = []
            /// The last line ended with CR: LF belongs to it.
            private var followsReturn = false

            init(_ source: Base.AsyncIterator) {
                self.source = source
            }

            /// The next line that is not empty; `nil` at the end.
            public mutating func next() async throws -> String? {
                try await next(isolation: nil)
            }

            /// The next line that is not empty; `nil` at the end.
            ///
            /// - Parameter actor: The caller's.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> String? {
                while let byte = try await source.next(isolation: actor) {
                    guard endsLine(byte) else { continue }
                    if let text = takeLine() { return text }
                }
                return takeLine()
            }

            /// Takes a byte; true when it was the last one of a line's end, which is then gone.
            private mutating func endsLine(_ byte: UInt8) -> Bool {
                defer { followsReturn = byte == 0x0D }
                switch byte {
                case 0x0A where followsReturn: return false
                case 0x0A...0x0D: return true
                case 0x85 where line.last == 0xC2:
                    line.removeLast()
                    return true
                case 0xA8 where line.suffix(2) == [0xE2, 0x80], 0xA9 where line.suffix(2) == [0xE2, 0x80]:
                    line.removeLast(2)
                    return true
                default:
                    line.append(byte)
                    return false
                }
            }

            private mutating func takeLine() -> String? {
                guard !line.isEmpty else { return nil }
                defer { line.removeAll(keepingCapacity: true) }
                return String(decoding: line, as: UTF8.self)
            }
        }
    }

    extension AsyncLineSequence: Sendable where Base: Sendable {}

    @available(*, unavailable)
    extension AsyncLineSequence.AsyncIterator: Sendable {}

    extension AsyncSequence where Element == UInt8 {
        /// The bytes' lines, without those that are empty.
        public var lines: AsyncLineSequence<Self> { AsyncLineSequence(self) }
    }

    /// The characters of a sequence of bytes in UTF-8. What is not UTF-8 is replaced by U+FFFD. Foundation has this on
    /// Apple's systems only.
    public struct AsyncCharacterSequence<Base: AsyncSequence>: AsyncSequence where Base.Element == UInt8 {
        public typealias Element = Character

        private let base: Base

        init(_ base: Base) {
            self.base = base
        }

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(AsyncUnicodeScalarSequence(base).makeAsyncIterator())
        }

        public struct AsyncIterator: AsyncIteratorProtocol {
            private var source: AsyncUnicodeScalarSequence<Base>.AsyncIterator
            private var text = ""

            init(_ source: AsyncUnicodeScalarSequence<Base>.AsyncIterator) {
                self.source = source
            }

            /// The next character; `nil` at the end.
            public mutating func next() async throws -> Character? {
                try await next(isolation: nil)
            }

            /// The next character, once it is certain that no scalar adds to it; `nil` at the end.
            ///
            /// - Parameter actor: The caller's.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Character? {
                while let scalar = try await source.next(isolation: actor) {
                    text.unicodeScalars.append(scalar)
                    // Of two characters the first is complete.
                    if text.count > 1 { return text.removeFirst() }
                }
                return text.isEmpty ? nil : text.removeFirst()
            }
        }
    }

    extension AsyncCharacterSequence: Sendable where Base: Sendable {}

    @available(*, unavailable)
    extension AsyncCharacterSequence.AsyncIterator: Sendable {}

    extension AsyncSequence where Element == UInt8 {
        /// The bytes' characters.
        public var characters: AsyncCharacterSequence<Self> { AsyncCharacterSequence(self) }
    }

    /// The Unicode scalars of a sequence of bytes in UTF-8. What is not UTF-8 is replaced by U+FFFD. Foundation has this on
    /// Apple's systems only.
    public struct AsyncUnicodeScalarSequence<Base: AsyncSequence>: AsyncSequence where Base.Element == UInt8 {
        public typealias Element = UnicodeScalar

        private let base: Base

        init(_ base: Base) {
            self.base = base
        }

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(base.makeAsyncIterator())
        }

        public struct AsyncIterator: AsyncIteratorProtocol {
            private var source: Base.AsyncIterator
            /// Bytes of a scalar that is not complete, and what was read past it.
            private var bytes: [UInt8] = []
            private var isAtEnd = false

            init(_ source: Base.AsyncIterator) {
                self.source = source
            }

            /// The next scalar; `nil` at the end.
            public mutating func next() async throws -> UnicodeScalar? {
                try await next(isolation: nil)
            }

            /// The next scalar; `nil` at the end.
            ///
            /// - Parameter actor: The caller's.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> UnicodeScalar? {
                while true {
                    if let scalar = takeScalar() { return scalar }
                    guard !isAtEnd else { return nil }
                    if let byte = try await source.next(isolation: actor) {
                        bytes.append(byte)
                    } else {
                        isAtEnd = true
                    }
                }
            }

            /// The scalar that the bytes begin with, once it is certain.
            private mutating func takeScalar() -> UnicodeScalar? {
                guard let first = bytes.first else { return nil }
                if first < 0x80 {
                    bytes.removeFirst()
                    return UnicodeScalar(first)
                }
                guard isAtEnd || bytes.count >= Self.length(first) || !Self.couldGoOn(bytes) else { return nil }
                var decoder = UTF8()
                var input = bytes.makeIterator()
                let result = decoder.decode(&input)
                switch result {
                case .scalarValue(let scalar):
                    bytes.removeFirst(UTF8.width(scalar))
                    return scalar
                case .error, .emptyInput:
                    bytes.removeFirst(Self.brokenLength(bytes))
                    return "\u{FFFD}"
                }
            }

            private static func length(_ first: UInt8) -> Int {
                switch first {
                case 0xC2...0xDF: 2
                case 0xE0...0xEF: 3
                case 0xF0...0xF4: 4
                default: 1
                }
            }

            /// Whether the bytes are the beginning of a scalar (Unicode, table 3-7).
            private static func couldGoOn(_ bytes: [UInt8]) -> Bool {
                brokenLength(bytes) == bytes.count && bytes.count < length(bytes.first ?? 0)
            }

            /// How many bytes one replacement stands for: the longest beginning of a scalar, or one byte.
            private static func brokenLength(_ bytes: [UInt8]) -> Int {
                guard let first = bytes.first, length(first) > 1, bytes.count > 1 else { return bytes.isEmpty ? 0 : 1 }
                let second: ClosedRange<UInt8> =
                    switch first {
                    case 0xE0: 0xA0...0xBF
                    case 0xED: 0x80...0x9F
                    case 0xF0: 0x90...0xBF
                    case 0xF4: 0x80...0x8F
                    default: 0x80...0xBF
                    }
                guard second.contains(bytes[1]) else { return 1 }
                let rest = bytes.dropFirst(2).prefix(length(first) - 2)
                return 2 + rest.prefix { (0x80...0xBF).contains($0) }.count
            }
        }
    }

    extension AsyncUnicodeScalarSequence: Sendable where Base: Sendable {}

    @available(*, unavailable)
    extension AsyncUnicodeScalarSequence.AsyncIterator: Sendable {}

    extension AsyncSequence where Element == UInt8 {
        /// The bytes' Unicode scalars.
        public var unicodeScalars: AsyncUnicodeScalarSequence<Self> { AsyncUnicodeScalarSequence(self) }
    }
#endif

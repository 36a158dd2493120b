#if !canImport(Darwin)
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

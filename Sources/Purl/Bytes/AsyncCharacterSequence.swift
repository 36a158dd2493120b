#if !canImport(Darwin)
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
#endif

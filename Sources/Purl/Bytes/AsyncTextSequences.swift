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
            @usableFromInline var reader: TextReader<Base.AsyncIterator, LineScanner>

            init(_ source: Base.AsyncIterator) {
                reader = TextReader(source)
            }

            /// The next line that is not empty; `nil` at the end.
            @inlinable @inline(__always)
            public nonisolated(nonsending) mutating func next() async throws -> String? {
                try await reader.next()
            }

            /// The next line that is not empty; `nil` at the end. It runs on the caller's actor.
            ///
            /// - Parameter actor: The caller's.
            @inlinable @inline(__always)
            public nonisolated(nonsending) mutating func next(isolation actor: (any Actor)?) async throws -> String? {
                try await reader.next()
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
            AsyncIterator(base.makeAsyncIterator())
        }

        public struct AsyncIterator: AsyncIteratorProtocol {
            @usableFromInline var reader: TextReader<Base.AsyncIterator, CharacterScanner>

            init(_ source: Base.AsyncIterator) {
                reader = TextReader(source)
            }

            /// The next character, once it is certain that no scalar adds to it; `nil` at the end.
            @inlinable @inline(__always)
            public nonisolated(nonsending) mutating func next() async throws -> Character? {
                try await reader.next()
            }

            /// The next character, once it is certain that no scalar adds to it; `nil` at the end. It runs on the caller's actor.
            ///
            /// - Parameter actor: The caller's.
            @inlinable @inline(__always)
            public nonisolated(nonsending) mutating func next(isolation actor: (any Actor)?) async throws -> Character?
            {
                try await reader.next()
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
            @usableFromInline var reader: TextReader<Base.AsyncIterator, UnicodeScalarScanner>

            init(_ source: Base.AsyncIterator) {
                reader = TextReader(source)
            }

            /// The next scalar; `nil` at the end.
            @inlinable @inline(__always)
            public nonisolated(nonsending) mutating func next() async throws -> UnicodeScalar? {
                try await reader.next()
            }

            /// The next scalar; `nil` at the end. It runs on the caller's actor.
            ///
            /// - Parameter actor: The caller's.
            @inlinable @inline(__always)
            public nonisolated(nonsending) mutating func next(isolation actor: (any Actor)?) async throws
                -> UnicodeScalar?
            {
                try await reader.next()
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

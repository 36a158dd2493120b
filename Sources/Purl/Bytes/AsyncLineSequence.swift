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
#endif

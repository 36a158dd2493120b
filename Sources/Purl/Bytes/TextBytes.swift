import Foundation

#if !canImport(Darwin)
    /// An iterator over bytes that can return all that have arrived at once, rather than one by one.
    @usableFromInline
    protocol ByteBufferIterator: AsyncIteratorProtocol where Element == UInt8 {
        /// The bytes that have arrived, at least one; `nil` at the end. It waits only when there are none.
        nonisolated(nonsending) mutating func nextBuffer() async throws -> [UInt8]?
    }

    /// The bytes of a text that have arrived and belong to no element yet.
    @usableFromInline
    struct TextBytes {
        @usableFromInline var bytes: [UInt8] = []
        /// The position of the first byte that has not been used.
        @usableFromInline var position = 0
        /// No more bytes follow.
        @usableFromInline var isComplete = false

        @usableFromInline
        init() {}

        @inlinable
        mutating func append(_ byte: UInt8) {
            dropUsed()
            bytes.append(byte)
        }

        @usableFromInline
        mutating func append(_ buffer: [UInt8]) {
            dropUsed()
            if bytes.isEmpty { bytes = buffer } else { bytes += buffer }
        }

        /// Moves the rest only when it is the smaller part, so that a byte is moved once on average.
        @inlinable
        mutating func dropUsed() {
            guard position > bytes.count / 2 else { return }
            bytes.removeFirst(position)
            position = 0
        }
    }

    /// Reads bytes for a scanner: whole buffers from an iterator that has them, else one by one.
    @usableFromInline
    struct TextReader<Source: AsyncIteratorProtocol, Scanner: TextScanner> where Source.Element == UInt8 {
        @usableFromInline var source: Source
        /// The same, when it has buffers; then the other one is not used.
        @usableFromInline var buffers: (any ByteBufferIterator)?
        @usableFromInline var text = TextBytes()
        @usableFromInline var scanner = Scanner()

        @usableFromInline
        init(_ source: Source) {
            self.source = source
            buffers = source as? any ByteBufferIterator
        }

        /// The next element; `nil` at the end.
        @inlinable @inline(__always)
        nonisolated(nonsending) mutating func next() async throws -> Scanner.Element? {
            if let element = scanner.next(in: &text) { return element }
            return try await readNext()
        }

        /// Reads until there is an element.
        @inlinable
        nonisolated(nonsending) mutating func readNext() async throws -> Scanner.Element? {
            while !text.isComplete {
                try await read()
                if let element = scanner.next(in: &text) { return element }
            }
            return nil
        }

        @inlinable
        nonisolated(nonsending) mutating func read() async throws {
            do {
                if buffers != nil {
                    if let buffer = try await buffers?.nextBuffer() { return text.append(buffer) }
                } else if let byte = try await source.next(isolation: #isolation) {
                    return text.append(byte)
                }
                text.isComplete = true
            } catch {
                // A part of an element is not an element.
                (text, scanner) = (TextBytes(), Scanner())
                text.isComplete = true
                throw error
            }
        }
    }

    extension URLSession.AsyncBytes.Iterator: ByteBufferIterator {}
    extension URL.AsyncBytes.AsyncIterator: ByteBufferIterator {}
#endif

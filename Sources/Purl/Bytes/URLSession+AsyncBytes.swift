import Foundation
import Synchronization

/// A response's body, byte by byte, while it arrives.
extension URLSession {
    /// The bytes of a response's body, in the order in which they arrive.
    ///
    /// ```swift
    /// let (bytes, response) = try await session.bytes(from: url)
    /// for try await line in bytes.lines { print(line) }
    /// ```
    ///
    /// The socket is read only as far ahead as ``URLSessionConfiguration/Limits/bufferedBytesPerTask`` allows: a slow
    /// consumer makes the server wait. The transfer ends with the sequence: when the surrounding `Task` is cancelled,
    /// or the last reference to the sequence and its iterators is gone. The body can be iterated once; two iterators
    /// share it.
    public struct AsyncBytes: AsyncSequence, Sendable {
        public typealias Element = UInt8

        private let transfer: ByteTransfer

        init(_ transfer: ByteTransfer) {
            self.transfer = transfer
        }

        /// The task behind it.
        public var task: URLSessionDataTask { transfer.task }

        public func makeAsyncIterator() -> Iterator {
            Iterator(transfer)
        }

        /// Returns bytes that have arrived, and waits for more only when there are none left.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline var bytes: [UInt8] = []
            @usableFromInline var position = 0
            private let transfer: ByteTransfer
            /// So many bytes were taken last, and count until more are asked for.
            private var takenCount = 0
            private var isOver = false

            fileprivate init(_ transfer: ByteTransfer) {
                self.transfer = transfer
            }

            /// The next byte; `nil` at the end of the body. It runs on the caller's actor.
            ///
            /// - Throws: The task's error, when the transfer failed or was cancelled.
            @inlinable @inline(__always)
            public nonisolated(nonsending) mutating func next() async throws -> UInt8? {
                if position < bytes.count {
                    defer { position += 1 }
                    return bytes[position]
                }
                return try await refill()
            }

            // A loop calls this one. With an `isolated` parameter it would switch executors twice for each byte.
            /// The next byte; `nil` at the end of the body. It runs on the caller's actor.
            ///
            /// - Parameter actor: The caller's.
            @inlinable @inline(__always)
            public nonisolated(nonsending) mutating func next(isolation actor: (any Actor)?) async throws -> UInt8? {
                try await next()
            }

            @usableFromInline
            nonisolated(nonsending) mutating func refill() async throws -> UInt8? {
                bytes = []
                position = 0
                guard let buffer = try await nextBuffer() else { return nil }
                bytes = buffer
                position = 1
                return buffer.first
            }

            /// The bytes that have arrived; `nil` at the end of the body. Called instead of `next`, not as well.
            @usableFromInline
            nonisolated(nonsending) mutating func nextBuffer() async throws -> [UInt8]? {
                guard !isOver else { return nil }
                // Unless bytes follow, nothing does.
                isOver = true
                guard let buffer = try await transfer.next(after: takenCount, isolation: #isolation) else { return nil }
                isOver = false
                takenCount = buffer.count
                return buffer
            }
        }
    }

    /// Loads the body as a sequence of bytes, and returns as soon as the head of the response is there.
    ///
    /// - Parameters:
    ///   - request: What to load.
    ///   - delegate: The delegate of this task alone.
    public func bytes(
        for request: URLRequest,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) {
        let stream = ByteStream(limit: settings.limits.bufferedBytesPerTask)
        let task = makeDataTask(request, .request, .bytes(stream), delegate)
        let transfer = ByteTransfer(task, stream)
        let response = try await withTaskCancellationHandler {
            try await stream.response { task.resume() }
        } onCancel: {
            transfer.cancel()
        }
        return (AsyncBytes(transfer), response)
    }

    /// Loads the body as a sequence of bytes, and returns as soon as the head of the response is there.
    ///
    /// - Parameters:
    ///   - url: What to load.
    ///   - delegate: The delegate of this task alone.
    public func bytes(
        from url: URL,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) {
        try await bytes(for: makeRequest(url), delegate: delegate)
    }

    /// The transfer behind a sequence of bytes, which is cancelled when the last reference to it is gone.
    final class ByteTransfer: Sendable {
        let task: URLSessionDataTask
        private let stream: ByteStream

        init(_ task: URLSessionDataTask, _ stream: ByteStream) {
            self.task = task
            self.stream = stream
        }

        deinit {
            cancel()
        }

        /// Cancels the task. Bytes that arrived before are not returned any more.
        func cancel() {
            task.cancel()
            stream.discard()
        }

        func next(after count: Int, isolation: isolated (any Actor)?) async throws -> [UInt8]? {
            try await stream.next(after: count, isolation: isolation) { self.cancel() }
        }
    }
}

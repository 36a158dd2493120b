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
    /// The socket is read only as far ahead as ``URLSessionConfiguration/maximumBufferedBytesPerTask`` allows: whoever
    /// takes bytes slowly makes the server wait. The transfer ends with the sequence: when the surrounding `Task` is
    /// cancelled, or nobody holds the sequence or an iterator of it any more. The body can be gone through once; two
    /// iterators share it.
    public struct AsyncBytes: AsyncSequence, Sendable {
        public typealias Element = UInt8

        private let hold: TransferHold

        init(_ hold: TransferHold) {
            self.hold = hold
        }

        /// The task behind it.
        public var task: URLSessionDataTask { hold.task }

        public func makeAsyncIterator() -> Iterator {
            Iterator(hold)
        }

        /// Hands out bytes that have arrived, and waits for more only when there are none left.
        public struct Iterator: AsyncIteratorProtocol {
            @usableFromInline var bytes: [UInt8] = []
            @usableFromInline var position = 0
            private let hold: TransferHold
            private var isOver = false

            fileprivate init(_ hold: TransferHold) {
                self.hold = hold
            }

            /// The next byte; `nil` at the end of the body.
            ///
            /// - Throws: The task's error, when the transfer failed or was cancelled.
            @inlinable @inline(__always)
            public mutating func next() async throws -> UInt8? {
                try await next(isolation: nil)
            }

            /// The next byte; `nil` at the end of the body. Whoever calls it stays where he is.
            @inlinable @inline(__always)
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
                if position < bytes.count {
                    defer { position += 1 }
                    return bytes[position]
                }
                return try await refill(isolation: actor)
            }

            @usableFromInline
            mutating func refill(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
                guard !isOver else { return nil }
                let count = bytes.count
                bytes = []
                position = 0
                // Whatever happens now, there is nothing after it.
                isOver = true
                guard let next = try await hold.next(after: count, isolation: actor) else { return nil }
                isOver = false
                bytes = next
                position = 1
                return next.first
            }
        }
    }

    /// Loads the body as a sequence of bytes, and returns as soon as the head of the response is there.
    ///
    /// - Parameter delegate: Hears of redirects, challenges and metrics, for this task alone.
    public func bytes(
        for request: URLRequest,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) {
        let stream = ByteStream(limit: settings.maximumBufferedBytesPerTask)
        let task = makeDataTask(request, .request, .bytes(stream), delegate)
        let hold = TransferHold(task, stream)
        let response = try await withTaskCancellationHandler {
            try await stream.response { task.resume() }
        } onCancel: {
            hold.cancel()
        }
        return (AsyncBytes(hold), response)
    }

    /// Loads the body as a sequence of bytes, and returns as soon as the head of the response is there.
    ///
    /// - Parameter delegate: Hears of redirects, challenges and metrics, for this task alone.
    public func bytes(
        from url: URL,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) {
        try await bytes(for: makeRequest(url), delegate: delegate)
    }

    /// Keeps a transfer going for as long as somebody could want its bytes.
    final class TransferHold: Sendable {
        let task: URLSessionDataTask
        private let stream: ByteStream

        init(_ task: URLSessionDataTask, _ stream: ByteStream) {
            self.task = task
            self.stream = stream
        }

        deinit {
            cancel()
        }

        /// What arrived before is not handed out any more.
        func cancel() {
            task.cancel()
            stream.discard()
        }

        func next(after count: Int, isolation: isolated (any Actor)?) async throws -> [UInt8]? {
            try await stream.next(after: count, isolation: isolation) { self.cancel() }
        }
    }
}

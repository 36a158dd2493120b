import Foundation

#if !canImport(Darwin)
    extension URL {
        /// The bytes of the resource at the URL, loaded with ``URLSession/shared`` when they are iterated.
        ///
        /// Each iteration loads anew, with the back-pressure of ``URLSession/AsyncBytes``. The body of a response is
        /// returned whatever its status.
        public var resourceBytes: AsyncBytes { AsyncBytes(self, in: .shared) }

        /// The lines of the text at the URL in UTF-8, without their ends, and without those that are empty. They are
        /// loaded as ``resourceBytes`` are.
        ///
        /// ```swift
        /// for try await line in url.lines { print(line) }
        /// ```
        public var lines: AsyncLineSequence<AsyncBytes> { resourceBytes.lines }

        /// The bytes of a resource, in the order in which they arrive.
        public struct AsyncBytes: AsyncSequence, Sendable {
            public typealias Element = UInt8

            private let url: URL
            private let session: URLSession

            init(_ url: URL, in session: URLSession) {
                self.url = url
                self.session = session
            }

            public func makeAsyncIterator() -> AsyncIterator {
                AsyncIterator(url, in: session)
            }

            /// Loads the resource when its first byte is requested.
            public struct AsyncIterator: AsyncIteratorProtocol {
                @usableFromInline var bytes: URLSession.AsyncBytes.Iterator?
                private let url: URL
                private let session: URLSession
                private var isOver = false

                fileprivate init(_ url: URL, in session: URLSession) {
                    self.url = url
                    self.session = session
                }

                /// The next byte; `nil` at the end of the resource. It runs on the caller's actor.
                ///
                /// - Throws: The error of the transfer.
                @inlinable @inline(__always)
                public nonisolated(nonsending) mutating func next() async throws -> UInt8? {
                    if bytes == nil { try await begin() }
                    return try await bytes?.next()
                }

                /// The next byte; `nil` at the end of the resource. It runs on the caller's actor.
                ///
                /// - Parameter actor: The caller's.
                @inlinable @inline(__always)
                public nonisolated(nonsending) mutating func next(
                    isolation actor: (any Actor)?
                ) async throws -> UInt8? {
                    try await next()
                }

                /// The bytes that have arrived; `nil` at the end of the resource. Called instead of `next`, not as well.
                @usableFromInline
                nonisolated(nonsending) mutating func nextBuffer() async throws -> [UInt8]? {
                    if bytes == nil { try await begin() }
                    return try await bytes?.nextBuffer()
                }

                /// Loads the resource, once.
                @usableFromInline
                nonisolated(nonsending) mutating func begin() async throws {
                    guard !isOver else { return }
                    isOver = true
                    bytes = try await session.bytes(from: url).0.makeAsyncIterator()
                }
            }
        }
    }
#endif

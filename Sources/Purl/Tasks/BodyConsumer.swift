import Foundation

/// What receives a task's body and its completion.
enum BodyConsumer: Sendable {
    /// The task's own delegate, then the session's.
    case delegate
    /// A handler that takes the whole body.
    case data(@Sendable (Data?, URLResponse?, (any Error)?) -> Void, delivery: Delivery)
    /// A handler that takes the file.
    case file(@Sendable (URL?, URLResponse?, (any Error)?) -> Void, delivery: Delivery)

    /// A sequence of bytes that a program iterates over.
    case bytes(ByteStream)

    /// Where a handler runs.
    enum Delivery: Sendable {
        /// On the session's delegate queue.
        case queue
        /// At once, on the network thread: for continuations, which only pass the result on. The file that a
        /// download leaves then belongs to the receiver.
        case inline
    }
}

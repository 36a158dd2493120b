import Foundation

/// Who hears of a task.
enum Audience: Sendable {
    /// The task's own delegate, then the session's.
    case delegate
    /// A handler that takes the whole body.
    case data(@Sendable (Data?, URLResponse?, (any Error)?) -> Void, delivery: Delivery)
    /// A handler that takes the file.
    case file(@Sendable (URL?, URLResponse?, (any Error)?) -> Void, delivery: Delivery)

    /// Somebody who takes the bytes one after another.
    case stream(ByteStream)

    /// Where a handler runs.
    enum Delivery: Sendable {
        /// On the session's delegate queue.
        case queue
        /// At once, on the network thread: for continuations, which only hand the result on. The file that a
        /// download leaves then belongs to the receiver.
        case inline
    }
}

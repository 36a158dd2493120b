import Foundation
import Synchronization

/// A user's stream that a request's body is read from. It can be read once, by one transfer.
final class BodyStream: Sendable {
    // URLRequest is Sendable and carries a stream, as everywhere. It is read by one transfer, on one queue; users leave
    // it alone once the task has begun.
    nonisolated(unsafe) let stream: InputStream
    private let taken = Mutex(false)

    init(_ stream: InputStream) { self.stream = stream }

    /// A transfer has begun to read.
    var isTaken: Bool { taken.withLock { $0 } }

    /// Marks the stream as read from.
    func take() {
        taken.withLock { $0 = true }
    }
}

extension BodyStream: Hashable {
    /// Whether both are the same stream.
    static func == (left: BodyStream, right: BodyStream) -> Bool { left.stream === right.stream }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(stream)) }
}

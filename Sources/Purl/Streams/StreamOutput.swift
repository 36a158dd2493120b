import Foundation
internal import PurlIO

/// The writing direction of a stream: the writes that wait for their turn.
@NetworkActor
final class StreamOutput {
    enum State {
        case open
        /// Closed by the user, after everything that was to be sent.
        case closed
        /// With the reason that later writes fail with.
        case lost(StreamFailure)
    }

    /// The result of ``flush(atMost:through:_:)``.
    enum Progress {
        /// All that can be done for now has been done.
        case done
        /// The system accepted this many more bytes.
        case sent(Int)
        /// The operation that closes the connection for writing has been reached.
        case closed
        case failed(SystemError)
    }

    /// Small writes are gathered until there are that many bytes, so that they share a segment and a system call.
    private static let batch = 16_384

    private var writes = StreamOperationQueue()
    private(set) var state = State.open

    nonisolated init() {}

    // MARK: Writes

    func append(_ operation: StreamOperation) {
        writes.append(operation)
    }

    /// The first operation that has not been answered.
    var first: StreamOperation? { writes.next() }

    /// The writes that have not been answered.
    var pending: [StreamOperation] { writes.pending }

    /// There are bytes that only the transport keeps from going out.
    var hasMore: Bool { (first?.unsent ?? 0) > 0 }

    func failAll(_ error: any Error) {
        while let operation = writes.next() { operation.fail(error) }
    }

    // MARK: Sending

    /// Serves writes until the transport has taken some bytes, no more than `budget`, or nothing is left to do.
    func flush(
        atMost budget: Int, through transport: any LoopTransport, _ error: @NetworkActor (StreamFailure) -> URLError
    ) -> Progress {
        while let operation = first {
            switch operation.kind {
            case .write:
                if let refusal {
                    operation.fail(error(refusal))
                } else if operation.unsent == 0 {
                    operation.finish()
                } else {
                    guard budget > 0 else { return .done }
                    return send(atMost: budget, through: transport)
                }
            case .close:
                writes.removeFirst()
                if case .open = state {
                    state = .closed
                    return .closed
                }
            case .read:
                writes.removeFirst()
            case .barrier:
                return .done
            }
        }
        return .done
    }

    /// Why nothing can be written any more.
    private var refusal: StreamFailure? {
        switch state {
        case .open: nil
        case .closed: .closed(reading: false)
        case .lost(let failure): failure
        }
    }

    /// Sends from the first write on.
    private func send(atMost budget: Int, through transport: any LoopTransport) -> Progress {
        guard let first, case .write(let data, _) = first.kind else { return .done }
        do throws(SystemError) {
            let count: Int
            if first.unsent >= Self.batch || writes.count == 1 {
                count = try data.bytes.withUnsafeBytes { bytes throws(SystemError) in
                    let end = first.sent + min(first.unsent, budget)
                    return try transport.send(UnsafeRawBufferPointer(rebasing: bytes[first.sent..<end]))
                }
            } else {
                let bytes = gatheredWrites(atMost: budget)
                count = try bytes.span.bytes.withUnsafeBytes { bytes throws(SystemError) in try transport.send(bytes) }
            }
            return count > 0 ? .sent(count) : .done
        } catch {
            return .failed(error)
        }
    }

    private func gatheredWrites(atMost budget: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.batch)
        for position in 0..<writes.count {
            let room = min(Self.batch, budget) - bytes.count
            guard room > 0 else { break }
            guard let operation = writes[position] else { break }
            if operation.isOver { continue }
            guard case .write(let data, _) = operation.kind else { break }
            bytes.append(contentsOf: data.dropFirst(operation.sent).prefix(room))
        }
        return bytes
    }

    /// The system accepted this many more bytes: finishes the writes that they complete.
    func finishWrites(after count: Int) {
        var rest = count
        while rest > 0, let operation = first {
            let part = min(rest, operation.unsent)
            operation.addSent(part)
            rest -= part
            if operation.unsent > 0 { return }
            operation.finish()
        }
    }

    // MARK: Ends

    /// Nothing can be written any more. False when that was so before.
    func lose(_ failure: StreamFailure) -> Bool {
        guard case .open = state else { return false }
        state = .lost(failure)
        return true
    }

    /// Fails the writes up to what waits for both directions. What closes the direction has nothing left to do.
    func failWrites(_ error: any Error) {
        while let operation = first {
            if case .barrier = operation.kind { return }
            operation.fail(error)
        }
    }
}

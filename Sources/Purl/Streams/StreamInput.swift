import Foundation
internal import PurlIO

/// The reading direction of a stream: the bytes that no read has taken, and the reads that wait for more.
@NetworkActor
final class StreamInput {
    private var reads = StreamOperationQueue()
    /// Bytes that no read has taken, from `heldStart` on.
    private var held: [UInt8] = []
    private var heldStart = 0
    /// The most bytes that are held for later reads.
    private let limit: Int
    /// The server has ended its stream.
    private(set) var hasEnded = false
    /// The user wants nothing more of it.
    private(set) var isClosed = false

    nonisolated init(limit: Int) {
        self.limit = limit
    }

    private var heldCount: Int { held.count - heldStart }

    /// Whether every later read fails.
    var isOver: Bool { isClosed || (hasEnded && heldCount == 0) }

    // MARK: Reads

    func append(_ operation: StreamOperation) {
        reads.append(operation)
    }

    /// The first operation that has not been answered.
    var first: StreamOperation? { reads.next() }

    /// The reads that have not been answered.
    var pending: [StreamOperation] { reads.pending }

    /// Answers reads as long as there are bytes, or an end, to answer them with.
    ///
    /// - Returns: Whether it was the turn of what closes the direction; it is called again then.
    func serve(_ error: @NetworkActor (StreamFailure) -> URLError) -> Bool {
        while let operation = first {
            switch operation.kind {
            case .read where isClosed:
                operation.fail(error(.closed(reading: true)))
            case .read(let minimum, let maximum, _):
                guard heldCount >= minimum || hasEnded else { return false }
                let bytes = take(maximum)
                operation.finish(with: bytes, isLast: hasEnded && heldCount == 0)
            case .close:
                reads.removeFirst()
                if close() { return true }
            case .write:
                reads.removeFirst()
            case .barrier:
                return false
            }
        }
        return false
    }

    /// Answers a read after the task's end: what came before can still be read.
    ///
    /// - Parameter error: Why there is nothing else; `nil` when all went well and the end of the stream is the answer.
    func answer(_ read: StreamOperation, minimum: Int, maximum: Int, orElse error: (any Error)?) {
        if heldCount >= minimum, heldCount > 0 {
            read.finish(with: take(maximum), isLast: false)
        } else if let error {
            read.fail(error)
        } else {
            read.finish(with: nil, isLast: true)
        }
    }

    /// Fails the read with this token.
    func cancel(_ token: ReceiveToken, _ error: any Error) {
        for read in pending where read.token === token { read.fail(error) }
    }

    func failAll(_ error: any Error) {
        while let operation = reads.next() { operation.fail(error) }
    }

    /// Returns whether the direction was open.
    private func close() -> Bool {
        guard !isClosed else { return false }
        isClosed = true
        discardHeld()
        return true
    }

    // MARK: Bytes

    /// There is room for more. After the direction is closed everything is received and discarded, so that the server can
    /// continue.
    var takesMore: Bool {
        guard !hasEnded else { return false }
        if isClosed { return true }
        guard case .read(let minimum, _, _) = first?.kind else { return heldCount < limit }
        return heldCount < max(limit, minimum)
    }

    /// Bytes have arrived. False when they are discarded.
    func receive(_ bytes: some Collection<UInt8>) -> Bool {
        guard !isClosed else { return false }
        makeRoom()
        held.append(contentsOf: bytes)
        return true
    }

    /// The server has ended its stream. False when the direction was closed before.
    func end() -> Bool {
        hasEnded = true
        return !isClosed
    }

    /// Removes and returns all bytes that no read has taken.
    func takeAll() -> [UInt8] {
        defer { discardHeld() }
        return [UInt8](held[heldStart...])
    }

    func discardHeld() {
        held = []
        heldStart = 0
    }

    /// `nil` when there is none.
    private func take(_ maximum: Int) -> Data? {
        let count = min(maximum, heldCount)
        guard count > 0 else { return maximum == 0 ? Data() : nil }
        let bytes = Data(held[heldStart..<heldStart + count])
        heldStart += count
        if heldCount == 0 {
            // What a large read has needed is not kept for small ones.
            held.removeAll(keepingCapacity: held.capacity <= limit)
            heldStart = 0
        }
        return bytes
    }

    /// Lets go of what has been taken, once it is more than what has not.
    private func makeRoom() {
        guard heldStart > 0, heldStart >= heldCount else { return }
        held.removeFirst(heldStart)
        heldStart = 0
    }
}

import Foundation
internal import PurlHTTP
internal import PurlIO

/// One response's body on its way to its consumer: undoes its content coding, forwards and counts it, and pauses the source
/// while the consumer has as many bytes as it may.
///
/// Back-pressure: bytes count until the consumer has taken them. At the limit the receiver puts `.full` into the
/// transfer's holds, which stops reading from the source; the consumer's progress removes it.
@NetworkActor
final class BodyReceiver {
    /// Where the content goes.
    enum Destination {
        case delegate(ByteMailbox)
        /// Memory, for a handler that takes the whole body. A delegate may receive a copy as it arrives.
        case memory(copy: ByteMailbox?)
        case bytes(ByteStream)
        case storage(BodyStorage)
    }

    private enum Progress {
        case arriving
        /// The message is over; some of its content has not been decoded yet.
        case decodingRest
        case finished
    }

    /// How many portions are decoded before other transfers have their turn: a few coded bytes can be much content.
    private static let portionsPerTurn = 8

    private let transfer: Transfer
    private let destination: Destination
    /// Where the content ends in the resource; `nil` where the server has not sent its length.
    private let limit: Int64?
    /// How many bytes the destination holds already of those that arrive next.
    private var overlap: Int64
    /// Whether the body begins with bytes that the destination holds already.
    let isOverlapping: Bool
    /// Collects a copy of what goes to a delegate or a sequence, to store it.
    private let cache: CacheTransaction?
    private var coding: CodedBody?
    /// How many bytes of the resource there are.
    private(set) var received: Int64
    private var progress = Progress.arriving
    private var collected = Data()

    /// - Parameters:
    ///   - offset: How much of the resource the destination holds already.
    ///   - overlap: How many of these bytes the body begins with.
    ///   - limit: Where the content ends in the resource, if that is known.
    ///   - coding: Undoes the body's content coding, where it has one.
    ///   - cache: What may store the response.
    init(
        _ destination: Destination, of transfer: Transfer, from offset: Int64 = 0, skipping overlap: Int64 = 0,
        upTo limit: Int64?, coding: CodedBody?, cache: CacheTransaction? = nil
    ) {
        self.destination = destination
        self.transfer = transfer
        self.limit = limit
        self.overlap = overlap
        isOverlapping = overlap > 0
        self.coding = coding
        self.cache = cache
        received = offset
    }

    /// The content that was collected for a handler.
    var content: Data { collected }

    /// Where bytes wait for a delegate.
    private var mailbox: ByteMailbox? {
        switch destination {
        case .delegate(let mailbox): mailbox
        case .memory(let copy): copy
        case .bytes, .storage: nil
        }
    }

    /// All of the content so far, where it is collected in memory; `nil` where it goes elsewhere.
    var wholeContent: Data? {
        if case .memory = destination { return collected }
        return nil
    }

    /// The storage that the content goes into.
    var storage: BodyStorage? {
        if case .storage(let storage) = destination { return storage }
        return nil
    }

    // MARK: From the source

    /// Takes bytes of the body as they arrive.
    func take(_ bytes: UnsafeRawBufferPointer) {
        if coding == nil {
            guard overlap > 0, case .storage(let storage) = destination else { return forward(bytes) }
            let known = Int(min(overlap, Int64(bytes.count)))
            storage.compare(.init(rebasing: bytes.prefix(known)), at: received - overlap)
            overlap -= Int64(known)
            if known < bytes.count { forward(.init(rebasing: bytes.dropFirst(known))) }
        } else {
            coding?.take(bytes)
            decode()
        }
    }

    /// Takes plain content that the source has moved into the pipe to the storage.
    func takeMoved(_ count: Int) {
        guard case .storage(let storage) = destination else { return }
        storage.putMoved(count)
        add(count)
        transfer.hold(.full)
    }

    /// The message is over. `Transfer.bodyDidEnd` is called when all of its content has been forwarded.
    func finish() {
        guard coding != nil else { return end() }
        progress = .decodingRest
        coding?.isComplete = true
        decode()
    }

    /// Decodes and forwards the content of a coded body for as long as it is taken.
    func decode() {
        guard coding != nil else { return }
        var portions = 0
        while progress != .finished, transfer.mayDecode {
            do throws(DecodeError) {
                guard let content = try coding?.next() else {
                    if progress == .decodingRest { end() }
                    return
                }
                transfer.calls.trace?.decoded(content)
                content.withUnsafeBytes { forward($0) }
            } catch {
                return transfer.fail(.coding(error))
            }
            portions += 1
            if portions == Self.portionsPerTurn { transfer.holdForOneTurn() }
        }
    }

    private func end() {
        progress = .finished
        transfer.bodyDidEnd()
    }

    // MARK: To the consumer

    private func forward(_ bytes: UnsafeRawBufferPointer) {
        switch destination {
        case .memory(let copy):
            if let maximum = transfer.session.settings.limits.collectedBytes,
                max(Int64(collected.count + bytes.count), limit ?? 0) > maximum
            {
                return transfer.fail(.oversizedBody(limit: max(0, maximum)))
            }
            collect(bytes)
            if let copy { put(bytes, into: copy) }
        case .delegate(let mailbox):
            cache?.take(bytes)
            put(bytes, into: mailbox)
        case .bytes(let stream):
            cache?.take(bytes)
            transfer.calls.trace?.delivers(Data(bytes))
            if stream.put(bytes) { transfer.hold(.full) }
        case .storage(let storage):
            if let limit, received + Int64(bytes.count) > limit { return transfer.fail(.surplus(total: limit)) }
            if storage.put(bytes) { transfer.hold(.full) }
        }
        add(bytes.count)
    }

    private func put(_ bytes: UnsafeRawBufferPointer, into mailbox: ByteMailbox) {
        let receipt = mailbox.put(bytes)
        if receipt.wakesConsumer { scheduleDelivery(from: mailbox) }
        if receipt.isFull { transfer.hold(.full) }
    }

    private func collect(_ bytes: UnsafeRawBufferPointer) {
        if collected.isEmpty, let start = bytes.baseAddress {
            // Most small bodies arrive in one piece.
            collected = Data(bytes: start, count: bytes.count)
            // A length is only what the server claims; no more than this is reserved because of it.
            if let limit, limit > collected.count { collected.reserveCapacity(Int(min(limit, 1 << 24))) }
        } else {
            collected.append(contentsOf: bytes)
        }
    }

    private func add(_ count: Int) {
        received += Int64(count)
        transfer.calls.currentMetrics?.addContentBytes(count)
        transfer.calls.task.updateCounts { $0.received = received }
    }

    private func scheduleDelivery(from mailbox: ByteMailbox) {
        transfer.calls.deliverData(from: mailbox) { [weak transfer] in transfer?.release(.full) }
    }

    // MARK: Ends

    /// The task was cancelled: drops what has not been delivered.
    func discard() {
        mailbox?.close()
    }

    /// The transfer is over: delivers what the mailbox has gathered.
    func conclude() {
        if let mailbox, mailbox.release() { scheduleDelivery(from: mailbox) }
    }
}

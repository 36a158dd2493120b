internal import PurlIO

/// A request on its way out: what the transport has not taken yet. There is one of each: a copy could send bytes twice.
@NetworkActor
struct OutgoingMessage: ~Copyable {
    /// Why there is more to send and the transport is not what it waits for.
    private enum Pause {
        /// The server has not asked for the body yet (RFC 9110 §10.1.1).
        case forContinue
        /// The body's source has nothing yet.
        case forContent
    }

    private var head: [UInt8] = []
    private(set) var headSent = 0
    /// Bytes that the transport has taken after the head, chunk framing included.
    private(set) var bodySent: Int64 = 0
    private var content: OutgoingContent
    /// How much of the data, or of the feed's piece, has been sent.
    private var contentSent = 0
    private var piece = BodyPiece()
    private var pause: Pause?
    private var isStopped = false
    /// Why there will be no more of the body.
    private(set) var failure: BodyFailure?
    /// How many bytes may have gone out in all when the current call of `send` is over.
    private var ceiling = Int64.max

    /// - Parameter asksFirst: The body waits for ``startBody()``.
    init(head: [UInt8], content: OutgoingContent, asksFirst: Bool) {
        self.head = head
        self.content = content
        if asksFirst { pause = .forContinue }
    }

    /// The body comes from a file, a stream or a sequence, which is read away from the network thread.
    var isFed: Bool {
        if case .fed = content { return true }
        return false
    }

    /// Calls `action` whenever there is something to send after there was nothing; never within a call.
    func whenSupplied(_ action: @escaping () -> Void) {
        if case .fed(let feed, _) = content { feed.whenSupplied(action) }
    }

    /// All of it went out.
    var isSent: Bool { !isStopped && headSent == head.count && isContentSent }

    /// Some of it is still to go out.
    var isUnfinished: Bool { !isStopped && !isSent }

    /// The body waits until the server asks for it.
    var awaitsContinue: Bool {
        if case .forContinue = pause { return true }
        return false
    }

    /// Nothing can be sent before the body's source has brought more.
    var awaitsContent: Bool {
        guard case .forContent = pause, case .fed(let feed, _) = content else { return false }
        return !feed.hasSupply
    }

    /// There are bytes that only the transport keeps from going out.
    var awaitsTransport: Bool {
        if isStopped { return false }
        return headSent < head.count || !(awaitsContinue || awaitsContent || isContentSent)
    }

    private var isContentSent: Bool {
        switch content {
        case .none: true
        case .whole(let content): contentSent == content.count
        case .fed: piece.isLast && contentSent == piece.length
        }
    }

    /// How much of it has gone out.
    var sent: SentBytes { SentBytes(head: headSent, body: bodySent, isComplete: isSent) }

    /// Bytes that the transport has taken.
    var bytesSent: Int64 { Int64(headSent) + bodySent }

    private var allowance: Int { Int(clamping: ceiling - bytesSent) }

    /// The body need not wait for the server any longer.
    mutating func startBody() {
        if case .forContinue = pause { pause = nil }
    }

    /// Sends nothing more, and lets go of the body's source.
    mutating func stop() {
        guard !isSent else { return }
        isStopped = true
        pause = nil
        if case .fed(let feed, _) = content { feed.close() }
        content = .none
        piece = BodyPiece()
    }

    /// Sends what the transport takes, and no more than `limit` bytes; returns how many bytes of the body went out.
    mutating func send(through transport: any LoopTransport, atMost limit: Int = .max) throws(SystemError) -> Int {
        guard !isStopped else { return 0 }
        let (ceiling, overflow) = bytesSent.addingReportingOverflow(Int64(limit))
        self.ceiling = overflow ? .max : ceiling
        // A small body travels with its head, so that it costs no segment and no system call of its own.
        if headSent == 0, pause == nil, case .whole(let stored) = content, 1...16_384 ~= stored.count {
            return try sendTogether(stored, through: transport)
        }
        while headSent < head.count {
            let count = try head.withBytes { bytes throws(SystemError) in
                try put(bytes, from: headSent, into: transport)
            }
            guard count > 0 else { return 0 }
            headSent += count
        }
        if awaitsContinue { return 0 }
        switch content {
        case .none: return 0
        case .whole(let stored): return try send(stored, through: transport)
        case .fed(let feed, _): return try sendPieces(of: feed, through: transport)
        }
    }

    private mutating func sendTogether(
        _ stored: any StoredContent, through transport: any LoopTransport
    ) throws(SystemError) -> Int {
        let length = min(stored.count, allowance - head.count)
        let count = try head.withBytes { head throws(SystemError) in
            guard length > 0 else { return try put(head, from: 0, into: transport) }
            return try stored.withBytes { bytes throws(SystemError) in
                try transport.send(head, UnsafeRawBufferPointer(rebasing: bytes[..<length]))
            }
        }
        headSent = min(count, head.count)
        contentSent = count - headSent
        bodySent += Int64(contentSent)
        return contentSent
    }

    private mutating func send(
        _ stored: any StoredContent, through transport: any LoopTransport
    ) throws(SystemError) -> Int {
        let before = contentSent
        while contentSent < stored.count {
            let count = try stored.withBytes { bytes throws(SystemError) in
                try put(bytes, from: contentSent, into: transport)
            }
            guard count > 0 else { break }
            contentSent += count
            bodySent += Int64(count)
        }
        return contentSent - before
    }

    private mutating func sendPieces(of feed: BodyFeed, through transport: any LoopTransport) throws(SystemError) -> Int
    {
        var sent = 0
        while !isContentSent {
            if contentSent == piece.length {
                guard takePiece(from: feed) else { break }
                continue
            }
            let before = piece.contentBytes(in: contentSent)
            let count = try sendPiece(through: transport)
            guard count > 0 else { break }
            contentSent += count
            bodySent += Int64(count)
            sent += piece.contentBytes(in: contentSent) - before
        }
        return sent
    }

    private mutating func sendPiece(through transport: any LoopTransport) throws(SystemError) -> Int {
        if let region = piece.region {
            switch try region.send(from: contentSent, atMost: allowance, through: transport) {
            case .bytes(let count):
                return count
            case .cannotBeSentThisWay:
                guard readPiece(region) else { return 0 }
            case .failed(let failure):
                fail(failure)
                return 0
            }
        }
        return try piece.wire.withBytes { bytes throws(SystemError) in
            try put(bytes, from: contentSent, into: transport)
        }
    }

    /// Sends the bytes from `start` on, as many of them as may go and the transport takes.
    private func put(
        _ bytes: UnsafeRawBufferPointer, from start: Int, into transport: any LoopTransport
    ) throws(SystemError) -> Int {
        let count = min(bytes.count - start, allowance)
        return try transport.send(UnsafeRawBufferPointer(rebasing: bytes[start..<start + count]))
    }

    /// Puts bytes in place of a region that the system does not send.
    private mutating func readPiece(_ region: FileRegion) -> Bool {
        do throws(BodyFailure) {
            piece.wire = try region.read()
            piece.region = nil
            return true
        } catch {
            fail(error)
            return false
        }
    }

    private mutating func fail(_ failure: BodyFailure) {
        self.failure = failure
        stop()
    }

    private mutating func takePiece(from feed: BodyFeed) -> Bool {
        pause = nil
        switch feed.take() {
        case .piece(let next):
            piece = next
            contentSent = 0
            return true
        case .nothingYet:
            pause = .forContent
            return false
        case .failed(let failure):
            fail(failure)
            return false
        }
    }
}

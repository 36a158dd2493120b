import Foundation
internal import PurlIO

/// How bytes come to whoever asks for them.
extension StreamConversation {
    // MARK: The user's calls

    func read(
        minimum: Int, maximum: Int, timeout: Duration?, ticket: ReceiverTicket? = nil,
        _ receiver: @escaping StreamOperation.Receiver
    ) {
        let maximum = max(0, maximum)
        // A read that waited for nothing would be told nothing.
        let minimum = min(max(1, minimum), maximum)
        let read = StreamOperation(.read(minimum: minimum, maximum: maximum, receiver), ticket: ticket)
        if ticket?.isGivenUp == true { return read.fail(givenUp) }
        if case .over(let reason) = stage { return answer(read, after: reason, minimum, maximum) }
        limit(read, to: timeout)
        reads.append(read)
        serve()
    }

    /// The task is over: what came before its end can still be read.
    private func answer(_ read: StreamOperation, after reason: (any Error)?, _ minimum: Int, _ maximum: Int) {
        if heldCount >= minimum, heldCount > 0 {
            read.finish(with: takeHeld(maximum), isLast: false)
        } else if reason == nil, hasEnded, !isReadClosed, !hasBeenCaptured {
            read.finish(with: nil, isLast: true)
        } else {
            read.fail(reason ?? overError)
        }
    }

    /// Whoever waits with this ticket does so no longer.
    func giveUp(_ ticket: ReceiverTicket) {
        ticket.isGivenUp = true
        for position in 0..<reads.count {
            if let read = reads[position], read.ticket === ticket { read.fail(givenUp) }
        }
        serve()
    }

    private var givenUp: URLError { TransferFailure.cancelled.urlError(for: transfer?.failingURL ?? request?.url) }

    /// Nothing more is read once what was asked for before has come.
    func closeRead() {
        if case .over = stage { return }
        reads.append(StreamOperation(.close))
        serve()
    }

    // MARK: Serving

    var heldCount: Int { held.count - heldStart }

    /// The first read, or what waits among them, that has not been answered.
    var firstRead: StreamOperation? {
        while let first = reads.first, first.isOver { reads.removeFirst() }
        return reads.first
    }

    /// Answers reads for as long as there is something to answer them with.
    func serveReads() {
        while let operation = firstRead {
            switch operation.kind {
            case .read where isReadClosed:
                operation.fail(error(.closed(reading: true)))
            case .read(let minimum, let maximum, _):
                guard heldCount >= minimum || hasEnded else { return }
                let bytes = takeHeld(maximum)
                operation.finish(with: bytes, isLast: hasEnded && heldCount == 0)
            case .close:
                reads.removeFirst()
                closeInput()
            case .write:
                reads.removeFirst()
            case .barrier:
                return
            }
        }
    }

    /// `nil` when there is none.
    private func takeHeld(_ maximum: Int) -> Data? {
        let count = min(maximum, heldCount)
        guard count > 0 else { return maximum == 0 ? Data() : nil }
        let bytes = Data(held[heldStart..<heldStart + count])
        heldStart += count
        if heldCount == 0 {
            // What a large read has needed is not kept for small ones.
            held.removeAll(keepingCapacity: held.capacity <= heldLimit)
            heldStart = 0
        }
        return bytes
    }

    func clearHeld() {
        held = []
        heldStart = 0
    }

    private func closeInput() {
        guard !isReadClosed else { return }
        isReadClosed = true
        clearHeld()
        // At the end of the stream it has been said already.
        if !hasEnded { transfer?.didCloseReading() }
    }

    // MARK: The socket

    /// There is room for more. What nobody will ask for is read, too, and thrown away, so that the server can go on.
    var takesMore: Bool {
        guard isOpen, !isPaused, !hasEnded else { return false }
        if isReadClosed { return true }
        guard case .read(let minimum, _, _) = firstRead?.kind else { return heldCount < heldLimit }
        return heldCount < max(heldLimit, minimum)
    }

    func transportIsReadable(_ transport: any Transport) {
        guard takesMore else { return updateInterest() }
        let allowance = receiving?.ask() ?? .max
        if allowance > 0 { receive(atMost: allowance) }
        updateInterest()
    }

    func takeTurn(receiving allowance: Int) {
        if takesMore {
            receive(atMost: allowance)
            // There will be more: the socket need not say so first.
            if takesMore, receiving?.hasUsedTurn == true { _ = receiving?.ask() }
        }
        updateInterest()
    }

    private func receive(atMost limit: Int) {
        guard let socket else { return }
        do throws(SystemError) {
            guard let bytes = try socket.receive(atMost: limit) else { return }
            receiving?.take(bytes.count)
            if bytes.isEmpty {
                hasEnded = true
                if !isReadClosed { transfer?.didCloseReading() }
            } else if !isReadClosed {
                makeRoom()
                held.append(contentsOf: bytes)
                transfer?.didReceive(bytes.count)
            }
            serve()
        } catch {
            lose(error)
        }
    }

    /// Lets go of what has been taken, once it is more than what has not.
    private func makeRoom() {
        guard heldStart > 0, heldStart >= heldCount else { return }
        held.removeFirst(heldStart)
        heldStart = 0
    }
}

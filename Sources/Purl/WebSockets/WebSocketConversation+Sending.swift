import Foundation
internal import PurlHTTP
internal import PurlIO

/// How messages go out: as fast as the server takes them.
extension WebSocketConversation {
    /// So much is sent at once, so that other connections have their turn.
    private static let bytesPerTurn = 1 << 20

    // MARK: The user's calls

    func send(_ message: URLSessionWebSocketTask.Message, _ handler: @escaping Handler) {
        if let refusal { return handler(refusal) }
        switch message {
        case .data(let data): outgoing.append(.message(data, isText: false, handler))
        case .string(let text): outgoing.append(.message(Data(text.utf8), isText: true, handler))
        }
        flush()
    }

    func ping(_ handler: @escaping Handler) {
        if let refusal { return handler(refusal) }
        pingCount += 1
        pings.append((pingCount, handler))
        outgoing.append(.ping(withUnsafeBytes(of: pingCount.bigEndian) { [UInt8]($0) }))
        flush()
    }

    /// Why nothing can be sent any more.
    private var refusal: (any Error)? {
        switch stage {
        case .waiting, .open:
            guard hasLostOutput else { return nil }
            return TransferFailure.webSocket(.lost(nil)).urlError(for: transfer?.failingURL)
        case .closing: return TransferFailure.webSocket(.closed).urlError(for: transfer?.failingURL)
        case .over(let reason): return reason
        }
    }

    // MARK: The socket

    func transportIsWritable(_ transport: any Transport) {
        flush()
    }

    /// Closing is not held up by a suspended task.
    var mayWrite: Bool { isOpen && !hasLostOutput && (!isPaused || isClosing) }

    /// Hands to the socket what it takes. Not while frames are being read: what they make us say goes out together.
    func flush() {
        guard let sending, mayWrite, outgoing.hasMore else { return flush(atMost: Self.bytesPerTurn) }
        let allowance = sending.ask()
        if allowance > 0 { flush(atMost: min(allowance, Self.bytesPerTurn)) } else { updateInterest() }
    }

    func takeTurn(sending allowance: Int) {
        flush(atMost: allowance)
    }

    private func flush(atMost limit: Int) {
        guard mayWrite, let socket else { return }
        var budget = limit
        do throws(SystemError) {
            while budget > 0, outgoing.compose() {
                let count = try outgoing.send(through: socket, atMost: budget)
                guard count > 0 else { break }
                sending?.take(count)
                budget -= count
            }
        } catch {
            // What the server said before is read first. If it said nothing, reading ends in the same error.
            hasLostOutput = true
            let reason = TransferFailure.webSocket(.lost(error)).urlError(for: transfer?.failingURL)
            for handler in outgoing.removeAll() { handler(reason) }
        }
        let (handlers, bytes) = outgoing.takeCompleted()
        if bytes > 0 { transfer?.didSend(bytes) }
        for handler in handlers { handler(nil) }
        updateInterest()
        if receivedClose != nil, outgoing.hasSentClose || hasLostOutput { finish() }
    }
}

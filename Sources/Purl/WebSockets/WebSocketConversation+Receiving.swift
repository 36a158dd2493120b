import Foundation
internal import PurlHTTP
internal import PurlIO

/// How messages come to whoever asks for them.
extension WebSocketConversation {
    /// What a message costs beside its bytes, so that empty ones cannot pile up.
    private static let messageOverhead = 64

    // MARK: The user's calls

    func receive(_ ticket: ReceiverTicket? = nil, _ receiver: @escaping Receiver) {
        if ticket?.isGivenUp == true { return receiver(.failure(givenUp)) }
        if let message = held.first {
            held.removeFirst()
            heldCount -= message.count + Self.messageOverhead
            receiver(.success(message))
            return resumeReading()
        }
        if case .over(let reason) = stage { return receiver(.failure(reason)) }
        receivers.append((ticket, receiver))
        resumeReading()
    }

    /// Whoever waits with this ticket does so no longer.
    func giveUp(_ ticket: ReceiverTicket) {
        ticket.isGivenUp = true
        guard let place = receivers.firstIndex(where: { $0.ticket === ticket }) else { return }
        receivers.remove(at: place).receiver(.failure(givenUp))
    }

    private var givenUp: URLError { TransferFailure.cancelled.urlError(for: transfer?.failingURL) }

    func dropHeld() {
        held = Queue()
        heldCount = 0
    }

    // MARK: The socket

    /// There is room for a message. Once we have said goodbye there always is: what finds none is dropped.
    var takesMore: Bool {
        guard isOpen else { return false }
        if isClosing { return receivedClose == nil }
        return !isPaused && (!receivers.isEmpty || heldCount < heldBytes)
    }

    func transportIsReadable(_ transport: any Transport) {
        let allowance = receiving?.ask() ?? .max
        if allowance > 0 { receive(atMost: allowance) } else { updateInterest() }
    }

    func takeTurn(receiving allowance: Int) {
        if takesMore { receive(atMost: allowance) }
        updateInterest()
    }

    private func receive(atMost limit: Int) {
        guard let socket else { return }
        do throws(SystemError) {
            guard let bytes = try socket.receive(atMost: limit) else { return }
            receiving?.take(bytes.count)
            guard !bytes.isEmpty else { return streamEnded(nil) }
            consume(bytes)
        } catch {
            streamEnded(error)
        }
    }

    private func streamEnded(_ error: SystemError?) {
        if receivedClose == nil { fail(.lost(error)) } else { finish() }
    }

    /// Goes on where reading stopped for want of room.
    func resumeReading() {
        guard isOpen, !isConsuming else { return }
        if takesMore, !stash.isEmpty {
            let bytes = stash
            stash = []
            bytes.withUnsafeBytes { consume($0) }
        }
        updateInterest()
    }

    private func consume(_ bytes: UnsafeRawBufferPointer) {
        isConsuming = true
        defer { isConsuming = false }
        var offset = 0
        do throws(WebSocketError) {
            while takesMore, let event = try reader?.next(bytes.bytes, from: &offset) { take(event) }
        } catch {
            return fail(.violation(error))
        }
        // Nothing counts after a close frame (RFC 6455 §5.5.1).
        if offset < bytes.count, receivedClose == nil { stash.append(contentsOf: bytes[offset...]) }
        flush()
        updateInterest()
    }

    private func take(_ event: WebSocketReader.Event) {
        switch event {
        case .message(let message): take(message)
        case .ping(let content): outgoing.answer(ping: content)
        case .pong(let content): takePong(content)
        case .close(let close): take(close)
        }
    }

    private func take(_ message: WebSocketMessage) {
        transfer?.didReceive(message.count)
        let message = URLSessionWebSocketTask.Message(message)
        if !receivers.isEmpty {
            receivers.removeFirst().receiver(.success(message))
        } else if !isClosing || heldCount < heldBytes {
            held.append(message)
            heldCount += message.count + Self.messageOverhead
        }
    }

    /// RFC 6455 §5.5.3: a pong may answer only the last of several pings.
    private func takePong(_ content: [UInt8]) {
        guard content.count == 8 else { return }
        let number = content.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard number <= pingCount else { return }
        while let ping = pings.first, ping.number <= number {
            pings.removeFirst()
            ping.handler(nil)
        }
    }

    private func take(_ close: WebSocketClose) {
        receivedClose = close
        // RFC 6455 §5.5.1: the answer has the same code. What was not sent yet is not wanted any more.
        if !isClosing || !outgoing.hasWrittenClose {
            stage = .closing
            let reason = TransferFailure.webSocket(.closed).urlError(for: transfer?.failingURL)
            for handler in outgoing.cutShort(with: WebSocketClose(code: close.code)) { handler(reason) }
            startClosingTimer()
        }
    }
}

extension URLSessionWebSocketTask.Message {
    /// Text has been checked.
    fileprivate init(_ message: WebSocketMessage) {
        switch message {
        case .text(let bytes): self = .string(String(decoding: bytes, as: UTF8.self))
        case .binary(let bytes): self = .data(Data(bytes))
        }
    }

    /// How many bytes it takes.
    fileprivate var count: Int {
        switch self {
        case .data(let data): data.count
        case .string(let text): text.utf8.count
        }
    }
}

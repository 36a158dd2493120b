import Foundation
import PurlHTTP

@testable import Purl

/// What must hold for a WebSocket task, given what went over its connection.
struct WebSocketRules {
    let talk: WebSocketTalk
    let account: Witness.Account
    let traffic: Traffic?
    private let agreement: WebSocketHandshake.Agreement?
    private let serverFrames: ServerFrames

    init(_ talk: WebSocketTalk, _ traffic: Traffic?) {
        self.talk = talk
        self.traffic = traffic
        account = talk.witness.account(of: talk.task)
        let departure = traffic?.exchange.flatMap { Departure($0) }
        agreement = departure.flatMap { Self.agreement(traffic?.exchange, $0.head) }
        serverFrames = ServerFrames(
            agreement == nil ? [] : departure?.rest ?? [], agreement, talk.task.maximumMessageSize)
    }

    /// What both sides are held to after this answer; `nil` when it is none.
    private static func agreement(
        _ exchange: ScriptedServer.Exchange?, _ head: ResponseHead
    ) -> WebSocketHandshake.Agreement? {
        guard head.status == 101, var asked = exchange?.request, let key = asked.fields[.secWebSocketKey],
            let nonce = Base64.decode(Array(key.utf8))
        else { return nil }
        // Without the field more would be offered than was.
        if !asked.fields.contains(.secWebSocketExtensions) { asked.fields.append(.secWebSocketExtensions, "") }
        let handshake = WebSocketHandshake(nonce: nonce, addingTo: &asked)
        requireSame(handshake.key, key, "a key is 16 bytes")
        return try? handshake.check(head)
    }

    /// Only the server has ended anything.
    private var isLeftToServer: Bool { !talk.isCancelled && !talk.isClosing }

    func check() {
        checkReceived()
        checkSent()
        checkEnd()
    }

    // MARK: What was received

    private func checkReceived() {
        let received = talk.receives.compactMap(\.value).map { WebSocketMessage($0) }
        for message in received {
            require(message.count <= talk.task.maximumMessageSize, "no message is larger than allowed")
        }
        if talk.isClosing {
            // What comes after our close frame may be dropped, when there is no room.
            require(received.isSubsequence(of: serverFrames.messages), "messages are what was sent, in order")
        } else {
            require(serverFrames.messages.starts(with: received), "messages are what was sent, in order")
        }
        if talk.isDrained, isLeftToServer, traffic?.isAbandoned != true {
            requireSame(received.count, serverFrames.messages.count, "every message arrives")
        }
        let answered = serverFrames.pongs.filter { $0 <= UInt64(talk.pings.count) }.max() ?? 0
        for (index, ping) in talk.pings.enumerated() where ping.value != nil {
            require(index < answered, "a ping is answered by a pong")
        }
    }

    // MARK: What the server received

    private func checkSent() {
        guard let traffic else { return }
        guard let agreement else {
            return requireSame(traffic.received.count, 0, "nothing is sent before the handshake has finished")
        }
        let clientFrames = ClientFrames(traffic.received, agreement)
        require(clientFrames.fault == nil, "the client sends sound frames: \(String(describing: clientFrames.fault))")
        var asked = talk.frames[...]
        var pings = serverFrames.pings[...]
        var messages = 0
        var hasClosed = false
        for event in clientFrames.events {
            require(!hasClosed, "nothing follows a close frame")
            switch event {
            case .message(let message):
                messages += 1
                require(asked.popFirst() == .message(message), "messages go out as they were sent, in order")
            case .ping(let content): require(asked.popFirst() == .ping(content), "so do pings")
            case .pong(let content):
                let answered = pings.firstIndex(of: content)
                require(answered != nil, "a pong answers a ping")
                pings = pings[((answered ?? 0) + 1)...]
            case .close(let close):
                hasClosed = true
                checkClose(close)
            }
        }
        guard !traffic.isAbandoned else { return }
        let sent = talk.sends.count { $0.value != nil }
        require(sent <= messages, "what was sent goes out")
        guard account.error == nil, !traffic.isEnded else { return }
        require(hasClosed && !clientFrames.isCut, "the server receives an end in order")
    }

    /// The reasons for a close frame: the user's, the server's own, a fault of the server's.
    private func checkClose(_ close: WebSocketClose) {
        let isAsked = talk.frames.contains { frame in
            guard case .close(let asked) = frame else { return false }
            return (try? WebSocketClose(payload: asked.payload)) == close
        }
        let isAnswer = serverFrames.close.map { $0.code == close.code } ?? false
        let isFault = serverFrames.fault.map { $0.closeCode == close.code } ?? false
        require(isAsked || isAnswer || isFault || (talk.isCancelled && close.code == nil), "a close frame has a reason")
    }

    // MARK: The end

    private func checkEnd() {
        if let close = account.close {
            require(serverFrames.close != nil, "only the server's close frame is reported")
            let status = serverFrames.close?.code.map { Int($0) } ?? 1005
            requireSame(close.code, .init(rawValue: status) ?? .invalid, "the code is the server's")
            requireSame(close.reason ?? Data(), Data(serverFrames.close?.reason ?? []), "so is the reason")
            requireSame(talk.task.closeStatus, status, "the task has it, too")
        }
        let isExpert = talk.witness is ExpertWitness
        if isExpert {
            require(!account.isOpen || agreement != nil, "only the right answer opens a WebSocket")
            require(account.error != nil || account.close != nil, "an end in order is a close frame's")
        }
        guard isLeftToServer else { return }
        require(agreement != nil || account.error != nil, "without a handshake there is no success")
        guard agreement != nil, traffic?.isAbandoned != true else { return }
        require(!isExpert || account.isOpen, "the right answer opens a WebSocket")
        let code = (account.error as? URLError)?.code
        if let fault = serverFrames.fault {
            requireSame(code, WebSocketFailure.violation(fault).explanation.code, "a fault is named")
        } else {
            requireSame(code, serverFrames.close == nil ? .networkConnectionLost : nil, "the end is the server's")
        }
    }
}

extension WebSocketMessage {
    fileprivate init(_ message: URLSessionWebSocketTask.Message) {
        switch message {
        case .data(let data): self = .binary(Array(data))
        case .string(let text): self = .text(Array(text.utf8))
        }
    }
}

extension Array where Element: Equatable {
    fileprivate func isSubsequence(of other: [Element]) -> Bool {
        var rest = self[...]
        for element in other where element == rest.first { rest.removeFirst() }
        return rest.isEmpty
    }
}

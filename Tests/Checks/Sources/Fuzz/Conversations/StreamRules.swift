import Foundation
import PurlHTTP

@testable import Purl

/// What must hold for a stream task, given what went over its connection.
struct StreamRules {
    let talk: StreamTalk
    let account: Witness.Account
    let traffic: Traffic?
    /// What the server sent.
    private let sent: [UInt8]

    init(_ talk: StreamTalk, _ traffic: Traffic?) {
        self.talk = talk
        self.traffic = traffic
        account = talk.witness.account(of: talk.task)
        sent = traffic.map(Self.stream) ?? []
    }

    /// Where a request came first, the stream is what follows the head of its answer; none where a proxy refuses.
    private static func stream(_ traffic: Traffic) -> [UInt8] {
        guard let exchange = traffic.exchange else { return traffic.greeting }
        guard let departure = Departure(exchange) else { return [] }
        return exchange.request.method == "CONNECT" && departure.head.status / 100 != 2 ? [] : departure.rest
    }

    func check() {
        checkReads()
        checkSent()
        checkEnd()
    }

    private func checkReads() {
        var received: [UInt8] = []
        var hasEnded = false
        for read in talk.reads {
            guard let piece = read.call.value else { continue }
            let maximum = max(0, read.maximum)
            let count = piece.bytes?.count ?? 0
            require(piece.bytes != nil || piece.isLast, "only the end brings nothing")
            require(count <= maximum, "no more comes than was asked for")
            require(count >= min(max(1, read.minimum), maximum) || piece.isLast, "only at the end comes less")
            require(!hasEnded || count == 0, "nothing comes after the last bytes")
            hasEnded = hasEnded || piece.isLast
            received += piece.bytes ?? Data()
        }
        require(sent.starts(with: received), "what is read is what was sent")
        if let captured = account.captured {
            let rest = talk.capturesNothing ? [] : sent.dropFirst(received.count)
            require(rest.starts(with: captured), "what is captured is the rest")
            received += captured
        }
        // What is not wanted any more is thrown away.
        guard traffic?.isAbandoned != true, !talk.closesRead else { return }
        if hasEnded || account.capturedAll { requireSame(received.count, sent.count, "the end comes after all of it") }
        guard talk.isDrained, !talk.isCancelled, !talk.isGivenAway else { return }
        // Of a connection that was lost, what had come can still be read.
        requireSame(received.count, sent.count, "all of it can be read")
    }

    private func checkSent() {
        guard let traffic else { return }
        let written = talk.writes.flatMap(\.bytes)
        var arrived = traffic.received[...]
        if !account.writtenToCaptured.isEmpty, arrived.suffix(8).elementsEqual("farewell".utf8) {
            arrived = arrived.dropLast(8)
        }
        require(written.starts(with: arrived), "what is written goes out, in order")
        guard !traffic.isAbandoned else { return }
        let taken = talk.writes.reduce(0) { $0 + ($1.call.value == nil ? 0 : $1.bytes.count) }
        require(taken <= arrived.count, "what the system has taken goes out")
        guard account.isComplete, account.error == nil, !talk.isGivenAway, !traffic.isEnded else { return }
        require(traffic.hasReceivedEnd, "the server receives an end in order")
    }

    private func checkEnd() {
        if account.captured != nil { require(talk.isGivenAway, "streams are captured where they are asked for") }
        guard !talk.isCancelled, !talk.isGivenAway else { return }
        if account.error == nil { require(talk.closesWrite, "a stream ends in order where writing does") }
        // Nothing went wrong that could have.
        guard let traffic, traffic.isEnded, !traffic.isAbandoned, talk.isDrained else { return }
        let failures = talk.writes.dropLast().count { $0.call.value == nil }
        if failures == 0, account.isReadClosed, talk.reads.dropLast().last?.call.value != nil {
            require(account.error == nil, "an end in order is no failure: \(String(describing: account.error))")
        }
    }
}

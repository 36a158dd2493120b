package import PurlHTTP
package import PurlIO

/// Watches an exchange, without a say in it: metrics count what it does, traces record it.
@NetworkActor
package protocol ExchangeObserver: AnyObject {
    /// The transport was asked to take more of the request.
    ///
    /// - Parameters:
    ///   - sent: What of the request has gone out so far.
    ///   - content: How many bytes of content were taken now.
    func exchangeDidSend(_ sent: SentBytes, content: Int)
    /// Bytes of a head have arrived, the last ones of it or not.
    func exchangeDidReceiveHead(bytes: Int)
    /// A head has arrived; an interim one, too.
    func exchangeDidReceive(_ head: ResponseHead)
    /// The response so far was an interim one.
    func exchangeWillReceiveAnotherResponse()
    /// Bytes of a body have arrived.
    ///
    /// - Parameters:
    ///   - count: How many bytes of the message there were.
    ///   - content: Those that are content; perhaps none.
    func exchangeDidReceiveBody(bytes count: Int, content: UnsafeRawBufferPointer)
    /// Content went into a file without passing through the process.
    func exchangeDidMoveBody(bytes: Int)
    /// The exchange is over.
    func exchangeDidEnd(_ end: ExchangeEnd)
}

/// How much of a request has gone out.
package struct SentBytes {
    package let head: Int
    /// After the head, chunk framing included.
    package let body: Int64
    /// All of the request has.
    package let isComplete: Bool
}

/// How an exchange has ended.
package enum ExchangeEnd {
    /// The response is complete.
    ///
    /// - Parameter connectionStays: Another exchange may follow on the connection.
    case finished(connectionStays: Bool)
    /// The connection speaks another protocol after a response with that status.
    case switched(status: Int)
    case failed(ExchangeFailure)
    /// Its client wants no more of it.
    case abandoned
    /// Its client has taken over the connection.
    case surrendered
}

/// Two observers in place of one.
@NetworkActor
package final class ObserverPair: ExchangeObserver {
    private let first: any ExchangeObserver
    private let second: any ExchangeObserver

    private init(_ first: any ExchangeObserver, _ second: any ExchangeObserver) {
        self.first = first
        self.second = second
    }

    /// Those that there are.
    package static func of(_ first: (any ExchangeObserver)?, _ second: (any ExchangeObserver)?) -> (
        any ExchangeObserver
    )? {
        guard let first else { return second }
        guard let second else { return first }
        return ObserverPair(first, second)
    }

    package func exchangeDidSend(_ sent: SentBytes, content: Int) {
        first.exchangeDidSend(sent, content: content)
        second.exchangeDidSend(sent, content: content)
    }

    package func exchangeDidReceiveHead(bytes: Int) {
        first.exchangeDidReceiveHead(bytes: bytes)
        second.exchangeDidReceiveHead(bytes: bytes)
    }

    package func exchangeDidReceive(_ head: ResponseHead) {
        first.exchangeDidReceive(head)
        second.exchangeDidReceive(head)
    }

    package func exchangeWillReceiveAnotherResponse() {
        first.exchangeWillReceiveAnotherResponse()
        second.exchangeWillReceiveAnotherResponse()
    }

    package func exchangeDidReceiveBody(bytes count: Int, content: UnsafeRawBufferPointer) {
        first.exchangeDidReceiveBody(bytes: count, content: content)
        second.exchangeDidReceiveBody(bytes: count, content: content)
    }

    package func exchangeDidMoveBody(bytes: Int) {
        first.exchangeDidMoveBody(bytes: bytes)
        second.exchangeDidMoveBody(bytes: bytes)
    }

    package func exchangeDidEnd(_ end: ExchangeEnd) {
        first.exchangeDidEnd(end)
        second.exchangeDidEnd(end)
    }
}

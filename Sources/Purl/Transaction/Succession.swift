import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// What follows a response that is not the result.
enum Successor {
    case request(URLRequest, TransactionHistory)
    case stored(CachedURLResponse, age: Int64?)
    case upload(ResumableUpload.Continuation)
}

/// Lets a request, or a stored response, follow a response that is not the result.
@NetworkActor
struct Succession {
    private let response: ReceivedResponse
    private let transaction: Transaction
    private let calls: DelegateCalls

    init(after response: ReceivedResponse, to transaction: Transaction, _ calls: DelegateCalls) {
        self.response = response
        self.transaction = transaction
        self.calls = calls
    }

    private var outgoing: OutgoingRequest { transaction.outgoing }

    /// The same request follows, without its expectation.
    func sendWithoutExpectation() {
        calls.trace?.record(other: .retry(.expectationFailed))
        follow(outgoing.request, outgoing.history.expectingNothing)
    }

    /// The same request follows, without the conditions of a stored response.
    func sendWithoutConditions() {
        follow(outgoing.request, outgoing.history.distrustingCache)
    }

    /// The request that the response redirects to follows.
    func redirect(to next: URLRequest) {
        calls.countRedirect()
        calls.trace?.redirect(to: next)
        follow(next, outgoing.history.redirected)
    }

    /// The same request follows, with these credentials.
    func authenticate(_ login: Login, to peer: AuthenticationPeer) {
        outgoing.prepare(login, for: peer)
        calls.trace?.login(to: peer)
        follow(outgoing.request, outgoing.history)
    }

    /// The stored response follows.
    ///
    /// - Parameter isConfirmed: The server has confirmed it, and so it is stored again, where that is allowed.
    func deliver(_ stored: CachedURLResponse, age: Int64?, isConfirmed: Bool) {
        if isConfirmed { transaction.cacheTransaction?.storeConfirmed(stored, calls) }
        transaction.leave(response, for: .stored(stored, age: age))
    }

    /// Another request of the upload follows, or it fails.
    func continueUpload(with continuation: ResumableUpload.Continuation) {
        transaction.upload?.take(continuation, after: response)
        transaction.leave(response, for: .upload(continuation))
    }

    private func follow(_ next: URLRequest, _ history: TransactionHistory) {
        transaction.leave(response, for: .request(next, outgoing.history(before: next, history)))
    }
}

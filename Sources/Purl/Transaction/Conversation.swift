internal import PurlIO

/// What goes over a connection in place of a response, for as long as both sides like.
@NetworkActor
protocol Conversation: ResponseSource {
    /// The task is over: answers everything that waits, and whatever will come.
    func conclude(_ error: (any Error)?)
}

/// Identifies a call that waits for something to come, for whoever may give it up.
@NetworkActor
final class ReceiverTicket: Sendable {
    /// Whoever waits need not wait any longer; it may be known before anybody waits.
    var isGivenUp = false

    nonisolated init() {}
}

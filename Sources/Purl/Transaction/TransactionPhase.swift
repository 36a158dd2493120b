/// Where a transaction stands.
///
/// ```
/// parked ⇄ preparing ──► acquiring ──► exchanging ──► received ──► ended
///    ▲                       │             │  └─► leaving ─► (the next transaction)
///    └──── suspended, retry ◄┴─────────────┘  └─► conversing
/// ```
/// How a connection is acquired has phases of its own; so has the exchange on it.
enum TransactionPhase: CaseIterable, Sendable {
    /// Not begun, suspended without a connection, or about to begin again.
    case parked
    /// A loader, the disk or the delegate has been asked; its result continues the transaction.
    case preparing
    /// A connection is acquired for the request.
    case acquiring
    /// The request is sent, and its response received.
    case exchanging
    /// The response is not wanted. Its body is read to its end so that the connection can be used again.
    case leaving
    /// The connection carries messages or a stream.
    case conversing
    /// The response has arrived; its receiver delivers what is left of the body.
    case received
    case ended
}

extension TransactionPhase {
    /// Whether a transaction in this phase may enter another one. It may end in any, once.
    func precedes(_ next: TransactionPhase) -> Bool {
        switch (self, next) {
        case (.ended, _): false
        case (_, .ended): true

        // Suspended, a result that continues it, or a response that is given up.
        case (.parked, .parked), (.preparing, .parked), (.acquiring, .parked), (.exchanging, .parked),
            (.leaving, .parked):
            true
        case (.conversing, .parked), (.received, .parked): false

        // What has arrived is given up while the storage closes.
        case (.parked, .preparing), (.preparing, .preparing), (.exchanging, .preparing), (.received, .preparing): true
        case (.acquiring, .preparing), (.leaving, .preparing), (.conversing, .preparing): false

        case (.preparing, .acquiring): true
        case (.parked, .acquiring), (.acquiring, .acquiring), (.exchanging, .acquiring), (.leaving, .acquiring),
            (.conversing, .acquiring), (.received, .acquiring):
            false

        // A loader's response, or a stored one, which may take the place of a server's; or a switched connection.
        case (.parked, .exchanging), (.preparing, .exchanging), (.acquiring, .exchanging), (.exchanging, .exchanging):
            true
        case (.leaving, .exchanging), (.conversing, .exchanging), (.received, .exchanging): false

        case (.exchanging, .leaving): true
        case (.parked, .leaving), (.preparing, .leaving), (.acquiring, .leaving), (.leaving, .leaving),
            (.conversing, .leaving), (.received, .leaving):
            false

        // A stream needs no exchange.
        case (.parked, .conversing), (.acquiring, .conversing), (.exchanging, .conversing): true
        case (.preparing, .conversing), (.leaving, .conversing), (.conversing, .conversing), (.received, .conversing):
            false

        case (.exchanging, .received): true
        case (.parked, .received), (.preparing, .received), (.acquiring, .received), (.leaving, .received),
            (.conversing, .received), (.received, .received):
            false
        }
    }
}

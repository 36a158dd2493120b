/// Where a transfer stands.
///
/// ```
/// created ──► delayed ──► asking ──► opening ⇄ loading ──► finishing ──► concluded
///    └───────────┴───────────┴──────────┴───────────┴──► stopping ───────────┘
/// ```
/// A step before `loading` that is not needed is left out. Suspension is not a phase: a suspended transfer stays
/// where it is. The current transaction has phases of its own while the transfer is `loading`.
enum TransferPhase: CaseIterable, Sendable {
    /// The task has not been resumed.
    case created
    /// Waits for the task's `earliestBeginDate`.
    case delayed
    /// The date has come; the delegate is asked which request to send.
    case asking
    /// The sink, or the partial file, is examined; also before a background session sends a request again.
    case opening
    /// A transaction runs, or the conversation that it has opened.
    case loading
    /// The whole body has arrived; its storage completes it. Too late to cancel.
    case finishing
    /// The transfer has failed; its storage closes.
    case stopping
    /// The task's last calls have been put into the delegate queue.
    case concluded
}

/// What can happen to a transfer.
enum TransferEvent: CaseIterable, Sendable {
    /// The task's `earliestBeginDate` is in the future.
    case delay
    /// The task's `earliestBeginDate` has come, and there is a delegate to ask.
    case ask
    /// It begins, or begins again after a time-out, and has a sink or a partial file to examine.
    case open
    /// A transaction begins: the first one, or the next.
    case load
    /// The whole body has arrived, or there was nothing left to load.
    case finish
    /// The transfer cannot continue, or the task was cancelled.
    case fail
    /// The whole body has arrived, and the storage could not keep it.
    case failToStore
    /// The storage has been completed or closed.
    case conclude
}

extension TransferPhase {
    /// The phase after an event; `nil` refuses the event, which then changes nothing.
    func after(_ event: TransferEvent) -> TransferPhase? {
        switch (self, event) {
        case (.created, .delay), (.delayed, .delay): .delayed
        case (.asking, .delay), (.opening, .delay), (.loading, .delay), (.finishing, .delay), (.stopping, .delay),
            (.concluded, .delay):
            nil

        case (.created, .ask), (.delayed, .ask): .asking
        case (.asking, .ask), (.opening, .ask), (.loading, .ask), (.finishing, .ask), (.stopping, .ask),
            (.concluded, .ask):
            nil

        case (.created, .open), (.delayed, .open), (.asking, .open), (.loading, .open): .opening
        case (.opening, .open), (.finishing, .open), (.stopping, .open), (.concluded, .open): nil

        case (.created, .load), (.delayed, .load), (.asking, .load), (.opening, .load), (.loading, .load): .loading
        case (.finishing, .load), (.stopping, .load), (.concluded, .load): nil

        // A sink that holds all of the resource needs no transaction.
        case (.opening, .finish), (.loading, .finish): .finishing
        case (.created, .finish), (.delayed, .finish), (.asking, .finish), (.finishing, .finish), (.stopping, .finish),
            (.concluded, .finish):
            nil

        case (.created, .fail), (.delayed, .fail), (.asking, .fail), (.opening, .fail), (.loading, .fail): .stopping
        case (.finishing, .fail), (.stopping, .fail), (.concluded, .fail): nil

        case (.finishing, .failToStore): .stopping
        case (.created, .failToStore), (.delayed, .failToStore), (.asking, .failToStore), (.opening, .failToStore),
            (.loading, .failToStore), (.stopping, .failToStore), (.concluded, .failToStore):
            nil

        case (.finishing, .conclude), (.stopping, .conclude): .concluded
        case (.created, .conclude), (.delayed, .conclude), (.asking, .conclude), (.opening, .conclude),
            (.loading, .conclude), (.concluded, .conclude):
            nil
        }
    }
}

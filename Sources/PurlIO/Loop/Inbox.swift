/// What other threads have handed to the I/O thread, in order.
struct Inbox: Sendable {
    private var pending: [Work] = []
    private var isWaiting = false

    /// Adds `work`. True when the I/O thread sleeps and nobody has woken it yet: the caller must.
    mutating func push(_ work: Work) -> Bool {
        pending.append(work)
        defer { isWaiting = false }
        return isWaiting
    }

    /// The I/O thread is about to poll. True when it may sleep: from now on the first push wakes it.
    mutating func prepareToWait() -> Bool {
        isWaiting = pending.isEmpty
        return isWaiting
    }

    /// Hands out everything; `replacement` is an empty array whose memory is used again.
    mutating func take(replacement: [Work]) -> [Work] {
        isWaiting = false
        let taken = pending
        pending = replacement
        return taken
    }
}

/// One thing for the I/O thread to run.
enum Work: Sendable {
    case job(UnownedJob)
    case body(@Sendable @NetworkActor () -> Void)
}

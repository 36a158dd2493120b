/// Waits for descriptors on behalf of one loop. Level-triggered: what is ready and not dealt with is reported again.
///
/// A hang-up or an error is reported as both readable and writable, so that whoever watches meets it in the next call
/// on the descriptor.
package protocol Poller: AnyObject {
    /// Changes what is watched of `descriptor` from `old` to `new`; events will carry `token`.
    ///
    /// Nothing is kept of a descriptor whose new interest is empty, so one that has hung up cannot make the loop spin.
    func change(_ descriptor: Int32, token: PollToken, from old: Interest, to new: Interest) throws(SystemError)

    /// Replaces `events` with what is ready, waiting at most `milliseconds` for it (negative: for ever).
    /// An interrupted wait reports nothing. True when `events` is everything that is ready.
    @discardableResult
    func wait(milliseconds: Int32, into events: inout [PollEvent]) -> Bool
}

/// Names one registration, never two: the slot of the loop's table, and how many owners that slot had before.
///
/// The number of a closed descriptor is used again at once, perhaps between two events of one batch; a token is not.
package struct PollToken: Hashable, Sendable {
    package let slot: UInt32
    package let generation: UInt32

    package init(slot: UInt32, generation: UInt32) {
        self.slot = slot
        self.generation = generation
    }

    package init(rawValue: UInt64) {
        slot = UInt32(truncatingIfNeeded: rawValue)
        generation = UInt32(truncatingIfNeeded: rawValue >> 32)
    }

    package var rawValue: UInt64 {
        UInt64(generation) << 32 | UInt64(slot)
    }
}

/// One descriptor found ready.
package struct PollEvent: Hashable, Sendable {
    package let token: PollToken
    package let readiness: Interest
}

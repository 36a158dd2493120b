/// Waits for the descriptors of one loop. Level-triggered: what stays ready is reported again.
///
/// A hang-up or an error is reported as both readable and writable, so that the owner's next call on the descriptor
/// returns it.
package protocol Poller: AnyObject {
    /// Changes the interest in `descriptor` from `old` to `new`; its events carry `token`.
    ///
    /// A descriptor without interest is removed, so that one that has hung up cannot make the loop spin.
    func change(_ descriptor: Int32, token: PollToken, from old: TransportInterest, to new: TransportInterest)
        throws(SystemError)

    /// Waits at most `milliseconds` (negative: without a limit) and replaces `events` with those that happened. An
    /// interrupted wait reports none.
    ///
    /// - Returns: Whether `events` is everything that is ready.
    @discardableResult
    func wait(milliseconds: Int32, into events: inout [PollEvent]) -> Bool
}

/// Identifies one registration: the slot of the loop's table, and how many owners that slot had before.
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
    package let readiness: TransportInterest
}

/// The events that an owner wants of a descriptor, and those that the poller reports.
public struct TransportInterest: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Bytes, a connection, the end of the stream or an error can be read.
    public static let read = TransportInterest(rawValue: 1)
    /// There is room to write, a connection attempt has ended, or the next write will report an error.
    public static let write = TransportInterest(rawValue: 2)
}

/// The poller for any POSIX system, over `poll(2)`.
package final class PollPoller: Poller {
    private var entries: [pollfd] = []
    private var tokens: [PollToken] = []
    private var positions: [Int32: Int] = [:]

    package init() {}

    package func change(
        _ descriptor: Int32, token: PollToken, from old: TransportInterest, to new: TransportInterest
    ) throws(SystemError) {
        if let position = positions[descriptor] {
            if new.isEmpty {
                remove(at: position)
            } else {
                entries[position].events = Self.flags(for: new)
                tokens[position] = token
            }
        } else if !new.isEmpty {
            positions[descriptor] = entries.count
            entries.append(pollfd(fd: descriptor, events: Self.flags(for: new), revents: 0))
            tokens.append(token)
        }
    }

    package func wait(milliseconds: Int32, into events: inout [PollEvent]) -> Bool {
        events.removeAll(keepingCapacity: true)
        var remaining = poll(&entries, Platform.PollCount(entries.count), milliseconds)
        var position = 0
        while remaining > 0, position < entries.count {
            let flags = entries[position].revents
            if flags != 0 {
                events.append(PollEvent(token: tokens[position], readiness: Self.readiness(from: flags)))
                remaining -= 1
            }
            position += 1
        }
        return remaining >= 0
    }

    private func remove(at position: Int) {
        positions[entries[position].fd] = nil
        let last = entries.removeLast()
        let lastToken = tokens.removeLast()
        if position < entries.count {
            entries[position] = last
            tokens[position] = lastToken
            positions[last.fd] = position
        }
    }

    private static func flags(for interest: TransportInterest) -> Int16 {
        var flags: Int16 = 0
        if interest.contains(.read) { flags |= Int16(POLLIN) }
        if interest.contains(.write) { flags |= Int16(POLLOUT) }
        return flags
    }

    private static func readiness(from flags: Int16) -> TransportInterest {
        if flags & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 { return [.read, .write] }
        var readiness: TransportInterest = []
        if flags & Int16(POLLIN) != 0 { readiness.insert(.read) }
        if flags & Int16(POLLOUT) != 0 { readiness.insert(.write) }
        return readiness
    }
}

/// The poller for any POSIX system, over `poll(2)`.
package final class PollPoller: Poller {
    private var entries: [pollfd] = []
    private var tokens: [PollToken] = []
    private var positions: [Int32: Int] = [:]

    package init() {}

    package func change(
        _ descriptor: Int32, token: PollToken, from old: Interest, to new: Interest
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

    private static func flags(for interest: Interest) -> Int16 {
        var flags: Int16 = 0
        if interest.contains(.read) { flags |= Int16(POLLIN) }
        if interest.contains(.write) { flags |= Int16(POLLOUT) }
        return flags
    }

    private static func readiness(from flags: Int16) -> Interest {
        if flags & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 { return [.read, .write] }
        var readiness: Interest = []
        if flags & Int16(POLLIN) != 0 { readiness.insert(.read) }
        if flags & Int16(POLLOUT) != 0 { readiness.insert(.write) }
        return readiness
    }
}

#if os(Linux)
    internal import CLinux

    /// The live poller on Linux, over `epoll(7)`, level-triggered.
    package final class EpollPoller: Poller {
        private let descriptor: Descriptor
        private let ready: UnsafeMutableBufferPointer<epoll_event>

        /// Throws when the process has no descriptor left for it.
        package init() throws(SystemError) {
            descriptor = try Descriptor(checking: epoll_create1(CLINUX_EPOLL_CLOEXEC), "epoll_create1")
            ready = .allocate(capacity: 256)
            ready.initialize(repeating: epoll_event())
        }

        deinit {
            ready.deallocate()
        }

        package func change(
            _ watched: Int32, token: PollToken, from old: TransportInterest, to new: TransportInterest
        ) throws(SystemError) {
            var event = epoll_event()
            event.events = Self.flags(for: new)
            event.data.u64 = token.rawValue
            let operation: Int32
            switch (old.isEmpty, new.isEmpty) {
            case (true, true): return
            case (true, false): operation = EPOLL_CTL_ADD
            case (false, true): operation = EPOLL_CTL_DEL
            case (false, false): operation = EPOLL_CTL_MOD
            }
            if epoll_ctl(descriptor.rawValue, operation, watched, &event) != 0 {
                throw SystemError.last("epoll_ctl")
            }
        }

        package func wait(milliseconds: Int32, into events: inout [PollEvent]) -> Bool {
            events.removeAll(keepingCapacity: true)
            let count = epoll_wait(descriptor.rawValue, ready.baseAddress, Int32(ready.count), milliseconds)
            var position = 0
            while position < Int(count) {
                let event = ready[position]
                let token = PollToken(rawValue: event.data.u64)
                events.append(PollEvent(token: token, readiness: Self.readiness(from: event.events)))
                position += 1
            }
            return count >= 0 && count < ready.count
        }

        private static func flags(for interest: TransportInterest) -> UInt32 {
            var flags: UInt32 = 0
            if interest.contains(.read) { flags |= CLINUX_EPOLLIN }
            if interest.contains(.write) { flags |= CLINUX_EPOLLOUT }
            return flags
        }

        private static func readiness(from flags: UInt32) -> TransportInterest {
            if flags & (CLINUX_EPOLLERR | CLINUX_EPOLLHUP) != 0 { return [.read, .write] }
            var readiness: TransportInterest = []
            if flags & CLINUX_EPOLLIN != 0 { readiness.insert(.read) }
            if flags & CLINUX_EPOLLOUT != 0 { readiness.insert(.write) }
            return readiness
        }
    }

    extension Platform {
        /// The fastest poller of this system; the portable one if `PURL_POLLER=poll` is in the environment.
        static func makePoller() -> any Poller {
            if Environment.value(of: "PURL_POLLER") == "poll" { return PollPoller() }
            // Out of descriptors already: the portable poller needs none.
            guard let poller = try? EpollPoller() else { return PollPoller() }
            return poller
        }
    }
#endif

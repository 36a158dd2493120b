#if os(Linux)
    internal import CLinux

    /// Ends the loop's wait from any thread. Signals that nobody has taken yet are one signal.
    final class WakeSignal: Sendable {
        private let descriptor: Descriptor

        /// Throws when the process has no descriptor left for it.
        init() throws(SystemError) {
            let flags = CLINUX_EFD_CLOEXEC | CLINUX_EFD_NONBLOCK
            descriptor = try Descriptor(checking: eventfd(0, flags), "eventfd")
        }

        /// The descriptor that becomes readable; it belongs to the signal.
        var readable: Int32 { descriptor.rawValue }

        /// Makes the signal readable, from any thread.
        func raise() {
            var one: UInt64 = 1
            _ = write(descriptor.rawValue, &one, MemoryLayout<UInt64>.size)
        }

        /// Takes every signal raised so far.
        func clear() {
            var count: UInt64 = 0
            _ = read(descriptor.rawValue, &count, MemoryLayout<UInt64>.size)
        }
    }
#endif

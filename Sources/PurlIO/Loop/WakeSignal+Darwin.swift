#if canImport(Darwin)
    /// Ends the loop's wait from any thread. Signals that nobody has taken yet are one signal.
    final class WakeSignal: Sendable {
        private let reader: Descriptor
        private let writer: Descriptor

        /// Throws when the process has no descriptor left for it.
        init() throws(SystemError) {
            var ends: [Int32] = [-1, -1]
            if pipe(&ends) != 0 { throw SystemError.last("pipe") }
            reader = Descriptor(owning: ends[0])
            writer = Descriptor(owning: ends[1])
            try Platform.makeNonBlocking(ends[0])
            try Platform.makeNonBlocking(ends[1])
        }

        /// The descriptor that becomes readable; it belongs to the signal.
        var readable: Int32 { reader.rawValue }

        /// Makes the signal readable, from any thread. A full pipe is a signal already.
        func raise() {
            var one: UInt8 = 1
            _ = write(writer.rawValue, &one, 1)
        }

        /// Takes every signal raised so far.
        func clear() {
            withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { bytes in
                while read(reader.rawValue, bytes.baseAddress, bytes.count) == bytes.count {}
            }
        }
    }
#endif

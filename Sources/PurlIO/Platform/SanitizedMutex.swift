#if SANITIZE_THREAD
    import Synchronization

    /// `Mutex` for runs under the thread sanitizer, which stands in for Synchronization's there.
    ///
    /// On Linux a contended `Mutex` is handed over inside the kernel (`FUTEX_LOCK_PI`), where the sanitizer sees neither
    /// the release nor the acquisition, and reports a race that is none. The atomic shows it both; it guards nothing
    /// itself.
    package struct SanitizedMutex<Value: ~Copyable>: ~Copyable, Sendable {
        private let mutex: Synchronization.Mutex<Value>
        private let handover = Atomic<UInt8>(0)

        package init(_ value: consuming sending Value) {
            mutex = Synchronization.Mutex(value)
        }

        package borrowing func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            try mutex.withLock { (value: inout sending Value) throws(Failure) -> sending Result in
                _ = handover.load(ordering: .acquiring)
                defer { handover.store(0, ordering: .releasing) }
                return try body(&value)
            }
        }
    }

    typealias Mutex = SanitizedMutex
#endif

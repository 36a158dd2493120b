#if os(Linux)
    internal import CLinux

    /// A thread of our own, for work that may block or never end.
    enum NativeThread {
        /// Starts a detached thread; false when the system has none left.
        static func start(
            _ name: String, stackSize: Int = 2 << 20, _ body: @escaping @Sendable () -> Void
        ) -> Bool {
            var attributes = pthread_attr_t()
            pthread_attr_init(&attributes)
            defer { pthread_attr_destroy(&attributes) }
            pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
            // Some C libraries give a thread 128 KiB, too little for whatever a callback may do.
            pthread_attr_setstacksize(&attributes, stackSize)
            let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
            var thread = pthread_t()
            let code = pthread_create(&thread, &attributes, runThread, start.toOpaque())
            if code != 0 { start.release() }
            return code == 0
        }

        /// A number that no other live thread has.
        static var current: UInt {
            #if canImport(Musl)
                UInt(bitPattern: pthread_self())
            #else
                UInt(pthread_self())
            #endif
        }
    }

    private final class ThreadStart {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    private func runThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let argument else { return nil }
        let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
        pthread_setname_np(pthread_self(), start.name)
        start.body()
        return nil
    }
#endif

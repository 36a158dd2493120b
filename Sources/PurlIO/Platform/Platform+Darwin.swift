#if canImport(Darwin)
    @_exported import Darwin

    /// What each system spells differently.
    enum Platform {
        /// The type of `poll`'s count.
        typealias PollCount = nfds_t

        static let shutdownWrite = SHUT_WR
        static let shutdownBoth = SHUT_RDWR
        static let shutdownRead = SHUT_RD
        /// Receives bytes and leaves them there.
        static let peek = MSG_PEEK
        static let socketLevel = SOL_SOCKET
        /// The type of stream sockets, as the system reports it.
        static let streamSocketType = SOCK_STREAM
        static let tcpLevel = IPPROTO_TCP
        static let keepAliveIdle = TCP_KEEPALIVE
        /// The option for how long sent bytes may remain unacknowledged, and how many milliseconds its unit has.
        static let userTimeout: (option: Int32, unit: Int32) = (TCP_RXT_CONNDROPTIME, 1000)

        /// A stream socket, non-blocking and closed on exec.
        ///
        /// - Parameter isMultipath: Ignored: several paths take an entitlement here.
        static func streamSocket(
            _ family: SocketAddress.Family, isMultipath: Bool = false
        ) throws(SystemError) -> Descriptor {
            try prepared(Descriptor(checking: socket(domain(of: family), SOCK_STREAM, 0), "socket"))
        }

        /// False: an address that a socket is bound to cannot be bound again.
        static let canShareAddress = false

        /// False: sockets use one path here.
        static func isMultipath(_ socket: Int32) -> Bool { false }

        /// What became of the bytes that a connection was given to send: the system does not say so for one that was reset.
        static func delivery(on socket: Int32) -> DeliveryState? { nil }

        /// How many processors the system has switched on; 1 where it does not say so.
        static var processorCount: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

        /// How many descriptors the process may have.
        static var descriptorLimit: Int {
            var limit = rlimit()
            guard getrlimit(RLIMIT_NOFILE, &limit) == 0 else { return .max }
            return Int(clamping: limit.rlim_cur)
        }

        /// Two stream sockets connected to each other; the caller owns both.
        static func streamSocketPair() throws(SystemError) -> (Int32, Int32) {
            var ends: [Int32] = [-1, -1]
            if socketpair(AF_UNIX, SOCK_STREAM, 0, &ends) != 0 { throw SystemError.last("socketpair") }
            let second = Descriptor(owning: ends[1])
            let first = try prepared(Descriptor(owning: ends[0])).release()
            do throws(SystemError) {
                return (first, try prepared(second).release())
            } catch {
                _ = closeDescriptor(first)
                throw error
            }
        }

        /// The next waiting connection.
        static func acceptConnection(_ listener: Int32) throws(SystemError) -> Descriptor {
            try prepared(Descriptor(checking: accept(listener, nil, nil), "accept"))
        }

        /// Writes to a socket; its option keeps SIGPIPE away. Returns what `send` returns.
        static func sendBytes(_ socket: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
            send(socket, bytes.baseAddress, bytes.count, 0)
        }

        /// Writes two buffers to a socket in one step, of which the first has bytes. Returns what `sendmsg` returns.
        static func sendBytes(
            _ socket: Int32, _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
        ) -> Int {
            withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { parts in
                parts[0] = iovec(iov_base: UnsafeMutableRawPointer(mutating: first.baseAddress), iov_len: first.count)
                parts[1] = iovec(iov_base: UnsafeMutableRawPointer(mutating: second.baseAddress), iov_len: second.count)
                var message = msghdr()
                message.msg_iov = parts.baseAddress
                message.msg_iovlen = 2
                return sendmsg(socket, &message, 0)
            }
        }

        /// Sends bytes of a file. Returns how many went out, 0 at the file's end, -1 with `errno`.
        static func sendFile(_ file: Int32, from offset: Int64, count: Int, to socket: Int32) -> Int {
            var sent = off_t(count)
            let result = sendfile(file, socket, off_t(offset), &sent, nil, 0)
            // Here a partial write is reported with EAGAIN.
            return result == 0 || sent > 0 ? Int(sent) : -1
        }

        /// When a file was last written to, since 1970.
        static func modificationTime(_ status: stat) -> timespec { status.st_mtimespec }

        /// Has the system read ahead.
        static func prefetch(_ file: Int32, count: Int, at offset: Int64) {
            var advice = radvisory(ra_offset: off_t(offset), ra_count: Int32(clamping: count))
            _ = fcntl(file, F_RDADVISE, &advice)
        }

        /// Throws: this system has no `splice`.
        static func splicingPipe(capacity: Int32) throws(SystemError) -> (exit: Int32, entrance: Int32) {
            throw SystemError(code: ENOSYS, operation: "splice")
        }

        static func splice(_ socket: Int32, to pipe: Int32, count: Int) -> Int {
            errno = ENOSYS
            return -1
        }

        static func splice(_ pipe: Int32, to file: Int32, at offset: Int64, count: Int) -> Int {
            errno = ENOSYS
            return -1
        }

        /// What identifies the current boot; `nil` where the kernel does not tell.
        static func bootIdentifier() -> String? {
            withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
                var length = buffer.count
                guard sysctlbyname("kern.bootsessionuuid", buffer.baseAddress, &length, nil, 0) == 0 else { return nil }
                let text = buffer[..<length].prefix { $0 > 0x20 }
                return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
            }
        }

        /// The bits that new files of the process do not get; `nil`, since `umask` would change what other threads create
        /// meanwhile.
        static func fileCreationMask() -> mode_t? { nil }

        /// Renames a file unless there is something at the new path. Returns what `renamex_np` returns.
        static func renameToFreeName(_ path: String, _ newPath: String) -> Int32 {
            renamex_np(path, newPath, UInt32(RENAME_EXCL))
        }

        static func reserve(_ length: Int64, in file: Int32) -> Int32 {
            errno = ENOSYS
            return -1
        }

        /// Closes a descriptor. Returns what `close` returns.
        static func closeDescriptor(_ descriptor: Int32) -> Int32 {
            close(descriptor)
        }

        /// The hints for `getaddrinfo`: stream sockets of any family.
        static func resolverHints() -> addrinfo {
            var hints = addrinfo()
            hints.ai_family = AF_UNSPEC
            hints.ai_socktype = SOCK_STREAM
            return hints
        }

        /// Whether this result of `getaddrinfo` means that the name does not exist or has no address.
        static func meansNoSuchName(_ code: Int32) -> Bool {
            code == EAI_NONAME || code == EAI_NODATA
        }

        /// Nanoseconds of the monotonic clock.
        static func monotonicNanoseconds() -> Int64 {
            Int64(clamping: clock_gettime_nsec_np(CLOCK_UPTIME_RAW))
        }

        /// Blocks this thread.
        static func sleep(milliseconds: UInt32) {
            usleep(milliseconds * 1_000)
        }

        /// Makes reads and writes return at once, and keeps the descriptor from programs that this one starts.
        static func makeNonBlocking(_ descriptor: Int32) throws(SystemError) {
            if fcntl(descriptor, F_SETFD, FD_CLOEXEC) < 0 { throw SystemError.last("fcntl") }
            if fcntl(descriptor, F_SETFL, O_NONBLOCK) < 0 { throw SystemError.last("fcntl") }
        }

        private static func prepared(_ descriptor: consuming Descriptor) throws(SystemError) -> Descriptor {
            try makeNonBlocking(descriptor.rawValue)
            descriptor.setOption(SO_NOSIGPIPE, level: SOL_SOCKET, to: Int32(1))
            return descriptor
        }

        private static func domain(of family: SocketAddress.Family) -> Int32 {
            switch family {
            case .ipv4: AF_INET
            case .ipv6: AF_INET6
            case .unix: AF_UNIX
            }
        }
    }

    /// A thread for work that may block or never end.
    package enum NativeThread {
        /// Starts a detached thread; false when the system has none left.
        static func start(
            _ name: String, stackSize: Int = 2 << 20, _ body: @escaping @Sendable () -> Void
        ) -> Bool {
            var attributes = pthread_attr_t()
            pthread_attr_init(&attributes)
            defer { pthread_attr_destroy(&attributes) }
            pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED)
            pthread_attr_setstacksize(&attributes, stackSize)
            let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
            var thread: pthread_t?
            let code = pthread_create(&thread, &attributes, runThread, start.toOpaque())
            if code != 0 { start.release() }
            return code == 0
        }

        /// A number that no other live thread has.
        package static var current: UInt { UInt(bitPattern: pthread_self()) }
    }

    private final class ThreadStart {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    private func runThread(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
        pthread_setname_np(start.name)
        start.body()
        return nil
    }

    /// Ends the loop's wait from any thread. Signals not cleared yet are one signal.
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

        /// Clears every signal raised so far.
        func clear() {
            withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { bytes in
                while read(reader.rawValue, bytes.baseAddress, bytes.count) == bytes.count {}
            }
        }
    }

    extension Platform {
        /// The fastest poller of this system.
        static func makePoller() -> any Poller {
            PollPoller()
        }
    }
#endif

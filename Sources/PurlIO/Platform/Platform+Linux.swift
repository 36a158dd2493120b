#if os(Linux)
    #if canImport(Musl)
        @_exported import Musl
    #else
        @_exported import Glibc
    #endif
    internal import CLinux

    /// What each system spells differently.
    enum Platform {
        /// The type of `poll`'s count.
        typealias PollCount = nfds_t

        static let shutdownWrite = Int32(SHUT_WR)
        static let shutdownBoth = Int32(SHUT_RDWR)
        static let shutdownRead = Int32(SHUT_RD)
        /// Receives bytes and leaves them there.
        static let peek = CLINUX_MSG_PEEK
        static let socketLevel = SOL_SOCKET
        /// The type of stream sockets, as the system reports it.
        static let streamSocketType = Int32(CLINUX_SOCK_STREAM)
        static let tcpLevel = Int32(IPPROTO_TCP)
        static let keepAliveIdle = TCP_KEEPIDLE
        /// The option for how long sent bytes may remain unacknowledged, and how many milliseconds its unit has.
        static let userTimeout: (option: Int32, unit: Int32) = (TCP_USER_TIMEOUT, 1)

        /// A stream socket, non-blocking and closed on exec from its first moment.
        ///
        /// - Parameter isMultipath: Whether it may use several paths (RFC 8684), where the kernel can: one that cannot has no
        ///   such protocol, and then the socket is a plain one.
        static func streamSocket(
            _ family: SocketAddress.Family, isMultipath: Bool = false
        ) throws(SystemError) -> Descriptor {
            if isMultipath {
                let number = socket(domain(of: family), streamType, CLINUX_IPPROTO_MPTCP)
                if number >= 0 { return Descriptor(owning: number) }
            }
            return try Descriptor(checking: socket(domain(of: family), streamType, 0), "socket")
        }

        /// Whether several sockets can be bound to one address of which one listens.
        static let canShareAddress = true

        /// Whether both ends of a connection speak Multipath TCP; false, too, for kernels that do not say so.
        static func isMultipath(_ socket: Int32) -> Bool {
            var value: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            return getsockopt(socket, tcpLevel, CLINUX_TCP_IS_MPTCP, &value, &length) == 0 && value != 0
        }

        /// What became of the bytes that a TCP connection was given to send; `nil` for other sockets, and for those that use
        /// several paths, which have a queue for each.
        static func delivery(on socket: Int32) -> DeliveryState? {
            var kind: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            guard getsockopt(socket, socketLevel, CLINUX_SO_PROTOCOL, &kind, &length) == 0, kind == tcpLevel else {
                return nil
            }
            var state: UInt8 = 0
            length = 1
            guard getsockopt(socket, tcpLevel, CLINUX_TCP_INFO, &state, &length) == 0 else { return nil }
            var queued: Int32 = 0
            guard ioctl(socket, UInt(CLINUX_SIOCOUTQ), &queued) == 0 else { return nil }
            var error: Int32 = 0
            length = socklen_t(MemoryLayout<Int32>.size)
            guard getsockopt(socket, socketLevel, SO_ERROR, &error, &length) == 0 else { return nil }
            let end: DeliveryState.End =
                switch (state == CLINUX_TCP_CLOSE, error) {
                case (false, 0): .open
                case (true, 0), (true, EPIPE), (true, ECONNRESET): .reset
                default: .failed
                }
            return DeliveryState(unacknowledged: Int(queued), end: end)
        }

        /// How many processors the system has switched on; 1 where it does not say so.
        static var processorCount: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

        /// How many descriptors the process may have.
        static var descriptorLimit: Int {
            var limit = rlimit()
            guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
            return Int(clamping: limit.rlim_cur)
        }

        /// Two stream sockets connected to each other; the caller owns both.
        static func streamSocketPair() throws(SystemError) -> (Int32, Int32) {
            var ends: [Int32] = [-1, -1]
            if socketpair(AF_UNIX, streamType, 0, &ends) != 0 { throw SystemError.last("socketpair") }
            return (ends[0], ends[1])
        }

        /// The next waiting connection.
        static func acceptConnection(_ listener: Int32) throws(SystemError) -> Descriptor {
            let flags = CLINUX_SOCK_NONBLOCK | CLINUX_SOCK_CLOEXEC
            return try Descriptor(checking: accept4(listener, nil, nil, flags), "accept4")
        }

        /// Writes to a socket without ever raising SIGPIPE. Returns what `send` returns.
        static func sendBytes(_ socket: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
            send(socket, bytes.baseAddress, bytes.count, CLINUX_MSG_NOSIGNAL)
        }

        /// Writes two buffers to a socket in one step, without ever raising SIGPIPE. Returns what `sendmsg` returns.
        static func sendBytes(
            _ socket: Int32, _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
        ) -> Int {
            withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { parts in
                parts[0] = iovec(iov_base: UnsafeMutableRawPointer(mutating: first.baseAddress), iov_len: first.count)
                parts[1] = iovec(iov_base: UnsafeMutableRawPointer(mutating: second.baseAddress), iov_len: second.count)
                var message = msghdr()
                message.msg_iov = parts.baseAddress
                message.msg_iovlen = 2
                return sendmsg(socket, &message, CLINUX_MSG_NOSIGNAL)
            }
        }

        /// Sends bytes of a file, on a thread that blocks SIGPIPE. Returns what `sendfile` returns.
        static func sendFile(_ file: Int32, from offset: Int64, count: Int, to socket: Int32) -> Int {
            var position = off_t(offset)
            return sendfile(socket, file, &position, count)
        }

        /// When a file was last written to, since 1970.
        static func modificationTime(_ status: stat) -> timespec { status.st_mtim }

        /// Has the system read ahead.
        static func prefetch(_ file: Int32, count: Int, at offset: Int64) {
            posix_fadvise(file, off_t(offset), off_t(count), Int32(POSIX_FADV_WILLNEED))
        }

        /// A pipe that content can be spliced through, its entrance non-blocking; the caller owns both ends.
        static func splicingPipe(capacity: Int32) throws(SystemError) -> (exit: Int32, entrance: Int32) {
            var ends: [Int32] = [-1, -1]
            if pipe2(&ends, O_CLOEXEC) != 0 { throw SystemError.last("pipe2") }
            // Fails when the user has many pipes already: then the pipe keeps its size.
            _ = fcntl(ends[1], CLINUX_F_SETPIPE_SZ, capacity)
            return (ends[0], ends[1])
        }

        /// Moves bytes from a socket into a pipe without waiting for either. Returns what `splice` returns.
        static func splice(_ socket: Int32, to pipe: Int32, count: Int) -> Int {
            CLinux.splice(socket, nil, pipe, nil, count, CLINUX_SPLICE_F_MOVE | CLINUX_SPLICE_F_NONBLOCK)
        }

        /// Reserves room for the first bytes of a file whose length stays (`FALLOC_FL_KEEP_SIZE`), where that is done at once.
        /// Returns what `fallocate` returns.
        ///
        /// A file system in memory would write zeros to all of it, which takes longer than the first bytes of a transfer: there
        /// the room is looked at and not taken.
        static func reserve(_ length: Int64, in file: Int32) -> Int32 {
            guard let free = freeMemory(for: file) else { return CLinux.fallocate(file, 1, 0, off_t(length)) }
            if length <= free { return 0 }
            errno = ENOSPC
            return -1
        }

        /// How long a file in memory can become; `nil` for one on a disk.
        private static func freeMemory(for file: Int32) -> Int64? {
            var system = statfs()
            var status = stat()
            guard fstatfs(file, &system) == 0, Int(truncatingIfNeeded: system.f_type) == CLINUX_TMPFS_MAGIC,
                fstat(file, &status) == 0
            else { return nil }
            // One without a limit says that it has no blocks.
            if system.f_blocks == 0 { return .max }
            let free = Int64(clamping: system.f_bavail).multipliedReportingOverflow(by: Int64(system.f_bsize))
            let (room, isTooMuch) = free.partialValue.addingReportingOverflow(Int64(status.st_blocks) * 512)
            return free.overflow || isTooMuch ? .max : room
        }

        /// Renames a file unless there is something at the new path. Returns what `renameat2` returns.
        static func renameToFreeName(_ path: String, _ newPath: String) -> Int32 {
            renameat2(AT_FDCWD, path, AT_FDCWD, newPath, CLINUX_RENAME_NOREPLACE)
        }

        /// Moves bytes from a pipe to a place in a file. Returns what `splice` returns.
        static func splice(_ pipe: Int32, to file: Int32, at offset: Int64, count: Int) -> Int {
            var position = off_t(offset)
            return CLinux.splice(pipe, nil, file, &position, count, CLINUX_SPLICE_F_MOVE)
        }

        /// What identifies the current boot; `nil` where the kernel's own files are out of reach.
        static func bootIdentifier() -> String? {
            beginning(of: "/proc/sys/kernel/random/boot_id")?.split(separator: "\n").first.map(String.init)
        }

        /// The bits that new files of the process do not get; `nil` where the kernel's own files are out of reach. Not
        /// `umask`, which changes what other threads create meanwhile.
        static func fileCreationMask() -> mode_t? {
            let field = "Umask:\t"
            return beginning(of: "/proc/self/status")?.split(separator: "\n").first { $0.hasPrefix(field) }
                .flatMap { mode_t($0.dropFirst(field.count), radix: 8) }
        }

        /// The first 256 bytes of a file of the kernel's.
        private static func beginning(of path: String) -> String? {
            guard let file = try? Descriptor(checking: open(path, O_RDONLY | O_CLOEXEC), "open") else { return nil }
            return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
                let count = read(file.rawValue, buffer.baseAddress, buffer.count)
                return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
            }
        }

        /// Closes a descriptor. Returns what `close` returns.
        static func closeDescriptor(_ descriptor: Int32) -> Int32 {
            close(descriptor)
        }

        /// The hints for `getaddrinfo`: stream sockets of any family.
        static func resolverHints() -> addrinfo {
            var hints = addrinfo()
            hints.ai_family = AF_UNSPEC
            hints.ai_socktype = CLINUX_SOCK_STREAM
            return hints
        }

        /// Whether this result of `getaddrinfo` means that the name does not exist or has no address.
        static func meansNoSuchName(_ code: Int32) -> Bool {
            code == EAI_NONAME || code == CLINUX_EAI_NODATA
        }

        /// Nanoseconds of the monotonic clock.
        static func monotonicNanoseconds() -> Int64 {
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        }

        /// Blocks this thread.
        static func sleep(milliseconds: UInt32) {
            usleep(milliseconds * 1_000)
        }

        private static let streamType =
            CLINUX_SOCK_STREAM | CLINUX_SOCK_NONBLOCK | CLINUX_SOCK_CLOEXEC

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
            pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
            // Some C libraries give a thread 128 KiB, too little for a callback.
            pthread_attr_setstacksize(&attributes, stackSize)
            let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
            var thread = pthread_t()
            let code = pthread_create(&thread, &attributes, runThread, start.toOpaque())
            if code != 0 { start.release() }
            return code == 0
        }

        /// A number that no other live thread has.
        package static var current: UInt {
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

    /// Ends the loop's wait from any thread. Signals not cleared yet are one signal.
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

        /// Clears every signal raised so far.
        func clear() {
            var count: UInt64 = 0
            _ = read(descriptor.rawValue, &count, MemoryLayout<UInt64>.size)
        }
    }
#endif

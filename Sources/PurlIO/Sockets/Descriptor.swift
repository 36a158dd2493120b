/// Owns an open file descriptor, and closes it at the end of its lifetime.
package struct Descriptor: ~Copyable, Sendable {
    /// The number; -1 once closed.
    package private(set) var rawValue: Int32

    /// Takes over an open descriptor.
    package init(owning rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// Takes over the result of a system call, or throws the call's error when the result is negative.
    init(checking result: Int32, _ operation: String) throws(SystemError) {
        if result < 0 { throw SystemError.last(operation) }
        rawValue = result
    }

    deinit {
        closeIfOpen()
    }

    /// Whether it has not been closed.
    package var isOpen: Bool { rawValue >= 0 }

    /// Closes it now. Has no effect the second time.
    package mutating func close() {
        closeIfOpen()
        rawValue = -1
    }

    /// Gives the descriptor to the caller; this one counts as closed.
    mutating func take() -> Descriptor {
        defer { rawValue = -1 }
        return Descriptor(owning: rawValue)
    }

    /// Gives the descriptor away without closing it.
    package consuming func release() -> Int32 {
        let number = rawValue
        discard self
        return number
    }

    private func closeIfOpen() {
        // Not repeated on EINTR: the number is free by then, and may belong to another file.
        if rawValue >= 0 { _ = Platform.closeDescriptor(rawValue) }
    }
}

extension Descriptor {
    /// Sets a socket option, if the socket has it.
    func setOption<Value: BitwiseCopyable>(_ option: Int32, level: Int32, to value: Value) {
        var value = value
        _ = setsockopt(rawValue, level, option, &value, socklen_t(MemoryLayout<Value>.size))
    }

    /// Sends small writes at once rather than waiting for an acknowledgement first.
    func disableNagle() {
        setOption(TCP_NODELAY, level: Platform.tcpLevel, to: Int32(1))
    }

    /// Has the connection fail, with `ETIMEDOUT`, when the peer leaves bytes or probes unacknowledged for that long.
    func setUnacknowledgedLimit(_ limit: UnacknowledgedLimit) {
        setOption(SO_KEEPALIVE, level: Platform.socketLevel, to: Int32(1))
        setOption(Platform.keepAliveIdle, level: Platform.tcpLevel, to: limit.idle)
        setOption(TCP_KEEPINTVL, level: Platform.tcpLevel, to: limit.interval)
        setOption(TCP_KEEPCNT, level: Platform.tcpLevel, to: limit.probes)
        setOption(
            Platform.userTimeout.option, level: Platform.tcpLevel, to: limit.milliseconds / Platform.userTimeout.unit)
    }

    /// Takes the error that has happened on the socket since the last call; 0 for none.
    func takePendingError() -> Int32 {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        let result = getsockopt(rawValue, Platform.socketLevel, SO_ERROR, &error, &length)
        return result == 0 ? error : errno
    }
}

/// The numbers by which the system finds out that a peer is gone: probes begin at half of the time, and six of them fill
/// the rest.
struct UnacknowledgedLimit: Equatable {
    /// How many seconds nothing arrives before the first probe.
    let idle: Int32
    /// How many seconds lie between probes.
    let interval: Int32
    /// How many probes may remain unanswered, where nothing else is waited for.
    let probes: Int32
    /// How many milliseconds sent bytes, and probes, may remain unacknowledged.
    let milliseconds: Int32

    init(_ limit: Duration) {
        let (seconds, attoseconds) = limit.components
        milliseconds = Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
        idle = max(1, milliseconds / 2000)
        interval = max(1, (milliseconds / 1000 - idle) / 6)
        probes = max(1, (milliseconds / 1000 - idle) / interval)
    }
}

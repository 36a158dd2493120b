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

    /// Takes the error that has happened on the socket since the last call; 0 for none.
    func takePendingError() -> Int32 {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        let result = getsockopt(rawValue, Platform.socketLevel, SO_ERROR, &error, &length)
        return result == 0 ? error : errno
    }
}

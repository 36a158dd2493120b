extension Descriptor {
    /// Sets a socket option. An option that the socket does not have is none of the caller's worries.
    func setOption<Value: BitwiseCopyable>(_ option: Int32, level: Int32, to value: Value) {
        var value = value
        _ = setsockopt(rawValue, level, option, &value, socklen_t(MemoryLayout<Value>.size))
    }

    /// Sends small writes at once rather than waiting for an acknowledgement first.
    func disableNagle() {
        setOption(TCP_NODELAY, level: Platform.tcpLevel, to: Int32(1))
    }

    /// Takes the error that happened on the socket since the last look; 0 for none.
    func takePendingError() -> Int32 {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        let result = getsockopt(rawValue, Platform.socketLevel, SO_ERROR, &error, &length)
        return result == 0 ? error : errno
    }
}

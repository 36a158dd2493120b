/// Owns an open file descriptor, and closes it when it goes.
package struct Descriptor: ~Copyable, Sendable {
    /// The number; -1 once closed.
    package private(set) var rawValue: Int32

    /// Takes over an open descriptor.
    package init(owning rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// Takes over what a system call has returned, or throws its error when that is negative.
    init(checking result: Int32, _ operation: String) throws(SystemError) {
        if result < 0 { throw SystemError.last(operation) }
        rawValue = result
    }

    deinit {
        closeIfOpen()
    }

    /// Whether it has not been closed.
    package var isOpen: Bool { rawValue >= 0 }

    /// Closes it now. Nothing happens the second time.
    package mutating func close() {
        closeIfOpen()
        rawValue = -1
    }

    /// What it owns, which it owns no longer.
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
        // Not repeated on EINTR: the number is free by then, and may be somebody else's.
        if rawValue >= 0 { _ = Platform.closeDescriptor(rawValue) }
    }
}

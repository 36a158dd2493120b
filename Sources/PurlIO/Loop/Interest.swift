/// What somebody wants to hear about a descriptor, and what the poller reports of it.
package struct Interest: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Bytes, a connection, an end of stream or an error is waiting.
    package static let read = Interest(rawValue: 1)
    /// There is room to write, a connection attempt has ended, or the next write will report an error.
    package static let write = Interest(rawValue: 2)
}

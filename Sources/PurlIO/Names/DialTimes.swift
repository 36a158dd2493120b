/// When the steps of a dial happened; nil for those it has not come to. An address in digits takes no time to look up.
package struct DialTimes: Sendable, Hashable {
    package var lookupStart: MonotonicTime?
    package var lookupEnd: MonotonicTime?
    /// The first attempt's beginning.
    package var connectStart: MonotonicTime?
    /// The end of the attempt that won.
    package var connectEnd: MonotonicTime?

    package init() {}
}

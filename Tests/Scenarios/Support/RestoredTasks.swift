import Purl

extension [URLSessionTask] {
    /// The newest of the tasks that a background session has restored for one file; `nil` where there is none. The others are
    /// cancelled.
    ///
    /// - Parameter mayRepeat: Whether there may be others: what says that an earlier task is over may be lost with the power, so
    ///   that it is there once more.
    func newest(mayRepeat: Bool) throws -> URLSessionTask? {
        try require(count <= 1 || mayRepeat, "one task became \(count)")
        for earlier in dropLast() { earlier.cancel() }
        return last
    }
}

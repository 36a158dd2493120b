extension URLCache {
    /// Where a response may be kept.
    public enum StoragePolicy: UInt, Sendable {
        /// In memory and on disk.
        case allowed = 0
        /// In memory alone.
        case allowedInMemoryOnly = 1
        /// Nowhere.
        case notAllowed = 2
    }
}

internal import Foundation

/// All descriptors that the process may have, taken.
final class Exhaustion: Sendable {
    private let taken: [Int32]
    private let limit: rlimit

    init() {
        var limit = rlimit()
        getrlimit(Self.resource, &limit)
        self.limit = limit
        // Enough for everything that is open, and not so many that taking them is work.
        var lower = limit
        lower.rlim_cur = min(limit.rlim_cur, 1024)
        setrlimit(Self.resource, &lower)
        var taken: [Int32] = []
        while case let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC), descriptor >= 0 {
            taken.append(descriptor)
        }
        self.taken = taken
    }

    /// Gives all of them back; called once.
    func end() {
        for descriptor in taken { close(descriptor) }
        var limit = limit
        setrlimit(Self.resource, &limit)
    }

    #if canImport(Glibc)
        private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
    #else
        private static var resource: Int32 { RLIMIT_NOFILE }
    #endif
}

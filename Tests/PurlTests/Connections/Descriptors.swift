import Foundation

/// The descriptors of this process.
enum Descriptors {
    /// How many it may have.
    static var limit: Int {
        var limit = rlimit()
        getrlimit(kind, &limit)
        return Int(clamping: limit.rlim_cur)
    }

    /// Leaves just so many to connections, and sixteen that they leave to others, until what this returns is released.
    /// For processes of a test's own.
    static func leave(_ count: Int) -> Hoard {
        var limit = rlimit()
        getrlimit(kind, &limit)
        let before = limit
        limit.rlim_cur = 256
        setrlimit(kind, &limit)
        var held: [Int32] = []
        // Again and again: other threads open something for a moment, and leave a hole behind.
        for _ in 0..<10_000 {
            let next = open("/dev/null", O_RDONLY)
            if next >= 0, next < 256 - 16 {
                held.append(next)
            } else {
                close(next)
                sched_yield()
            }
        }
        for descriptor in held.suffix(count) { close(descriptor) }
        return Hoard(held: held.dropLast(count), before: before)
    }

    /// Descriptors that nobody else can have.
    struct Hoard {
        fileprivate let held: [Int32]
        fileprivate let before: rlimit

        func release() {
            for descriptor in held { close(descriptor) }
            var limit = before
            setrlimit(kind, &limit)
        }
    }

    #if os(Linux)
        private static let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let kind = RLIMIT_NOFILE
    #endif
}

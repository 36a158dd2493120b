import Foundation

/// The descriptors of this process.
enum Descriptors {
    /// How many it may have.
    static var limit: Int {
        var limit = rlimit()
        getrlimit(kind, &limit)
        return Int(clamping: limit.rlim_cur)
    }

    /// Leaves just so many, until what this returns is closed. For processes of a test's own.
    static func leave(_ count: Int) async -> Hoard {
        await openDispatchesOwn()
        var limit = rlimit()
        getrlimit(kind, &limit)
        let before = limit
        limit.rlim_cur = 256
        setrlimit(kind, &limit)
        var held: [Int32] = []
        while case let next = open("/dev/null", O_RDONLY), next >= 0 { held.append(next) }
        for descriptor in held.suffix(count) { close(descriptor) }
        return Hoard(held: held.dropLast(count), before: before)
    }

    /// Dispatch takes a descriptor for the first timer of each clock, whoever starts it, and ends the process when there is
    /// none.
    private static func openDispatchesOwn() async {
        try? await Task.sleep(for: .milliseconds(1), clock: .continuous)
        try? await Task.sleep(for: .milliseconds(1), clock: .suspending)
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { continuation.resume() }
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(wallDeadline: .now() + .milliseconds(1)) { continuation.resume() }
        }
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

internal import Foundation

/// What the whole process has: it grows where something is left behind.
package struct Census: Sendable, CustomStringConvertible {
    /// Open descriptors.
    package let descriptors: Int
    /// Threads.
    package let threads: Int
    /// Memory that is not on disk, in bytes.
    package let memory: Int

    package static var now: Census {
        returnFreeMemory()
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
        return Census(
            descriptors: count("/proc/self/fd"), threads: count("/proc/self/task"),
            memory: (pages.count > 1 ? Int(pages[1]) ?? 0 : 0) * Int(getpagesize()))
    }

    /// The first census, taken again and again, that has no more descriptors and threads than `before`; or, after a
    /// minute, the one of that moment. Threads that the system keeps in reserve go after some seconds.
    package static func settled(after before: Census, countingThreads: Bool = true) async -> Census {
        for _ in 0..<600 {
            let now = Census.now
            if now.descriptors <= before.descriptors, !countingThreads || now.threads <= before.threads { return now }
            await pause()
        }
        return .now
    }

    package var description: String {
        "\(descriptors) descriptors, \(threads) threads, \(memory >> 20) MiB"
    }

    /// Has `malloc` give back what is free: how much it keeps depends on the order of calls, and differs by megabytes.
    private static func returnFreeMemory() {
        typealias Trim = @convention(c) (Int) -> CInt
        guard let address = dlsym(dlopen(nil, RTLD_NOW), "malloc_trim") else { return }
        _ = unsafeBitCast(address, to: Trim.self)(0)
    }

    private static func count(_ folder: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: folder))?.count ?? 0
    }

    /// A tenth of a second.
    private static func pause() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.1) { continuation.resume() }
        }
    }
}

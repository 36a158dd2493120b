import Foundation
import PurlTesting

/// How many bytes fit between a server and a client that does not read.
enum SocketRoom {
    /// Bytes: the largest receive and send buffers the kernel gives a TCP socket, and two reads of the client.
    static let bytes = limits("tcp_rmem")[2] + limits("tcp_wmem")[2] + 2 * (256 << 10)

    /// The same for a peer that reads nothing: its receive buffer grows only when it does.
    static let unreadBytes = 2 * limits("tcp_rmem")[1] + limits("tcp_wmem")[2] + 2 * (256 << 10)

    /// The least, the first and the largest size of a buffer.
    private static func limits(_ name: String) -> [Int] {
        let text = try? String(contentsOfFile: "/proc/sys/net/ipv4/\(name)", encoding: .utf8)
        let limits = text?.split(whereSeparator: \.isWhitespace).compactMap { Int($0) } ?? []
        return limits.count == 3 ? limits : [4096, 131_072, 32 << 20]
    }

    /// A size that cannot disappear in buffers, whatever the kernel's limits are.
    static var overflowingSize: Int { bytes + (40 << 20) }
}

extension LoopbackServer {
    /// Returns when the response has stopped: no byte was sent while another client loaded more than one turn
    /// of the server, twice over. Returns how much of the body was sent.
    func settledBytesSent(of number: Int, loading other: () async throws -> Void) async rethrows -> Int {
        var before = -1
        while true {
            try await other()
            try await other()
            let now = requests.first { $0.number == number }?.bytesSent ?? 0
            if now == before { return now }
            before = now
        }
    }
}

/// This process's memory, as the kernel reports it.
enum ProcessMemory {
    /// The most memory the process has used so far, in bytes.
    static var peak: Int { field("VmHWM") }
    /// The memory the process uses now, in bytes.
    static var now: Int { field("VmRSS") }

    private static func field(_ name: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }
}

/// The file descriptors of this process.
enum Descriptors {
    /// The largest number of open descriptors.
    static var limit: Int {
        var limit = rlimit()
        getrlimit(kind, &limit)
        return Int(clamping: limit.rlim_cur)
    }

    /// Leaves only `count` descriptors to connections, and the sixteen they spare, until the result is released.
    /// Only for tests that run in a process of their own.
    static func reserveAll(but count: Int) -> Reservation {
        var limit = rlimit()
        getrlimit(kind, &limit)
        let before = limit
        limit.rlim_cur = 256
        setrlimit(kind, &limit)
        var held: [Int32] = []
        // Repeatedly, because other threads open and close descriptors meanwhile.
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
        return Reservation(held: held.dropLast(count), before: before)
    }

    /// Open descriptors that no connection can have.
    struct Reservation {
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

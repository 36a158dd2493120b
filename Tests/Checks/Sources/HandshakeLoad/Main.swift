import Foundation
import Purl
import PurlTLS
import Synchronization

/// Measures what the handshakes of one process cost its other transfers, and each other.
///
///     HandshakeLoad CACERT COUNT SECURE-URL [PLAIN-URL]
///
/// Loads the secure URL so many times one after another, each over a connection of its own, which takes a server that closes
/// it after each response and gives nothing to resume TLS sessions with. With a plain URL, of a file that takes longer to
/// download than all that, the same number is then loaded at once, and the speed of the download meanwhile is compared with
/// its speed before.
@main
struct Main {
    private let session: URLSession
    private let count: Int
    private let url: URL

    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count > 3, let count = Int(words[2]), let url = URL(string: words[3]) else {
            print("usage: HandshakeLoad CACERT COUNT SECURE-URL [PLAIN-URL]")
            exit(2)
        }
        let main = Main(roots: words[1], count: count, url: url)
        try await main.loadOneByOne()
        if words.count > 4, let plain = URL(string: words[4]) { try await main.loadAll(beside: plain) }
    }

    private init(roots: String, count: Int, url: URL) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.httpMaximumConnectionsPerHost = count
        configuration.tlsProvider = SystemTLS(SystemTLS.Options(roots: .only([.file(roots)])))
        session = URLSession(configuration: configuration)
        (self.count, self.url) = (count, url)
    }

    private func load() async throws {
        let (_, response) = try await session.data(from: url)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
    }

    private func loadOneByOne() async throws {
        try await load()
        let start = Moment()
        for _ in 0..<count { try await load() }
        let end = Moment()
        print("\(count) connections one after another: \(end.milliseconds(since: start, for: count)) ms each")
    }

    private func loadAll(beside plain: URL) async throws {
        let counter = Counter()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        let session = URLSession(configuration: configuration, delegate: counter, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        session.dataTask(with: plain).resume()
        await counter.wait(for: 20_000_000)
        let (start, before) = (Moment(), counter.bytes)
        await counter.wait(for: 270_000_000)
        let (middle, between) = (Moment(), counter.bytes)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count { group.addTask { try await load() } }
            try await group.waitForAll()
        }
        let (end, after) = (Moment(), counter.bytes)
        guard !counter.isOver else {
            print("FAILED - the download has ended too early")
            exit(1)
        }
        let alone = middle.rate(of: between - before, since: start)
        let beside = end.rate(of: after - between, since: middle)
        print("a plain download alone: \(Int(alone)) MB/s, processor \(middle.load(since: start)) %")
        print(
            "beside \(count) connections at once, which took \(end.milliseconds(since: middle, for: 1)) ms: "
                + "\(Int(beside)) MB/s, \(Int((100 * beside / alone).rounded())) %, processor \(end.load(since: middle)) %"
        )
    }
}

/// Counts the bytes of a download, and discards them.
private final class Counter: NSObject, URLSessionDataDelegate, Sendable {
    private struct State {
        var bytes = 0
        var isOver = false
        var waiter: (bytes: Int, continuation: CheckedContinuation<Void, Never>)?

        /// The waiter, if it has waited long enough.
        mutating func takeReadyWaiter() -> CheckedContinuation<Void, Never>? {
            guard let waiter, isOver || bytes >= waiter.bytes else { return nil }
            self.waiter = nil
            return waiter.continuation
        }
    }

    private let state = Mutex(State())

    var bytes: Int { state.withLock { $0.bytes } }
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Returns when so many bytes have arrived, or the download is over.
    func wait(for bytes: Int) async {
        await withCheckedContinuation { continuation in
            change { $0.waiter = (bytes, continuation) }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let ready = state.withLock { state in
            body(&state)
            return state.takeReadyWaiter()
        }
        ready?.resume()
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        change { $0.bytes += data.count }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        change { $0.isOver = true }
    }
}

/// A moment, and how much of the processor the process had used by then.
private struct Moment {
    private let time = ContinuousClock.now
    private let used = Self.usedTime

    private static var usedTime: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }

    private func seconds(since start: Moment) -> Double { (time - start.time) / .seconds(1) }

    func milliseconds(since start: Moment, for count: Int) -> String {
        String(format: "%.3f", 1000 * seconds(since: start) / Double(count))
    }

    func rate(of bytes: Int, since start: Moment) -> Double { Double(bytes) / 1e6 / seconds(since: start) }

    /// In percent of one processor.
    func load(since start: Moment) -> Int { Int(100 * (used - start.used) / seconds(since: start)) }
}

import Foundation
import Measuring

#if PURL
    import Purl
#else
    import FoundationNetworking
#endif

/// Small responses with `await`: as many loops as requests may be under way.
struct AwaitedRequests {
    private let url: URL
    private let count: Int
    private let concurrency: Int

    init(_ url: URL, _ count: Int, _ concurrency: Int) {
        self.url = url
        self.count = count
        self.concurrency = concurrency
    }

    func run() async throws {
        let configuration = URLSessionConfiguration.measured
        configuration.httpMaximumConnectionsPerHost = concurrency
        let session = URLSession(configuration: configuration)
        let clock = ContinuousClock()
        let start = clock.now
        let totals = try await withThrowingTaskGroup(of: (Int, Int64).self) { group in
            for index in 0..<concurrency {
                let share = count / concurrency + (index < count % concurrency ? 1 : 0)
                group.addTask { try await requests(share, session) }
            }
            return try await group.reduce((0, 0)) { ($0.0 + $1.0, $0.1 + $1.1) }
        }
        Figures(seconds: (clock.now - start).seconds, requests: totals.0, bytes: totals.1).print()
    }

    private func requests(_ count: Int, _ session: URLSession) async throws -> (Int, Int64) {
        var good = 0
        var bytes: Int64 = 0
        for _ in 0..<count {
            let (data, response) = try await session.data(from: url)
            if (response as? HTTPURLResponse)?.statusCode == 200 { good += 1 }
            bytes += Int64(data.count)
        }
        return (good, bytes)
    }
}

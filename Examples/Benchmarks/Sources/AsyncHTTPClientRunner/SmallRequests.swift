import AsyncHTTPClient
import Measuring

/// Small responses with `async`: as many loops as requests may be under way.
struct SmallRequests {
    private let client: HTTPClient
    private let url: String
    private let count: Int
    private let concurrency: Int

    init(_ client: HTTPClient, _ url: String, _ count: Int, _ concurrency: Int) {
        self.client = client
        self.url = url
        self.count = count
        self.concurrency = concurrency
    }

    func run() async throws -> Figures {
        let clock = ContinuousClock()
        let start = clock.now
        let totals = try await withThrowingTaskGroup(of: (Int, Int64).self) { group in
            for index in 0..<concurrency {
                let share = count / concurrency + (index < count % concurrency ? 1 : 0)
                group.addTask { try await requests(share) }
            }
            return try await group.reduce((0, 0)) { ($0.0 + $1.0, $0.1 + $1.1) }
        }
        return Figures(seconds: (clock.now - start).seconds, requests: totals.0, bytes: totals.1)
    }

    private func requests(_ count: Int) async throws -> (Int, Int64) {
        var good = 0
        var bytes: Int64 = 0
        for _ in 0..<count {
            let response = try await client.execute(HTTPClientRequest(url: url), timeout: .hours(1))
            let body = try await response.body.collect(upTo: 1 << 20)
            if response.status == .ok { good += 1 }
            bytes += Int64(body.readableBytes)
        }
        return (good, bytes)
    }
}

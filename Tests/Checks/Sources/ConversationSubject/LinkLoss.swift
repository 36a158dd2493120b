import Foundation
import Purl

/// What happens to connections whose network goes away: a WebSocket that only waits, and a request that cannot be sent any
/// more on a connection that was idle. Each has to fail within the configured time and a tenth.
struct LinkLoss {
    private let url: URL
    private let limit: TimeInterval

    init(_ url: URL, limit: TimeInterval) {
        self.url = url
        self.limit = limit
    }

    /// Connects, prints "connected", and expects the network to be gone once a line comes in.
    func run() async -> Bool {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.limits.unacknowledgedTime = limit
        configuration.timeoutIntervalForRequest = 3600
        configuration.httpMaximumConnectionsPerHost = 1
        let session = URLSession(configuration: configuration)
        do {
            let page = try pageURL
            let webSocket = session.webSocketTask(with: url)
            webSocket.resume()
            _ = try await webSocket.receive()
            _ = try await session.data(from: page)
            try FileHandle.standardOutput.write(contentsOf: Data("connected\n".utf8))
            _ = readLine()
            let start = ContinuousClock.now
            async let waiting = failure(since: start) { _ = try await webSocket.receive() }
            async let unsent = failure(since: start) { _ = try await session.data(from: page) }
            let results = await [("a waiting WebSocket", waiting), ("a request that is not sent", unsent)]
            return results.map { report($0, $1.0, $1.1) }.allSatisfy { $0 }
        } catch {
            print("FAILED - not connected: \(error)")
            return false
        }
    }

    /// What a connection that was lost fails with, and what one fails with that takes its place.
    private var codes: Set<URLError.Code> {
        [.networkConnectionLost, .notConnectedToInternet, .cannotConnectToHost]
    }

    private var pageURL: URL {
        get throws {
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: false)
            parts?.scheme = "http"
            guard let page = parts?.url else { throw URLError(.badURL) }
            return page
        }
    }

    private func failure(
        since start: ContinuousClock.Instant, _ load: @Sendable () async throws -> Void
    ) async -> (URLError?, Duration) {
        do {
            try await load()
            return (nil, start.duration(to: .now))
        } catch {
            return (error as? URLError, start.duration(to: .now))
        }
    }

    private func report(_ subject: String, _ error: URLError?, _ time: Duration) -> Bool {
        let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) * 1e-18
        let isGood = error.map { codes.contains($0.code) } ?? false && seconds <= limit * 1.1
        let sentence = (error as NSError?)?.localizedFailureReason ?? "it did not fail"
        print("\(isGood ? "ok" : "FAILED") - \(subject): after \(String(format: "%.1f", seconds)) s: \(sentence)")
        return isGood
    }
}

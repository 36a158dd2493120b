#if PURL
    import Foundation
    import Measuring
    import Purl

    /// Messages that a WebSocket server sends back, with `await`: as many loops as messages may be under way.
    struct Echo {
        private let url: URL
        private let message: Data
        private let count: Int
        private let inFlight: Int

        init(_ url: URL, size: Int, count: Int, inFlight: Int) {
            self.url = url
            self.count = count
            self.inFlight = inFlight
            message = Data(count: size)
        }

        func run() async throws {
            let task = URLSession(configuration: .default).webSocketTask(with: url)
            task.maximumMessageSize = 1 << 24
            task.resume()
            // The handshake is over when a ping is answered.
            try await task.sendPing()
            let clock = ContinuousClock()
            let start = clock.now
            let good = try await withThrowingTaskGroup(of: Int.self) { group in
                for index in 0..<inFlight {
                    let share = count / inFlight + (index < count % inFlight ? 1 : 0)
                    group.addTask { try await echo(share, task) }
                }
                return try await group.reduce(0, +)
            }
            Figures(seconds: (clock.now - start).seconds, requests: good, bytes: Int64(good * message.count)).print()
            task.cancel(with: .normalClosure, reason: nil)
        }

        private func echo(_ count: Int, _ task: URLSessionWebSocketTask) async throws -> Int {
            var good = 0
            for _ in 0..<count {
                try await task.send(.data(message))
                if case .data(let data) = try await task.receive(), data.count == message.count { good += 1 }
            }
            return good
        }
    }
#endif

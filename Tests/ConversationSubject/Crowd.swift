import Foundation
import Purl

/// Many connections at once, each with a few messages.
struct Crowd {
    private let url: URL
    private let count: Int

    init(_ url: URL, count: Int) {
        self.url = url
        self.count = count
    }

    func run() async -> Bool {
        let session = URLSession(configuration: .ephemeral)
        let watch = ContinuousClock()
        let began = watch.now
        let tasks = (0..<count).map { _ in session.webSocketTask(with: url) }
        for task in tasks { task.resume() }
        let good = await withTaskGroup(of: Bool.self) { group in
            for (number, task) in tasks.enumerated() { group.addTask { await Self.talk(task, number) } }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        let open = tasks.count { $0.state == .running }
        for task in tasks { task.cancel(with: .goingAway, reason: nil) }
        for task in tasks { _ = try? await task.receive() }
        let isGood = good == count && open == count
        let seconds = (watch.now - began) / .seconds(1)
        let figures =
            "\(good) of \(count) had their answers, \(open) open at once, \(String(format: "%.1f", seconds)) s"
        print("\(isGood ? "ok" : "FAILED") - \(count) at once: \(figures)")
        return isGood
    }

    private static func talk(_ task: URLSessionWebSocketTask, _ number: Int) async -> Bool {
        for turn in 0..<10 {
            let text = "\(number) \(turn)"
            do {
                try await task.send(.string(text))
                guard case .string(text) = try await task.receive() else { return false }
            } catch {
                return false
            }
        }
        return true
    }
}

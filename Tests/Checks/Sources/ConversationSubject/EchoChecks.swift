import Foundation
import Purl
import PurlTesting

/// A server that sends everything back: sizes up to 64 MiB, both kinds, compressed or not, a ping, both ways to close.
struct EchoChecks {
    private static let sizes = [0, 1, 125, 126, 65_535, 65_536, 1 << 20, 16 << 20, 64 << 20]

    private let url: URL
    private let session = URLSession(configuration: .ephemeral)

    init(_ url: URL) {
        self.url = url
    }

    func run() async -> Bool {
        var isGood = true
        for compresses in [false, true] {
            let way = compresses ? "compression offered" : "no compression"
            do {
                let bytes = try await echo(compresses)
                print("ok - \(way): \(bytes) bytes came back, in messages of 0 to \(Self.sizes.max() ?? 0)")
            } catch {
                print("FAILED - \(way): \(error)")
                isGood = false
            }
        }
        return isGood
    }

    private struct Different: Error {
        let size: Int
    }

    private func echo(_ compresses: Bool) async throws -> Int {
        var request = URLRequest(url: url)
        if !compresses { request.setValue("", forHTTPHeaderField: "Sec-WebSocket-Extensions") }
        let task = session.webSocketTask(with: request)
        task.maximumMessageSize = 64 << 20
        task.resume()
        var total = 0
        for size in Self.sizes {
            let noise = GeneratedContent(size: size, seed: 7).data
            let words = String(String(repeating: "the quick brown fox ", count: size / 20 + 1).prefix(size))
            async let sent: Void = task.send(.data(noise))
            guard case .data(noise) = try await task.receive() else { throw Different(size: size) }
            try await sent
            async let sentText: Void = task.send(.string(words))
            guard case .string(words) = try await task.receive() else { throw Different(size: size) }
            try await sentText
            total += 2 * size
        }
        try await task.sendPing()
        task.cancel(with: .normalClosure, reason: Data("done".utf8))
        // The task receives nothing more, and then the closing handshake is complete.
        _ = try? await task.receive()
        guard task.closeCode == .normalClosure, task.error == nil else { throw task.error ?? Different(size: -1) }
        return total
    }
}

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

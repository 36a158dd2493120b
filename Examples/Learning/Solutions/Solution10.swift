import Foundation

/// The solution of exercise 10.
struct Solution10: DownloadSlots {
    private let total: Int
    private let perHost: Int
    private var running: [URL] = []
    private var waiting: [URL] = []

    init(total: Int, perHost: Int) {
        self.total = total
        self.perHost = perHost
    }

    mutating func add(_ url: URL) -> [URL] {
        waiting.append(url)
        return fill()
    }

    mutating func end(_ url: URL) -> [URL] {
        if let index = running.firstIndex(of: url) { running.remove(at: index) }
        return fill()
    }

    private mutating func fill() -> [URL] {
        var started: [URL] = []
        while running.count < total, let index = waiting.firstIndex(where: hasSlot) {
            let url = waiting.remove(at: index)
            running.append(url)
            started.append(url)
        }
        return started
    }

    private func hasSlot(_ url: URL) -> Bool {
        running.count { $0.host() == url.host() } < perHost
    }
}

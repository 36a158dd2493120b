import Foundation
internal import PurlConnections
internal import PurlIO

/// Ends a transfer whose content moves more slowly than the session allows.
///
/// A tenth of the interval at a time, it looks how many bytes were moved. The average counts from when something was first
/// expected of the network, over one interval; what lies before a pause does not count for what comes after it.
@NetworkActor
final class RateFloor {
    /// How many times it looks in one interval.
    private static let samplesPerInterval = 10

    private let rate: URLSessionConfiguration.LowestRate
    private let clock: SessionClock
    private var timer: SessionTimer?
    /// The bytes moved before each of the last samples, the oldest first.
    private var samples: [Int64] = []

    init(_ rate: URLSessionConfiguration.LowestRate, clock: SessionClock) {
        self.rate = rate
        self.clock = clock
    }

    /// Watches a transfer until `stop`.
    func start(_ transfer: Transfer) {
        let pause = Deadlines.duration(rate.interval / Double(Self.samplesPerInterval))
        timer = clock.schedule(after: pause) { [weak self, weak transfer] in
            guard let self, let transfer else { return }
            self.start(transfer)
            self.look(at: transfer)
        }
    }

    func stop() {
        timer?.cancel()
        timer = nil
    }

    private func look(at transfer: Transfer) {
        guard case .progress = transfer.expectation else {
            samples = []
            return
        }
        let moved = transfer.calls.task.movedBytes
        samples.append(moved)
        guard samples.count > Self.samplesPerInterval else { return }
        let first = samples.removeFirst()
        // Another request of the transfer starts its counts again.
        guard moved >= first else {
            samples = [moved]
            return
        }
        if Double(moved - first) < Double(rate.bytesPerSecond) * rate.interval {
            samples = []
            if !transfer.repeatsRequest() {
                transfer.fail(.tooSlow(bytesPerSecond: rate.bytesPerSecond, interval: rate.interval))
            }
        }
    }
}

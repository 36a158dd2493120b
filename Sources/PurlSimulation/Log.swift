import Foundation

/// What happens in a simulation, as lines of text.
///
/// Used on the thread of its simulation alone.
final class Log: @unchecked Sendable {
    private let scheduler: Scheduler
    private(set) var lines: [String] = []

    init(_ scheduler: Scheduler) {
        self.scheduler = scheduler
    }

    func add(_ process: SimulatedProcess, _ text: String) {
        add(process.name, text)
    }

    func add(_ name: String, _ text: String) {
        let microseconds = String(scheduler.time / 1_000)
        let padded = String(repeating: "0", count: max(0, 4 - microseconds.count)) + microseconds
        let time = "\(padded.dropLast(3)).\(padded.suffix(3)) ms"
        lines.append(String(repeating: " ", count: max(0, 16 - time.count)) + time + "  \(name): \(text)")
    }
}

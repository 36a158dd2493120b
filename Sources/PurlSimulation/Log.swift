import Foundation
import PurlIO

/// What happens in a simulation, as lines of text.
///
/// Used on the thread of its simulation alone.
final class Log: @unchecked Sendable {
    /// One thing that has happened.
    struct Entry: Sendable, Hashable {
        /// In nanoseconds since the simulation began.
        let time: Int64
        /// To which process or server.
        let name: String
        let text: String

        /// The entry with its time.
        var line: String {
            let microseconds = String(time / 1_000)
            let padded = String(repeating: "0", count: max(0, 4 - microseconds.count)) + microseconds
            let time = "\(padded.dropLast(3)).\(padded.suffix(3)) ms"
            return String(repeating: " ", count: max(0, 16 - time.count)) + time + "  \(name): \(text)"
        }
    }

    private let scheduler: Scheduler
    private(set) var entries: [Entry] = []
    /// Computers' folders appear under the computers' names.
    private(set) var places = HiddenPlaces()

    init(_ scheduler: Scheduler) {
        self.scheduler = scheduler
    }

    func hide(_ folder: String, as name: String) { places.add(folder, as: name) }

    func add(_ process: SimulatedProcess, _ text: String) {
        add(process.name, text)
    }

    func add(_ name: String, _ text: String) {
        entries.append(Entry(time: scheduler.time, name: name, text: places.hidden(in: text)))
    }
}

/// The real folders that stand for those of simulated computers, and what they are called: the real ones have other names in each
/// run.
struct HiddenPlaces: Sendable {
    private var places: [(folder: String, name: String)] = []

    mutating func add(_ folder: String, as name: String) {
        places.append((folder, name))
    }

    /// The text without the names of real folders.
    func hidden(in text: String) -> String {
        var text = text
        for (folder, name) in places where text.contains(folder) {
            text = text.replacingOccurrences(of: folder, with: name)
        }
        return text
    }
}

import Foundation
import PurlSimulation

/// A failure that a simulation finds, as a page shows it: its shortest story as a picture and as text.
struct Finding: Sendable {
    /// The file name of its picture, without extension.
    let name: String
    private let search: @Sendable () -> SimulationFailure?

    /// - Parameters:
    ///   - name: The file name of its picture, without extension.
    ///   - search: Goes through seeds up to the first with which the program fails.
    init(_ name: String, search: @escaping @Sendable () -> SimulationFailure?) {
        self.name = name
        self.search = search
    }

    /// Finds it anew. `nil` where no seed fails.
    func story() -> (picture: String, lines: [String])? {
        search().map { failure in
            (failure.report.picture, ["seed \(failure.seed): \(failure.reason)"] + failure.report.lines)
        }
    }
}

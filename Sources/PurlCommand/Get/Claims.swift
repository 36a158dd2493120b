import Foundation
import Synchronization

/// Which places belong to which of a command's downloads, so that no two of them ever write to the same.
final class Claims: Sendable {
    private struct State {
        var owners: [String: URL] = [:]
        var paths: [URL: [String]] = [:]
    }

    private let state = Mutex(State())

    /// Takes every place that a download of `url` to `destination` may write to. Those it had before are given up.
    func claim(_ destination: Destination, for url: URL) throws(CommandFailure) {
        let paths = destination.parts.places.map(\.standardizedFileURL.path)
        let other = state.withLock { state -> URL? in
            for path in paths {
                if let other = state.owners[path], other != url { return other }
            }
            for path in state.paths.updateValue(paths, forKey: url) ?? [] { state.owners[path] = nil }
            for path in paths { state.owners[path] = url }
            return nil
        }
        guard let other else { return }
        throw CommandFailure(
            "“\(destination.name)” is where \(other.absoluteString) is saved. Choose another name with -o, or with out="
                + " in an --input-file.")
    }

    /// A destination whose places are nobody's: this one, or while only the URL has suggested its name, one beside it
    /// where the server's answer can be waited for.
    func settle(_ destination: Destination, for url: URL) throws(CommandFailure) -> Destination {
        guard destination.choice == .url else {
            try claim(destination, for: url)
            return destination
        }
        var candidate = destination
        var number = 1
        while true {
            if (try? claim(candidate, for: url)) != nil { return candidate }
            repeat {
                number += 1
                candidate = destination.displaced(number)
            } while candidate.parts.places.contains { FileManager.default.fileExists(atPath: $0.path) }
        }
    }
}

import Foundation
internal import PurlIO
import Synchronization

/// The folder in which unfinished downloads lie.
struct PartialsFolder: Sendable {
    /// How long, in seconds, a partial file stays to which nothing is written: 30 days. Resume data for it then starts
    /// over.
    static let lifetime: TimeInterval = 30 * 24 * 60 * 60

    let url: URL
    let files: any FileLayer

    /// - Parameter chosen: The configuration's folder. `nil` means the user's cache directory under the program's
    ///   name, so that resume data survives a reboot.
    init(_ chosen: URL?, files: any FileLayer) {
        url = chosen ?? Self.standard.current.url
        self.files = files
    }

    private static let standard = ProcessLocal { Standard() }

    private final class Standard: Sendable {
        let url = UserDirectories.caches
            .appendingPathComponent(UserDirectories.programName, isDirectory: true)
            .appendingPathComponent("PartialDownloads", isDirectory: true)
    }

    /// Creates the folder, for its owner only.
    func prepare() throws(FileFailure) {
        do {
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw FileFailure(.create, url, error)
        }
    }

    /// Whether no file of this name is here.
    func isMissing(_ name: String) -> Bool { files.entry(url.appendingPathComponent(name).path) == .missing }

    // MARK: Unclaimed files

    private static let visited = ProcessLocal { Visits() }

    private final class Visits: Sendable {
        private let paths = Mutex<Set<String>>([])

        /// Whether this is the first visit to `path`.
        func insert(_ path: String) -> Bool { paths.withLock { $0.insert(path).inserted } }
    }

    /// Removes what is too old, the first time this process puts a file here.
    func removeUnclaimedOnce() {
        if Self.visited.current.insert(url.path) { removeUnclaimed(except: []) }
    }

    /// Removes the partial files to which nothing has been written for ``lifetime``, soon, away from the caller.
    ///
    /// - Parameter claimed: The names of files that stay, however old. Files that a transfer holds stay in any case.
    func removeUnclaimed(except claimed: Set<String>) {
        _ = Self.visited.current.insert(url.path)
        Worker.shared.run(on: .files) { [self] in removeUnclaimed(except: claimed, at: .current) }
    }

    func removeUnclaimed(except claimed: Set<String>, at now: Date) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
        for name in names.sorted() where PartialFile.isName(name) && !claimed.contains(name) {
            let path = url.appendingPathComponent(name).path
            guard isOld(path, at: now), let file = try? files.openLocked(path, .existing),
                // Under the lock, where no transfer can be continuing it.
                isOld(path, at: now)
            else { continue }
            withExtendedLifetime(file) { files.remove(path) }
        }
    }

    private func isOld(_ path: String, at now: Date) -> Bool {
        let modified = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
        return modified.map { now.timeIntervalSince($0) > Self.lifetime } ?? false
    }
}

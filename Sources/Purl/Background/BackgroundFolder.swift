import Foundation
internal import PurlIO

/// The folder that contains a folder for each background session.
struct BackgroundFolder {
    let url: URL
    /// Where it was before letter case did not count in the names of folders.
    private let formerURL: URL

    /// - Parameter settings: The session's. They name a folder, or the user's data directory is used, under the name of
    ///   the shared container or of the program.
    init(_ settings: BackgroundSettings) {
        if let chosen = settings.directory {
            (url, formerURL) = (chosen, chosen)
            return
        }
        let program = UserDirectories.programName
        let container = settings.sharedContainerIdentifier
        url = Self.place(for: container.map(FolderName.of) ?? program)
        formerURL = Self.place(for: container.map(FolderName.former) ?? program)
    }

    private static func place(for owner: String) -> URL {
        UserDirectories.data
            .appendingPathComponent(owner, isDirectory: true)
            .appendingPathComponent("BackgroundSessions", isDirectory: true)
    }

    /// Makes the folder of the session with this identifier, for its owner only, or checks that the one that is there is
    /// the owner's alone: who can write to it can have any file of the user's uploaded to any server.
    func prepare(
        for identifier: String, _ files: any FileLayer
    ) throws(SessionRefusal) -> URL {
        let folder = url.appendingPathComponent(FolderName.of(identifier), isDirectory: true)
        try Self.create(url)
        try adoptFormerFolder(of: identifier, as: folder, files)
        try Self.create(folder)
        try Self.checkTrust(in: folder)
        return folder
    }

    private static func create(_ folder: URL) throws(SessionRefusal) {
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw .file(FileFailure(.create, folder, error))
        }
    }

    /// The folder itself, and the files that an earlier process has left in it.
    private static func checkTrust(in folder: URL) throws(SessionRefusal) {
        let names = [lockName, Journal.fileName]
        for place in [folder] + names.map({ folder.appendingPathComponent($0) }) {
            if let distrust = Distrust(ofPath: place.path) { throw .untrusted(place, distrust) }
        }
    }

    /// Renames the folder that had the identifier's former name, which other identifiers may have shared.
    private func adoptFormerFolder(
        of identifier: String, as folder: URL, _ files: any FileLayer
    ) throws(SessionRefusal) {
        let name = FolderName.former(identifier)
        let former = formerURL.appendingPathComponent(name, isDirectory: true)
        guard former != folder, !FileManager.default.fileExists(atPath: folder.path),
            // Where letter case does not count, the folder of another identifier would be found under this name, too.
            let names = try? FileManager.default.contentsOfDirectory(atPath: formerURL.path), names.contains(name)
        else { return }
        try Self.checkTrust(in: former)
        do {
            guard let lock = try Self.lock(former, files) else {
                throw SessionRefusal.inUse(identifier: identifier)
            }
            defer { lock.unlock() }
            try files.move(former.path, to: folder.path)
        } catch let refusal as SessionRefusal {
            throw refusal
        } catch {
            throw .file(FileFailure(.move, former, error))
        }
    }

    /// Locks the file that stands for the whole folder; `nil` when another session holds it.
    static func lock(_ folder: URL, _ files: any FileLayer) throws(FileFailure) -> (any OpenFile)? {
        let url = folder.appendingPathComponent(lockName)
        do throws(LockFailure) {
            return try files.openLocked(url.path, .existingOrNew)
        } catch {
            if error == .taken { return nil }
            throw FileFailure(.open, url, error.systemError)
        }
    }

    private static let lockName = "lock"
}

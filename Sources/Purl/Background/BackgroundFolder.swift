import Foundation
internal import PurlIO

/// The folder in which background sessions keep a folder each.
struct BackgroundFolder {
    let url: URL
    /// Where it was before letter case did not count in the names of folders.
    private let formerURL: URL

    /// - Parameter settings: The session's. They name a folder, or the user's data directory is used, under the name of
    ///   the shared container or of the program.
    init(_ settings: URLSessionConfiguration.Values) {
        if let chosen = settings.backgroundSessionsDirectory {
            (url, formerURL) = (chosen, chosen)
            return
        }
        let program = ProcessInfo.processInfo.processName
        let container = settings.sharedContainerIdentifier
        url = Self.place(for: container.map(Self.folderName) ?? program)
        formerURL = Self.place(for: container.map(Self.formerFolderName) ?? program)
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
    ) throws(BackgroundStore.Refusal) -> URL {
        let folder = url.appendingPathComponent(Self.folderName(identifier), isDirectory: true)
        try Self.create(url)
        try adoptFormerFolder(of: identifier, as: folder, files)
        try Self.create(folder)
        try Self.checkTrust(in: folder)
        return folder
    }

    private static func create(_ folder: URL) throws(BackgroundStore.Refusal) {
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw .file(FileFailure(.create, folder, error))
        }
    }

    /// The folder itself, and the files that an earlier process has left in it.
    private static func checkTrust(in folder: URL) throws(BackgroundStore.Refusal) {
        let names = [lockName, Journal.fileName]
        for place in [folder] + names.map({ folder.appendingPathComponent($0) }) {
            if let distrust = Distrust(ofPath: place.path) { throw .untrusted(place, distrust) }
        }
    }

    /// Renames the folder that had the identifier's former name, which other identifiers may have shared.
    private func adoptFormerFolder(
        of identifier: String, as folder: URL, _ files: any FileLayer
    ) throws(BackgroundStore.Refusal) {
        let name = Self.formerFolderName(identifier)
        let former = formerURL.appendingPathComponent(name, isDirectory: true)
        guard former != folder, !FileManager.default.fileExists(atPath: folder.path),
            // Where letter case does not count, the folder of another identifier would be found under this name, too.
            let names = try? FileManager.default.contentsOfDirectory(atPath: formerURL.path), names.contains(name)
        else { return }
        try Self.checkTrust(in: former)
        do {
            guard let lock = try Self.lock(former, files) else {
                throw BackgroundStore.Refusal.inUse(identifier: identifier)
            }
            defer { lock.unlock() }
            try files.move(former.path, to: folder.path)
        } catch let refusal as BackgroundStore.Refusal {
            throw refusal
        } catch {
            throw .file(FileFailure(.move, former, error))
        }
    }

    /// Locks the file that stands for the whole folder; `nil` when another session holds it.
    static func lock(_ folder: URL, _ files: any FileLayer) throws(FileFailure) -> (any OpenFile)? {
        let url = folder.appendingPathComponent(lockName)
        do {
            let file = try files.open(url.path, .existingOrNew)
            return try file.lock() ? file : nil
        } catch {
            throw FileFailure(.open, url, error)
        }
    }

    private static let lockName = "lock"
    private static let maximumNameLength = 200

    /// The identifier as one path component, different for different identifiers, also where letter case does not
    /// count: small letters, digits, "-" and "_" stand for themselves, "." too unless it comes first, everything else is
    /// percent-encoded; what would be too long is named by its digest.
    static func folderName(_ identifier: String) -> String {
        let name = percentEncoded(identifier, keepingCapitals: false)
        // "%" stands for a byte with two digits after it, so no other identifier has these two names.
        if name.isEmpty { return "%" }
        return name.utf8.count <= maximumNameLength ? name : "%%" + Data(identifier.utf8).sha256
    }

    /// The name that the folder had when capitals stood for themselves, and a digest could be another identifier's name.
    static func formerFolderName(_ identifier: String) -> String {
        let name = percentEncoded(identifier, keepingCapitals: true)
        if name.isEmpty { return "%" }
        return name.utf8.count <= maximumNameLength ? name : "%" + Data(identifier.utf8).sha256
    }

    private static func percentEncoded(_ identifier: String, keepingCapitals: Bool) -> String {
        var name = ""
        for byte in identifier.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                name.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: "A")...UInt8(ascii: "Z") where keepingCapitals:
                name.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: ".") where !name.isEmpty:
                name += "."
            default:
                name += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return name
    }
}

import Foundation

/// The place where background sessions keep a folder each.
struct BackgroundFolder {
    let url: URL

    /// - Parameter settings: Of the session: its own choice of a folder, else the user's data directory under the name of
    ///   the shared container or of the program.
    init(_ settings: URLSessionConfiguration.Values) {
        if let chosen = settings.backgroundSessionsDirectory {
            url = chosen
            return
        }
        let owner = settings.sharedContainerIdentifier.map(Self.folderName) ?? ProcessInfo.processInfo.processName
        url = UserFolders.data
            .appendingPathComponent(owner, isDirectory: true)
            .appendingPathComponent("BackgroundSessions", isDirectory: true)
    }

    /// Makes the folder of the session with this identifier, for its owner only.
    func prepare(for identifier: String) throws(FileFailure) -> URL {
        let folder = url.appendingPathComponent(Self.folderName(identifier), isDirectory: true)
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw FileFailure(.create, folder, error)
        }
        return folder
    }

    /// The identifier as one path component, different for different identifiers: letters, digits, "-" and "_" stand for
    /// themselves, "." too unless it comes first, everything else is percent-encoded; what would be too long is named by
    /// its digest.
    static func folderName(_ identifier: String) -> String {
        var name = ""
        for byte in identifier.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                name.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: ".") where !name.isEmpty:
                name += "."
            default:
                name += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        // "%" alone stands for no byte, so these two names are nobody else's.
        if name.isEmpty { return "%" }
        guard name.utf8.count <= 200 else { return "%" + Data(identifier.utf8).sha256 }
        return name
    }
}

import Foundation

/// The folder in which unfinished downloads lie.
struct PartialsFolder: Sendable {
    let url: URL

    /// - Parameter chosen: The configuration's folder. `nil` means the user's cache directory under the program's
    ///   name, so that resume data survives a reboot.
    init(_ chosen: URL?) {
        url = chosen ?? Self.standard
    }

    private static let standard =
        cacheDirectory
        .appendingPathComponent(ProcessInfo.processInfo.processName, isDirectory: true)
        .appendingPathComponent("PartialDownloads", isDirectory: true)

    /// `$XDG_CACHE_HOME`, else what the platform calls the user's caches, else the temporary directory: a container
    /// without a home can still download.
    private static var cacheDirectory: URL {
        if let path = ProcessInfo.processInfo.environment["XDG_CACHE_HOME"], path.hasPrefix("/") {
            return URL(fileURLWithPath: path, isDirectory: true)
        }
        return FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
            ?? FileManager.default.temporaryDirectory
    }

    /// Makes the folder, for its owner only.
    func prepare() throws(FileFailure) {
        do {
            try FileManager.default.createDirectory(
                at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw FileFailure(.create, url, error)
        }
    }
}

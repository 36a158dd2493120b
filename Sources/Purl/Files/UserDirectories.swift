import Foundation
internal import PurlIO

/// The directories of a user's files (XDG Base Directory Specification), or the temporary directory where there is
/// none: a container without a home can still download.
package enum UserDirectories {
    /// For files that can be loaded again: `$XDG_CACHE_HOME`, else the platform's.
    package static var caches: URL { folder("XDG_CACHE_HOME", else: .cachesDirectory) }

    /// For files that cannot: `$XDG_DATA_HOME`, else the platform's.
    static var data: URL { folder("XDG_DATA_HOME", else: .applicationSupportDirectory) }

    private static func folder(_ variable: String, else place: FileManager.SearchPathDirectory) -> URL {
        if let path = Environment.value(of: variable), path.hasPrefix("/") {
            return URL(fileURLWithPath: path, isDirectory: true)
        }
        return FileManager.default.urls(for: place, in: .userDomainMask).first
            ?? FileManager.default.temporaryDirectory
    }
}

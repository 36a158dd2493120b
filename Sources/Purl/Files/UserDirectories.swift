import Foundation
internal import PurlIO

/// The directories of a user's files (XDG Base Directory Specification), or the temporary directory where there is
/// none: a container without a home can still download.
package enum UserDirectories {
    /// For files that can be loaded again: `$XDG_CACHE_HOME`, else the platform's.
    package static var caches: URL { folder("XDG_CACHE_HOME", else: .cachesDirectory) }

    /// For files that cannot: `$XDG_DATA_HOME`, else the platform's.
    static var data: URL { folder("XDG_DATA_HOME", else: .applicationSupportDirectory) }

    /// The name of the program, under which its files are kept.
    package static var programName: String { Simulated.machine?.programName ?? ProcessInfo.processInfo.processName }

    private static func folder(_ variable: String, else place: FileManager.SearchPathDirectory) -> URL {
        if let machine = Simulated.machine {
            return URL(fileURLWithPath: machine.home, isDirectory: true).appendingPathComponent(
                variable == "XDG_CACHE_HOME" ? ".cache" : ".local/share", isDirectory: true)
        }
        if let path = Environment.value(of: variable), path.hasPrefix("/") {
            return URL(fileURLWithPath: path, isDirectory: true)
        }
        return FileManager.default.urls(for: place, in: .userDomainMask).first
            ?? FileManager.default.temporaryDirectory
    }
}

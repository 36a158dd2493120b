import Foundation

/// What the program was called for.
enum Order {
    /// Serve files until standard input ends.
    case serve(bytesPerSecond: Int)
    /// Download in a background session.
    case session(SessionDownloads.Relaunch, home: URL, [URL])
    /// Download with a download manager.
    case manager(home: URL, [URL])
    /// Download to a disk that is too small, again and again.
    case full(StorageKind, folder: URL, URL)

    static let usage = """
        usage: CrashSubject serve BYTES-PER-SECOND
               CrashSubject session continue|resume-data HOME URL...
               CrashSubject manager HOME URL...
               CrashSubject full task|session|sink|manager FOLDER URL
        """

    init?(words: [String]) {
        guard let name = words.first else { return nil }
        let rest = Array(words.dropFirst())
        switch (name, rest.count) {
        case ("serve", 1):
            guard let rate = Int(rest[0]) else { return nil }
            self = .serve(bytesPerSecond: rate)
        case ("session", 3...):
            guard let relaunch = SessionDownloads.Relaunch(rawValue: rest[0]) else { return nil }
            self = .session(relaunch, home: Self.folder(rest[1]), Self.urls(rest[2...]))
        case ("manager", 2...):
            self = .manager(home: Self.folder(rest[0]), Self.urls(rest[1...]))
        case ("full", 3):
            guard let kind = StorageKind(rawValue: rest[0]), let url = URL(string: rest[2]) else { return nil }
            self = .full(kind, folder: Self.folder(rest[1]), url)
        default:
            return nil
        }
    }

    private static func folder(_ path: String) -> URL { URL(fileURLWithPath: path, isDirectory: true) }

    private static func urls(_ words: ArraySlice<String>) -> [URL] { words.compactMap { URL(string: $0) } }
}

import Foundation
import Purl
internal import PurlIO

/// `FILE.upload`: what it takes to resume an upload of FILE, beside it.
///
/// It belongs to the FILE in the same folder, wherever that is by now, and to no other one that has got its name: so it names
/// no path, and knows the file by its place in the file system, its length and its modification time.
struct UploadRecord: Codable, Equatable {
    static let suffix = ".upload"
    /// That of a new record before it takes the other's place.
    static let newSuffix = ".upload.new"
    private static let currentVersion = 1
    /// A longer file is not a record.
    private static let maximumSize = 1 << 20
    /// What is written here nests three containers.
    private static let maximumContainers = 8

    private var purlUpload = Self.currentVersion
    /// The URL of the command line, without a user and a password: those of the current command count.
    private let url: String
    let method: String
    private let identity: FileStatus.Identity
    /// How many bytes the file has.
    let length: Int64
    private let modified: FileStatus.Time
    /// The library's resume data.
    let resumeData: Data

    /// - Parameter entry: The file that is being uploaded.
    init(of entry: FileStatus, to url: URL, method: String, resumeData: Data) {
        self.url = Self.recorded(url)
        self.method = method
        identity = entry.identity
        length = entry.length
        modified = entry.modified
        self.resumeData = resumeData
    }

    /// Where the record of a file is.
    static func place(for file: URL) -> URL {
        file.deletingLastPathComponent().appendingPathComponent(file.lastPathComponent + suffix)
    }

    /// Reads the record of a file; `nil` when there is none. Throws when something else has its name.
    init?(for file: URL, through files: any FileLayer = SystemFiles()) throws(CommandFailure) {
        guard let found = try Self.read(Self.place(for: file), files) else { return nil }
        self = found
    }

    /// The record of a file that a killed command was about to save; `nil` when there is none. Throws when something else has
    /// the name under which a new one is written.
    static func new(
        for file: URL, through files: any FileLayer = SystemFiles()
    ) throws(CommandFailure) -> UploadRecord? {
        try read(newPlace(for: file), files)
    }

    private static func read(_ place: URL, _ files: any FileLayer) throws(CommandFailure) -> UploadRecord? {
        switch files.entry(place.path) {
        case .missing: return nil
        case .regular(let entry) where entry.isOwn && !entry.hasOtherNames && entry.length <= maximumSize:
            // A power loss may leave it so.
            if entry.length == 0 { return nil }
        case .regular, .folder, .link, .device, .pipe, .socket: throw refusal(place)
        }
        guard let bytes = try? files.readRecord(place.path, upTo: maximumSize),
            let list = UntrustedPropertyList(Data(bytes), maximumContainers: maximumContainers),
            let found = list.decode(UploadRecord.self), found.purlUpload == currentVersion
        else { throw refusal(place) }
        return found
    }

    /// Where a new record of a file is written.
    private static func newPlace(for file: URL) -> URL {
        file.deletingLastPathComponent().appendingPathComponent(file.lastPathComponent + newSuffix)
    }

    /// Whether it is about the same request.
    func isOf(_ url: URL, _ method: String) -> Bool { self.url == Self.recorded(url) && self.method == method }

    /// The URL as it is shown.
    var shownURL: String { URL(string: url)?.shownText ?? url }

    /// In what a file differs from the one whose upload is recorded, as a clause; `nil` where it does not.
    func difference(to file: FileStatus) -> String? {
        if file.length != length {
            let (former, now) = (ByteText.count(length), ByteText.count(file.length))
            return former == now
                ? "the file had \(length) bytes, and has \(file.length)" : "the file had \(former), and has \(now)"
        }
        if file.identity != identity { return "it is another file of the same name" }
        return file.modified == modified ? nil : "the file has been written to"
    }

    private static func recorded(_ url: URL) -> String {
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return url.absoluteString }
        parts.user = nil
        parts.password = nil
        return parts.string ?? url.absoluteString
    }

    // MARK: Changes

    /// Saves the record in one step: a reader sees the old one or this one, also after a power loss. Only the user can read it,
    /// since the request's fields may hold credentials. Throws when something else has its name by now.
    func save(for file: URL, through files: any FileLayer = SystemFiles()) throws(CommandFailure) {
        let place = Self.place(for: file)
        _ = try Self.new(for: file, through: files)
        _ = try Self(for: file, through: files)
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        do {
            try files.replace(place.path, with: encoder.encode(self).bytes, survivesPowerLoss: true)
        } catch {
            throw CommandFailure("“\(place.lastPathComponent)” cannot be saved: \(error.reason).")
        }
    }

    /// Removes the record of a file, if there is one of an upload of it to this URL, and what a killed command has left of a
    /// new one. What belongs to another upload stays, also where that has taken the file's name.
    static func remove(
        for file: URL, _ identity: FileStatus.Identity, of url: URL, _ method: String,
        through files: any FileLayer = SystemFiles()
    ) {
        for place in [newPlace(for: file), place(for: file)] {
            guard let record = try? read(place, files), record.isOf(url, method), record.identity == identity else {
                continue
            }
            files.remove(place.path)
        }
    }

    /// Removes the record of a file, and what a killed command has left of a new one.
    static func removeAll(
        of file: URL, through files: any FileLayer = SystemFiles()
    ) throws(CommandFailure) {
        for place in [newPlace(for: file), place(for: file)] where (try? read(place, files)) != nil {
            do throws(SystemError) {
                _ = try files.removeExisting(place.path)
            } catch {
                throw CommandFailure("“\(place.lastPathComponent)” cannot be removed: \(error.reason).")
            }
        }
    }

    private static func refusal(_ place: URL) -> CommandFailure {
        CommandFailure(
            "“\(place.lastPathComponent)” is not a record of purl's. It was left as it is: remove or rename it, or use --no-resume."
        )
    }
}

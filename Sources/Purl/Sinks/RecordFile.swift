import Foundation

/// The file beside a sink's file in which its record lies.
///
/// It is readable by its owner only, since a request's header fields may hold credentials, and replaced by a rename,
/// so that a crash leaves the old record or the new one.
struct RecordFile: Sendable {
    let url: URL

    func load() throws -> Data? {
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        return try Data(contentsOf: url)
    }

    func save(_ record: Data?) throws {
        guard let record else {
            guard FileManager.default.fileExists(atPath: url.path) else { return }
            return try FileManager.default.removeItem(at: url)
        }
        let fresh = url.appendingPathExtension("new")
        try? FileManager.default.removeItem(at: fresh)
        guard
            FileManager.default.createFile(
                atPath: fresh.path, contents: record, attributes: [.posixPermissions: 0o600])
        else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: fresh.path]) }
        guard rename(fresh.path, url.path) == 0 else { throw NSError.system(at: url) }
    }
}

import Foundation
internal import PurlIO

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
            try FileManager.default.removeItem(at: url)
            // The bytes it spoke of are about to change; not even a power loss may bring it back.
            return try synchronizeFolder()
        }
        let fresh = url.appendingPathExtension("new")
        try? FileManager.default.removeItem(at: fresh)
        do {
            let file = try RegularFile(fresh.path, .creating)
            try record.bytes.withUnsafeBytes { bytes throws(SystemError) in try file.write(bytes, at: 0) }
            try file.synchronize()
        } catch {
            throw FileFailure(.write, url, error)
        }
        guard rename(fresh.path, url.path) == 0 else { throw FileFailure(.move, url, NSError.system(at: url)) }
    }

    private func synchronizeFolder() throws(FileFailure) {
        do {
            try RegularFile.synchronizeFolder(url.deletingLastPathComponent().path)
        } catch {
            throw FileFailure(.write, url, error)
        }
    }
}

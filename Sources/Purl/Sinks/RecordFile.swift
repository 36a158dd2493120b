import Foundation
internal import PurlIO

/// The file beside a sink's file in which its record lies.
///
/// It is readable by its owner only, since a request's header fields may hold credentials. Making a record survive a
/// power loss costs more than making the bytes do so, and a process that is killed needs neither: so a new record is
/// written to a second file, ".new", and takes the first one's place, synchronised, once a second. After a power loss the
/// first counts if the second cannot be read; both describe bytes that were safe before.
struct RecordFile: Sendable {
    private static let interval = Duration.seconds(1)

    let url: URL
    private var lastReplacement: ContinuousClock.Instant?
    private var hasNewer = false

    init(url: URL) {
        self.url = url
    }

    private var newer: URL { url.appendingPathExtension("new") }

    func load() throws -> Data? {
        // After a crash it may be incomplete; the other one still counts.
        if let record = try? Self.read(newer), (try? ResumeData(decoding: record)) != nil { return record }
        return try Self.read(url)
    }

    /// `nil` when there is no file.
    private static func read(_ url: URL) throws -> Data? {
        guard RegularFile.exists(at: url.path) else { return nil }
        let handle = try FileHandle(forReadingFrom: url)
        defer { try? handle.close() }
        return try handle.read(upToCount: ResumeData.maximumSize + 1)
    }

    mutating func save(_ record: Data?) throws {
        guard let record else { return try remove() }
        do {
            let file = try RegularFile(newer.path, .existingOrNew)
            try file.truncate(to: 0)
            try record.bytes.withUnsafeBytes { bytes throws(SystemError) in try file.write(bytes, at: 0) }
        } catch {
            throw FileFailure(.write, url, error)
        }
        hasNewer = true
        if let lastReplacement, .now - lastReplacement < Self.interval { return }
        try commit()
    }

    /// Replaces the record by the newer one, synchronised, if there is one.
    mutating func commit() throws {
        guard hasNewer else { return }
        do {
            try RegularFile(newer.path, .existing).synchronize()
            try RegularFile.move(newer.path, to: url.path)
        } catch {
            throw FileFailure(.write, url, error)
        }
        hasNewer = false
        lastReplacement = .now
    }

    private mutating func remove() throws {
        hasNewer = false
        // The newer one first, so that it never outlives the other.
        for place in [newer, url] where FileManager.default.fileExists(atPath: place.path) {
            try FileManager.default.removeItem(at: place)
            // The bytes that it describes are about to change; not even a power loss may bring it back.
            do {
                try RegularFile.synchronizeFolder(place.deletingLastPathComponent().path)
            } catch {
                throw FileFailure(.write, url, error)
            }
        }
    }
}

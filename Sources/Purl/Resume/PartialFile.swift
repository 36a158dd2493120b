import Foundation
internal import PurlIO
import Synchronization

/// The file of an unfinished download.
final class PartialFile: BodySink {
    let location: URL
    private let file: RegularFile
    /// What was appended whole. After a write that failed half-way the file itself may be longer.
    private let written: Mutex<Int64>

    /// Makes a new, empty file in `folder`.
    init(creatingIn folder: PartialsFolder) throws(FileFailure) {
        location = folder.url.appendingPathComponent("\(Self.prefix)\(UUID().uuidString.lowercased())\(Self.suffix)")
        do {
            file = try Self.create(location.path, in: folder)
            _ = try file.lock()
        } catch {
            throw FileFailure(.create, location, error)
        }
        written = Mutex(0)
    }

    /// The folder is made only when it turns out to be missing.
    private static func create(_ path: String, in folder: PartialsFolder) throws -> RegularFile {
        do {
            return try RegularFile(path, .creating)
        } catch  where error.code == ENOENT {
            try folder.prepare()
            return try RegularFile(path, .creating)
        }
    }

    /// Opens the file that resume data names; `nil` when it is gone, not a plain file or in use.
    init?(named name: String, in folder: PartialsFolder) {
        location = folder.url.appendingPathComponent(name)
        guard let file = try? RegularFile(location.path, .existing), (try? file.lock()) == true,
            let size = try? file.size()
        else { return nil }
        self.file = file
        written = Mutex(size)
    }

    var name: String { location.lastPathComponent }

    private static let prefix = "purl-"
    private static let suffix = ".partial"

    /// Whether this is how partial files are called.
    static func isName(_ name: String) -> Bool {
        name.hasPrefix(prefix) && name.hasSuffix(suffix)
            && UUID(uuidString: String(name.dropFirst(prefix.count).dropLast(suffix.count))) != nil
    }

    /// Removes the file. What is open of it stays readable until it is closed.
    func remove() {
        try? FileManager.default.removeItem(at: location)
    }

    // MARK: BodySink

    /// Throws when the file is no longer where it was: bytes that nobody can find do not count.
    var length: Int64 {
        get throws {
            guard file.isFound(at: location.path) else {
                throw FileFailure(.open, location, SystemError(code: ENOENT, operation: "stat"))
            }
            return written.withLock { $0 }
        }
    }

    func append(_ data: Data) throws {
        let offset = written.withLock { $0 }
        do {
            try data.bytes.withUnsafeBytes { bytes throws(SystemError) in try file.write(bytes, at: offset) }
        } catch {
            throw FileFailure(.write, location, error)
        }
        written.withLock { $0 = offset + Int64(data.count) }
    }

    func truncate(to length: Int64) throws {
        do {
            try file.truncate(to: length)
        } catch {
            throw FileFailure(.write, location, error)
        }
        written.withLock { $0 = length }
    }

    func bytes(in range: Range<Int64>) throws -> Data {
        var data = Data(count: range.count)
        let read = try data.withUnsafeMutableBytes { try file.read(into: $0, at: range.lowerBound) }
        return data.prefix(read)
    }

    func synchronize() throws {
        do {
            try file.synchronize()
        } catch {
            throw FileFailure(.write, location, error)
        }
    }

    func loadRecord() -> Data? { nil }
    func saveRecord(_ record: Data?) {}

    /// The next task may go on with the file, before the last call about this one is out.
    func close() { file.unlock() }
}

import Foundation

/// The two files in which an unfinished download lies: `FILE.part` with its bytes, `FILE.resume` with what it takes to
/// go on.
struct PartFiles: Equatable {
    /// What lies there.
    enum Content: Equatable {
        case nothing
        /// Bytes of this very URL, and the way to go on.
        case unfinished(PartRecord)
        /// The same of another URL.
        case ofAnotherURL(PartRecord)
        /// Bytes that nothing vouches for.
        case unknown
    }

    /// What the endings add to a name at most; the library writes ".resume.new" before ".resume".
    static let longestEnding = ".resume.new".utf8.count
    static let recordEnding = ".resume"

    let file: URL
    let bytes: URL
    let record: URL

    /// - Parameter file: Where the whole will be.
    init(for file: URL) {
        self.file = file
        bytes = file.appendingPathExtension("part")
        record = file.appendingPathExtension("resume")
    }

    /// What lies there now, seen by somebody who wants `url`.
    func content(for url: URL) -> Content {
        let length = length
        guard length > 0 else { return .nothing }
        guard let found = PartRecord(contentsOf: record), found.bytesReceived <= length else { return .unknown }
        return found.originalRequest.url == url.absoluteString ? .unfinished(found) : .ofAnotherURL(found)
    }

    /// Another transfer, of this process or another, is writing there.
    var isBeingWritten: Bool {
        let descriptor = open(bytes.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) != 0
    }

    /// Removes both.
    func remove() throws(CommandFailure) {
        for url in [bytes, record] where FileManager.default.fileExists(atPath: url.path) {
            try Self.check(unlink(url.path), "“\(url.lastPathComponent)” cannot be removed")
        }
    }

    /// A transfer looks into `FILE.part` before it has anything to put there, and so makes it.
    func removeIfEmpty() {
        if length == 0 { unlink(bytes.path) }
    }

    /// The bytes are complete: they become the file, in one step, and the record goes.
    func finish(replacing: Bool) throws(CommandFailure) {
        guard replacing || !FileManager.default.fileExists(atPath: file.path) else {
            throw CommandFailure(
                "“\(file.lastPathComponent)” exists by now. The download is complete in “\(bytes.lastPathComponent)”.")
        }
        try Self.check(rename(bytes.path, file.path), "“\(file.lastPathComponent)” cannot be saved")
        unlink(record.path)
    }

    private var length: Int64 {
        let attributes = try? FileManager.default.attributesOfItem(atPath: bytes.path)
        return (attributes?[.size] as? NSNumber)?.int64Value ?? 0
    }

    private static func check(_ result: Int32, _ sentence: String) throws(CommandFailure) {
        guard result != 0 else { return }
        let reason = String(cString: strerror(errno))
        throw CommandFailure("\(sentence): \(reason).")
    }
}

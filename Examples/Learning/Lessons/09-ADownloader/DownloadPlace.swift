import Foundation

/// Where the files of one URL are, and what is in them.
struct DownloadPlace {
    /// The URL's digest: the same for the same URL, and different for any other.
    let key: String
    let finished: URL
    let partial: URL
    private let recordFile: URL

    init(_ url: URL, in folder: URL) {
        key = Fingerprint.of(url.absoluteString)
        finished = folder.appendingPathComponent("finished", isDirectory: true).appendingPathComponent(key)
        partial = folder.appendingPathComponent("partial", isDirectory: true).appendingPathComponent(key)
        recordFile = partial.appendingPathExtension("json")
        for file in [finished, partial] {
            try? FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        }
    }

    /// What is on disk.
    enum Content: Equatable {
        /// The finished file: no request is needed.
        case finished
        /// All bytes, which are only to be moved.
        case complete
        /// The first bytes of a version.
        case part(Int64, DownloadRecord)
        /// Nothing of use.
        case nothing
    }

    /// What is on disk, without a question to the server.
    var content: Content {
        if FileManager.default.fileExists(atPath: finished.path) { return .finished }
        guard let record, let size, size > 0 else { return .nothing }
        guard let total = record.total, size >= total else { return .part(size, record) }
        // One that is too long is not what the record describes.
        return size == total ? .complete : .nothing
    }

    /// Empties the partial file for a new version. If the program ends in the middle, no record is there.
    func begin(_ record: DownloadRecord?) throws {
        try? FileManager.default.removeItem(at: recordFile)
        try Data().write(to: partial)
        if let record { try JSONEncoder().encode(record).write(to: recordFile, options: .atomic) }
    }

    /// Makes the partial file the finished one.
    func finish() throws {
        try FileManager.default.moveItem(at: partial, to: finished)
        try? FileManager.default.removeItem(at: recordFile)
    }

    /// Removes what is unfinished.
    func clean() {
        try? FileManager.default.removeItem(at: recordFile)
        try? FileManager.default.removeItem(at: partial)
    }

    private var record: DownloadRecord? {
        guard let data = try? Data(contentsOf: recordFile) else { return nil }
        return try? JSONDecoder().decode(DownloadRecord.self, from: data)
    }

    private var size: Int64? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: partial.path)
        return (attributes?[.size] as? NSNumber)?.int64Value
    }
}

/// Of which version the bytes of a partial file are.
struct DownloadRecord: Codable, Equatable {
    /// The server's name for the version: a strong entity tag.
    let tag: String
    let total: Int64?
}

import Foundation
import Purl

/// What earlier attempts have left in a folder: the names under which each URL's parts, or its complete file with the
/// record still beside it, lie.
struct EarlierAttempts {
    private struct Find {
        var name: String
        var bytes: Int64
    }

    private var finds: [String: Find] = [:]

    init(in folder: URL) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for record in names.sorted() where record.hasSuffix(PartFiles.recordEnding) {
            let name = String(record.dropLast(PartFiles.recordEnding.count))
            guard !name.isEmpty else { continue }
            note(PartFiles(for: folder.appendingPathComponent(name)), name)
        }
    }

    /// The name under which something of `url` lies; of several, the one that came furthest.
    func name(for url: URL) -> String? {
        finds[url.absoluteString]?.name
    }

    private mutating func note(_ parts: PartFiles, _ name: String) {
        guard let record = ResumeRecord(contentsOf: parts.record) else { return }
        let bytes = parts.vouchingRecord?.bytesReceived ?? parts.lengthOfFinishedFile(for: record.url) ?? 0
        let key = record.url.absoluteString
        guard bytes > finds[key]?.bytes ?? 0 else { return }
        finds[key] = Find(name: name, bytes: bytes)
    }
}

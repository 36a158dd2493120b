import Foundation

@testable import PurlCommand

/// A folder of a test's own, gone when the test is.
final class TemporaryFolder: Sendable {
    let url: URL

    init() {
        url = FileManager.default.temporaryDirectory
            .appendingPathComponent("purl-command-\(UUID().uuidString)", isDirectory: true)
        try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    /// The names of the files, in order.
    var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted()
    }

    func file(_ name: String) -> URL { url.appendingPathComponent(name) }

    /// What a file holds; nothing when there is none.
    func contents(_ name: String) -> Data { (try? Data(contentsOf: file(name))) ?? Data() }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: file(name))
    }

    /// Leaves what an interrupted download leaves.
    @discardableResult
    func leaveParts(of url: String, named name: String, bytes: Int, onDisk: Int? = nil) throws -> PartRecord {
        let record: [String: Any] = [
            "version": 1, "originalRequest": ["url": url], "bytesReceived": bytes, "totalBytes": 1000,
            "validator": "\"v1\"",
        ]
        let list = try PropertyListSerialization.data(fromPropertyList: record, format: .xml, options: 0)
        try list.write(to: file(name + ".resume"))
        try Data(count: onDisk ?? bytes).write(to: file(name + ".part"))
        return PartRecord(url: url, bytesReceived: Int64(bytes), totalBytes: 1000, validator: "\"v1\"")
    }
}

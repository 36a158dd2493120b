import Foundation
import Purl

@testable import PurlCommand

/// A test's own folder, removed when it is deallocated.
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

    /// A file's content; empty when there is none.
    func contents(_ name: String) -> Data { (try? Data(contentsOf: file(name))) ?? Data() }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: file(name))
    }

    /// Creates the files of an interrupted download.
    @discardableResult
    func leaveParts(of url: String, named name: String, bytes: Int, onDisk: Int? = nil) throws -> ResumeRecord {
        try Self.list(of: url, named: file(name).lastPathComponent, bytes: bytes).write(to: file(name + ".resume"))
        try Data(count: onDisk ?? bytes).write(to: file(name + ".part"))
        return Self.record(of: url, bytes: bytes)
    }

    /// A record of so many of 1000 bytes.
    static func record(of url: String, bytes: Int) -> ResumeRecord {
        guard let record = ResumeRecord(list(of: url, named: "file", bytes: bytes)) else {
            preconditionFailure("The record cannot be read.")
        }
        return record
    }

    private static func list(of url: String, named name: String, bytes: Int) -> Data {
        let request =
            "<dict><key>url</key><string>\(url)</string><key>method</key><string>GET</string>"
            + "<key>headers</key><dict/><key>timeoutInterval</key><real>60</real></dict>"
        return Data(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <plist version="1.0"><dict>
            <key>version</key><integer>1</integer>
            <key>originalRequest</key>\(request)
            <key>currentRequest</key>\(request)
            <key>partialName</key><string>\(name).part</string>
            <key>bytesReceived</key><integer>\(bytes)</integer>
            <key>totalBytes</key><integer>1000</integer>
            <key>validator</key><string>"v1"</string>
            <key>tailDigest</key><string>\(String(repeating: "0", count: 64))</string>
            </dict></plist>
            """.utf8)
    }
}

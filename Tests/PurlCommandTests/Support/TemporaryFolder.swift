import Foundation
import Purl
import PurlHTTP

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

    /// Gives a socket this name.
    func bind(_ socket: Int32, to name: String) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // The whole path would be too long.
        let link = FileManager.default.temporaryDirectory.appendingPathComponent("\(getpid())-\(socket)")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: url)
        defer { unlink(link.path) }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: (link.path + "/" + name).utf8) }
        let result = withUnsafeBytes(of: &address) { bytes in
            Foundation.bind(socket, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
        guard result == 0 else { throw NSError(domain: NSPOSIXErrorDomain, code: Int(errno)) }
    }

    /// Creates the files of an interrupted download, whose bytes are zeros.
    @discardableResult
    func leaveParts(of url: String, named name: String, bytes: Int, onDisk: Int? = nil) throws -> ResumeRecord {
        try Self.list(of: url, named: file(name).lastPathComponent, bytes: bytes).write(to: file(name + ".resume"))
        try Data(count: onDisk ?? bytes).write(to: file(name + ".part"))
        return Self.record(of: url, named: file(name).lastPathComponent, bytes: bytes)
    }

    /// A record of so many of 1000 bytes.
    static func record(of url: String, named name: String = "file", bytes: Int) -> ResumeRecord {
        guard let record = ResumeRecord(list(of: url, named: name, bytes: bytes)) else {
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
            <key>tailDigest</key><string>\(SHA256.hexadecimal(of: Data(count: min(bytes, 65_536)).bytes))</string>
            </dict></plist>
            """.utf8)
    }
}

import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Resume data that Purl did not write", .timeLimit(.minutes(5)))
struct TamperedResumeDataTests {
    private let sandbox = Sandbox()
    private let secret = Data("do not touch".utf8)

    /// Expects that `blob` is refused before a request is sent or a file is touched.
    private func expectRefusal(of blob: Data, _ paused: PausedDownload) async throws {
        let victim = paused.sandbox.file("victim")
        try secret.write(to: victim)
        let before = try Data(contentsOf: paused.partial)
        let outcome = await paused.resume(blob)
        expectError(outcome.error, .cannotDecodeRawData, about: nil)
        #expect(outcome.error?.downloadTaskResumeData == nil)
        #expect(outcome.events == [.completed(.cannotDecodeRawData)])
        #expect(paused.server.requests.isEmpty)
        #expect(try Data(contentsOf: victim) == secret)
        #expect(try Data(contentsOf: paused.partial) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: paused.sandbox.folder.path).count == 2)
    }

    @Test("Values that Purl never writes are refused", arguments: Tampering.refused)
    func refused(_ tampering: Tampering) async throws {
        let paused = try await PausedDownload()
        try await expectRefusal(of: tampering.apply(to: paused.blob), paused)
    }

    @Test(
        "Data that is no property list is refused",
        arguments: [
            Data(), Data([0]), Data("bplist00".utf8), Data("<?xml version=\"1.0\"?>".utf8), Data("{}".utf8),
            Data("<plist version=\"1.0\"><array/></plist>".utf8), Data("<plist><dict><key>version</key>".utf8),
            Data("<plist version=\"1.0\"><integer>1</integer></plist>".utf8), Data(repeating: 0xFF, count: 4_096),
        ])
    func noPropertyList(blob: Data) async throws {
        try await expectRefusal(of: blob, PausedDownload())
    }

    @Test("A number that is not UTF-8 is refused", arguments: ["bytesReceived", "totalBytes", "version"])
    func numberNotUTF8(key: String) async throws {
        let paused = try await PausedDownload()
        for bytes in [[0xFF], [0xC3], [0x20, 0xF0, 0x9F], Array(repeating: 0xFF, count: 111)] as [[UInt8]] {
            var blob = paused.blob
            let start = try #require(blob.range(of: Data("<key>\(key)</key>".utf8)))
            let tag = try #require(blob.range(of: Data("<integer>".utf8), in: start.upperBound..<blob.endIndex))
            blob.insert(contentsOf: bytes, at: tag.upperBound)
            try await expectRefusal(of: blob, paused)
        }
    }

    @Test("A completion handler receives the refusal")
    func completionHandler() async throws {
        let session = sandbox.session()
        let error = await withCheckedContinuation { continuation in
            session.downloadTask(withResumeData: Data()) { location, response, error in
                #expect(location == nil && response == nil)
                continuation.resume(returning: error)
            }.resume()
        }
        expectError(error, .cannotDecodeRawData, about: nil)
        let thrown = await #expect(throws: URLError.self) { try await session.download(resumeFrom: Data([1])) }
        expectError(thrown, .cannotDecodeRawData, about: nil)
    }

    @Test("A binary property list is refused")
    func binary() async throws {
        let paused = try await PausedDownload()
        try await expectRefusal(of: Tampering("as it was") { _ in }.apply(to: paused.blob, format: .binary), paused)
    }

    @Test("Changes that keep the meaning resume the download", arguments: Tampering.accepted)
    func sameMeaning(_ tampering: Tampering) async throws {
        let paused = try await PausedDownload()
        paused.answer(paused.sameResource)
        let outcome = await paused.resume(try tampering.apply(to: paused.blob))
        #expect(outcome.file == paused.content.data)
        #expect(outcome.resumedAt == [100_000])
    }

    @Test("Wrong counts and digests start over", arguments: Tampering.startingOver)
    func wrongCounts(_ tampering: Tampering) async throws {
        let paused = try await PausedDownload()
        paused.answer(paused.sameResource)
        let outcome = await paused.resume(try tampering.apply(to: paused.blob))
        #expect(outcome.file == paused.content.data)
        #expect(outcome.resumedAt == [0])
        #expect(paused.ranges == [nil])
    }

    @Test(
        "Files in the partials folder that are no partial files are left alone",
        arguments: ["notes.txt", ".hidden", "purl-notes.txt", "purl-.partial"])
    func otherFiles(name: String) async throws {
        let paused = try await PausedDownload()
        paused.answer(paused.sameResource)
        let notes = paused.sandbox.partials.appendingPathComponent(name)
        let text = Data(repeating: 0x61, count: 200_000)
        try text.write(to: notes)
        let outcome = await paused.resume(try Tampering("partialName", name).apply(to: paused.blob))
        #expect(outcome.error?.code == .cannotDecodeRawData || outcome.file == paused.content.data)
        #expect(try Data(contentsOf: notes) == text)
    }

    @Test(
        "Fields that would break the message are not sent",
        arguments: ["line\r\nX-Evil: 1", "line\nX-Evil: 1", "nul\u{1}"])
    func brokenFields(value: String) async throws {
        let paused = try await PausedDownload()
        paused.answer(paused.sameResource)
        let blob = try Tampering("headers") { entries in
            var request = entries["originalRequest"] as? [String: Any] ?? [:]
            request["headers"] = ["X-Note": value]
            entries["originalRequest"] = request
        }.apply(to: paused.blob)
        let outcome = await paused.resume(blob)
        #expect(paused.server.requests.allSatisfy { $0.fields["X-Evil"] == nil && $0.fields["X-Note"] == nil })
        #expect(outcome.file == nil || outcome.file == paused.content.data)
    }

    @Test("Resume data cannot name a file of this machine")
    func localFile() async throws {
        let paused = try await PausedDownload()
        let blob = try Tampering("url") { entries in
            for key in ["originalRequest", "currentRequest"] {
                var request = entries[key] as? [String: Any] ?? [:]
                request["url"] = "file:///etc/hosts"
                entries[key] = request
            }
        }.apply(to: paused.blob)
        let outcome = await paused.resume(blob)
        #expect(outcome.error?.code == .unsupportedURL)
        #expect(outcome.file == nil)
    }

    @Test("Time-outs out of range do no harm", arguments: [Double.nan, .infinity, -.infinity, -1, 1e300])
    func timeouts(seconds: Double) async throws {
        let paused = try await PausedDownload()
        paused.answer(paused.sameResource)
        let blob = try Tampering("timeoutInterval") { entries in
            var request = entries["originalRequest"] as? [String: Any] ?? [:]
            request["timeoutInterval"] = seconds
            entries["originalRequest"] = request
        }.apply(to: paused.blob)
        let outcome = await paused.resume(blob)
        #expect(outcome.file == nil || outcome.file == paused.content.data)
    }

    @Test("Deep nesting does not exhaust the stack", arguments: ["array", "dict"])
    func deepNesting(element: String) async throws {
        await #expect(processExitsWith: .success) { [element] in
            let opening = element == "array" ? "<array>" : "<dict><key>version</key>"
            var text = "<?xml version=\"1.0\"?><plist version=\"1.0\">"
            for _ in 0..<(1_000_000 / opening.utf8.count) { text += opening }
            let session = URLSession(configuration: .default)
            await #expect(throws: URLError.self) { try await session.download(resumeFrom: Data(text.utf8)) }
        }
    }

    @Test("Deep nesting in a binary property list does not exhaust the stack")
    func deepNestingBinary() async throws {
        await #expect(processExitsWith: .success) {
            let depth = 100_000
            func bytes(_ number: Int, _ count: Int) -> [UInt8] {
                (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
            }
            var blob = Data("bplist00".utf8)
            for index in 1..<depth { blob += [0xA1] + bytes(index, 3) }
            blob += [0xA0]
            let table = blob.count
            for index in 0..<depth { blob += bytes(8 + index * 4, 3) }
            blob += [0, 0, 0, 0, 0, 0, 3, 3] + bytes(depth, 8) + bytes(0, 8) + bytes(table, 8)
            let session = URLSession(configuration: .default)
            await #expect(throws: URLError.self) { try await session.download(resumeFrom: blob) }
        }
    }

    @Test("An array that contains itself does no harm")
    func cycle() async throws {
        await #expect(processExitsWith: .success) {
            var blob = Data("bplist00".utf8)
            // Object 0: an array of one element, which is object 0. Then the offset table and the trailer.
            blob += [0xA1, 0x00, 0x08]
            blob += [0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10]
            let session = URLSession(configuration: .default)
            await #expect(throws: URLError.self) { try await session.download(resumeFrom: blob) }
        }
    }
}

@Suite("Resume data that was cut or altered anywhere", .timeLimit(.minutes(5)))
struct AlteredResumeDataTests {
    private let sandbox = Sandbox()
    private let content = GeneratedContent(size: 80_000, seed: 6)
    private let received = 70_000

    /// On a Unix-domain socket, so that an altered host is never looked up or dialled.
    private func pausedDownload() async throws -> PausedDownload {
        let path = sandbox.file("s").path
        let server = try LoopbackServer(.unix(path: path))
        let host = path.replacingOccurrences(of: "/", with: "%2F")
        return try await PausedDownload(of: content, at: received, from: server, in: sandbox) { reply in
            reply.entityTag(PausedDownload.tag)
        } request: { _ in
            URLRequest(url: URL(string: "http+unix://\(host)\(PausedDownload.path)") ?? URL(fileURLWithPath: "/"))
        }
    }

    /// Resumes from each blob with the original partial file; returns how many gave the whole file.
    private func tryAll(_ blobs: [Data], _ paused: PausedDownload) async throws -> Int {
        paused.answer(paused.sameResource)
        let partial = try paused.partial
        let bytes = try Data(contentsOf: partial)
        let session = paused.sandbox.session { $0.timeoutIntervalForRequest = 30 }
        var successes = 0
        for blob in blobs {
            try? FileManager.default.removeItem(at: paused.sandbox.partials)
            try FileManager.default.createDirectory(
                at: paused.sandbox.partials, withIntermediateDirectories: false)
            try bytes.write(to: partial)
            guard let (file, _) = try? await session.download(resumeFrom: blob) else { continue }
            successes += 1
            if try !content.matches(fileAt: file) {
                Issue.record("a wrong file from \(String(decoding: blob, as: UTF8.self))")
            }
        }
        session.invalidateAndCancel()
        // Stopping removes the server's socket from the sandbox.
        paused.server.stop()
        return successes
    }

    @Test("Unaltered resume data resumes the download")
    func unaltered() async throws {
        let paused = try await pausedDownload()
        #expect(try await tryAll([paused.blob], paused) == 1)
    }

    @Test("Resume data cut at any length gives an error or the right file")
    func cut() async throws {
        let paused = try await pausedDownload()
        let blob = paused.blob
        let successes = try await tryAll(blob.indices.map { blob.prefix($0) }, paused)
        // Only the bytes after the closing tag can be missing.
        #expect(successes <= 2)
    }

    /// - Parameter stride: Every byte with one mask, a sample of them with the other.
    @Test(
        "Resume data with an altered byte gives an error or the right file",
        arguments: [(0x01, 3), (0x20, 11)] as [(UInt8, Int)])
    func altered(mask: UInt8, stride: Int) async throws {
        let paused = try await pausedDownload()
        let blob = paused.blob
        let altered = Swift.stride(from: blob.startIndex, to: blob.endIndex, by: stride).map { index in
            var copy = blob
            copy[index] ^= mask
            return copy
        }
        _ = try await tryAll(altered, paused)
    }
}

/// One change to resume data.
struct Tampering: CustomStringConvertible, Sendable {
    let description: String
    let change: @Sendable (inout [String: Any]) -> Void

    init(_ description: String, _ change: @escaping @Sendable (inout [String: Any]) -> Void) {
        self.description = description
        self.change = change
    }

    /// Sets one entry; nil removes it.
    init(_ key: String, _ value: (any Sendable)?) {
        self.init("\(key): \(value.map { "\($0)".prefix(40) } ?? "none")") { $0[key] = value }
    }

    func apply(to blob: Data, format: PropertyListSerialization.PropertyListFormat = .xml) throws -> Data {
        var entries = try Self.entries(of: blob)
        change(&entries)
        return try PropertyListSerialization.data(fromPropertyList: entries, format: format, options: 0)
    }

    static func entries(of blob: Data) throws -> [String: Any] {
        try PropertyListSerialization.propertyList(from: blob, format: nil) as? [String: Any] ?? [:]
    }

    private static func request(_ key: String, _ value: (any Sendable)?, in both: [String]) -> Tampering {
        Tampering("\(both.joined(separator: " and ")): \(key): \(value.map { "\($0)" } ?? "none")") { entries in
            for name in both {
                var request = entries[name] as? [String: Any] ?? [:]
                request[key] = value
                entries[name] = request
            }
        }
    }

    static let refused: [Tampering] =
        [
            Tampering("version", 2), Tampering("version", 0), Tampering("version", -1), Tampering("version", nil),
            Tampering("version", "one"), Tampering("version", 1.5), Tampering("version", ["1"]),
            Tampering("partialName", nil), Tampering("partialName", ""), Tampering("partialName", "."),
            Tampering("partialName", ".."), Tampering("partialName", "/etc/passwd"),
            Tampering("partialName", "../victim"), Tampering("partialName", "../partials/../victim"),
            Tampering("partialName", "deeper/victim"), Tampering("partialName", "victim/"),
            Tampering("partialName", "line\nbreak"), Tampering("partialName", String(repeating: "n", count: 300)),
            Tampering("partialName", 7), Tampering("partialName", ["victim"]), Tampering("partialName", Data([1])),
            Tampering("bytesReceived", nil), Tampering("bytesReceived", -1), Tampering("bytesReceived", Int64.min),
            Tampering("bytesReceived", Int64.max), Tampering("bytesReceived", UInt64.max),
            Tampering("bytesReceived", "100000"), Tampering("bytesReceived", 0.5), Tampering("bytesReceived", true),
            Tampering("totalBytes", -1), Tampering("totalBytes", 0), Tampering("totalBytes", 99_999),
            Tampering("totalBytes", Int64.max), Tampering("totalBytes", "many"), Tampering("totalBytes", 300_000.5),
            Tampering("validator", "W/\"v1\""), Tampering("validator", "v1"), Tampering("validator", ""),
            Tampering("validator", "\"v1\"\r\nX-Evil: 1"), Tampering("validator", "\"v1\r\nX-Evil: 1\""),
            Tampering("validator", "\"v1\", \"v2\""), Tampering("validator", "*"), Tampering("validator", 1),
            Tampering("tailDigest", nil), Tampering("tailDigest", ""), Tampering("tailDigest", "abc"),
            Tampering("tailDigest", String(repeating: "g", count: 64)), Tampering("tailDigest", Data(count: 32)),
            Tampering("originalRequest", nil), Tampering("originalRequest", "http://127.0.0.1/"),
            Tampering("currentRequest", nil), Tampering("currentRequest", [1, 2]),
            Tampering("a megabyte of something else") { $0["padding"] = String(repeating: "x", count: 2 << 20) },
        ]
        + [["originalRequest", "currentRequest"], ["originalRequest"], ["currentRequest"]].flatMap { both in
            [
                request("method", "POST", in: both), request("method", "get", in: both),
                request("method", nil, in: both), request("method", "GET / HTTP/1.1\r\nX: y", in: both),
                request("url", nil, in: both), request("url", "", in: both), request("url", 80, in: both),
                request("headers", "none", in: both), request("headers", ["Accept": 1], in: both),
                request("timeoutInterval", "soon", in: both),
            ]
        }

    /// Changes that keep the meaning.
    static let accepted: [Tampering] = [
        Tampering("as it was") { _ in },
        Tampering("an unknown entry") { $0["comment"] = "kept by hand" },
        Tampering("the digest in capitals") { $0["tailDigest"] = ($0["tailDigest"] as? String)?.uppercased() },
        Tampering("totalBytes", nil),
    ]

    /// Changes that leave readable resume data which cannot be resumed.
    static let startingOver: [Tampering] = [
        Tampering("validator", nil), Tampering("bytesReceived", 0), Tampering("bytesReceived", 99_999),
        Tampering("bytesReceived", 100_001), Tampering("bytesReceived", 300_000),
        Tampering("tailDigest", String(repeating: "0", count: 64)),
        Tampering("partialName", "purl-00000000-0000-0000-0000-000000000000.partial"),
    ]
}

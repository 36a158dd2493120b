import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The format of resume data", .timeLimit(.minutes(5)))
struct ResumeDataFormatTests {
    @Test("Resume data is an XML property list with the documented keys")
    func keys() async throws {
        let paused = try await PausedDownload { reply in
            reply.entityTag(PausedDownload.tag)
        } request: { url in
            var request = URLRequest(url: url, timeoutInterval: 90)
            request.setValue("de", forHTTPHeaderField: "Accept-Language")
            return request
        }
        #expect(String(decoding: paused.blob, as: UTF8.self).hasPrefix("<?xml"))
        let entries = try Tampering.entries(of: paused.blob)
        #expect(
            entries.keys.sorted() == [
                "boot", "bytesReceived", "currentRequest", "originalRequest", "partialName", "state", "tailDigest",
                "totalBytes", "validator", "version",
            ])
        #expect(entries["version"] as? Int == 1)
        #expect(entries["state"] as? String == "stopped")
        #expect(entries["bytesReceived"] as? Int == 100_000)
        #expect(entries["totalBytes"] as? Int == 300_000)
        #expect(entries["validator"] as? String == "\"v1\"")
        #expect(entries["partialName"] as? String == paused.sandbox.partialNames.first)
        for key in ["originalRequest", "currentRequest"] {
            let request = try #require(entries[key] as? [String: Any])
            #expect(request.keys.sorted() == ["headers", "method", "timeoutInterval", "url"])
            #expect(request["url"] as? String == paused.server.url(PausedDownload.path).absoluteString)
            #expect(request["method"] as? String == "GET")
            #expect(request["headers"] as? [String: String] == ["Accept-Language": "de"])
            #expect(request["timeoutInterval"] as? Double == 90)
        }
    }

    @Test("The digest is the SHA-256 of the last 64 KiB")
    func digest() async throws {
        let paused = try await PausedDownload()
        let tail = paused.sandbox.file("tail")
        try paused.content.bytes((100_000 - 65_536)..<100_000).write(to: tail)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/sha256sum")
        process.arguments = [tail.path]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let digest = try Tampering.entries(of: paused.blob)["tailDigest"] as? String
        #expect(digest == text.split(separator: " ").first.map(String.init))
    }

    @Test("Without a length there is no total")
    func noLength() async throws {
        let paused = try await PausedDownload { $0.entityTag(PausedDownload.tag).chunked() }
        #expect(try Tampering.entries(of: paused.blob)["totalBytes"] == nil)
        paused.answer(paused.sameResource)
        let outcome = await paused.resume()
        #expect(outcome.file == paused.content.data)
        #expect(outcome.events.first == .resumed(at: 100_000, of: 300_000))
    }

    @Test("After a redirect both the original and the current request are recorded")
    func redirected() async throws {
        let server = try LoopbackServer()
        server.route("/start", .redirect(302, to: PausedDownload.path))
        let paused = try await PausedDownload(from: server) { reply in
            reply.entityTag(PausedDownload.tag)
        } request: { _ in
            URLRequest(url: server.url("/start"))
        }
        let entries = try Tampering.entries(of: paused.blob)
        let original = entries["originalRequest"] as? [String: Any]
        let current = entries["currentRequest"] as? [String: Any]
        #expect(original?["url"] as? String == server.url("/start").absoluteString)
        #expect(current?["url"] as? String == server.url(PausedDownload.path).absoluteString)
    }
}

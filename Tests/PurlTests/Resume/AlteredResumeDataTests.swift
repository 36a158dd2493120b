import Foundation
import Purl
import PurlTesting
import Testing

/// Resume data cut short anywhere, or with any of its bytes altered, ends in an error or in the right file.
@Suite(.timeLimit(.minutes(5))) struct AlteredResumeDataTests {
    private let content = GeneratedContent(size: 80_000, seed: 6)
    private let received = 70_000

    /// A Unix-domain socket: an altered host is never looked up or dialled.
    private func pausedDownload() async throws -> PausedDownload {
        let sandbox = try Sandbox()
        let path = sandbox.file("s").path
        let server = try LoopbackServer(.unix(path: path))
        let host = path.replacingOccurrences(of: "/", with: "%2F")
        return try await PausedDownload(of: content, at: received, from: server, in: sandbox) { reply in
            reply.entityTag(PausedDownload.tag)
        } request: { _ in
            URLRequest(url: URL(string: "http+unix://\(host)\(PausedDownload.path)") ?? URL(fileURLWithPath: "/"))
        }
    }

    /// Tries each blob, with the partial file as it was; returns how many gave the file.
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
        // It removes its socket from the sandbox.
        paused.server.stop()
        return successes
    }

    @Test func theBlobItselfWorks() async throws {
        let paused = try await pausedDownload()
        #expect(try await tryAll([paused.blob], paused) == 1)
    }

    @Test func cutShortAtEveryLength() async throws {
        let paused = try await pausedDownload()
        let blob = paused.blob
        let successes = try await tryAll(blob.indices.map { blob.prefix($0) }, paused)
        // Only what stands behind the closing tag can be done without.
        #expect(successes <= 2)
    }

    /// - Parameter stride: Every byte with one mask, a sample of them with the other.
    @Test(arguments: [(0x01, 1), (0x20, 5)] as [(UInt8, Int)]) func bytesAltered(mask: UInt8, stride: Int) async throws
    {
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

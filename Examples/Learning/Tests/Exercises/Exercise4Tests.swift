import Foundation
import Purl
import PurlTesting
import Testing

@testable import LearningExercises

@Suite("Exercise 4: a download that outlives the program", .timeLimit(.minutes(1)))
@MainActor
final class Exercise4Tests {
    private let server: LoopbackServer
    private let folder: URL
    private let content = GeneratedContent(size: 3000)

    init() throws {
        server = try LoopbackServer(.memory)
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("purl-exercise-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Starts a download as a new launch of the program would, and returns its last event.
    ///
    /// - Parameter isPaused: Whether it is paused when the first bytes are there.
    private func launch(_ url: URL, isPaused: Bool = false) async -> SavedDownloadEvent? {
        let configuration = Exercises.configuration(for: server)
        configuration.partialDownloadsDirectory = folder.appendingPathComponent("partials", isDirectory: true)
        let (events, continuation) = AsyncStream.makeStream(of: SavedDownloadEvent.self)
        let onEvent: (SavedDownloadEvent) -> Void = { continuation.yield($0) }
        let download: any SavedDownload =
            Exercises.areMine
            ? Exercise4(url: url, folder: folder, configuration: configuration, onEvent: onEvent)
            : Solution4(url: url, folder: folder, configuration: configuration, onEvent: onEvent)
        defer { download.close() }
        download.start()
        for await event in events {
            guard case .received = event else { return event }
            if isPaused { download.pause() }
        }
        return nil
    }

    private var reply: Reply { .generated(content).entityTag("\"v1\"") }

    private var requestedRanges: [String?] { server.requests.map { $0.fields["Range"] } }

    private var hasResumeData: Bool {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent("resume-data").path)
    }

    private var hasFile: Bool {
        (try? content.matches(fileAt: folder.appendingPathComponent("download"))) ?? false
    }

    @Test("The next launch resumes a download that was paused")
    func paused() async {
        let url = server.route("/film", reply.stalled(afterBytes: 1000, times: 1))
        #expect(
            await launch(url, isPaused: true) == .paused,
            "A download that is paused ends with the event paused.")
        #expect(
            await launch(url) == .complete,
            "The second launch completes the download.")
        #expect(
            requestedRanges == [nil, "bytes=1000-"],
            "The second launch requests the rest alone, from byte 1000 on.")
        #expect(
            hasFile,
            "The file “download” holds all that the server sent.")
    }

    @Test("The next launch resumes a download whose connection was lost")
    func lost() async {
        let url = server.route("/film", reply.cut(afterBytes: 1000, times: 1))
        #expect(
            await launch(url) == .failed,
            "A lost connection ends the first launch with the event failed.")
        #expect(
            await launch(url) == .complete,
            "The second launch completes the download.")
        #expect(
            requestedRanges == [nil, "bytes=1000-"],
            "The second launch requests the rest alone, from byte 1000 on: the error has resume data.")
        #expect(
            hasFile,
            "The file “download” holds all that the server sent.")
    }

    @Test("The resume data is stored as long as it is of use")
    func stored() async {
        let url = server.route("/film", reply.stalled(afterBytes: 1000, times: 1))
        _ = await launch(url, isPaused: true)
        #expect(
            hasResumeData,
            "A paused download leaves its resume data in the file “resume-data”.")
        _ = await launch(url)
        #expect(
            !hasResumeData,
            "The resume data of a complete download is of no use any more: its file is removed.")
    }
}

import Foundation
import Purl
import PurlTesting
import Relaunch
import Testing

@testable import LearningExercises

@Suite("Exercise 8: started again", .timeLimit(.minutes(1)))
struct Exercise8Tests {
    private let content = GeneratedContent(size: 1_000)

    /// What was there when the delegate said that it was idle.
    private struct Result {
        let file: Data?
        let requests: [ReceivedRequest]
    }

    private func startAgain() async throws -> Result {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("purl-exercise-\(UUID().uuidString)", isDirectory: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let server = try LoopbackServer(.memory)
        let served = Reply.generated(content).entityTag("\"v1\"")
        let url = server.route("/film", .sequence([served.stalled(afterBytes: 400), served]))
        let configuration = URLSessionConfiguration.background(withIdentifier: "exercise")
        configuration.connectionProxyDictionary = [:]
        configuration.connector = server.connector
        let sessions = folder.appendingPathComponent("sessions", isDirectory: true)
        try await KilledProcess.leave(url, after: 400, configuration, in: sessions)

        configuration.backgroundSessionsDirectory = sessions
        let place = folder.appendingPathComponent("film")
        let idle = AsyncStream<Void>.makeStream()
        let onIdle: @Sendable () -> Void = { idle.continuation.finish() }
        let delegate: any URLSessionDelegate =
            Exercises.areMine ? Exercise8(movingTo: place, onIdle) : Solution8(movingTo: place, onIdle)
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        for await _ in idle.stream {}
        let result = Result(file: try? Data(contentsOf: place), requests: server.requests)
        session.invalidateAndCancel()
        return result
    }

    @Test("The file is in its place when the delegate is idle")
    func file() async throws {
        let file = try await startAgain().file
        #expect(
            file == content.data,
            "When the session has no more calls to make, the downloaded file is in its place and whole.")
    }

    @Test("Only the rest is requested")
    func rest() async throws {
        let requests = try await startAgain().requests
        #expect(
            requests.map { $0.fields["Range"] } == [nil, "bytes=400-"],
            "The new process requests the rest alone, from byte 400 on.")
    }
}

import Foundation
import Purl
import PurlTesting
import Relaunch

extension Lesson {
    static let backgroundSessions = Lesson(
        number: 8, name: "BackgroundSessions", scenes: [.oneAtATime, .afterTheKill])
}

private let film = GeneratedContent(size: 1_000)

extension Scene {
    /// Begun twice, paused, continued, finished: one task.
    fileprivate static let oneAtATime = Scene("one-at-a-time", "One download at a time") { stage in
        let gate = ServerGate()
        let url = stage.server.route("/film", .generated(film).stalled(afterBytes: 400, until: gate))
        let downloads = stage.backgroundDownloads()
        downloads.register("films", stage.setUp)

        stage.turnClock(by: .milliseconds(10))
        downloads.begin(url)
        await stage.waitFor(.didWriteData)
        stage.turnClock(by: .milliseconds(10))
        downloads.begin(url)

        stage.turnClock(by: .milliseconds(10))
        downloads.pause()
        await stage.waitFor(.message(.suspend))
        gate.open()
        await stage.server.waitUntilIdle()
        stage.turnClock(by: .milliseconds(40))
        downloads.continue()
        await stage.waitFor(.didComplete)
        downloads.finish()
    }

    /// What the next process does after the first one was killed with 400 of 1000 bytes.
    static let afterTheKill = Scene("after-the-kill", "Killed, and started again") { stage in
        let eventsDelivered = ServerGate()
        let served = Reply.generated(film).entityTag("\"v1\"")
        let url = stage.server.route(
            "/film", .sequence([served.stalled(afterBytes: 400), served.delayed(until: eventsDelivered)]))
        let configuration = URLSessionConfiguration.background(withIdentifier: "org.purl.example.films")
        stage.setUp(configuration)
        // The first process is not in the picture.
        configuration.trace = nil
        let sessions = stage.folder.appendingPathComponent(".sessions", isDirectory: true)
        try await KilledProcess.leave(url, after: 400, configuration, in: sessions)

        let downloads = stage.backgroundDownloads()
        let handler = AsyncStream<Void>.makeStream()
        downloads.keep({ handler.continuation.finish() }, forSession: "films")
        downloads.register("films", stage.setUp)
        await stage.waitFor(.note("all events delivered"))
        await stage.waitFor(.requestEnd)
        stage.turnClock(by: .milliseconds(40))
        eventsDelivered.open()
        for await _ in handler.stream {}
        await stage.waitFor(.didComplete, times: 2)
        stage.trace.note("the system's handler is called")
        downloads.finish()
    }
}

extension Stage {
    func backgroundDownloads() -> BackgroundDownloads {
        BackgroundDownloads(documents: folder) { [self] received, total in
            print(total.map { "\(received) of \($0) bytes" } ?? "\(received) bytes")
        } onMessage: { [self] message in
            print(message)
            if message == "begin: found the existing download" || message == "all events delivered" {
                trace.note(message, in: .delegateQueue)
            }
        }
    }

    /// The unfinished files stay in the session's own folder.
    func setUp(_ configuration: URLSessionConfiguration) {
        _ = onStage(configuration)
        configuration.partialDownloadsDirectory = nil
    }
}

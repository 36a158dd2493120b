import Foundation
import Purl
import PurlTesting
import PurlTrace

extension Lesson {
    static let pauseAndResume = Lesson(
        number: 4, name: "PauseAndResume", scenes: [.pausedAndResumed, .pausedForGood, .pressedTwice])
}

extension Scene {
    /// A download that is paused by two presses, and resumed by a third one.
    fileprivate static let pausedAndResumed = Scene("paused-and-resumed", "Paused and resumed") { stage in
        let reply = Reply.generated(size: 3000).entityTag("\"v1\"")
        let url = stage.server.route("/film.mp4", reply.stalled(afterBytes: 1000, times: 1))
        let controller = controller(for: url, on: stage)

        controller.press()
        await stage.waitFor(.didWriteData)
        stage.turnClock(by: .milliseconds(40))
        controller.press()
        controller.press()
        await stage.waitFor(.didComplete)
        stage.turnClock(by: .seconds(60))
        controller.press()
        await stage.waitFor(.didComplete, times: 2)
        controller.close()
    }

    /// A download from a server that cannot send the rest of a file.
    fileprivate static let pausedForGood = Scene("paused-for-good", "A server that cannot resume") { stage in
        let reply = Reply.generated(size: 3000).acceptRanges("none")
        let url = stage.server.route("/film.mp4", reply.stalled(afterBytes: 1000, times: 1))
        let controller = controller(for: url, on: stage)

        controller.press()
        await stage.waitFor(.didWriteData)
        stage.turnClock(by: .milliseconds(40))
        controller.press()
        await stage.waitFor(.didComplete)
        stage.turnClock(by: .seconds(60))
        controller.press()
        await stage.waitFor(.didComplete, times: 2)
        controller.close()
    }

    /// The first attempt, and two presses before the handler has run.
    fileprivate static let pressedTwice = Scene("pressed-twice", "Pressed twice") { stage in
        let gate = ServerGate()
        let reply = Reply.generated(size: 3000).entityTag("\"v1\"")
        let url = stage.server.route("/film.mp4", reply.stalled(afterBytes: 1000, until: gate))
        let button = HastyButton(url: url, configuration: stage.configuration) { task, message in
            stage.print("task \(task): \(message)")
        }

        button.press()
        await stage.waitFor(.didWriteData)
        stage.turnClock(by: .milliseconds(40))
        // The main queue is busy from here on: what is to be called there waits behind the second press.
        button.press()
        block(stage) { $0.kind == .file(.stop) }
        block(stage) { $0.isQueued(.didComplete) }
        stage.turnClock(by: .milliseconds(40))
        button.press()
        block(stage, times: 2) { $0.isQueued(.didWriteData) }
        stage.turnClock(by: .milliseconds(40))
        await stage.waitFor(.didComplete)
        await stage.waitFor(.didWriteData, times: 2)
        stage.turnClock(by: .milliseconds(40))
        gate.open()
        await stage.waitFor(.didComplete, times: 2)
        button.close()
    }

    /// Keeps the main queue busy until an event has happened so many times.
    @MainActor
    private static func block(_ stage: Stage, times count: Int = 1, until condition: (TransferTrace.Event) -> Bool) {
        while stage.trace.events.count(where: condition) < count {}
    }

    @MainActor
    private static func controller(for url: URL, on stage: Stage) -> DownloadController {
        let controller = DownloadController(url: url, folder: stage.folder, configuration: stage.configuration)
        controller.onProgress = { received, total in
            stage.print("\(received) of \(total.map { "\($0)" } ?? "?") bytes")
        }
        controller.onMessage = { stage.print($0) }
        return controller
    }
}

extension TransferTrace.Event {
    fileprivate func isQueued(_ method: TransferTrace.DelegateMethod) -> Bool {
        if case .queued(let call) = kind { call.method == method } else { false }
    }
}

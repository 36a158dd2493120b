import Foundation
import Purl
import PurlTesting

extension Scene {
    /// A download that is redirected, paused, cut off and resumed.
    static let redirectedAndCut = Scene("film", "A download that is redirected, paused, cut off and resumed") { stage in
        let gate = ServerGate()
        let reel = stage.server.route(
            "/reel",
            .generated(size: 3000, seed: 7).entityTag("\"take-1\"").stalled(afterBytes: 1000, until: gate, times: 1))
        let url = stage.server.route("/film", .redirect(to: reel.absoluteString))
        let delegate = SceneDelegate()
        let session = URLSession(configuration: stage.configuration, delegate: delegate, delegateQueue: nil)
        let task = session.downloadTask(with: url)
        task.resume()
        await gate.reached()
        await stage.waitFor(.didWriteData)

        stage.turnClock(by: .milliseconds(800))
        task.suspend()
        await stage.waitFor(.held(.suspended))
        stage.turnClock(by: .seconds(5))
        task.resume()
        await stage.waitFor(.released(.suspended))

        stage.turnClock(by: .milliseconds(200))
        stage.server.closeConnections()
        await stage.waitFor(.didComplete)

        stage.turnClock(by: .seconds(1))
        session.downloadTask(withResumeData: delegate.resumeData ?? Data()).resume()
        await stage.waitFor(.didComplete, times: 2)
        session.finishTasksAndInvalidate()
    }

    /// A download into a file: each part of a transfer has something to do.
    static let journey = Scene("download", "A download") { stage in
        let gate = ServerGate()
        let url = stage.server.route("/film", .generated(size: 3000).stalled(afterBytes: 1000, until: gate))
        let session = URLSession(
            configuration: stage.configuration, delegate: SceneDelegate(), delegateQueue: nil)
        let task = session.downloadTask(with: url)
        stage.turnClock(by: .milliseconds(2))
        task.resume()
        await stage.waitFor(.didWriteData)
        stage.turnClock(by: .milliseconds(30))
        gate.open()
        await stage.waitFor(.didComplete)
        session.finishTasksAndInvalidate()
    }

    /// A download that is cut off, and whose resource changes before it is resumed.
    static let changedResource = Scene("changed-resource", "A resource that changes before the download is resumed") {
        stage in
        let gate = ServerGate()
        let url = stage.server.route(
            "/film",
            .sequence([
                .generated(size: 3000, seed: 1).entityTag("\"take-1\"").stalled(afterBytes: 1000, until: gate),
                .generated(size: 2000, seed: 2).entityTag("\"take-2\""),
            ]))
        let delegate = SceneDelegate()
        let session = URLSession(configuration: stage.configuration, delegate: delegate, delegateQueue: nil)
        session.downloadTask(with: url).resume()
        await stage.waitFor(.didWriteData)
        stage.server.closeConnections()
        await stage.waitFor(.didComplete)
        stage.turnClock(by: .seconds(60))
        session.downloadTask(withResumeData: delegate.resumeData ?? Data()).resume()
        await stage.waitFor(.didComplete, times: 2)
        session.finishTasksAndInvalidate()
    }
}

import Foundation
import Purl
import PurlTesting

extension Lesson {
    static let delegates = Lesson(number: 1, name: "Delegates", scenes: [.oneRequest])
}

extension Scene {
    /// One request, and the three calls that it makes.
    fileprivate static let oneRequest = Scene("one-request", "One request") { stage in
        let gate = ServerGate()
        let url = stage.server.route("/greeting", .text("hello, world").stalled(afterBytes: 5, until: gate))
        let listener = Listener { stage.print($0) }
        let session = URLSession(configuration: stage.configuration, delegate: listener, delegateQueue: nil)
        let task = session.dataTask(with: url)

        stage.turnClock(by: .milliseconds(10))
        task.resume()
        await stage.waitFor(.didReceiveData)
        stage.turnClock(by: .milliseconds(40))
        gate.open()
        await stage.waitFor(.didComplete)
        session.finishTasksAndInvalidate()
    }
}

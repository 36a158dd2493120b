import Foundation
import Purl
import PurlTesting

extension Lesson {
    static let failures = Lesson(number: 7, name: "Failures", scenes: [.lostConnection, .silence, .busyServer])
}

extension Scene {
    /// The connection is lost; a second later the download continues.
    fileprivate static let lostConnection = Scene("lost-connection", "A lost connection, and a second task") { stage in
        let loss = ServerGate()
        let text = Reply.text("Once upon a time there was a file.").entityTag("\"v1\"")
        let url = stage.server.route(
            "/story", .sequence([text.stalled(afterBytes: 16, until: loss).cut(afterBytes: 16), text]))
        let download = stage.stubbornDownload(url)

        download.start()
        await stage.waitFor(.didWriteData)
        stage.turnClock(by: .milliseconds(20))
        loss.open()
        await stage.waitFor(line: "The network connection was lost. Trying again in 1 s.")
        stage.turnClock(by: .seconds(1))
        await stage.waitFor(.didComplete, times: 2)
    }

    /// A server that falls silent. Each piece before that starts the time-out anew.
    fileprivate static let silence = Scene("silence", "A server that falls silent") { stage in
        let (second, never) = (ServerGate(), ServerGate())
        let url = stage.server.route(
            "/story",
            .text("Once upon a time there was a file.").entityTag("\"v1\"").stalled(afterBytes: 4, until: second)
                .stalled(afterBytes: 16, until: never))
        let configuration = stage.configuration
        configuration.timeoutIntervalForRequest = 60
        let download = stage.stubbornDownload(url, configuration)

        download.start()
        await stage.waitFor(.didWriteData)
        stage.turnClock(by: .seconds(40))
        second.open()
        await stage.waitFor(.didWriteData, times: 2)
        stage.turnClock(by: .seconds(60))
        await stage.waitFor(line: "The request timed out. Trying again in 1 s.")
        stage.turnClock(by: .milliseconds(500))
        stage.trace.note("cancels the download in its pause")
        download.cancel()
        await stage.waitFor(line: "cancelled")
    }

    /// The server answers, and has no time: that is a success of the task, and a failure of the download.
    fileprivate static let busyServer = Scene("busy-server", "A server that has no time") { stage in
        let url = stage.server.route("/story", .sequence([Reply.status(503), .text("Once upon a time.")]))
        let download = stage.stubbornDownload(url)

        download.start()
        await stage.waitFor(line: "The server has answered with 503. Trying again in 1 s.")
        stage.turnClock(by: .seconds(1))
        await stage.waitFor(.didComplete, times: 2)
    }
}

extension Stage {
    fileprivate func stubbornDownload(
        _ url: URL, _ configuration: URLSessionConfiguration? = nil
    ) -> StubbornDownload {
        let configuration = configuration ?? self.configuration
        configuration.urlCache = nil
        let download = StubbornDownload(
            url, to: folder.appendingPathComponent("story"), clock: clock, configuration: configuration)
        download.onMessage = { self.print($0) }
        return download
    }
}

import Foundation
import Purl
import PurlTesting
import Relaunch

/// A text that changes on the server, as in the lesson on ranges: both versions have the same length.
private enum Story {
    static let first = "The cat sat on the mat."
    static let second = "The dog lay on the rug."
    static let cuts = Array(1...first.utf8.count)
    /// Where the connection is cut when a part changes afterwards.
    static let middle = 11

    /// The first version to a byte, counted from 1, and the second from there on.
    static func changed(from place: Int) -> String { String(first.prefix(place - 1) + second.dropFirst(place - 1)) }
}

extension Knife {
    /// The button of lesson 4, pressed again when the connection was lost.
    static let resuming = Knife(
        "resuming", "A lost connection, and a second press", on: .lesson(4), cuts: hundreds(3000)
    ) { stage, cut in
        let loss = ServerGate()
        let whole = Reply.generated(size: 3000).entityTag("\"v1\"")
        let url = stage.server.route("/film.mp4", .sequence([whole.lost(after: cut, of: 3000, at: loss), whole]))
        let controller = DownloadController(url: url, folder: stage.folder, configuration: stage.configuration)
        controller.onMessage = { stage.print($0) }

        controller.press()
        if cut < 3000 {
            await stage.waitFor(bytes: cut, in: .didWriteData)
            stage.turnClock(by: .milliseconds(40))
            loss.open()
            await stage.waitFor(.didComplete)
            stage.turnClock(by: .seconds(60))
            controller.press()
        }
        await stage.waitFor(.didComplete, times: cut < 3000 ? 2 : 1)
        controller.close()
        let isRight = try GeneratedContent(size: 3000).matches(fileAt: stage.folder.appendingPathComponent("film.mp4"))
        return stage.outcome(isRight: isRight, of: 3000)
    }

    /// The stubborn download of lesson 7, which tries again by itself.
    static let failures = Knife("failures", "A lost connection, and a pause", on: .lesson(7), cuts: Array(1...34)) {
        stage, cut in
        let text = "Once upon a time there was a file."
        let loss = ServerGate()
        let whole = Reply.text(text).entityTag("\"v1\"")
        let url = stage.server.route("/story", .sequence([whole.lost(after: cut, of: 34, at: loss), whole]))
        let configuration = stage.configuration
        configuration.urlCache = nil
        let place = stage.folder.appendingPathComponent("story")
        let download = StubbornDownload(url, to: place, clock: stage.clock, configuration: configuration)
        download.onMessage = { stage.print($0) }

        download.start()
        if cut < 34 {
            await stage.waitFor(bytes: cut, in: .didWriteData)
            stage.turnClock(by: .milliseconds(20))
            loss.open()
            await stage.waitFor(line: "The network connection was lost. Trying again in 1 s.")
            stage.turnClock(by: .seconds(1))
        }
        await stage.waitFor(line: "saved")
        return stage.outcome(isRight: try String(contentsOf: place, encoding: .utf8) == text, of: 34)
    }

    /// The recipe of lesson 6: the file changes before the program is launched again.
    static let naiveFiles = Knife(
        "naive-files", "The recipe, and a file that changes", on: .lesson(6), cuts: Story.cuts
    ) { stage, cut in
        try await stage.changingFile(cut) { launch, url, file, configuration in
            NaiveResume(url, to: file, configuration: configuration).start()
            await stage.waitFor(.didComplete, times: launch)
        }
    }

    /// The recipe again: the connection is always cut at the same place, and the file changes from a byte on.
    static let naiveChange = Knife(
        "naive-change", "The recipe, and an end that changes", on: .lesson(6), .file,
        cuts: Story.cuts + [Story.cuts.count + 1]
    ) { stage, byte in
        try await stage.changingFile(Story.middle, to: Story.changed(from: byte)) { launch, url, file, configuration in
            NaiveResume(url, to: file, configuration: configuration).start()
            await stage.waitFor(.didComplete, times: launch)
        }
    }

    /// The same files, and the download that names their version.
    static let change = Knife(
        "change", "If-Range, and an end that changes", on: .lesson(6), .file,
        cuts: Story.cuts + [Story.cuts.count + 1]
    ) { stage, byte in
        try await stage.changingFile(Story.middle, to: Story.changed(from: byte)) { launch, url, file, configuration in
            let download = FileDownload(url, to: file, way: .handle, configuration: configuration)
            download.onMessage = { stage.print($0) }
            download.onEnd = { stage.print("launch over") }
            download.start()
            if launch == 1 {
                await stage.waitFor(line: "the connection was lost")
                download.close()
            }
            await stage.waitFor(line: "launch over", times: launch)
        }
    }

    /// The same cuts, and the download of lesson 6 that names the version of its bytes.
    static let files = Knife("files", "If-Range, and a file that changes", on: .lesson(6), cuts: Story.cuts) {
        stage, cut in
        try await stage.changingFile(cut) { launch, url, file, configuration in
            let download = FileDownload(url, to: file, way: .handle, configuration: configuration)
            download.onMessage = { stage.print($0) }
            download.onEnd = { stage.print("launch over") }
            download.start()
            if launch == 1, cut < Story.cuts.count {
                await stage.waitFor(line: "the connection was lost")
                download.close()
            }
            await stage.waitFor(line: "launch over", times: launch)
        }
    }

    /// The background session of lesson 8: the process is killed, and the next one finds what it has left.
    static let kill = Knife(
        "kill", "Killed at any byte, and started again", on: .lesson(8), .process,
        cuts: Array(stride(from: 40, through: 1000, by: 40))
    ) { stage, cut in
        let content = GeneratedContent(size: 1000)
        let served = Reply.generated(content).entityTag("\"v1\"")
        let isKilled = cut < 1000
        let answer = ServerGate()
        let last = served.delayed(until: answer)
        let url = stage.server.route(
            "/film", .sequence(isKilled ? [served.stalled(afterBytes: cut), last] : [last]))
        if isKilled {
            let configuration = URLSessionConfiguration.background(withIdentifier: "org.purl.example.films")
            stage.setUp(configuration)
            // The first process is not in the trace.
            configuration.trace = nil
            let sessions = stage.folder.appendingPathComponent(".sessions", isDirectory: true)
            try await KilledProcess.leave(url, after: Int64(cut), configuration, in: sessions)
        }
        let downloads = stage.backgroundDownloads()
        downloads.register("films", stage.setUp)
        if isKilled {
            await stage.waitFor(.note("all events delivered"))
        } else {
            downloads.begin(url)
        }
        await stage.waitFor(.requestEnd)
        stage.turnClock(by: .milliseconds(40))
        answer.open()
        await stage.waitFor(.didComplete, times: isKilled ? 2 : 1)
        downloads.finish()
        let saved = try FileManager.default.contentsOfDirectory(at: stage.folder, includingPropertiesForKeys: nil)
            .filter { Int($0.lastPathComponent) != nil }
        let isRight = try saved.count == 1 && content.matches(fileAt: saved[0])
        let result = isRight ? "The file is right" : "The file is wrong"
        let after = isKilled ? " after the kill" : ""
        return Outcome(
            words: "\(result): \(stage.receivedBytes) of 1000 bytes received\(after).", isRight: isRight)
    }

    /// An upload that is resumed where the server has it.
    static let uploads = Knife(
        "uploads", "An upload that is cut off and resumed", on: .article(library: "Purl", name: "Uploading"),
        cuts: hundreds(3000)
    ) { stage, cut in
        let target = UploadTarget()
        if cut < 3000 { target.fault(.connection(.cut), at: .offset(cut)) }
        let url = stage.server.route("/photos", .upload(to: target))
        let configuration = stage.configuration
        configuration.resumableUploads = .always
        let session = URLSession(configuration: configuration, delegate: SceneDelegate(), delegateQueue: nil)
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        let content = GeneratedContent(size: 3000)
        session.uploadTask(with: request, from: content.data).resume()
        await stage.waitFor(.didComplete)
        session.finishTasksAndInvalidate()
        let isRight = target.uploads.last.map { $0.content == content.data } ?? false
        let sent = stage.trace.events.reduce(0) { sum, event in
            if case .bodySent(let piece) = event.kind { sum + piece.count } else { sum }
        }
        return Outcome(
            words: "\(isRight ? "The server has all of it" : "The server does not have all of it"): "
                + "\(stage.requestsInWords), \(sent) bytes sent for 3000.",
            isRight: isRight)
    }

    /// 100, 200 and so on. A cut before the first byte has no event that it could wait for.
    private static func hundreds(_ last: Int) -> [Int] { Array(stride(from: 100, through: last, by: 100)) }
}

extension Reply {
    /// Waits at a gate after so many bytes, and loses the connection there; whole when that is the end.
    fileprivate func lost(after cut: Int, of count: Int, at gate: ServerGate) -> Reply {
        cut < count ? stalled(afterBytes: cut, until: gate).cut(afterBytes: cut) : self
    }
}

extension Stage {
    /// Two launches of a program; the connection of the first is cut, and the file changes in between.
    ///
    /// - Parameter changed: The file before the second launch.
    fileprivate func changingFile(
        _ cut: Int, to changed: String = Story.second,
        launch: (_ number: Int, URL, URL, URLSessionConfiguration) async throws -> Void
    ) async throws -> Knife.Outcome {
        let loss = ServerGate()
        let (first, second) = (
            Reply.text(Story.first).entityTag("\"v1\""),
            Reply.text(changed).entityTag(changed == Story.first ? "\"v1\"" : "\"v2\"")
        )
        let count = Story.first.utf8.count
        let url = server.route("/text", .sequence([first.lost(after: cut, of: count, at: loss), second]))
        let configuration = configuration
        configuration.urlCache = nil
        let file = folder.appendingPathComponent("text")
        let knife = Task { [self] in
            guard cut < count else { return }
            await waitFor(.didReceiveResponse)
            await waitFor(bytes: cut, in: .didReceiveData)
            turnClock(by: .milliseconds(20))
            loss.open()
        }
        try await launch(1, url, file, configuration)
        await knife.value
        turnClock(by: .seconds(1))
        trace.note("launched again")
        turnClock(by: .milliseconds(10))
        try await launch(2, url, file, configuration)
        let text = try String(contentsOf: file, encoding: .utf8)
        trace.note("the file: \(text)")
        print("the file: \(text)")
        let isRight = text == Story.first || text == changed
        return Knife.Outcome(
            words: "\(isRight ? "The file is of one version" : "The file is of no version"): “\(text)”",
            isRight: isRight)
    }

    /// What came of a download.
    fileprivate func outcome(isRight: Bool, of count: Int) -> Knife.Outcome {
        let result = isRight ? "The file is right" : "The file is wrong"
        return Knife.Outcome(
            words: "\(result): \(requestsInWords), \(receivedBytes) bytes received for \(count).", isRight: isRight)
    }

    fileprivate var requestsInWords: String { requestCount == 1 ? "1 request" : "\(requestCount) requests" }
}

import Foundation
import PurlTesting

/// Bodies of requests.
enum UploadScenarios {
    static let all = [
        Scenario("upload.data-task-body") { stage in
            let url = stage.server.route("/file", .text("ok"))
            await stage.load(stage.request(url, "POST", body: "a=b"))
            noteMessage(stage)
        },
        Scenario("upload.own-content-type") { stage in
            var request = stage.request(stage.server.route("/file", .text("ok")), "PUT", body: "{}")
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            await stage.load(request)
            noteMessage(stage)
        },
        Scenario("upload.data") { stage in
            await upload(stage) { session, request in session.uploadTask(with: request, from: Data("a=b".utf8)) }
        },
        Scenario("upload.empty-data") { stage in
            await upload(stage) { session, request in session.uploadTask(with: request, from: Data()) }
        },
        Scenario("upload.file") { stage in
            let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try Data("from a file".utf8).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            await upload(stage) { session, request in session.uploadTask(with: request, fromFile: file) }
        },
        Scenario("upload.missing-file") { stage in
            let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            await upload(stage) { session, request in session.uploadTask(with: request, fromFile: file) }
        },
        Scenario("upload.request-stream") { stage in
            await upload(stage) { session, request in
                var request = request
                request.httpBodyStream = InputStream(data: Data("from a stream".utf8))
                return session.dataTask(with: request)
            }
        },
        Scenario("upload.streamed") { stage in
            await upload(stage) { session, request in session.uploadTask(withStreamedRequest: request) }
        },
        Scenario("upload.async-data") { stage in
            let url = stage.server.route("/file", .text("ok"))
            let (data, response) = try await stage.session().upload(
                for: stage.request(url, "POST"), from: Data("a=b".utf8))
            stage.note("body", String(decoding: data, as: UTF8.self))
            stage.noteResponse(response)
            noteMessage(stage)
        },
        Scenario("upload.counts") { stage in
            let url = stage.server.route("/file", .text("ok"))
            let task = await stage.load(stage.request(url, "POST", body: "a=b"))
            stage.note("sent", "\(task.countOfBytesSent) of \(task.countOfBytesExpectedToSend)")
            stage.note("received", "\(task.countOfBytesReceived) of \(task.countOfBytesExpectedToReceive)")
        },
        Scenario("upload.large") { stage in
            let recorder = Recorder()
            let url = stage.server.route("/file", .text("ok"))
            let task = stage.session(recorder).uploadTask(
                with: stage.request(url, "POST"), from: Data(repeating: 65, count: 3_000_000))
            await stage.run(task, recorder)
            stage.note("arrived", stage.server.requests.map(\.body.count))
        },
        Scenario("upload.get-with-body") { stage in
            let url = stage.server.route("/file", .text("ok"))
            await stage.load(stage.request(url, "GET", body: "a=b"))
            noteMessage(stage)
        },
        Scenario("upload.redirected-stream") { stage in
            stage.server.route("/end", .text("end"))
            let url = stage.server.route("/start", .redirect(307, to: "/end"))
            let recorder = Recorder(stream: { InputStream(data: Data("streamed".utf8)) })
            let task = stage.session(recorder).uploadTask(withStreamedRequest: stage.request(url, "POST"))
            await stage.run(task, recorder)
            stage.noteBodies()
        },
    ]

    private static func upload(_ stage: Stage, _ make: (URLSession, URLRequest) -> URLSessionTask) async {
        let recorder = Recorder(stream: { InputStream(data: Data("asked for".utf8)) })
        let url = stage.server.route("/file", .text("ok"))
        await stage.run(make(stage.session(recorder), stage.request(url, "POST")), recorder)
        noteMessage(stage)
    }

    private static func noteMessage(_ stage: Stage) {
        stage.noteRequests()
        stage.noteBodies()
        stage.noteFields("Content-Length", "Content-Type", "Transfer-Encoding", "Expect")
    }
}

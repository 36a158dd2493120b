import Foundation
import PurlTesting

/// Downloads to files.
enum DownloadScenarios {
    static let all = [
        Scenario("download.delegate") { stage in
            let recorder = Recorder()
            let url = stage.server.route("/file", .text("hello"))
            await stage.run(stage.session(recorder).downloadTask(with: url), recorder)
        },
        Scenario("download.large") { stage in
            let recorder = Recorder()
            let url = stage.server.route("/file", .generated(size: 2_000_000))
            let task = stage.session(recorder).downloadTask(with: url)
            task.resume()
            await recorder.completion()
            stage.note("calls", recorder.calls.joined(separator: ", "))
            stage.note("bytes", recorder.byteCount)
        },
        Scenario("download.empty") { stage in
            let recorder = Recorder()
            let url = stage.server.route("/file", .text(""))
            await stage.run(stage.session(recorder).downloadTask(with: url), recorder)
        },
        Scenario("download.404") { stage in
            let recorder = Recorder()
            await stage.run(stage.session(recorder).downloadTask(with: stage.server.url("/nothing")), recorder)
        },
        Scenario("download.handler") { stage in
            let url = stage.server.route("/file", .text("hello"))
            await withCheckedContinuation { continuation in
                stage.session().downloadTask(with: url) { file, response, error in
                    let contents = file.flatMap { try? Data(contentsOf: $0) }
                    stage.note("file", contents.map { String(decoding: $0, as: UTF8.self) })
                    stage.noteResponse(response)
                    if let error { stage.noteError(error) }
                    continuation.resume()
                }.resume()
            }
        },
        Scenario("download.async") { stage in
            let url = stage.server.route("/file", .text("hello"))
            let (file, response) = try await stage.session().download(from: url)
            stage.note("file", String(decoding: try Data(contentsOf: file), as: UTF8.self))
            stage.noteResponse(response)
            try? FileManager.default.removeItem(at: file)
        },
        Scenario("download.refused") { stage in
            stage.server.stop()
            let recorder = Recorder()
            await stage.run(stage.session(recorder).downloadTask(with: stage.server.url("/file")), recorder)
        },
        Scenario("download.cut") { stage in
            let recorder = Recorder()
            let reply = Reply.generated(size: 100_000).entityTag("\"v1\"").cut(afterBytes: 50_000)
            let task = stage.session(recorder).downloadTask(with: stage.server.route("/file", reply))
            task.resume()
            await recorder.completion()
            let error = task.error.map { $0 as NSError }
            stage.note("error", error?.code)
            stage.note("has resume data", error?.userInfo["NSURLSessionDownloadTaskResumeData"] != nil)
        },
        Scenario("download.cancel-producing-resume-data") { stage in
            let gate = ServerGate()
            let reply = Reply.generated(size: 200_000).entityTag("\"v1\"").stalled(afterBytes: 100_000, until: gate)
            let recorder = Recorder()
            let task = stage.session(recorder).downloadTask(with: stage.server.route("/file", reply))
            task.resume()
            await recorder.firstBytes()
            await withCheckedContinuation { continuation in
                task.cancel { data in
                    stage.note("has resume data", data != nil)
                    continuation.resume()
                }
            }
        },
        Scenario("download.become") { stage in
            // By its number: the name is deprecated in FoundationNetworking.
            guard let becomeDownload = URLSession.ResponseDisposition(rawValue: 2) else { return }
            let recorder = Recorder(disposition: becomeDownload)
            let url = stage.server.route("/file", .text("hello"))
            stage.session(recorder).dataTask(with: url).resume()
            await recorder.completion()
            stage.note("calls", recorder.calls.joined(separator: ", "))
        },
        Scenario("download.cancelled") { stage in
            let gate = ServerGate()
            let recorder = Recorder()
            let reply = Reply.generated(size: 200_000).stalled(afterBytes: 100_000, until: gate)
            let task = stage.session(recorder).downloadTask(with: stage.server.route("/file", reply))
            task.resume()
            await gate.reached()
            task.cancel()
            await recorder.completion()
            stage.note("last", recorder.calls.last)
        },
    ]
}

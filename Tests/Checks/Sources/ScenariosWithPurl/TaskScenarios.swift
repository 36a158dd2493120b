import Foundation
import PurlTesting

/// The states of tasks and sessions.
enum TaskScenarios {
    static let all = [
        Scenario("task.states") { stage in
            let recorder = Recorder()
            let task = stage.session(recorder).dataTask(with: stage.server.route("/file", .text("x")))
            stage.note("made", task.state.rawValue)
            task.suspend()
            task.resume()
            stage.note("suspended twice, resumed once", task.state.rawValue)
            task.resume()
            stage.note("resumed", task.state.rawValue)
            await recorder.completion()
            stage.note("error", task.error)
        },
        Scenario("task.state-at-completion") { stage in
            await withCheckedContinuation { continuation in
                stage.session().dataTask(with: stage.server.route("/file", .text("x"))) { _, _, _ in
                    continuation.resume()
                }.resume()
            }
            stage.note("requests", stage.server.requests.count)
        },
        Scenario("task.counts") { stage in
            let task = await stage.load(stage.server.route("/file", .text("hello")))
            stage.note("received", "\(task.countOfBytesReceived) of \(task.countOfBytesExpectedToReceive)")
            stage.note("sent", "\(task.countOfBytesSent) of \(task.countOfBytesExpectedToSend)")
        },
        Scenario("task.counts-before") { stage in
            let task = stage.session().dataTask(with: stage.server.route("/file", .text("hello")))
            stage.note("received", "\(task.countOfBytesReceived) of \(task.countOfBytesExpectedToReceive)")
            stage.note("sent", "\(task.countOfBytesSent) of \(task.countOfBytesExpectedToSend)")
            stage.note("priority", task.priority)
            stage.note("description", task.taskDescription)
            stage.note("response", task.response)
        },
        Scenario("task.identifiers") { stage in
            let session = stage.session()
            let tasks = (0..<3).map { _ in session.dataTask(with: stage.server.url("/file")) }
            stage.note("identifiers", tasks.map(\.taskIdentifier))
            stage.note("of another session", stage.session().dataTask(with: stage.server.url("/file")).taskIdentifier)
        },
        Scenario("task.progress") { stage in
            let task = await stage.load(stage.server.route("/file", .text("hello")))
            stage.note("fraction", task.progress.fractionCompleted)
            stage.note("finished", task.progress.isFinished)
            stage.note("cancellable", task.progress.isCancellable)
            stage.note("pausable", task.progress.isPausable)
        },
        Scenario("task.kinds") { stage in
            let session = stage.session()
            let url = stage.server.url("/file")
            let upload = session.uploadTask(with: URLRequest(url: url), from: Data())
            stage.note("upload is data", upload as Any is URLSessionDataTask)
            stage.note("download is data", session.downloadTask(with: url) as Any is URLSessionDataTask)
        },
        Scenario("task.all-tasks") { stage in
            let session = stage.session()
            let url = stage.server.url("/file")
            let task = session.dataTask(with: url)
            let download = session.downloadTask(with: url)
            let upload = session.uploadTask(with: URLRequest(url: url), from: Data())
            await withCheckedContinuation { continuation in
                session.getTasksWithCompletionHandler { data, uploads, downloads in
                    stage.note("counts", "\(data.count) \(uploads.count) \(downloads.count)")
                    continuation.resume()
                }
            }
            await withCheckedContinuation { continuation in
                session.getAllTasks { tasks in
                    stage.note("all", tasks.count)
                    continuation.resume()
                }
            }
            _ = [task, download, upload]
        },
        Scenario("task.all-cancelled-tasks") { stage in
            let session = stage.session()
            let url = stage.server.route("/file", .text("x").stalled(at: .beforeHead))
            let (running, late) = (session.dataTask(with: url), session.dataTask(with: url))
            running.resume()
            session.invalidateAndCancel()
            late.resume()
            await withCheckedContinuation { continuation in
                session.getAllTasks { tasks in
                    stage.note("all", tasks.count)
                    continuation.resume()
                }
            }
        },
        Scenario("task.finish-and-invalidate") { stage in
            let recorder = Recorder()
            let session = stage.session(recorder)
            session.dataTask(with: stage.server.route("/file", .text("x"))).resume()
            session.finishTasksAndInvalidate()
            await recorder.invalidation()
            stage.note("calls", recorder.calls.joined(separator: ", "))
        },
        Scenario("task.invalidate-and-cancel") { stage in
            let gate = ServerGate()
            let recorder = Recorder()
            let session = stage.session(recorder)
            session.dataTask(with: stage.server.route("/file", .text("x").stalled(at: .beforeHead, until: gate)))
                .resume()
            await gate.reached()
            session.invalidateAndCancel()
            await recorder.completion()
            await recorder.invalidation()
            stage.note("calls", recorder.calls.joined(separator: ", "))
        },
        Scenario("task.invalidate-idle") { stage in
            let recorder = Recorder()
            stage.session(recorder).finishTasksAndInvalidate()
            await recorder.invalidation()
            stage.note("calls", recorder.calls.joined(separator: ", "))
        },
        Scenario("task.cancel-twice") { stage in
            let recorder = Recorder()
            let task = stage.session(recorder).dataTask(
                with: stage.server.route("/file", .text("x").stalled(at: .beforeHead)))
            task.resume()
            task.cancel()
            task.cancel()
            await recorder.completion()
            stage.note("last", recorder.calls.last)
        },
        Scenario("task.cancel-in-data") { stage in
            let recorder = Recorder(onData: { $0.cancel() })
            let url = stage.server.route("/file", .generated(size: 1_000_000).stalled(afterBytes: 100_000))
            stage.session(recorder).dataTask(with: url).resume()
            await recorder.completion()
            stage.note("calls", recorder.calls.joined(separator: ", "))
        },
        Scenario("task.connection-is-reused") { stage in
            let session = stage.session()
            let url = stage.server.route("/file", .text("x"))
            for _ in 0..<3 { _ = try await session.data(from: url) }
            stage.note("connections", stage.server.acceptedConnections)
        },
        Scenario("task.session-properties") { stage in
            let session = stage.session()
            stage.note("description", session.sessionDescription)
            stage.note("delegate", session.delegate == nil)
            stage.note("at once", session.delegateQueue.maxConcurrentOperationCount)
            stage.note("shared has a delegate", URLSession.shared.delegate != nil)
        },
    ]
}

import Foundation
import PurlTesting

/// What can go wrong, and how it is reported.
enum FailureScenarios {
    static let all =
        [
            Scenario("failure.refused") { stage in
                stage.server.stop()
                await stage.load(stage.server.url("/file"))
            },
            Scenario("failure.handler-refused") { stage in
                stage.server.stop()
                await LoadingScenarios.handled(stage, stage.server.url("/file"))
            },
            Scenario("failure.password-in-url") { stage in
                guard let url = URL(string: "nothing://me:secret@host.test/file") else { return }
                let recorder = Recorder()
                let task = stage.session(recorder).dataTask(with: url)
                task.resume()
                await recorder.completion()
                let information = (recorder.error as NSError?)?.userInfo
                stage.note("text", information?["NSErrorFailingURLStringKey"])
                stage.note("failing URL", information?[NSURLErrorFailingURLErrorKey])
            },
            Scenario("failure.request-timeout") { stage in
                let url = stage.server.route("/file", .text("x").stalled(at: .beforeHead))
                await stage.load(URLRequest(url: url, cachePolicy: .useProtocolCachePolicy, timeoutInterval: 1))
            },
            Scenario("failure.session-timeout") { stage in
                let url = stage.server.route("/file", .text("x").stalled(at: .beforeHead))
                let recorder = Recorder()
                let session = stage.session(recorder) { $0.timeoutIntervalForRequest = 1 }
                await stage.load(URLRequest(url: url), recorder, in: session)
            },
            Scenario("failure.stalled-body-timeout") { stage in
                let url = stage.server.route("/file", .generated(size: 100_000).stalled(afterBytes: 10))
                let recorder = Recorder()
                let task = stage.session(recorder).dataTask(
                    with: URLRequest(url: url, cachePolicy: .useProtocolCachePolicy, timeoutInterval: 1))
                task.resume()
                await recorder.completion()
                stage.note("last", recorder.calls.last)
            },
            Scenario("failure.reset") { stage in
                await stage.load(stage.server.route("/file", .text("x").reset(at: .beforeHead)))
            },
            Scenario("failure.closed-before-head") { stage in
                await stage.load(stage.server.route("/file", .text("x").cut(at: .beforeHead)))
            },
            Scenario("failure.closed-in-head") { stage in
                await stage.load(stage.server.route("/file", .text("x").cut(at: .midHead)))
            },
            Scenario("failure.truncated") { stage in
                await stage.load(stage.server.route("/file", .text("hello there").cut(afterBytes: 5)))
            },
            Scenario("failure.truncated-chunks") { stage in
                await stage.load(stage.server.route("/file", .text("hello there").chunked(size: 5).cut(afterBytes: 5)))
            },
            Scenario("failure.broken-chunks") { stage in
                let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n"
                await stage.load(stage.server.route("/file", .raw(text)))
            },
            Scenario("failure.garbage") { stage in
                await stage.load(stage.server.route("/file", .raw("this is not HTTP\r\n\r\n")))
            },
            Scenario("failure.contradicting-lengths") { stage in
                let text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"
                await stage.load(stage.server.route("/file", .raw(text)))
            },
            Scenario("failure.cancelled") { stage in
                let gate = ServerGate()
                let recorder = Recorder()
                let task = stage.session(recorder).dataTask(
                    with: stage.server.route("/file", .text("x").stalled(at: .beforeHead, until: gate)))
                task.resume()
                await gate.reached()
                task.cancel()
                await recorder.completion()
                stage.note("calls", recorder.calls.joined(separator: ", "))
                // FoundationNetworking calls the delegate first, and changes the state on another thread.
                while task.state == .canceling { await Task.yield() }
                stage.note("state", task.state.rawValue)
                if let error = recorder.error { stage.noteError(error) }
            },
            Scenario("failure.cancelled-before-resume") { stage in
                let recorder = Recorder()
                let task = stage.session(recorder).dataTask(with: stage.server.route("/file", .text("x")))
                task.cancel()
                await recorder.completion()
                stage.note("calls", recorder.calls.joined(separator: ", "))
            },
        ]
        + [
            ("no-such-host", "http://no-such-host.invalid/"), ("unsupported-scheme", "gopher://127.0.0.1/"),
            ("no-scheme", "/file"), ("no-host", "http:///file"), ("mailto", "mailto:a@b.c"),
            ("port-0", "http://127.0.0.1:0/"),
        ].map { name, address in
            Scenario("failure.\(name)") { stage in
                guard let url = URL(string: address) else { return stage.note("URL", nil) }
                await stage.load(url)
            }
        } + [
            Scenario("failure.no-url") { stage in
                var request = URLRequest(url: stage.server.url("/file"))
                request.url = nil
                await stage.load(request)
            },
            Scenario("failure.sentences") { stage in
                let recorder = Recorder()
                let task = stage.session(recorder).dataTask(with: stage.server.route("/file", .text("x")))
                task.cancel()
                await recorder.completion()
                stage.note("cancelled", task.error?.localizedDescription)
                for address in ["gopher://127.0.0.1/", "http://no-such-host.invalid/"] {
                    guard let url = URL(string: address) else { continue }
                    do {
                        _ = try await stage.session().data(from: url)
                    } catch {
                        stage.note(address, error.localizedDescription)
                    }
                }
            },
            Scenario("failure.https-to-plain-server") { stage in
                let url = URL(string: "https://127.0.0.1:\(stage.server.port)/") ?? stage.server.url
                await stage.load(url)
            },
            Scenario("failure.unsupported-scheme-handler") { stage in
                guard let url = URL(string: "gopher://127.0.0.1/") else { return }
                await LoadingScenarios.handled(stage, url)
            },
        ]
}

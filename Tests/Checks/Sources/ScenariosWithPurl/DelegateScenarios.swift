import Foundation
import PurlTesting

/// A task's own delegate beside the session's: which of the two receives a call.
enum DelegateScenarios {
    static let all = [
        Scenario("delegate.own") { stage in
            await divided(stage, own: Recorder()) { session, url, own in
                let task = session.dataTask(with: url)
                task.delegate = own
                task.resume()
            }
        },
        Scenario("delegate.own-without-methods") { stage in
            await divided(stage, own: Methodless()) { session, url, own in
                let task = session.dataTask(with: url)
                task.delegate = own
                task.resume()
            }
        },
        Scenario("delegate.own-handler") { stage in
            await divided(stage, own: Recorder()) { session, url, own in
                let task = session.dataTask(with: url) { _, _, _ in }
                task.delegate = own
                task.resume()
            }
        },
        Scenario("delegate.own-async") { stage in
            await divided(stage, own: Recorder()) { session, url, own in
                _ = try? await session.data(from: url, delegate: own)
            }
        },
        Scenario("delegate.own-async-without-methods") { stage in
            await divided(stage, own: Methodless()) { session, url, own in
                _ = try? await session.data(from: url, delegate: own)
            }
        },
        Scenario("delegate.own-async-upload") { stage in
            await divided(stage, own: Recorder()) { session, url, own in
                let request = stage.request(url, "PUT")
                _ = try? await session.upload(for: request, from: Data("hello".utf8), delegate: own)
            }
        },
    ]

    private final class Methodless: NSObject, URLSessionTaskDelegate, Sendable {}

    /// Writes which calls reached the task's own delegate, and which the session's, on the way through a redirect.
    private static func divided(
        _ stage: Stage, own: any URLSessionTaskDelegate,
        _ load: (URLSession, URL, any URLSessionTaskDelegate) async -> Void
    ) async {
        stage.server.route("/open", .text("inside"))
        let url = stage.server.route("/file", .redirect(307, to: "/open"))
        let recorder = Recorder()
        let session = stage.session(recorder)
        await load(session, url, own)
        session.finishTasksAndInvalidate()
        await recorder.invalidation()
        stage.note("own", ((own as? Recorder)?.calls ?? []).joined(separator: ", "))
        stage.note("the session's", recorder.calls.joined(separator: ", "))
    }
}

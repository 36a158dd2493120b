import Foundation
import Purl
import PurlTesting

extension Lesson {
    static let answers = Lesson(
        number: 2, name: "Answers", scenes: [.redirects, .statusIsNoError, .becomesDownload])
}

extension Scene {
    /// A redirect that is followed, and one that is not.
    fileprivate static let redirects = Scene("redirects", "Two redirects, of which one is followed") { stage in
        let url = stage.server.route("/old", .redirect(301, to: "/new"))
        stage.server.route("/new", .redirect(302, to: "http://elsewhere.test/"))
        let session = session(on: stage)
        let task = session.dataTask(with: url)

        stage.turnClock(by: .milliseconds(10))
        task.resume()
        await stage.waitFor(.didComplete)
        session.finishTasksAndInvalidate()
    }

    /// A response that is refused because of its status.
    fileprivate static let statusIsNoError = Scene("status-is-no-error", "A status is not an error") { stage in
        let url = stage.server.route("/gone", .text("There is no such page.").status(404))
        let session = session(on: stage)
        let task = session.dataTask(with: url)

        stage.turnClock(by: .milliseconds(10))
        task.resume()
        await stage.waitFor(.didComplete)
        session.finishTasksAndInvalidate()
    }

    /// A response that is stored in a file, after the question whether it may.
    fileprivate static let becomesDownload = Scene("becomes-download", "A data task becomes a download") { stage in
        let url = stage.server.route("/photo.png", .generated(size: 2000).contentType("image/png"))
        let (answers, questions) = AsyncStream.makeStream(of: (@Sendable (Bool) -> Void).self)
        let session = session(on: stage) { response, answer in
            stage.print("Store \(response.expectedContentLength) bytes?")
            questions.yield(answer)
        }
        let task = session.dataTask(with: url)

        stage.turnClock(by: .milliseconds(10))
        task.resume()
        await stage.waitFor(.didReceiveResponse)
        stage.turnClock(by: .milliseconds(500))
        for await answer in answers {
            answer(true)
            break
        }
        await stage.waitFor(.didComplete)
        session.finishTasksAndInvalidate()
    }

    @MainActor
    private static func session(
        on stage: Stage,
        mayStore: @escaping @Sendable (URLResponse, @escaping @Sendable (Bool) -> Void) -> Void = { $1(false) }
    ) -> URLSession {
        let chooser = Chooser(folder: stage.folder, mayStore: mayStore) { outcome in
            switch outcome {
            case .text(let text): stage.print("text: \(text)")
            case .file(let place): stage.print("stored as \(place.lastPathComponent)")
            case .refused(let status): stage.print("refused, status \(status)")
            case .failed(let reason): stage.print("failed: \(reason)")
            }
        }
        return URLSession(configuration: stage.configuration, delegate: chooser, delegateQueue: nil)
    }
}

import Foundation
import Purl
import PurlSimulation
import PurlTesting

extension Scenario {
    /// A session that becomes invalid at any moment, also within a call: each task completes once, and then the session does.
    static let invalidatedSession = Scenario("invalidated-session") { world in
        let dice = Dice(world.seed, "invalidated-session")
        let (first, second) = (world.server("first.example"), world.server("second.example"))
        let content = GeneratedContent(size: dice.number(100...40_000), seed: 6)
        second.route("/film", .generated(content).entityTag("\"v1\"").field("Cache-Control", "max-age=60"))
        first.route("/redirect", .redirect(to: second.url("/film").absoluteString))
        second.route(
            "/secret",
            .computed { request in
                request.fields["Authorization"] == nil
                    ? .status(401).field("WWW-Authenticate", "Basic realm=\"films\"") : .generated(content)
            })
        second.route("/files", .upload(to: UploadTarget()))
        if dice.oneIn(2) { world.chaos = .network }
        let cancels = dice.oneIn(2)
        // After so many calls about tasks, or after a while.
        let left = Notes(dice.oneIn(2) ? dice.index(below: 30) : Int.max)
        let keeper = Keeper(
            credential: URLCredential(user: "jo", password: "secret", persistence: .none),
            onCall: { session, task in
                let act = left.change { left -> Int in
                    left -= 1
                    return left
                }
                if act == 3 { task.cancel() }
                if act == 0 { if cancels { session.invalidateAndCancel() } else { session.finishTasksAndInvalidate() } }
            })
        let session = URLSession(configuration: .default, delegate: keeper, delegateQueue: nil)
        let handled = Notes<[Int: Int]>([:])
        var (tasks, withHandler): ([URLSessionTask], [Int]) = ([], [])
        for number in 0..<dice.number(2...8) {
            // It may have become invalid within a call of an earlier task.
            if left.value <= 0 { break }
            let task: URLSessionTask
            switch dice.index(below: 6) {
            case 0: task = session.downloadTask(with: first.url("/redirect"))
            case 1: task = session.dataTask(with: second.url("/secret"))
            case 2: task = session.dataTask(with: first.url("/redirect"))
            case 3:
                var request = URLRequest(url: second.url("/files"))
                request.httpMethod = "PUT"
                task = session.uploadTask(with: request, from: content.data)
            case 4: task = session.downloadTask(with: second.url("/film"))
            default:
                task = session.dataTask(with: first.url("/redirect")) { _, _, _ in
                    handled.change { $0[number, default: 0] += 1 }
                }
                withHandler.append(number)
                task.resume()
                continue
            }
            task.resume()
            tasks.append(task)
            if dice.oneIn(4) {
                let moment = dice.moment()
                Task {
                    try await world.sleep(for: moment)
                    task.cancel()
                }
            }
        }
        try await world.sleep(for: dice.moment())
        if cancels { session.invalidateAndCancel() } else { session.finishTasksAndInvalidate() }
        await keeper.invalidation()
        try await world.sleep(for: .seconds(1))
        for task in tasks {
            let seen = keeper.seen(task)
            try require(seen.completions == 1, "task \(task.taskIdentifier) completed \(seen.completions) times")
            try require(seen.problem == nil, "task \(task.taskIdentifier): \(seen.problem ?? "")")
            try require(task.state == .completed, "task \(task.taskIdentifier) is \(task.state)")
            if seen.error == nil, !(task is URLSessionUploadTask), task is URLSessionDataTask {
                try require(content.data == seen.bytes, "task \(task.taskIdentifier) has another body")
            }
            if let error = seen.error as? URLError, world.chaos.isEmpty {
                try require(error.code == .cancelled, "task \(task.taskIdentifier): \(error)")
            }
        }
        for number in withHandler {
            try require(handled.value[number] == 1, "handler \(number) was called \(handled.value[number] ?? 0) times")
        }
    }
}

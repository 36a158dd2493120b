import Foundation
import Purl
import PurlSimulation
import PurlTesting

extension Scenario {
    /// A download that is paused in the middle, and resumed from a server that has another version and does not care what the
    /// client has.
    static let replacedDownload = Scenario("replaced-download") { world in
        let dice = Dice(world.seed, "replaced-download")
        let sizes = dice.pick([(60_000, 60_000), (60_000, 90_000), (60_000, 900)])
        let versions = [sizes.0, sizes.1].map { GeneratedContent(size: $0, seed: UInt64(dice.index(below: 1 << 30))) }
        let server = world.server("mirror.example")
        // Slow enough to be paused.
        let first = Reply.generated(versions[0]).throttled(bytesPerSecond: 60_000)
        let second = Reply.generated(versions[1])
        let replies: [(Reply, Reply)] = [
            (first.entityTag("\"v1\""), second.entityTag("\"v2\"").ignoringIfRange()),
            (first.entityTag("\"v1\""), second.entityTag("\"v2\"")),
            (first.entityTag("\"v1\""), second.ignoringIfRange()),
            (first.entityTag("W/\"v1\""), second.entityTag("W/\"v2\"").ignoringIfRange()),
            (first.entityTag("W/\"v1\""), second.entityTag("W/\"v1\"").ignoringIfRange()),
            (first.ignoringIfRange(), second.ignoringIfRange()),
        ]
        let manner = dice.pick(replies)
        let url = server.route("/film", manner.0)
        if dice.oneIn(4) { world.chaos = .network }
        let place = world.computer("laptop").home.appendingPathComponent("film")
        let keeper = Keeper(place: { _ in place })
        let session = URLSession(configuration: .ephemeral, delegate: keeper, delegateQueue: nil)
        var task = session.downloadTask(with: url)
        task.resume()
        try await world.sleep(for: .milliseconds(dice.number(200...900)))
        var resumeData = await task.cancelByProducingResumeData()
        server.route("/film", manner.1)
        for _ in 0..<100 {
            task = resumeData.map { session.downloadTask(withResumeData: $0) } ?? session.downloadTask(with: url)
            task.resume()
            let seen = await keeper.completion(of: task)
            try require(seen.problem == nil, seen.problem ?? "")
            let status = (task.response as? HTTPURLResponse)?.statusCode
            if seen.error == nil {
                let file = try seen.file ?? { throw Unmet("no file and no error") }()
                if try versions.contains(where: { try $0.matches(fileAt: file) }) {
                    try Film.requireConditions(server.requests)
                    session.finishTasksAndInvalidate()
                    return await keeper.invalidation()
                }
                // The body of the response, which says that the server has no such range, is none of the file.
                try require(status == 416, "the file is of no version, and the status is \(status ?? 0)")
            }
            resumeData = (seen.error as? URLError)?.downloadTaskResumeData
            try await world.sleep(for: .milliseconds(500))
        }
        throw Unmet("a hundred attempts, and no file")
    }
}

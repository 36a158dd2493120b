import Foundation
import Purl
import PurlSimulation
import PurlTesting

extension Scenario {
    private static func requireWhole(_ target: UploadTarget, _ contents: [Data]) throws {
        let complete = target.uploads.filter { $0.state == .complete }
        try require(!complete.isEmpty, "no upload is complete")
        for upload in complete {
            try require(
                contents.contains(upload.content), "\(upload.content.count) bytes are of no version of the file")
        }
        for upload in target.uploads {
            try require(!upload.hasRepeatedContent, "upload \(upload.number) got bytes twice: \(upload.parts)")
        }
    }

    private static func request(_ url: URL) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        return request
    }

    /// An upload that is paused, on a network that breaks, while the file may change.
    static let resumedUpload = Scenario("resumed-upload") { world in
        let dice = Dice(world.seed, "resumed-upload")
        let server = world.server("mirror.example")
        let target = UploadTarget(progressInterval: dice.oneIn(2) ? 4_000 : nil)
        let url = server.route("/files", .upload(to: target))
        world.chaos = dice.oneIn(3) ? [] : .network
        let contents = (0..<2).map { GeneratedContent(size: dice.number(1_000...120_000), seed: UInt64($0)).data }
        let home = world.computer("laptop").home
        let file = home.appendingPathComponent("film")
        try contents[0].write(to: file)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.resumableUploads = .always
        let keeper = Keeper()
        let session = URLSession(configuration: configuration, delegate: keeper, delegateQueue: nil)
        var (resumeData, pauses): (Data?, Int) = (nil, dice.index(below: 4))
        let changes = dice.oneIn(4)
        for attempt in 0..<100 {
            if changes, attempt == 1 { try contents[1].write(to: file) }
            let task =
                resumeData.map { session.uploadTask(withResumeData: $0) }
                ?? session.uploadTask(with: request(url), fromFile: file)
            task.resume()
            var pause: Task<Data?, any Error>?
            if pauses > 0 {
                pauses -= 1
                let moment = dice.moment()
                pause = Task {
                    try await world.sleep(for: moment)
                    return await task.cancelByProducingResumeData()
                }
            }
            let seen = await keeper.completion(of: task)
            try require(seen.problem == nil, seen.problem ?? "")
            let paused = try await pause?.value
            if seen.error == nil, (task.response as? HTTPURLResponse)?.statusCode == 201 {
                session.finishTasksAndInvalidate()
                await keeper.invalidation()
                // On a network that loses nothing the server is asked for the offset, and nothing changes that meanwhile.
                if world.chaos.isEmpty {
                    let refused = server.requests.count { $0.status == 409 }
                    try require(refused == 0, "\(refused) parts began at a wrong offset")
                }
                return try requireWhole(target, contents)
            }
            resumeData = paused ?? (seen.error as? URLError)?.uploadTaskResumeData
            try await world.sleep(for: .seconds(1))
        }
        throw Unmet("a hundred attempts, and no upload")
    }

    /// An upload of a background session over kills and losses of power.
    static let relaunchedUpload = Scenario("relaunched-upload") { world in
        let dice = Dice(world.seed, "relaunched-upload")
        let server = world.server("mirror.example")
        let target = UploadTarget(progressInterval: 4_000)
        let url = server.route("/files", .upload(to: target))
        if dice.oneIn(2) { world.chaos = .network }
        let content = GeneratedContent(size: dice.number(1_000...120_000), seed: 3).data
        let laptop = world.computer("laptop")
        let file = laptop.home.appendingPathComponent("film")
        try content.write(to: file)
        let isDone = Notes(false)
        let surprises = dice.oneIn(2) ? Computer.Surprises(kills: 3) : .init(kills: 1, powerLosses: 2)
        try await laptop.run("sender", surprises: surprises) {
            if isDone.value { return }
            let keeper = Keeper()
            let configuration = URLSessionConfiguration.background(withIdentifier: "com.example.sender")
            configuration.resumableUploads = .always
            let session = URLSession(configuration: configuration, delegate: keeper, delegateQueue: nil)
            let restored = try await session.allTasks.newest(mayRepeat: surprises.powerLosses > 0)
            var task = restored as? URLSessionUploadTask ?? session.uploadTask(with: request(url), fromFile: file)
            for _ in 0..<100 {
                task.resume()
                let seen = await keeper.completion(of: task)
                try require(seen.problem == nil, seen.problem ?? "")
                if seen.error == nil, (task.response as? HTTPURLResponse)?.statusCode == 201 {
                    isDone.change { $0 = true }
                    session.finishTasksAndInvalidate()
                    await keeper.invalidation()
                    return
                }
                try await world.sleep(for: .seconds(1))
                let data = (seen.error as? URLError)?.uploadTaskResumeData
                task =
                    data.map { session.uploadTask(withResumeData: $0) }
                    ?? session.uploadTask(with: request(url), fromFile: file)
            }
            throw Unmet("a hundred attempts, and no upload")
        }
        try requireWhole(target, [content])
    }
}

import Foundation
import Purl
import PurlSimulation
import PurlTesting

extension Scenario {
    /// A download of a background session, whose program is killed three times or loses power.
    static let relaunchedDownload = Scenario("relaunched-download") { world in
        let dice = Dice(world.seed, "relaunched-download")
        let film = Film(dice)
        let (changes, losesPower) = (dice.oneIn(3), dice.oneIn(2))
        let server = world.server("mirror.example")
        let url = film.serve(on: server, in: world, dice, changes: changes)
        if dice.oneIn(2) { world.chaos = .network }
        let laptop = world.computer("laptop")
        let place = laptop.home.appendingPathComponent("film")
        let written = Notes(Int64(0))
        let surprises = losesPower ? Computer.Surprises(kills: 1, powerLosses: 2) : .init(kills: 3)
        try await laptop.run("player", surprises: surprises) {
            if FileManager.default.fileExists(atPath: place.path) { return }
            let keeper = Keeper(place: { _ in place }, onProgress: { total in written.change { $0 = total } })
            let configuration = URLSessionConfiguration.background(withIdentifier: "com.example.player")
            configuration.continuesDownloadsAfterRelaunch = true
            let session = URLSession(configuration: configuration, delegate: keeper, delegateQueue: nil)
            let restored = try await session.allTasks.newest(mayRepeat: losesPower) as? URLSessionDownloadTask
            let before = written.value
            func startOver() -> URLSessionDownloadTask {
                written.change { $0 = 0 }
                return session.downloadTask(with: url)
            }
            var task = restored ?? startOver()
            task.resume()
            for attempt in 0..<100 {
                let seen = await keeper.completion(of: task)
                try require(seen.problem == nil, seen.problem ?? "")
                if attempt == 0, restored != nil, !losesPower, !changes, film.manner.resumes, let offset = seen.offset {
                    try require(offset >= before, "\(before) bytes were written, and it resumed at \(offset)")
                }
                let status = (task.response as? HTTPURLResponse)?.statusCode
                if seen.error == nil, status == 200 || status == 206 {
                    session.finishTasksAndInvalidate()
                    await keeper.invalidation()
                    return
                }
                try? FileManager.default.removeItem(at: place)
                try await world.sleep(for: .seconds(1))
                let data = (seen.error as? URLError)?.downloadTaskResumeData
                task = data.map { session.downloadTask(withResumeData: $0) } ?? startOver()
                task.resume()
            }
            throw Unmet("a hundred attempts, and no file")
        }
        try film.requireOneVersion(place)
        try Film.requireConditions(server.requests)
    }

    /// Several downloads of a background session, each of which arrives once, over three relaunches.
    static let interruptedSession = Scenario("interrupted-session") { world in
        let dice = Dice(world.seed, "interrupted-session")
        let server = world.server("mirror.example")
        let contents = (0..<4).map { GeneratedContent(size: dice.number(1...20_000), seed: UInt64($0)) }
        let urls = contents.enumerated().map { number, content in
            server.route("/\(number)", .generated(content).entityTag("\"v1\""))
        }
        if dice.oneIn(2) { world.chaos = .network }
        let losesPower = dice.oneIn(2)
        let laptop = world.computer("laptop")
        let home = laptop.home
        let surprises = losesPower ? Computer.Surprises(powerLosses: 3) : .init(kills: 3)
        try await laptop.run("player", surprises: surprises) {
            let keeper = Keeper(place: {
                home.appendingPathComponent("file-\($0.originalRequest?.url?.lastPathComponent ?? "")")
            })
            let configuration = URLSessionConfiguration.background(withIdentifier: "com.example.player")
            configuration.continuesDownloadsAfterRelaunch = true
            let session = URLSession(configuration: configuration, delegate: keeper, delegateQueue: nil)
            var restored: [Int: [URLSessionTask]] = [:]
            for task in await session.allTasks {
                let url = task.originalRequest?.url
                let number =
                    try urls.firstIndex { $0 == url } ?? { throw Unmet("a task of \(url?.path ?? "nothing")") }()
                // It may have been killed before it had given the name.
                let name = task.taskDescription
                try require(name == nil || name == "\(number)", "\(number) has the name \(name ?? "")")
                restored[number, default: []].append(task)
            }
            var tasks: [Int: URLSessionTask] = [:]
            for number in urls.indices {
                tasks[number] = try restored[number]?.newest(mayRepeat: losesPower)
                let place = home.appendingPathComponent("file-\(number)")
                let isThere = FileManager.default.fileExists(atPath: place.path)
                if isThere, tasks[number] == nil { continue }
                let task = tasks[number] ?? session.downloadTask(with: urls[number])
                task.taskDescription = "\(number)"
                task.resume()
                tasks[number] = task
            }
            for (number, first) in tasks.sorted(by: { $0.key < $1.key }) {
                var task = first
                for _ in 0..<100 {
                    let seen = await keeper.completion(of: task)
                    try require(seen.problem == nil, seen.problem ?? "")
                    // A file that was complete before the kill is answered by a 416, which gives none.
                    let place = home.appendingPathComponent("file-\(number)")
                    if seen.error == nil, FileManager.default.fileExists(atPath: place.path) { break }
                    try await world.sleep(for: .seconds(1))
                    let data = (seen.error as? URLError)?.downloadTaskResumeData
                    task =
                        data.map { session.downloadTask(withResumeData: $0) }
                        ?? session.downloadTask(with: urls[number])
                    task.taskDescription = "\(number)"
                    task.resume()
                }
            }
            session.finishTasksAndInvalidate()
            await keeper.invalidation()
        }
        for (number, content) in contents.enumerated() {
            let file = home.appendingPathComponent("file-\(number)")
            try require((try? content.matches(fileAt: file)) == true, "file \(number) is not what the server has")
        }
        try Film.requireConditions(server.requests)
    }
}

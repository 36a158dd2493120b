import Foundation
import Purl
import PurlSimulation

extension Scenario {
    /// A download that is paused again and again, on a network that breaks, while the server replaces the file.
    static let pausedDownload = Scenario("paused-download") { world in
        let dice = Dice(world.seed, "paused-download")
        let film = Film(dice)
        let changes = dice.oneIn(2)
        let server = world.server("mirror.example")
        let url = film.serve(on: server, in: world, dice, changes: changes)
        if !dice.oneIn(3) { world.chaos = .network }
        let place = world.computer("laptop").home.appendingPathComponent("film")
        let keeper = Keeper(place: { _ in place })
        let session = URLSession(configuration: .ephemeral, delegate: keeper, delegateQueue: nil)
        var (resumeData, pauses, before): (Data?, Int, Int64) = (nil, dice.index(below: 5), 0)
        for _ in 0..<100 {
            let task = resumeData.map { session.downloadTask(withResumeData: $0) } ?? session.downloadTask(with: url)
            task.resume()
            var pause: Task<Data?, any Error>?
            if pauses > 0 {
                pauses -= 1
                let (moment, suspends) = (dice.moment(), dice.oneIn(3))
                pause = Task {
                    try await world.sleep(for: moment)
                    if suspends {
                        task.suspend()
                        try await world.sleep(for: moment)
                        task.resume()
                    }
                    return await task.cancelByProducingResumeData()
                }
            }
            let seen = await keeper.completion(of: task)
            let paused = try await pause?.value
            try require(seen.problem == nil, seen.problem ?? "")
            if resumeData != nil, film.manner.resumes, !changes, let offset = seen.offset {
                try require(offset >= before, "\(before) bytes were written, and it resumed at \(offset)")
            }
            if seen.error == nil {
                let file = try seen.file ?? { throw Unmet("no file and no error") }()
                let status = (task.response as? HTTPURLResponse)?.statusCode
                // A server that refuses every range is believed where the request has none.
                if status == 200 || status == 206 {
                    try film.requireOneVersion(file)
                    try Film.requireConditions(server.requests)
                    session.finishTasksAndInvalidate()
                    await keeper.invalidation()
                    return
                }
                try require(status == 416, "the status is \(status ?? 0)")
                resumeData = nil
                continue
            }
            try require(seen.file == nil, "a file and an error")
            let fromError = (seen.error as? URLError)?.downloadTaskResumeData
            if film.manner.resumes, seen.written > 0 {
                try require(paused ?? fromError != nil, "\(seen.written) bytes are there, and no resume data")
            }
            before = paused ?? fromError == nil ? 0 : seen.written
            resumeData = paused ?? fromError
            try await world.sleep(for: .milliseconds(500))
        }
        throw Unmet("a hundred attempts, and no file")
    }
}

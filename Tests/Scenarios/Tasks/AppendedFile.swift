import Foundation
import Purl
import PurlSimulation

extension Scenario {
    /// Runs a task that writes to the file until that is complete.
    ///
    /// - Parameter dice: Now and then something damages one of the last bytes of what is there; `nil` for never.
    private static func append(
        _ url: URL, to file: URL, in world: World, every pause: Duration, damaging dice: Dice? = nil
    ) async throws {
        let keeper = Keeper()
        let session = URLSession(configuration: .ephemeral, delegate: keeper, delegateQueue: nil)
        // Another program may have the file locked while its connection is silent, each time for a minute.
        for _ in 0..<2_000 {
            let task = session.dataTask(with: url, writingTo: FileHandleSink(fileAt: file))
            task.resume()
            let seen = await keeper.completion(of: task)
            try require(seen.problem == nil, seen.problem ?? "")
            // `nil` is a file that was complete without a request.
            let status = (task.response as? HTTPURLResponse)?.statusCode ?? 200
            if seen.error == nil, status == 200 || status == 206 {
                session.finishTasksAndInvalidate()
                return await keeper.invalidation()
            }
            // A task that has ended knows its last bytes by their digest, if it has read them at all, which takes a response, and
            // its record could be written.
            if let dice, task.response != nil, world.chaos.isDisjoint(with: .disk), dice.oneIn(2),
                var data = try? Data(contentsOf: file),
                !data.isEmpty
            {
                let place = data.count - dice.number(1...min(data.count, 1_000))
                world.note("byte \(place) of the file is damaged")
                data[place] = ~data[place]
                try data.write(to: file)
            }
            try await world.sleep(for: pause)
        }
        throw Unmet("two thousand attempts, and no file")
    }

    /// A data task that appends to a file, over kills and losses of power.
    static let appendedFile = Scenario("appended-file") { world in
        let dice = Dice(world.seed, "appended-file")
        let film = Film(dice)
        let server = world.server("mirror.example")
        let url = film.serve(on: server, in: world, dice, changes: dice.oneIn(2))
        world.chaos = dice.pick([[], .network, .network, .all])
        let laptop = world.computer("laptop")
        let file = laptop.home.appendingPathComponent("film")
        let isComplete = Notes(false)
        let surprises = dice.oneIn(2) ? Computer.Surprises(kills: 3) : .init(kills: 1, powerLosses: 3)
        try await laptop.run("player", surprises: surprises) {
            if isComplete.value { return try film.requireOneVersion(file) }
            try await append(url, to: file, in: world, every: .seconds(1), damaging: dice)
            try film.requireOneVersion(file)
            isComplete.change { $0 = true }
            // A loss of power may still come.
            for _ in 0..<dice.index(below: 40) { try await world.sleep(for: .milliseconds(1)) }
        }
        try film.requireOneVersion(file)
        try Film.requireConditions(server.requests)
    }

    /// Two programs that want the same file at the same time.
    static let sharedFile = Scenario("shared-file") { world in
        let dice = Dice(world.seed, "shared-file")
        let film = Film(dice)
        let server = world.server("mirror.example")
        let url = film.serve(on: server, in: world, dice, changes: dice.oneIn(2))
        if dice.oneIn(2) { world.chaos = .network }
        let laptop = world.computer("laptop")
        let file = laptop.home.appendingPathComponent("film")
        let kills = dice.index(below: 3)
        async let first: Void = laptop.run("first", surprises: .init(kills: kills)) {
            try await append(url, to: file, in: world, every: .milliseconds(300))
        }
        async let second: Void = laptop.run("second", surprises: .init(kills: kills)) {
            try await append(url, to: file, in: world, every: .milliseconds(170))
        }
        _ = try await (first, second)
        try film.requireOneVersion(file)
        try Film.requireConditions(server.requests)
    }
}

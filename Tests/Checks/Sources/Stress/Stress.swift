import Census
import Foundation
import Purl

/// Threads that make all calls to the same sessions and tasks for some seconds; then everything has to finish.
struct Stress: Sendable {
    /// How many seconds everything may take to finish, even on a busy machine.
    private static let patience = 60.0

    let options: Options

    /// Runs the threads, and prints what was done and what went wrong.
    ///
    /// - Returns: Whether nothing went wrong.
    func run() async -> Bool {
        // What is created once and kept, such as the network thread, is no leak. The first run loop of a program also
        // creates the main thread's, with its descriptors, and not every first round needs one.
        _ = RunLoop.main
        _ = await round(seconds: min(2, options.seconds), seed: options.seed &+ 1)
        let before = await Census.settled(after: .now)
        let ledger = await round(seconds: options.seconds, seed: options.seed)
        let after = await Census.settled(after: before)
        for line in ledger.summary { print(line) }
        print("before: \(before); after: \(after)")
        if after.descriptors > before.descriptors || after.threads > before.threads {
            ledger.note("descriptors or threads are left")
        }
        for (violation, count) in ledger.violations.sorted(by: { $0.key < $1.key }) {
            print("✘ \(count) × \(violation)")
        }
        let isClean = ledger.violations.isEmpty
        print("\(options.threads) threads, seed \(options.seed): \(isClean ? "nothing wrong" : "FAILED")")
        return isClean
    }

    private func round(seconds: Double, seed: UInt64) async -> Ledger {
        let ledger = Ledger()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("purl-stress-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var dice = Dice(seed: seed)
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let arena = try Arena(ledger, folder, &dice)
            let races = StateRaces(ledger: ledger, folder: folder)
            let racesDice = dice.offspring()
            async let raced: Void = races.run(until: .now + .seconds(seconds), racesDice)
            await call(arena, seconds, &dice)
            await raced
            await end(arena)
            await checkRemains(ledger)
        } catch {
            ledger.note("could not begin: \(error)")
        }
        return ledger
    }

    /// A thread's work, which its own dice choose.
    private func call(_ arena: Arena, _ seconds: Double, _ dice: inout Dice) async {
        let deadline = ContinuousClock.now + .seconds(seconds)
        await Self.onThreads(options.threads, &dice) { dice in
            var calls: [String: Int] = [:]
            while ContinuousClock.now < deadline, let act = dice.pick(Act.all) {
                act.perform(arena, &dice)
                calls[act.name, default: 0] += 1
            }
            arena.ledger.count(calls)
        }
    }

    /// Does the same work on so many threads, each with dice of its own; returns when all have done it.
    static func onThreads(
        _ count: Int, _ dice: inout Dice, _ work: @escaping @Sendable (inout Dice) -> Void
    ) async {
        let threads = DispatchGroup()
        for _ in 0..<count {
            let own = dice.offspring()
            threads.enter()
            Thread {
                var dice = own
                work(&dice)
                threads.leave()
            }.start()
        }
        await withCheckedContinuation { continuation in
            threads.notify(queue: .global()) { continuation.resume() }
        }
    }

    /// Cancels everything, and waits until it has finished.
    private func end(_ arena: Arena) async {
        let ledger = arena.ledger
        arena.close()
        let deadline = ContinuousClock.now + .seconds(Self.patience)
        func isOver() -> Bool {
            ledger.openSessions == 0 && ledger.openCount == 0 && ledger.openQuestions.isEmpty
                && ledger.refusedTasks.allSatisfy { $0.state == .completed }
        }
        while !isOver(), ContinuousClock.now < deadline {
            arena.invalidateAll()
            await Self.pause()
        }
        if !isOver() {
            ledger.note("\(ledger.openSessions) sessions are not invalid")
            for (name, count) in ledger.openQuestions { ledger.note("\(name) was not answered \(count) times") }
            for task in ledger.openTasks { ledger.note("not over: \(task)") }
            for task in ledger.refusedTasks where task.state != .completed { ledger.note("not over: \(task)") }
        }
        arena.letGo()
    }

    /// Waits until every session and task is released.
    private func checkRemains(_ ledger: Ledger) async {
        let deadline = ContinuousClock.now + .seconds(Self.patience)
        while !ledger.remains.isEmpty, ContinuousClock.now < deadline { await Self.pause() }
        for name in ledger.remains { ledger.note("still there: \(name)") }
    }

    /// A tenth of a second.
    static func pause() async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.1) { continuation.resume() }
        }
    }
}

/// Random choices: the same seed always gives the same numbers (SplitMix64).
struct Dice: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
        // So that seeds that differ by one give unrelated numbers.
        state = next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// `true` once in so many calls.
    mutating func once(in count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }

    mutating func below(_ count: Int) -> Int { Int.random(in: 0..<max(1, count), using: &self) }

    mutating func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &self) }

    /// New dice, seeded by these.
    mutating func offspring() -> Dice { Dice(seed: next()) }
}

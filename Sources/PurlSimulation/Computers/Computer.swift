public import Foundation

/// A simulated computer: an address, a home folder and a disk, which outlast its programs.
public final class Computer: Sendable {
    /// How a run of a program has ended.
    private enum Ending<Value: Sendable>: Sendable {
        case returned(Result<Value, any Error>)
        case surprised
    }

    /// What takes a program by surprise.
    public struct Surprises: Sendable, Hashable {
        /// How often the program is killed at most.
        public var kills: Int
        /// How often the computer loses power at most, with all that was not synchronised.
        public var powerLosses: Int

        /// Surprises at moments that the seed draws: mostly early, when something has just begun.
        ///
        /// - Parameters:
        ///   - kills: How often the program is killed at most.
        ///   - powerLosses: How often the computer loses power at most.
        public init(kills: Int = 0, powerLosses: Int = 0) {
            self.kills = kills
            self.powerLosses = powerLosses
        }

        /// None.
        public static let none = Surprises()
    }

    /// The computer's name, which stands in the story.
    public let name: String
    let address: String
    let disk: Disk

    private let scheduler: Scheduler
    private let log: Log
    private let network: SimulatedNetwork
    private let root: URL
    // Used on the thread of the simulation alone.
    nonisolated(unsafe) private var hasFolder = false
    nonisolated(unsafe) private var random: SeededRandom
    nonisolated(unsafe) private var running: [Run] = []

    init(_ name: String, number: Int, _ scheduler: Scheduler, _ network: SimulatedNetwork, _ log: Log) {
        self.name = name
        self.scheduler = scheduler
        self.network = network
        self.log = log
        address = "10.1.\(number / 250).\(number % 250 + 1)"
        random = SeededRandom(scheduler.seed, stream: 1_000 + UInt64(number))
        disk = Disk(SeededRandom(scheduler.seed, stream: 2_000 + UInt64(number)))
        root = FileManager.default.temporaryDirectory
            .appendingPathComponent("purl-simulation-\(UUID().uuidString)", isDirectory: true)
    }

    /// The home folder, a real one that is removed when the simulation ends.
    ///
    /// Purl's files in it pass the simulated disk. What the program does to files by itself is done at once and for good.
    public var home: URL {
        if !hasFolder {
            hasFolder = true
            // Where it cannot be made, the first file in it fails with the reason.
            try? FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        }
        return root
    }

    /// Runs a program as a process of its own, with its own shared session, cookies and caches, and returns when it has
    /// returned. What it has left running stops, and its sockets are closed.
    ///
    /// When it is killed, it is begun again: what was in memory is gone, the files are there, their locks are free.
    ///
    /// - Parameters:
    ///   - program: The program's name, under which its files are kept.
    ///   - surprises: What takes it by surprise.
    ///   - body: The program.
    /// - Returns: What the program has returned.
    public func run<Value: Sendable>(
        _ program: String, surprises: Surprises = .none, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        var left = surprises
        while true {
            let process = SimulatedProcess(program, on: self, scheduler, network)
            log.add(process, "starts")
            let losesPower =
                left.kills + left.powerLosses > 0
                && random.index(below: left.kills + left.powerLosses) >= left.kills
            let moment = left.kills + left.powerLosses > 0 ? drawMoment() : Int.max
            let ending: Ending<Value> = await withUnsafeContinuation { continuation in
                let run = Run(process) { continuation.resume(returning: .surprised) }
                running.append(run)
                scheduler.within(process) {
                    _ = Task {
                        let result: Result<Value, any Error>
                        do { result = .success(try await body()) } catch { result = .failure(error) }
                        if run.claimEnd() { continuation.resume(returning: .returned(result)) }
                    }
                }
                process.end(afterJobs: moment) { [self] in
                    log.add(process, losesPower ? "loses power" : "is killed")
                    if losesPower { losePower() } else { run.kill() }
                }
            }
            running.removeAll { $0.process === process }
            switch ending {
            case .returned(let result):
                log.add(process, "ends")
                process.exit()
                return try result.get()
            case .surprised:
                // The power may have gone in another program's run.
                if process.hasReached(moment) {
                    if losesPower { left.powerLosses -= 1 } else { left.kills -= 1 }
                }
            }
        }
    }

    /// Ends every program, and takes back what was not synchronised.
    private func losePower() {
        for run in running { run.kill() }
        disk.losePower()
    }

    /// After how many of its jobs a process ends: any order of magnitude is as likely as another.
    private func drawMoment() -> Int {
        let magnitude = random.index(below: 11)
        return 1 + random.index(below: 1 << magnitude)
    }

    func removeFiles() {
        guard hasFolder else { return }
        try? FileManager.default.removeItem(at: root)
    }
}

/// A process on a computer, until it returns or is killed.
private final class Run: @unchecked Sendable {
    let process: SimulatedProcess
    private let wasKilled: () -> Void
    // Used on the thread of the simulation alone.
    private var isOver = false

    init(_ process: SimulatedProcess, wasKilled: @escaping () -> Void) {
        self.process = process
        self.wasKilled = wasKilled
    }

    /// True the first time.
    func claimEnd() -> Bool {
        defer { isOver = true }
        return !isOver
    }

    func kill() {
        guard claimEnd() else { return }
        process.exit()
        wasKilled()
    }
}

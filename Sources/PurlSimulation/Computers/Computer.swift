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

        /// Surprises at moments that the seed draws: between any two steps, or at any change of the disk, mostly early, when
        /// something has just begun, or when a file is renamed, synchronised or removed.
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
        log.hide(root.path, as: "/\(name)")
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
    /// - Throws: What the program has thrown; `CancellationError` when the simulation is over.
    public func run<Value: Sendable>(
        _ program: String, surprises: Surprises = .none, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard scheduler.caller != nil else { throw CancellationError() }
        // More of them than any simulation has steps is as good as always.
        var left = Surprises(
            kills: max(0, min(surprises.kills, 1 << 40)), powerLosses: max(0, min(surprises.powerLosses, 1 << 40)))
        left.kills += network.faults.drawEnds(.kills)
        left.powerLosses += network.faults.drawEnds(.powerLoss)
        while true {
            let process = SimulatedProcess(program, on: self, scheduler, network)
            log.add(process, "starts")
            let count = left.kills + left.powerLosses
            let losesPower = count > 0 && random.index(below: count) >= left.kills
            let ending: Ending<Value> = await withUnsafeContinuation { continuation in
                let run = Run(process) { continuation.resume(returning: .surprised) }
                running.append(run)
                scheduler.within(process) {
                    _ = Task {
                        let result: Result<Value, any Error>
                        do { result = .success(try await body()) } catch { result = .failure(error) }
                        // What a process returns that is being killed nobody learns.
                        guard !process.isDying, run.claimEnd() else { return }
                        process.cancelSurprise()
                        continuation.resume(returning: .returned(result))
                    }
                }
                guard count > 0 else { return }
                process.surprise(at: drawMoment()) { [network] in
                    network.faults.happens(process, losesPower ? "the power goes" : "the process is killed")
                } _: { [self] in
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
                if process.wasSurprised {
                    if losesPower { left.powerLosses -= 1 } else { left.kills -= 1 }
                }
            }
        }
    }

    /// Changes the bytes of one page of a file, as a disk does that wears out.
    ///
    /// - Parameter file: One in the computer's ``home``.
    /// - Returns: The offsets of the bytes; `nil` where the file is empty, not there, or not in the computer's ``home``.
    @discardableResult
    public func damage(_ file: URL) -> Range<Int64>? {
        guard file.standardizedFileURL.path.hasPrefix(root.standardizedFileURL.path + "/") else { return nil }
        let range = disk.damage(file.path)
        if let range { log.add(name, "the disk changes the bytes \(range) of \(file.lastPathComponent)") }
        return range
    }

    /// Ends every program, and takes back what was not synchronised.
    private func losePower() {
        for run in running { run.kill() }
        disk.losePower()
    }

    /// When a process ends: any order of magnitude of steps is as likely as another.
    private func drawMoment() -> SimulatedProcess.Moment {
        let magnitude = random.index(below: 11)
        switch random.index(below: 3) {
        case 0: return .init(.job, after: random.index(below: 1 << magnitude))
        case 1: return .init(.change, after: random.index(below: 1 << (magnitude * 2 / 3)))
        default: return .init(.edge, after: random.index(below: 1 << (magnitude / 2)))
        }
    }

    /// Forgets its programs, and removes its files from the real machine.
    func remove() {
        running = []
        disk.forget()
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

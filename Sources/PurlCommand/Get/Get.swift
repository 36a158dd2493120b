import Foundation
import Purl

/// `purl get`: downloads URLs into files, going on where an earlier attempt stopped.
struct Get {
    private let options: GetOptions
    private let console: Console
    private let folder: URL
    private let voice: Voice

    /// - Parameters:
    ///   - console: Where everything is told.
    ///   - folder: Where files without a path are saved.
    init(
        _ options: GetOptions, console: Console,
        in folder: URL = URL(fileURLWithPath: FileManager.default.currentDirectoryPath, isDirectory: true)
    ) {
        self.options = options
        self.console = console
        self.folder = folder
        voice = Voice(console: console, isQuiet: options.verbosity == .quiet, subject: nil)
    }

    func run() async -> ExitCode {
        let orders: [Order]
        do throws(CommandFailure) {
            orders = try allOrders()
        } catch {
            voice.complain(error.sentence)
            return .failure
        }
        let work = Task { await load(orders) }
        let interrupts = Interrupts(console)
        interrupts.onInterrupt { work.cancel() }
        return ExitCode(await work.value)
    }

    private func allOrders() throws(CommandFailure) -> [Order] {
        guard let list = options.inputFile else { return options.orders }
        return try InputList.orders(in: list, after: options.orders)
    }

    // MARK: Loading

    /// The outcomes, in the orders' order.
    private func load(_ orders: [Order]) async -> [Outcome] {
        let watch = Stopwatch()
        let isMany = orders.count > 1
        let session = URLSession(configuration: configuration)
        let display = ProgressDisplay(console, count: orders.count)
        let around = Fetch.Surroundings(
            options: options, session: session, display: display, claims: Claims(), isOneOfMany: isMany)

        let ends = await inTurn(orders, around)
        await display.stop()
        session.finishTasksAndInvalidate()
        let outcomes = ends.map(\.outcome)
        if ExitCode(outcomes) == .success { forgetRecords(ends) }
        if isMany { voice.tell(BatchText.closing(outcomes, in: watch.elapsed)) }
        return outcomes
    }

    private var configuration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.default
        configuration.httpMaximumConnectionsPerHost = max(
            configuration.httpMaximumConnectionsPerHost, options.maximumAtOnce)
        configuration.maximumBytesReceivedPerSecond = options.limit?.bytesPerSecond
        options.proxy.apply(to: configuration)
        return configuration
    }

    private struct Ending {
        var outcome = Outcome.notBegun
        var parts: PartFiles?
    }

    /// Runs as many fetches at once as wanted; the others wait for their turn.
    private func inTurn(_ orders: [Order], _ around: Fetch.Surroundings) async -> [Ending] {
        var endings = orders.map { _ in Ending() }
        let fetches = orders.indices.map { Fetch(orders[$0], number: $0, around, console: console) }
        var destinations = destinations(of: orders)
        // Names that are certain come before those that the server may still change. Within both it is always the
        // second for the same file that is refused.
        for (number, fetch) in fetches.enumerated() {
            guard let destination = destinations[number], destination.choice != .url else { continue }
            destinations[number] = fetch.claim(destination)
        }
        await withTaskGroup(of: (Int, Outcome, Destination).self) { group in
            var running = 0
            for (number, fetch) in fetches.enumerated() {
                if running == options.maximumAtOnce, let end = await group.next() {
                    running -= 1
                    endings[end.0] = note(end, around)
                }
                if Task.isCancelled { break }
                guard let destination = destinations[number].flatMap(fetch.claim) else {
                    endings[number].outcome = .failed
                    around.display.note(isComplete: false)
                    continue
                }
                running += 1
                group.addTask {
                    let (outcome, destination) = await fetch.run(to: destination)
                    return (number, outcome, destination)
                }
            }
            for await end in group { endings[end.0] = note(end, around) }
        }
        return endings
    }

    /// Where each will be saved, as far as that can be known now.
    private func destinations(of orders: [Order]) -> [Destination?] {
        let earlier = EarlierAttempts(in: folder)
        return orders.map { Destination(for: $0, in: folder, after: earlier) }
    }

    private func note(_ end: (Int, Outcome, Destination), _ around: Fetch.Surroundings) -> Ending {
        guard case .complete = end.1 else {
            around.display.note(isComplete: false)
            return Ending(outcome: end.1)
        }
        around.display.note(isComplete: true)
        return Ending(outcome: end.1, parts: end.2.parts)
    }

    /// Everything is complete: nothing needs to be known of it any more.
    private func forgetRecords(_ endings: [Ending]) {
        for ending in endings { ending.parts?.removeRecord() }
    }
}

import Foundation
import Purl

/// Loads one URL into one file, in as many attempts as it takes and is allowed.
struct Fetch: Sendable {
    /// What a command's fetches have in common.
    struct Surroundings: Sendable {
        let options: GetOptions
        let session: URLSession
        let display: ProgressDisplay
        let claims: Claims
        /// There are others, so that sentences need a subject, and records of finished files are kept until all are.
        let isOneOfMany: Bool
    }

    private let order: Order
    private let number: Int
    private let around: Surroundings
    private let voice: Voice
    private let trace: Trace

    /// - Parameter number: The place of the order among others.
    init(_ order: Order, number: Int, _ around: Surroundings, console: Console) {
        self.order = order
        self.number = number
        self.around = around
        voice = Voice(
            console: console, isQuiet: around.options.verbosity == .quiet,
            subject: around.isOneOfMany ? order.url.absoluteString : nil)
        trace = Trace(
            console: around.options.verbosity == .verbose ? console : nil, name: voice.subject ?? "")
    }

    /// Takes the places of a destination; `nil`, and a complaint, when they are another's.
    func claim(_ destination: Destination) -> Destination? {
        do throws(CommandFailure) {
            return try around.claims.settle(destination, for: order.url)
        } catch {
            voice.complain(error.sentence)
            return nil
        }
    }

    /// Returns when the file is there, or will not be. Ends early when the calling task is cancelled.
    ///
    /// - Parameter destination: Where to save; its places are claimed already.
    func run(to destination: Destination) async -> (Outcome, Destination) {
        do throws(CommandFailure) {
            if around.options.resumes, let bytes = try await bytesThereAlready(destination) {
                voice.tell("\(destination.name): \(ByteText.count(bytes)), which were all there already.")
                return (.complete(bytes: bytes, now: 0), destination)
            }
            return try await load(to: destination)
        } catch {
            voice.complain(error.sentence)
            return (.failed, destination)
        }
    }

    /// The length of the file, if it needs no loading.
    private func bytesThereAlready(_ destination: Destination) async throws(CommandFailure) -> Int64? {
        if let checksum = order.checksum {
            guard destination.parts.length == 0, let bytes = PartFiles.length(of: destination.file) else { return nil }
            return try? await Checksum.ofFile(at: destination.file) == checksum ? bytes : nil
        }
        return destination.parts.lengthOfFinishedFile(for: order.url)
    }

    // MARK: Attempts

    private func load(to first: Destination) async throws(CommandFailure) -> (Outcome, Destination) {
        let watch = Stopwatch()
        var destination = first
        var patience = Patience(retries: around.options.retries)
        var usesParts = around.options.resumes
        try destination.checkPlace(for: order.url, usesParts: usesParts)
        if !usesParts { try destination.parts.remove() }
        while true {
            let (report, task) = await attempt(at: destination, usesParts: usesParts)
            destination = report.destination
            let end = End(report, isInterrupted: Task.isCancelled)
            if let wait = patience.wait(after: end, report, bytes: destination.parts.length) {
                if await pause(wait, because: end.sentence, destination, patience) {
                    // What this very command has loaded is good to go on with, --no-resume or not.
                    usesParts = true
                    try destination.checkPlace(for: order.url, usesParts: true)
                    continue
                }
                return (conclude(.interrupted, destination), destination)
            }
            guard case .complete = end else { return (conclude(end, destination), destination) }
            return (try await finish(report, task, elapsed: watch.elapsed), destination)
        }
    }

    private func attempt(
        at destination: Destination, usesParts: Bool
    ) async -> (GetDelegate.Report, URLSessionTask) {
        let content = destination.parts.content(for: order.url)
        let sink = FileHandleSink(fileAt: destination.parts.bytes, recordAt: destination.parts.record)
        let delegate = GetDelegate(
            order.url, destination, usesParts: usesParts, claims: around.claims, content: content, sink: sink,
            trace: trace
        ) { task, destination, reception in
            announce(reception, task, destination)
            if !isQuiet { around.display.show(task, name: destination.name, number: number) }
        }
        let task = around.session.dataTask(with: request, writingTo: sink)
        task.delegate = delegate
        if !isQuiet, around.isOneOfMany {
            around.display.show({ "asking the server" }, name: destination.name, number: number)
        }
        let report = await delegate.run(task)
        around.display.hide(number: number)
        return (report, task)
    }

    private var isQuiet: Bool { around.options.verbosity == .quiet }

    private var request: URLRequest {
        var request = URLRequest(url: order.url)
        for header in around.options.headers { request.addValue(header.value, forHTTPHeaderField: header.name) }
        return request
    }

    /// Waits before the next attempt; `false` when somebody asked to stop.
    private func pause(
        _ wait: Duration, because sentence: String, _ destination: Destination, _ patience: Patience
    ) async -> Bool {
        let subject = voice.subject.map { "\($0): " } ?? ""
        voice.tell("\(subject)\(sentence) Trying again in \(TimeText.wait(wait)) (\(patience.text)).")
        let end = ContinuousClock.now + wait
        if !isQuiet {
            let words = { @Sendable in "trying again in \(TimeText.wait(end - .now))" }
            around.display.show(words, name: destination.name, number: number)
        }
        defer { around.display.hide(number: number) }
        return (try? await ContinuousClock().sleep(until: end)) != nil
    }

    // MARK: Ends

    private func finish(
        _ report: GetDelegate.Report, _ task: URLSessionTask, elapsed: Duration
    ) async throws(CommandFailure) -> Outcome {
        let destination = report.destination
        let parts = destination.parts
        // From here to the renaming nobody else may touch the bytes.
        let lock = try? FileLock(parts.bytes)
        if let checksum = order.checksum, let obstacle = try await check(parts, checksum, destination) {
            return obstacle
        }
        try withExtendedLifetime(lock) { () throws(CommandFailure) in
            try parts.finish(replacing: destination.mayReplace, keepsRecord: keepsRecord)
        }
        let whole = task.countOfBytesReceived
        guard let now = report.reception?.newBytes(of: whole) else {
            voice.tell("\(destination.name): \(ByteText.count(whole)), which were all there already.")
            return .complete(bytes: whole, now: 0)
        }
        voice.tell("\(destination.name): \(BatchText.amount(whole, now: now, in: elapsed)).")
        return .complete(bytes: whole, now: now)
    }

    /// Nothing when the bytes are what they must be. Otherwise they go.
    private func check(
        _ parts: PartFiles, _ expected: Checksum, _ destination: Destination
    ) async throws(CommandFailure) -> Outcome? {
        if !isQuiet {
            around.display.show({ "checking the SHA-256" }, name: destination.name, number: number)
        }
        defer { around.display.hide(number: number) }
        let found: Checksum
        do {
            found = try await Checksum.ofFile(at: parts.bytes)
        } catch is CancellationError {
            return conclude(.interrupted, destination)
        } catch {
            throw CommandFailure(
                "“\(destination.name).part” cannot be read: \((error as NSError).localizedDescription)")
        }
        guard found != expected else { return nil }
        try parts.remove()
        throw CommandFailure(
            "“\(destination.name)” is not what it must be: its SHA-256 is \(found.hexadecimal), expected was"
                + " \(expected.hexadecimal). What was loaded has been removed.")
    }

    /// Says how it ended, and what the next attempt begins with.
    private func conclude(_ end: End, _ destination: Destination) -> Outcome {
        switch end {
        case .interrupted where around.isOneOfMany: break
        case .interrupted: voice.tell(end.sentence)
        case .complete, .refused, .httpError, .notTheFile, .failed: voice.complain(end.sentence)
        }
        cleanUp(destination)
        if case .refused = end { return end.outcome }
        tellHowToGoOn(destination)
        return end.outcome
    }

    /// Leaves nothing that is of no use to the next attempt.
    private func cleanUp(_ destination: Destination) {
        if around.options.resumes {
            destination.parts.removeIfEmpty()
        } else {
            try? destination.parts.remove()
        }
    }

    private var keepsRecord: Bool { around.isOneOfMany && around.options.resumes }

    // MARK: Words

    private func tellHowToGoOn(_ destination: Destination) {
        let subject = around.isOneOfMany ? "\(destination.name): the" : "The"
        switch destination.parts.content(for: order.url) {
        case .nothing, .ofAnotherURL:
            break
        case .unfinished(let record):
            voice.tell(
                "\(subject) same command goes on at \(ByteText.progress(record.bytesReceived, of: record.totalBytes)).")
        case .unknown:
            voice.tell(
                "What arrived is in \(destination.name).part, but the server offers no way to go on: the same"
                    + " command starts over.")
        }
    }

    private func announce(_ reception: Reception, _ task: URLSessionTask, _ destination: Destination) {
        let expected = task.countOfBytesExpectedToReceive
        let total = expected == NSURLSessionTransferSizeUnknown ? nil : expected
        let size = total.map(ByteText.count) ?? "of unknown length"
        switch reception {
        // Among others on a terminal the bar says it.
        case .begins where around.isOneOfMany && voice.console.isTerminal: break
        case .begins: voice.tell("\(destination.name): \(size)")
        case .goesOn(let offset):
            voice.tell("\(destination.name): going on at \(ByteText.progress(offset, of: total))")
        case .startsOver(let reason): voice.tell("\(destination.name): \(size), starting over: \(reason.sentence)")
        case .isComplete, .errorPage, .notTheFile: break
        }
    }
}

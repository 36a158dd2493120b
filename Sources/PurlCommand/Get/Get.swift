import Foundation
import Purl

/// `purl get`: downloads URLs into files and resumes earlier attempts.
struct Get {
    private let options: GetOptions
    private let console: Console
    private let events: EventLog?
    private let folder: URL
    private let makeConfiguration: @Sendable () -> URLSessionConfiguration
    private let messages: MessagePrinter
    private let trace: RequestedTrace

    /// - Parameters:
    ///   - console: Where messages and progress are printed.
    ///   - events: Where events are written in place of them.
    ///   - folder: Where files without a path are saved.
    ///   - configuration: Makes the configuration to which the options are applied.
    init(
        _ options: GetOptions, console: Console, events: EventLog? = nil,
        in folder: URL = URL(fileURLWithPath: FileManager.default.currentDirectoryPath, isDirectory: true),
        configuration: @escaping @Sendable () -> URLSessionConfiguration = { .default }
    ) {
        self.options = options
        makeConfiguration = configuration
        self.console = console
        self.events = events
        self.folder = folder
        trace = RequestedTrace(options.trace, besides: options.inputs.map { .file(at: $0, in: folder) })
        messages = MessagePrinter(console: console, isQuiet: options.verbosity == .quiet, subject: nil, events: events)
    }

    func run() async -> ExitCode {
        await trace.record(messages) { await downloadAll() }
    }

    private func downloadAll() async -> ExitCode {
        let requests: [DownloadRequest]
        let checksums: ChecksumList?
        let pieces: PieceDigests?
        let configuration: URLSessionConfiguration
        do throws(CommandFailure) {
            requests = try allRequests()
            checksums = try checksumList()
            pieces = try pieceList()
            configuration = try sessionConfiguration()
        } catch {
            messages.error(error.sentence)
            return .failure
        }
        let session = URLSession(configuration: configuration)
        return ExitCode(
            await Interrupts.cancelling(console) {
                options.repairs
                    ? await repair(requests, in: session) : await download(requests, checksums, pieces, in: session)
            })
    }

    private func allRequests() throws(CommandFailure) -> [DownloadRequest] {
        var requests = options.requests
        if let file = options.inputFile { requests = try InputFile.requests(in: file, after: requests) }
        try options.tls.checkPins(for: requests.flatMap(\.urls))
        return requests.map { $0.marked(isUnchecked: options.tls.verification == .insecure) }
    }

    private func checksumList() throws(CommandFailure) -> ChecksumList? {
        guard let file = options.checksumFile else { return nil }
        return try ChecksumList(try ListFile(file))
    }

    /// The list of pieces with which a download is compared.
    private func pieceList() throws(CommandFailure) -> PieceDigests? {
        guard !options.repairs, let list = options.digestList else { return nil }
        let pieces = try PieceDigests(ListFile(list), pieceLength: options.pieceLength)
        guard pieces.pieceLength >= Self.shortestPiece else {
            throw CommandFailure(
                "The pieces have \(pieces.pieceLength) bytes; a download compares those of at least 4K.")
        }
        return pieces
    }

    /// Each piece takes a call of its own.
    private static let shortestPiece: Int64 = 4096

    // MARK: Downloads

    /// Returns the outcomes, in the order of the requests.
    private func download(
        _ requests: [DownloadRequest], _ checksums: ChecksumList?, _ pieces: PieceDigests?, in session: URLSession
    ) async -> [DownloadOutcome] {
        let start = ContinuousClock.now
        let isMany = requests.count > 1
        let display = ProgressDisplay(console, events: events, count: requests.count)
        let context = FileDownload.Context(
            options: options, checksums: checksums, pieces: pieces, session: session, display: display,
            reservations: PathReservations(besides: options.trace), isOneOfMany: isMany)

        let results = await runInOrder(requests, context)
        await display.stop()
        session.finishTasksAndInvalidate()
        let outcomes = results.map(\.outcome)
        if ExitCode(outcomes) == .success, !options.updates {
            // The records told which files were complete; now all are.
            for result in results { result.parts?.removeRecord() }
        }
        if isMany, events == nil { messages.info(BatchText.closing(outcomes, in: start.duration(to: .now))) }
        return outcomes
    }

    /// Replaces the damaged pieces of the only file.
    private func repair(_ requests: [DownloadRequest], in session: URLSession) async -> [DownloadOutcome] {
        let display = ProgressDisplay(console, events: events, count: 1)
        let outcome = await Repair.run(requests[0], options, in: session, messages, display)
        await display.stop()
        session.finishTasksAndInvalidate()
        return [outcome]
    }

    private func sessionConfiguration() throws(CommandFailure) -> URLSessionConfiguration {
        let configuration = makeConfiguration()
        configuration.httpMaximumConnectionsPerHost = max(
            configuration.httpMaximumConnectionsPerHost, options.maximumAtOnce * options.connections.limit)
        configuration.limits.bytesReceivedPerSecond = options.limit?.bytesPerSecond
        configuration.codedContent = options.codings.content
        options.proxy.apply(to: configuration)
        try options.tls.apply(to: configuration, messages, isVerbose: options.verbosity == .verbose)
        configuration.trace = trace.trace
        return configuration
    }

    private struct Result {
        var outcome = DownloadOutcome.notBegun
        /// Of a complete download.
        var parts: PartFiles?
    }

    /// Runs as many downloads at once as the options allow; the others wait for their turn.
    private func runInOrder(_ requests: [DownloadRequest], _ context: FileDownload.Context) async -> [Result] {
        var results = requests.map { _ in Result() }
        let downloads = requests.indices.map {
            FileDownload(requests[$0], number: $0, context, console: console, events: events)
        }
        let earlier = EarlierAttempts(in: folder)
        var destinations = downloads.map { $0.destination(in: folder, after: earlier) }
        if let taken = destinations.lazy.compactMap(\.self).first(where: context.reservations.isOfTrace) {
            messages.error("“\(taken.name)” is the file of a download: choose another name for the trace.")
            return results.map { _ in Result(outcome: .failed) }
        }
        // Names that are certain are reserved before those that the server may still change. Within each group the second
        // download for the same file is refused.
        for (number, download) in downloads.enumerated() {
            guard let destination = destinations[number], destination.choice != .url else { continue }
            destinations[number] = download.reserve(destination)
        }
        await withTaskGroup(of: (Int, DownloadOutcome, Destination).self) { group in
            var running = 0
            for (number, download) in downloads.enumerated() {
                if running == options.maximumAtOnce, let (number, outcome, destination) = await group.next() {
                    running -= 1
                    results[number] = result(outcome, destination, context)
                }
                if Task.isCancelled { break }
                guard let destination = destinations[number].flatMap(download.reserve) else {
                    results[number].outcome = .failed
                    context.display.countEnd(isComplete: false)
                    continue
                }
                running += 1
                group.addTask {
                    let (outcome, destination) = await download.run(to: destination)
                    return (number, outcome, destination)
                }
            }
            for await (number, outcome, destination) in group {
                results[number] = result(outcome, destination, context)
            }
        }
        return results
    }

    private func result(
        _ outcome: DownloadOutcome, _ destination: Destination, _ context: FileDownload.Context
    ) -> Result {
        guard case .complete = outcome else {
            context.display.countEnd(isComplete: false)
            return Result(outcome: outcome)
        }
        context.display.countEnd(isComplete: true)
        return Result(outcome: outcome, parts: destination.parts)
    }
}

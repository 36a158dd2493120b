import Foundation
import Purl

/// `purl get`: downloads one URL into one file, going on where an earlier attempt stopped.
struct Get {
    private let options: GetOptions
    private let console: Console
    private let folder: URL

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
    }

    func run() async -> ExitCode {
        let interrupts = Interrupts(console)
        do throws(CommandFailure) {
            return try await download(interrupts)
        } catch {
            complain(error.sentence)
            return .failure
        }
    }

    private func download(_ interrupts: Interrupts) async throws(CommandFailure) -> ExitCode {
        let destination = Destination(for: options.url, output: options.output, in: folder)
        try destination.checkPlace(for: options.url, usesParts: options.resumes)
        if !options.resumes { try destination.parts.remove() }

        let content = destination.parts.content(for: options.url)
        let sink = FileHandleSink(fileAt: destination.parts.bytes, recordAt: destination.parts.record)
        let trace = Trace(console: options.verbosity == .verbose ? console : nil)
        let display = ProgressDisplay(console)
        let watch = Stopwatch()
        let delegate = GetDelegate(options, destination, content: content, sink: sink, trace: trace) {
            [self] task, destination, reception in
            announce(reception, task, destination)
            if options.verbosity != .quiet { display.start(task) }
        }
        let session = URLSession(configuration: .default, delegate: delegate, delegateQueue: nil)
        let task = session.dataTask(with: request, writingTo: sink)
        interrupts.onInterrupt { task.cancel() }

        let report = await delegate.run(task)
        await display.stop()
        session.finishTasksAndInvalidate()
        return try conclude(report, task, interrupts, elapsed: watch.elapsed)
    }

    private var request: URLRequest {
        var request = URLRequest(url: options.url)
        for header in options.headers { request.addValue(header.value, forHTTPHeaderField: header.name) }
        return request
    }

    // MARK: Ends

    private func conclude(
        _ report: GetDelegate.Report, _ task: URLSessionTask, _ interrupts: Interrupts, elapsed: Duration
    ) throws(CommandFailure) -> ExitCode {
        let destination = report.destination
        if let failure = report.obstacle {
            cleanUp(destination)
            throw failure
        }
        switch report.reception {
        case .errorPage(let status):
            complain("The server answered \(Self.describe(status)).")
            tellHowToGoOn(destination)
            return .httpError
        case .notTheFile(let status):
            complain("The server answered \(Self.describe(status)), which is not a file.")
            tellHowToGoOn(destination)
            return .failure
        case nil, .begins, .goesOn, .startsOver, .isComplete:
            break
        }
        if let error = report.error {
            if interrupts.isInterrupted {
                tell("Interrupted.")
            } else {
                complain((error as NSError).localizedDescription)
            }
            tellHowToGoOn(destination)
            return interrupts.isInterrupted ? .interrupted : .failure
        }
        try destination.parts.finish(replacing: destination.mayReplace)
        tell(summary(destination, report.reception, task, elapsed))
        return .success
    }

    private func summary(
        _ destination: Destination, _ reception: Reception?, _ task: URLSessionTask, _ elapsed: Duration
    ) -> String {
        let whole = task.countOfBytesReceived
        let now: Int64
        switch reception {
        case nil, .isComplete:
            return "\(destination.name): \(ByteText.count(whole)), which were all there already."
        case .goesOn(let offset): now = whole - offset
        case .begins, .startsOver, .errorPage, .notTheFile: now = whole
        }
        let seconds = elapsed / .seconds(1)
        let rate = seconds > 0 ? " (\(ByteText.rate(Double(now) / seconds)))" : ""
        let rest = now == whole ? "" : ", \(ByteText.count(now)) of it now"
        return "\(destination.name): \(ByteText.count(whole))\(rest) in \(TimeText.elapsed(elapsed))\(rate)."
    }

    /// Leaves nothing that is of no use to the next attempt.
    private func cleanUp(_ destination: Destination) {
        if options.resumes {
            destination.parts.removeIfEmpty()
        } else {
            try? destination.parts.remove()
        }
    }

    private func tellHowToGoOn(_ destination: Destination) {
        cleanUp(destination)
        switch destination.parts.content(for: options.url) {
        case .nothing, .ofAnotherURL:
            break
        case .unfinished(let record):
            tell("The same command goes on at \(record.progress).")
        case .unknown:
            tell(
                "What arrived is in \(destination.name).part, but the server offers no way to go on: the same"
                    + " command starts over.")
        }
    }

    private static func describe(_ status: Int) -> String {
        "\(status) (\(HTTPURLResponse.localizedString(forStatusCode: status)))"
    }

    // MARK: Words

    private func announce(_ reception: Reception, _ task: URLSessionTask, _ destination: Destination) {
        let expected = task.countOfBytesExpectedToReceive
        let total = expected == NSURLSessionTransferSizeUnknown ? nil : expected
        let size = total.map(ByteText.count) ?? "of unknown length"
        switch reception {
        case .begins: tell("\(destination.name): \(size)")
        case .goesOn(let offset):
            tell("\(destination.name): going on at \(ByteText.progress(offset, of: total))")
        case .startsOver(let reason): tell("\(destination.name): \(size), starting over: \(reason.sentence)")
        case .isComplete, .errorPage, .notTheFile: break
        }
    }

    private func tell(_ sentence: String) {
        if options.verbosity != .quiet { console.say(sentence) }
    }

    private func complain(_ sentence: String) {
        console.say("purl: \(sentence)")
    }
}

import Foundation
import Purl
import PurlDownloads

/// The download of one URL into one file, in as many attempts as needed and allowed.
struct FileDownload: Sendable {
    /// What the downloads of one command share.
    struct Context: Sendable {
        let options: GetOptions
        let session: URLSession
        let display: ProgressDisplay
        let reservations: PathReservations
        /// There are several downloads: messages need a subject, and the records of complete files are kept until all
        /// files are complete.
        let isOneOfMany: Bool
    }

    private let request: DownloadRequest
    private let number: Int
    private let context: Context
    private let messages: MessagePrinter
    private let trace: Trace

    /// - Parameter number: The position in the command's list.
    init(_ request: DownloadRequest, number: Int, _ context: Context, console: Console) {
        self.request = request
        self.number = number
        self.context = context
        messages = MessagePrinter(
            console: console, isQuiet: context.options.verbosity == .quiet,
            subject: context.isOneOfMany ? request.url.absoluteString : nil)
        trace = Trace(
            console: context.options.verbosity == .verbose ? console : nil, name: messages.subject ?? "")
    }

    /// Reserves the paths of a destination; `nil`, with an error message, when another download has them.
    func reserve(_ destination: Destination) -> Destination? {
        do throws(CommandFailure) {
            return try context.reservations.reserveOrDisplace(destination, for: request.url)
        } catch {
            messages.error(error.sentence)
            return nil
        }
    }

    /// Returns when the file is complete, or the download has failed. Cancelling the calling task interrupts it.
    ///
    /// - Parameter destination: Where to save, with its paths reserved.
    func run(to destination: Destination) async -> (DownloadOutcome, Destination) {
        do throws(CommandFailure) {
            if context.options.resumes, let bytes = try await lengthOfCompleteFile(destination) {
                messages.info("\(destination.name): already complete (\(ByteText.count(bytes)))")
                return (.complete(bytes: bytes, new: 0), destination)
            }
            return try await runAttempts(to: destination)
        } catch {
            messages.error(error.sentence)
            return (.failed, destination)
        }
    }

    /// The length of the file, when it needs no request.
    private func lengthOfCompleteFile(_ destination: Destination) async throws(CommandFailure) -> Int64? {
        if let checksum = request.checksum {
            guard destination.parts.length == 0, let bytes = PartFiles.length(of: destination.file) else { return nil }
            return try? await Checksum.ofFile(at: destination.file) == checksum ? bytes : nil
        }
        return destination.parts.lengthOfFinishedFile(for: request.url)
    }

    // MARK: Attempts

    private func runAttempts(to first: Destination) async throws(CommandFailure) -> (DownloadOutcome, Destination) {
        let start = ContinuousClock.now
        var destination = first
        var retries = RetrySchedule(retries: context.options.retries)
        var usesParts = context.options.resumes
        try destination.validate(for: request.url, usesParts: usesParts)
        if !usesParts { try destination.parts.remove() }
        while true {
            let report = await attempt(at: destination, usesParts: usesParts)
            destination = report.destination
            let result = AttemptResult(report, isInterrupted: Task.isCancelled)
            if let delay = retries.delay(after: result, report, bytes: destination.parts.length) {
                if await wait(delay, because: result.sentence, destination, retries) {
                    // Bytes that this command has received are resumed even with --no-resume.
                    usesParts = true
                    try destination.validate(for: request.url, usesParts: true)
                    continue
                }
                return (conclude(.interrupted, destination), destination)
            }
            guard case .complete = result else { return (conclude(result, destination), destination) }
            return (try await finish(report, elapsed: start.duration(to: .now)), destination)
        }
    }

    private func attempt(at destination: Destination, usesParts: Bool) async -> DownloadAttempt.Report {
        let attempt = DownloadAttempt(
            urlRequest, of: request.url, to: destination, usesParts: usesParts, reservations: context.reservations,
            trace: trace
        ) { task, destination, meaning in
            announce(meaning, task, destination)
            if !isQuiet { context.display.show(task, name: destination.name, number: number) }
        }
        if !isQuiet, context.isOneOfMany {
            context.display.show({ "waiting for the server" }, name: destination.name, number: number)
        }
        let report = await attempt.run(in: context.session)
        context.display.hide(number: number)
        return report
    }

    private var isQuiet: Bool { context.options.verbosity == .quiet }

    private var urlRequest: URLRequest {
        var urlRequest = URLRequest(url: request.url)
        for header in context.options.headers { urlRequest.addValue(header.value, forHTTPHeaderField: header.name) }
        return urlRequest
    }

    /// Waits before the next attempt; `false` when the command is interrupted.
    private func wait(
        _ delay: Duration, because sentence: String, _ destination: Destination, _ retries: RetrySchedule
    ) async -> Bool {
        let subject = messages.subject.map { "\($0): " } ?? ""
        messages.info("\(subject)\(sentence) Retrying in \(TimeText.wait(delay)) (\(retries.text))")
        let end = ContinuousClock.now + delay
        if !isQuiet {
            let remark = { @Sendable in "retrying in \(TimeText.wait(end - .now))" }
            context.display.show(remark, name: destination.name, number: number)
        }
        defer { context.display.hide(number: number) }
        return (try? await ContinuousClock().sleep(until: end)) != nil
    }

    // MARK: End

    private func finish(
        _ report: DownloadAttempt.Report, elapsed: Duration
    ) async throws(CommandFailure) -> DownloadOutcome {
        let destination = report.destination
        let parts = destination.parts
        // No other transfer may write to the bytes between the check and the renaming.
        let lock = try? FileLock(parts.bytes)
        if let checksum = request.checksum, let failure = try await check(parts, checksum, destination) {
            return failure
        }
        try withExtendedLifetime(lock) { () throws(CommandFailure) in
            try parts.finish(replacing: destination.mayReplace, keepsRecord: keepsRecord)
        }
        let whole = report.received
        guard let new = report.meaning?.newBytes(of: whole) else {
            messages.info("\(destination.name): already complete (\(ByteText.count(whole)))")
            return .complete(bytes: whole, new: 0)
        }
        messages.info("\(destination.name): complete, \(BatchText.amount(whole, new: new, in: elapsed))")
        return .complete(bytes: whole, new: new)
    }

    /// `nil` when the bytes have the expected checksum. Otherwise they are removed.
    private func check(
        _ parts: PartFiles, _ expected: Checksum, _ destination: Destination
    ) async throws(CommandFailure) -> DownloadOutcome? {
        if !isQuiet {
            context.display.show({ "checking the SHA-256" }, name: destination.name, number: number)
        }
        defer { context.display.hide(number: number) }
        let actual: Checksum
        do {
            actual = try await Checksum.ofFile(at: parts.bytes)
        } catch is CancellationError {
            return conclude(.interrupted, destination)
        } catch {
            throw CommandFailure(
                "“\(destination.name).part” cannot be read: \((error as NSError).localizedDescription)")
        }
        guard actual != expected else { return nil }
        try parts.remove()
        throw CommandFailure(
            "“\(destination.name)” has the wrong SHA-256: \(actual.hexadecimal) instead of \(expected.hexadecimal)."
                + " The received bytes were removed.")
    }

    /// Prints how the download ended, and whether the next command can resume it.
    private func conclude(_ result: AttemptResult, _ destination: Destination) -> DownloadOutcome {
        switch result {
        case .interrupted where context.isOneOfMany: break
        case .interrupted: messages.info("\(destination.name): interrupted")
        case .complete, .refused, .httpError, .notTheFile, .failed: messages.error(result.sentence)
        }
        removeUselessParts(destination)
        if case .refused = result { return result.outcome }
        printWhatIsSaved(destination)
        return result.outcome
    }

    /// Removes partial files that the next attempt cannot use.
    private func removeUselessParts(_ destination: Destination) {
        if context.options.resumes {
            destination.parts.removeIfEmpty()
        } else {
            try? destination.parts.remove()
        }
    }

    private var keepsRecord: Bool { context.isOneOfMany && context.options.resumes }

    // MARK: Messages

    private func printWhatIsSaved(_ destination: Destination) {
        switch destination.parts.content(for: request.url) {
        case .nothing, .ofAnotherURL:
            break
        case .unfinished(let record):
            let progress = ByteText.progress(record.bytesReceived, of: record.totalBytes)
            messages.info("\(destination.name): \(progress) saved; the same command resumes the download")
        case .unknown:
            let bytes = ByteText.count(destination.parts.length)
            messages.info(
                "\(destination.name): \(bytes) saved, but this server does not support resuming; the same command starts"
                    + " over")
        }
    }

    private func announce(_ meaning: ResponseMeaning, _ task: URLSessionTask, _ destination: Destination) {
        let expected = task.countOfBytesExpectedToReceive
        let total = expected == NSURLSessionTransferSizeUnknown ? nil : expected
        let size = total.map(ByteText.count) ?? "length unknown"
        switch meaning {
        // On a terminal the table shows it.
        case .begins where context.isOneOfMany && messages.console.isTerminal: break
        case .begins: messages.info("\(destination.name): downloading (\(size))")
        case .resumes(let offset):
            messages.info("\(destination.name): resuming at \(ByteText.progress(offset, of: total))")
        case .startsOver(let reason): messages.info("\(destination.name): starting over (\(size)): \(reason.text)")
        case .isComplete, .errorPage, .notTheFile: break
        }
    }
}

/// The delays between the attempts of a download.
private struct RetrySchedule {
    private let policy: RetryPolicy
    private var count = RetryCount()

    init(retries: Int) {
        var policy = RetryPolicy()
        policy.maximumRetries = retries
        self.policy = policy
    }

    /// "2 of 3".
    var text: String { "\(count.failures) of \(policy.maximumRetries)" }

    /// The delay before the next attempt; `nil` when there is none.
    ///
    /// - Parameter bytes: How many bytes are on disk.
    mutating func delay(after result: AttemptResult, _ report: DownloadAttempt.Report, bytes: Int64) -> Duration? {
        let reason: any Error
        switch result {
        case .complete, .interrupted, .refused, .notTheFile: return nil
        case .httpError: reason = URLError(.badServerResponse)
        case .failed(let error): reason = error
        }
        count.addFailure(at: bytes)
        return policy.delay(afterFailures: count.failures, error: reason, response: report.response)
    }
}

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
            subject: context.isOneOfMany ? request.url.shownText : nil)
        trace = Trace(
            console: context.options.verbosity == .verbose ? console : nil, name: messages.subject ?? "")
    }

    /// Where to save; `nil`, with an error message, when nothing can be saved there.
    func destination(in folder: URL, after earlier: EarlierAttempts) -> Destination? {
        do throws(CommandFailure) {
            return try Destination(for: request, in: folder, after: earlier)
        } catch {
            messages.error(error.sentence)
            return nil
        }
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
            let needsNoRequest = context.options.resumes && (!context.options.updates || request.checksum != nil)
            if needsNoRequest, let bytes = try await lengthOfCompleteFile(destination) {
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
        guard let parts = destination.parts else { return nil }
        if let checksum = request.checksum {
            guard parts.length == 0, let bytes = PartFiles.length(of: destination.file) else { return nil }
            return try? await Checksum.ofFile(at: destination.file) == checksum ? bytes : nil
        }
        return parts.lengthOfFinishedFile(for: request.url)
    }

    // MARK: Attempts

    private func runAttempts(to first: Destination) async throws(CommandFailure) -> (DownloadOutcome, Destination) {
        let start = ContinuousClock.now
        var destination = first
        if context.options.updates, destination.parts?.recordOfFinishedFile(for: request.url) != nil {
            destination.isUpdate = true
        }
        var retries = RetrySchedule(retries: context.options.retries)
        try destination.validatePlace()
        let output = try await open(destination)
        let stream = output.stream
        // The lock is held until the file has its name, or nothing more is done to the partial files.
        defer { if case .file(let sink) = output { sink.unlock() } }
        while true {
            let report = await attempt(at: destination, output)
            destination = report.destination
            let result = AttemptResult(report, isInterrupted: Task.isCancelled)
            // What a stream has taken is not sent to it again.
            let bytes = destination.parts?.length ?? 0
            let mayRetry = stream == nil || stream?.length == 0
            if mayRetry, let delay = retries.delay(after: result, report, bytes: bytes) {
                // Bytes that this command has received are resumed even with --no-resume.
                if await wait(delay, because: result.sentence, destination, retries) { continue }
                return (conclude(.interrupted, destination, stream), destination)
            }
            if case .upToDate = result { return (concludeUpToDate(destination), destination) }
            guard case .complete = result else { return (conclude(result, destination, stream), destination) }
            return (try await finish(report, stream, elapsed: start.duration(to: .now)), destination)
        }
    }

    /// Opens what takes the bytes. Partial files are locked before anything is requested or changed.
    private func open(_ destination: Destination) async throws(CommandFailure) -> DownloadAttempt.Output {
        if let stream = destination.stream { return .stream(stream) }
        let parts = PartFiles(for: destination.file)
        // A record that stays has to be right after a power loss, too.
        let completion: SinkCompletion = keepsRecord ? .safe : .written
        let sink = FileHandleSink(fileAt: parts.bytes, recordAt: parts.record, completion: completion)
        sink.limit(to: context.options.maximumLength, reservingSpace: true)
        try await destination.lock(sink, for: request.url)
        guard !context.options.resumes else { return .file(sink) }
        do {
            try sink.saveRecord(nil)
            try sink.truncate(to: 0)
        } catch {
            throw CommandFailure("“\(destination.name).part” cannot be emptied: \((error as NSError).reason)")
        }
        return .file(sink)
    }

    private func attempt(
        at destination: Destination, _ output: DownloadAttempt.Output
    ) async -> DownloadAttempt.Report {
        let attempt = DownloadAttempt(
            urlRequest(for: destination), of: request.url, to: destination, output,
            maximumLength: context.options.maximumLength, reservations: context.reservations, trace: trace
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

    private func urlRequest(for destination: Destination) -> URLRequest {
        var urlRequest = URLRequest(url: request.url)
        for header in context.options.headers { urlRequest.addValue(header.value, forHTTPHeaderField: header.name) }
        if destination.isUpdate, let parts = destination.parts { addConditions(to: &urlRequest, parts) }
        return urlRequest
    }

    /// Asks for the file only if it is newer than the one there is: by its tag, otherwise by its date.
    private func addConditions(to urlRequest: inout URLRequest, _ parts: PartFiles) {
        guard let record = parts.recordOfFinishedFile(for: request.url) else { return }
        // A tag of other characters may have come in other bytes than it would go out in.
        if let tag = record.validator, tag.hasPrefix("\""), tag.utf8.allSatisfy({ $0 < 0x80 }) {
            urlRequest.setValue(tag, forHTTPHeaderField: "If-None-Match")
        } else if let date = FileTime.date(of: parts.file) {
            urlRequest.setValue(date, forHTTPHeaderField: "If-Modified-Since")
        }
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
        _ report: DownloadAttempt.Report, _ stream: StreamSink?, elapsed: Duration
    ) async throws(CommandFailure) -> DownloadOutcome {
        let destination = report.destination
        if let parts = destination.parts {
            if let failure = try await finish(parts, destination) { return failure }
            if context.options.updates, let date = report.response?.value(forHTTPHeaderField: "Last-Modified") {
                FileTime.set(date, of: parts.file)
            }
        } else if let expected = request.checksum, let actual = stream?.checksum, actual != expected {
            throw CommandFailure(
                "\(Self.mismatch(destination, actual, expected)) The bytes were written to it all the same.")
        }
        let whole = report.received
        guard let new = report.meaning?.newBytes(of: whole) else {
            messages.info("\(destination.name): already complete (\(ByteText.count(whole)))")
            return .complete(bytes: whole, new: 0)
        }
        messages.info("\(destination.name): complete, \(BatchText.amount(whole, new: new, in: elapsed))")
        return .complete(bytes: whole, new: new)
    }

    /// Checks the complete bytes, and renames them to the file; `nil` when that has worked.
    private func finish(
        _ parts: PartFiles, _ destination: Destination
    ) async throws(CommandFailure) -> DownloadOutcome? {
        if let checksum = request.checksum, let failure = try await check(parts, checksum, destination) {
            return failure
        }
        try parts.finish(replacing: destination.mayReplace, keepsRecord: keepsRecord)
        return nil
    }

    private func concludeUpToDate(_ destination: Destination) -> DownloadOutcome {
        let bytes = PartFiles.length(of: destination.file) ?? 0
        if let parts = destination.parts { parts.removeIfEmpty() }
        messages.info("\(destination.name): up to date (\(ByteText.count(bytes)))")
        return .complete(bytes: bytes, new: 0)
    }

    private static func mismatch(_ destination: Destination, _ actual: Checksum, _ expected: Checksum) -> String {
        "“\(destination.name)” has the wrong SHA-256: \(actual.hexadecimal) instead of \(expected.hexadecimal)."
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
            return conclude(.interrupted, destination, nil)
        } catch {
            throw CommandFailure(
                "“\(destination.name).part” cannot be read: \((error as NSError).localizedDescription)")
        }
        guard actual != expected else { return nil }
        try parts.remove()
        throw CommandFailure("\(Self.mismatch(destination, actual, expected)) The received bytes were removed.")
    }

    /// Prints how the download ended, and whether the next command can resume it.
    private func conclude(
        _ result: AttemptResult, _ destination: Destination, _ stream: StreamSink?
    ) -> DownloadOutcome {
        switch result {
        case .interrupted where context.isOneOfMany: break
        case .interrupted: messages.info("\(destination.name): interrupted")
        case .complete, .upToDate, .refused, .httpError, .notTheFile, .failed: messages.error(result.sentence)
        }
        if let parts = destination.parts { removeUselessParts(parts) }
        if case .refused = result { return result.outcome }
        if let parts = destination.parts {
            printWhatIsSaved(parts, destination.name)
        } else if let length = stream?.length, length > 0 {
            messages.info("\(destination.name): \(ByteText.count(length)) written, which cannot be resumed")
        }
        return result.outcome
    }

    /// Removes partial files that the next attempt cannot use.
    private func removeUselessParts(_ parts: PartFiles) {
        if context.options.resumes {
            parts.removeIfEmpty()
        } else {
            try? parts.remove()
        }
    }

    private var keepsRecord: Bool {
        context.options.updates || (context.isOneOfMany && context.options.resumes)
    }

    // MARK: Messages

    private func printWhatIsSaved(_ parts: PartFiles, _ name: String) {
        switch parts.content(for: request.url) {
        case .nothing, .ofAnotherURL:
            break
        case .unfinished(let record):
            let progress = ByteText.progress(record.bytesReceived, of: record.totalBytes)
            messages.info("\(name): \(progress) saved; the same command resumes the download")
        case .useless:
            let bytes = ByteText.count(parts.length)
            messages.info(
                "\(name): \(bytes) saved, but this server does not support resuming; the same command starts"
                    + " over")
        }
    }

    private func announce(_ meaning: ResponseMeaning, _ task: URLSessionTask, _ destination: Destination) {
        let expected = task.countOfBytesExpectedToReceive
        let total = expected == NSURLSessionTransferSizeUnknown ? nil : expected
        let size = total.map(ByteText.count) ?? "length unknown"
        if let remark = destination.remark { messages.info(remark) }
        switch meaning {
        // On a terminal the table shows it.
        case .begins where context.isOneOfMany && messages.console.isTerminal: break
        case .begins: messages.info("\(destination.name): downloading (\(size))")
        case .resumes(let offset):
            messages.info("\(destination.name): resuming at \(ByteText.progress(offset, of: total))")
        case .startsOver(let reason): messages.info("\(destination.name): starting over (\(size)): \(reason.text)")
        case .isComplete, .isUpToDate, .errorPage, .notTheFile: break
        }
    }
}

extension NSError {
    /// The precise reason, where the error has one.
    var reason: String { localizedFailureReason ?? localizedDescription }
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
        case .complete, .upToDate, .interrupted, .refused, .notTheFile: return nil
        case .httpError: reason = URLError(.badServerResponse)
        case .failed(let error): reason = error
        }
        count.addFailure(at: bytes)
        return policy.delay(afterFailures: count.failures, error: reason, response: report.response)
    }
}

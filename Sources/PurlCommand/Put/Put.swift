import Foundation
import Purl
import PurlDownloads
import PurlIO
import Synchronization

/// `purl put`: uploads a file.
struct Put {
    private let options: PutOptions
    private let file: URL
    private let makeConfiguration: @Sendable () -> URLSessionConfiguration
    private let output: Console
    private let errors: Console
    private let messages: MessagePrinter
    private let trace: RequestedTrace

    /// - Parameters:
    ///   - output: Where the response's body is printed.
    ///   - errors: Where messages and progress are printed.
    ///   - folder: Where a file without a path is.
    ///   - configuration: Makes the configuration to which the options are applied.
    init(
        _ options: PutOptions, output: Console, errors: Console,
        in folder: URL = URL(fileURLWithPath: FileManager.default.currentDirectoryPath, isDirectory: true),
        configuration: @escaping @Sendable () -> URLSessionConfiguration = { .default }
    ) {
        self.options = options
        makeConfiguration = configuration
        self.output = output
        self.errors = errors
        file = .file(at: options.file, in: folder)
        messages = MessagePrinter(console: errors, isQuiet: options.verbosity == .quiet, subject: nil)
        trace = RequestedTrace(options.trace)
    }

    func run() async -> ExitCode {
        await trace.record(messages) {
            let upload = Task { await runUpload() }
            let interrupts = Interrupts(errors)
            interrupts.onInterrupt { upload.cancel() }
            return await upload.value
        }
    }

    private func runUpload() async -> ExitCode {
        do throws(CommandFailure) {
            let entry = try entry()
            // Two programs would send to the same upload.
            let lock = options.resumes ? try lock() : nil
            let configuration = configuration
            let session = URLSession(configuration: configuration)
            defer { session.finishTasksAndInvalidate() }
            return try await FileUpload(
                options, file, lock?.status ?? entry, lock, session: session, files: configuration.files,
                output: output,
                errors: errors
            ).run()
        } catch {
            messages.error(error.sentence)
            return .failure
        }
    }

    private func entry() throws(CommandFailure) -> FileStatus {
        switch FileEntry(at: file, followingLinks: true) {
        case .regular(let entry): return entry
        case .missing: throw CommandFailure("There is no file “\(options.file)”.")
        case .folder, .link, .device, .pipe, .socket:
            throw CommandFailure("“\(options.file)” is not a regular file.")
        }
    }

    private func lock() throws(CommandFailure) -> FileLock {
        do throws(FileLock.Failure) {
            return try FileLock(file.withoutLinks)
        } catch {
            switch error {
            case .cannotOpen: throw CommandFailure("“\(options.file)” cannot be opened.")
            case .taken: throw CommandFailure("“\(options.file)” is being uploaded by another process.")
            }
        }
    }

    private var configuration: URLSessionConfiguration {
        let configuration = makeConfiguration()
        configuration.resumableUploads = options.resumes ? .always : .never
        configuration.limits.bytesSentPerSecond = options.limit?.bytesPerSecond
        options.proxy.apply(to: configuration)
        configuration.trace = trace.trace
        return configuration
    }
}

/// The upload of one file, in as many attempts as needed and allowed.
private struct FileUpload {
    private static let maximumRestarts = 3

    private let options: PutOptions
    private let file: URL
    /// What the file is.
    private let entry: FileStatus
    private let session: URLSession
    private let output: Console
    private let messages: MessagePrinter
    private let display: ProgressDisplay
    private let trace: VerboseLog
    /// `nil` with `--no-resume`.
    private let recordKeeper: UploadRecordKeeper?

    init(
        _ options: PutOptions, _ file: URL, _ entry: FileStatus, _ lock: FileLock?, session: URLSession,
        files: any FileLayer, output: Console, errors: Console
    ) {
        self.options = options
        self.file = file
        self.entry = entry
        self.session = session
        self.output = output
        messages = MessagePrinter(console: errors, isQuiet: options.verbosity == .quiet, subject: nil)
        display = ProgressDisplay(errors)
        trace = VerboseLog(console: options.verbosity == .verbose ? errors : nil, name: "")
        if let lock {
            recordKeeper = UploadRecordKeeper(of: file, lock, to: options, through: files, messages, trace)
        } else {
            recordKeeper = nil
        }
    }

    private var name: String { file.lastPathComponent }
    private var length: Int64 { entry.length }

    /// What is known of the upload between two attempts.
    private struct Progress {
        var resumeData: Data?
        /// Where the first byte of this command was sent from.
        var start: Int64?
        var failures = RetryCount()
        /// How often the server has lost what was sent.
        var restarts = 0
    }

    func run() async throws(CommandFailure) -> ExitCode {
        let begin = ContinuousClock.now
        var progress = Progress(resumeData: try recordedData())
        while true {
            let report = await attempt(progress)
            progress.start = progress.start ?? report.start
            progress.resumeData = report.resumeData ?? (report.leavesUploadAlone ? report.recorded : nil)
            recordKeeper?.update(progress.resumeData)
            if isLost(report), progress.restarts < Self.maximumRestarts {
                progress.restarts += 1
                progress.start = nil
                messages.info("\(name): starting over: \(sentence(report))")
                continue
            }
            if let delay = delay(after: report, &progress) {
                if await wait(delay, because: sentence(report), progress) { continue }
                return conclude(.interrupted, report, progress)
            }
            await display.stop()
            if report.error != nil {
                let code: ExitCode = Task.isCancelled ? .interrupted : report.isDenied ? .httpError : .failure
                return conclude(code, report, progress)
            }
            guard let response = report.response, response.statusCode < 400 else {
                return conclude(.httpError, report, progress)
            }
            finish(response, report.sent, progress, elapsed: begin.duration(to: .now))
            return .success
        }
    }

    /// The resume data of an earlier command; `nil` when this one starts at the beginning. Throws for a record of another
    /// upload, which stays.
    private func recordedData() throws(CommandFailure) -> Data? {
        guard options.resumes else { return nil }
        _ = try UploadRecord.new(for: file)
        guard let record = try UploadRecord(for: file) else { return nil }
        guard record.isOf(options.url, options.method) else {
            throw CommandFailure(
                "“\(UploadRecord.place(for: file).lastPathComponent)” is the record of an unfinished upload to"
                    + " \(record.shownURL) (\(record.method)). It was left as it is: use --no-resume, or purl clean.")
        }
        if let difference = record.difference(to: entry) {
            messages.info("\(name): starting over: \(difference)")
            return nil
        }
        let data = UploadResumeRecord(record.resumeData)?.resumeData(for: request, from: file)
        if data == nil { messages.info("\(name): starting over: the record cannot be used") }
        return data
    }

    // MARK: Attempts

    private func attempt(_ progress: Progress) async -> UploadAttempt.Report {
        let isFirst = progress.start == nil
        let source = progress.resumeData.map { UploadAttempt.Source.resumeData($0) } ?? .file(request, file)
        let attempt = UploadAttempt(source, trace: trace) { task, offset in
            if isFirst { announce(offset) }
            if options.verbosity != .quiet { display.show(task, name: name) }
        } onRestart: { reason in
            messages.info("\(name): starting over: \((reason as NSError).reason)")
        } onRecord: { [recordKeeper] data in
            recordKeeper?.update(data)
        } onBody: { data in
            output.write(data)
        }
        let report = await attempt.run(in: session)
        display.hide()
        return report
    }

    private var request: URLRequest {
        var request = URLRequest(url: options.url)
        request.httpMethod = options.method
        for header in options.headers { request.addValue(header.value, forHTTPHeaderField: header.name) }
        return request
    }

    private func announce(_ offset: Int64) {
        messages.info(
            offset > 0
                ? "\(name): resuming at \(ByteText.progress(offset, of: length))"
                : "\(name): uploading (\(ByteText.count(length)))")
    }

    /// Whether the server does not have the upload any more that it has offered to resume, or refuses to continue it, and the
    /// file can be sent again: the server may have had all of it, so that takes a method that is idempotent (RFC 9110
    /// §9.2.2).
    private func isLost(_ report: UploadAttempt.Report) -> Bool {
        guard report.wasOffered, report.resumeData == nil, options.method == "PUT", !Task.isCancelled,
            let status = report.response?.statusCode
        else { return false }
        return report.error == nil ? [404, 409, 410].contains(status) : !report.leavesUploadAlone
    }

    private func delay(after report: UploadAttempt.Report, _ progress: inout Progress) -> Duration? {
        guard !Task.isCancelled else { return nil }
        let reason: any Error
        if let error = report.error {
            reason = error
        } else if let status = report.response?.statusCode, status >= 400 {
            reason = URLError(.badServerResponse)
        } else {
            return nil
        }
        var policy = RetryPolicy()
        policy.maximumRetries = options.retries
        progress.failures.addFailure(at: report.sent)
        return policy.delay(afterFailures: progress.failures.failures, error: reason, response: report.response)
    }

    /// Waits before the next attempt; `false` when the command is interrupted.
    private func wait(_ delay: Duration, because sentence: String, _ progress: Progress) async -> Bool {
        messages.info(
            "\(sentence) Retrying in \(TimeText.wait(delay)) (\(progress.failures.failures) of \(options.retries))")
        let end = ContinuousClock.now + delay
        if options.verbosity != .quiet {
            display.show({ "retrying in \(TimeText.wait(end - .now))" }, name: name)
        }
        defer { display.hide() }
        return (try? await ContinuousClock().sleep(until: end)) != nil
    }

    // MARK: End

    private func finish(_ response: HTTPURLResponse, _ sent: Int64, _ progress: Progress, elapsed: Duration) {
        // What an earlier command has begun there is out of date, unless another one continues it now.
        if !options.resumes, let lock = try? FileLock(file.withoutLinks) {
            withExtendedLifetime(lock) {
                UploadRecord.remove(for: file, entry.identity, of: options.url, options.method)
            }
        }
        let result = UploadText.result(length: length, sent: sent, from: progress.start, in: elapsed)
        messages.info("\(name): \(result); the server answered \(Self.describe(response.statusCode))")
    }

    /// Prints how the upload ended, and whether the next command can resume it.
    private func conclude(
        _ code: ExitCode, _ report: UploadAttempt.Report, _ progress: Progress
    ) -> ExitCode {
        if code == .interrupted {
            messages.info("\(name): interrupted")
        } else {
            messages.error(sentence(report))
        }
        for line in String(decoding: report.explanation, as: UTF8.self).split(whereSeparator: \.isNewline) {
            messages.info(String(line))
        }
        if progress.resumeData != nil, recordKeeper?.keepsRecord == true {
            let sent = report.sent > 0 ? "\(ByteText.progress(report.sent, of: length)) sent; " : ""
            messages.info("\(name): \(sent)the same command resumes the upload")
        } else if report.sent > 0, code != .httpError {
            messages.info("\(name): the upload cannot be resumed; the same command starts over")
        }
        return code
    }

    private func sentence(_ report: UploadAttempt.Report) -> String {
        if let error = report.error, !report.isDenied { return error.failureSentence }
        return "The server answered \(Self.describe(report.response?.statusCode ?? 0))."
    }

    private static func describe(_ status: Int) -> String {
        "\(status) (\(HTTPURLResponse.localizedString(forStatusCode: status)))"
    }
}

/// Texts about an upload.
enum UploadText {
    /// How much was sent: "complete, 4.00 MB in 0.4 s (10.0 MB/s)"; "2.00 MB of 4.00 MB sent in 0.4 s (5.00 MB/s)" where the
    /// server has responded without taking the rest.
    ///
    /// - Parameters:
    ///   - sent: The bytes sent, those of earlier commands included.
    ///   - start: Where the first byte of this command was sent from; `nil` when the server had everything.
    static func result(length: Int64, sent: Int64, from start: Int64?, in elapsed: Duration) -> String {
        guard let start else { return "complete, \(BatchText.amount(length, new: 0, in: elapsed))" }
        guard sent < length else { return "complete, \(BatchText.amount(length, new: length - start, in: elapsed))" }
        let rate = BatchText.rate(sent - start, in: elapsed)
        return "\(ByteText.progress(sent, of: length)) sent in \(TimeText.elapsed(elapsed))\(rate)"
    }
}

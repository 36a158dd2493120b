import Foundation
import Purl
import PurlDownloads
internal import PurlIO
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
    ///   - events: Where events are written in place of all of them.
    ///   - folder: Where a file without a path is.
    ///   - configuration: Makes the configuration to which the options are applied.
    init(
        _ options: PutOptions, output: Console, errors: Console, events: EventLog? = nil,
        in folder: URL = URL(fileURLWithPath: FileManager.default.currentDirectoryPath, isDirectory: true),
        configuration: @escaping @Sendable () -> URLSessionConfiguration = { .default }
    ) {
        self.options = options
        makeConfiguration = configuration
        self.output = output
        self.errors = errors
        file = .file(at: options.file, in: folder)
        messages = MessagePrinter(
            console: errors, isQuiet: options.verbosity == .quiet, subject: nil, events: events)
        trace = RequestedTrace(options.trace, besides: [file] + options.tls.inputs.map { .file(at: $0, in: folder) })
    }

    func run() async -> ExitCode {
        await trace.record(messages) {
            await Interrupts.cancelling(errors) { await runUpload() }
        }
    }

    private func runUpload() async -> ExitCode {
        do throws(CommandFailure) {
            let entry = try entry()
            try options.tls.checkPins(for: [options.url])
            let configuration = try sessionConfiguration()
            // Two programs would send to the same upload.
            let lock = options.resumes ? try lock(through: configuration.files) : nil
            let session = URLSession(configuration: configuration)
            defer { session.finishTasksAndInvalidate() }
            var upload = try FileUpload(
                options, file, lock?.status ?? entry, lock, session: session, files: configuration.files,
                output: output, messages)
            return try await upload.run(AttemptSequence())
        } catch {
            messages.error(
                error.sentence, CommandEvent(.failed, file: file.lastPathComponent, url: options.url))
            return .failure
        }
    }

    private func entry() throws(CommandFailure) -> FileStatus {
        switch FileEntry(at: file, followingLinks: true) {
        case .regular(let entry):
            guard !options.file.hasSuffix("/") else { throw CommandFailure("“\(options.file)” is not a folder.") }
            // Nothing of a file such as /proc/version would be sent.
            guard entry.length > 0 || isEmpty else {
                throw CommandFailure(
                    "“\(options.file)” has content, but no length. Copy it into another file, and upload that.")
            }
            return entry
        case .missing: throw CommandFailure("There is no file “\(options.file)”.")
        case .folder, .link, .device, .pipe, .socket:
            throw CommandFailure("“\(options.file)” is not a regular file.")
        }
    }

    /// Whether there is nothing to be read of the file.
    private var isEmpty: Bool {
        guard let handle = try? FileHandle(forReadingFrom: file) else { return true }
        defer { try? handle.close() }
        return ((try? handle.read(upToCount: 1)) ?? nil)?.isEmpty ?? true
    }

    private func lock(through files: any FileLayer) throws(CommandFailure) -> FileLock {
        do throws(FileLock.Failure) {
            return try FileLock(file.withoutLinks, through: files)
        } catch {
            switch error {
            case .cannotOpen: throw CommandFailure("“\(options.file)” cannot be opened.")
            case .taken: throw CommandFailure("“\(options.file)” is being uploaded by another process.")
            }
        }
    }

    private func sessionConfiguration() throws(CommandFailure) -> URLSessionConfiguration {
        let configuration = makeConfiguration()
        configuration.resumableUploads = options.resumes ? .always : .never
        configuration.limits.bytesSentPerSecond = options.limit?.bytesPerSecond
        options.proxy.apply(to: configuration)
        try options.tls.apply(to: configuration, messages, isVerbose: options.verbosity == .verbose)
        configuration.trace = trace.trace
        return configuration
    }
}

/// The upload of one file, in as many attempts as needed and allowed.
private struct FileUpload: ResumingTransfer {
    private let options: PutOptions
    private let file: URL
    /// What the file is.
    private let entry: FileStatus
    private let version: SentVersion
    private let session: URLSession
    /// What records are read and written through.
    private let files: any FileLayer
    private let output: Console
    let messages: MessagePrinter
    let display: ProgressDisplay
    private let trace: VerboseLog
    /// `nil` with `--no-resume`.
    private let recordKeeper: UploadRecordKeeper?
    private let begin = ContinuousClock.now
    /// What it takes to resume the upload, after the last attempt.
    private var resumeData: Data?
    /// Where the first byte of this command was sent from.
    private var start: Int64?

    let number = 0
    var retries: Int { options.retries }

    init(
        _ options: PutOptions, _ file: URL, _ entry: FileStatus, _ lock: FileLock?, session: URLSession,
        files: any FileLayer, output: Console, _ messages: MessagePrinter
    ) throws(CommandFailure) {
        self.options = options
        self.file = file
        self.entry = entry
        version = SentVersion(of: file, entry, through: files)
        self.session = session
        self.output = output
        self.messages = messages
        display = ProgressDisplay(messages.console, events: messages.events)
        trace = VerboseLog(
            console: options.verbosity == .verbose ? messages.console : nil, name: "", messages: messages)
        self.files = files
        if let lock {
            recordKeeper = UploadRecordKeeper(of: file, lock, to: options, through: files, messages, trace)
        } else {
            recordKeeper = nil
        }
        resumeData = try recordedData()
    }

    var name: String { file.lastPathComponent }
    private var length: Int64 { entry.length }

    func event(_ kind: CommandEvent.Kind) -> CommandEvent {
        CommandEvent(kind, file: name, url: options.url).with { $0.total = length }
    }

    /// The resume data of an earlier command; `nil` when this one starts at the beginning. Throws for a record of another
    /// upload, which stays.
    private func recordedData() throws(CommandFailure) -> Data? {
        guard options.resumes else { return nil }
        _ = try UploadRecord.new(for: file, through: files)
        guard let record = try UploadRecord(for: file, through: files) else { return nil }
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

    mutating func attempt() async -> SendTask.Report {
        let isFirst = start == nil
        let source = resumeData.map { SendTask.Source.resumeData($0) } ?? .file(request, file)
        if resumeData == nil { version.begin() }
        let task = SendTask(source, for: options.url, trace: trace) { [self] task, offset in
            if isFirst { announce(offset) }
            if options.verbosity != .quiet { display.show(task, name: name) }
        } onRestart: { [messages, name, version] reason in
            version.begin()
            messages.info("\(name): starting over: \(reason.reason)")
        } onInterruption: { [self] error in
            let sentence = error.sentenceWithAdvice
            messages.info("\(name): \(sentence) Resuming", event(.retrying).with { $0.reason = sentence })
        } onRecord: { [recordKeeper] data in
            recordKeeper?.update(data)
        } onRedirectToPage: { [display] in
            display.hide()
        } onBody: { [output, messages] data in
            if let events = messages.events { events.write(.content(.body, data)) } else { output.write(data) }
        }
        let report = await task.run(in: session)
        display.hide()
        start = start ?? report.start
        resumeData = report.resumeData ?? (report.leavesUploadAlone ? report.recorded : nil)
        recordKeeper?.update(resumeData)
        return report
    }

    private var request: URLRequest {
        var request = URLRequest(url: options.url)
        request.httpMethod = options.method
        request.add(options.headers)
        return request
    }

    private func announce(_ offset: Int64) {
        messages.info(
            offset > 0
                ? "\(name): resuming at \(ByteText.progress(offset, of: length))"
                : "\(name): uploading (\(ByteText.count(length)))", event(.started).with { $0.bytes = offset })
    }

    func end(of report: SendTask.Report) -> AttemptSequence.End {
        let error: any Error
        if let failure = report.error {
            error = failure
        } else if report.isAccepted {
            return .complete
        } else {
            error = URLError(.badServerResponse)
        }
        guard !Task.isCancelled, report.error != nil || report.response != nil else { return .over }
        return .failed(
            AttemptSequence.Failure(
                error, report.response, of: isLost(report) ? .otherEndForgot : .own, at: report.sent))
    }

    /// Whether the server does not have the upload any more that it has offered to resume, or refuses to continue it, and the
    /// file can be sent again: the server may have had all of it, so that takes a method that is idempotent (RFC 9110
    /// §9.2.2).
    private func isLost(_ report: SendTask.Report) -> Bool {
        guard report.wasOffered, report.resumeData == nil, options.method == "PUT",
            let status = report.response?.statusCode
        else { return false }
        return report.error == nil ? [404, 409, 410].contains(status) : !report.leavesUploadAlone
    }

    mutating func prepare(_ next: NextAttempt, because sentence: String) {
        start = nil
        messages.info("\(name): starting over: \(sentence)")
    }

    // MARK: End

    func deliver(_ report: SendTask.Report) async -> Delivery<ExitCode> {
        let elapsed = begin.duration(to: .now)
        await display.stop()
        // What an earlier command has begun there is out of date, unless another one continues it now.
        if !options.resumes, let lock = try? FileLock(file.withoutLinks, through: files) {
            withExtendedLifetime(lock) {
                UploadRecord.remove(for: file, entry.identity, of: options.url, options.method, through: files)
            }
        }
        guard version.isUnchanged else {
            messages.error(
                "“\(name)” was written to while it was sent: the server may have bytes of two versions. Upload it again.",
                event(.failed).with { $0.status = report.response?.statusCode })
            return .over(.failure)
        }
        let result = UploadText.result(length: length, sent: report.sent, from: start, in: elapsed)
        let status = report.response?.statusCode ?? 0
        let answers = [report.redirectToPage, report.response].compactMap(\.self).map { Self.describe($0.statusCode) }
        messages.info(
            "\(name): \(result); the server answered \(answers.joined(separator: ", then "))",
            event(.complete).with {
                ($0.result, $0.bytes, $0.status) = ("uploaded", report.sent, status)
                ($0.newBytes, $0.seconds) = (start.map { report.sent - $0 } ?? 0, elapsed / .seconds(1))
            })
        return .over(.success)
    }

    /// Prints how the upload ended, and whether the next command can resume it.
    func conclude(_ report: SendTask.Report, _ ending: TransferEnding) async -> ExitCode {
        await display.stop()
        let code: ExitCode =
            if ending == .interrupted || (report.error != nil && Task.isCancelled) {
                .interrupted
            } else if report.response.map({ $0.statusCode >= 400 }) == true, report.error == nil || report.isDenied {
                .httpError
            } else {
                .failure
            }
        if code == .interrupted {
            messages.info("\(name): interrupted", event(.interrupted))
        } else {
            messages.error(
                sentence(of: report), of: code == .httpError ? options.url : nil,
                event(.failed).with { $0.status = report.response?.statusCode })
        }
        if let events = messages.events {
            if !report.explanation.isEmpty { events.write(.content(.body, report.explanation)) }
        } else {
            for line in String(decoding: report.explanation, as: UTF8.self).split(whereSeparator: \.isNewline) {
                messages.info(String(line))
            }
        }
        if resumeData != nil, recordKeeper?.keepsRecord == true {
            if let difference = changeOfFile {
                messages.info(
                    "\(name): the same command starts over: \(difference)",
                    saved(report, isResumable: false, difference))
                return code
            }
            let sent = report.sent > 0 ? "\(ByteText.progress(report.sent, of: length)) sent; " : ""
            messages.info(
                "\(name): \(sent)the same command resumes the upload", saved(report, isResumable: true))
        } else if report.sent > 0, code != .httpError, report.response == nil || report.error != nil {
            messages.info(
                "\(name): the upload cannot be resumed\(isRecordUsable ? "; the same command starts over" : "")",
                saved(report, isResumable: false))
        }
        return code
    }

    private func saved(
        _ report: SendTask.Report, isResumable: Bool, _ reason: String? = nil
    ) -> CommandEvent {
        event(.saved).with { ($0.bytes, $0.isResumable, $0.reason) = (report.sent, isResumable, reason) }
    }

    /// Whether the next command can keep a record: nothing else has its name.
    private var isRecordUsable: Bool {
        do throws(CommandFailure) {
            _ = try UploadRecord(for: file, through: files)
            return true
        } catch {
            return false
        }
    }

    /// In what the file differs from the one whose upload is recorded, as a clause; `nil` where it does not.
    private var changeOfFile: String? {
        guard let entry = FileEntry(at: file, followingLinks: true).regularFile,
            let record = try? UploadRecord(for: file, through: files)
        else { return nil }
        return record.difference(to: entry)
    }

    func sentence(of report: SendTask.Report) -> String {
        if let refusal = report.refusal { return refusal.sentence }
        if let error = report.error, !report.isDenied { return error.sentenceWithAdvice }
        let status = report.response?.statusCode ?? 0
        let meaning = status < 400 ? ", which does not mean that it has the file" : ""
        return "The server answered \(Self.describe(status))\(meaning)."
    }

    private static func describe(_ status: Int) -> String {
        "\(status) (\(HTTPURLResponse.localizedString(forStatusCode: status)))"
    }
}

/// What a file was when its first byte was sent. The file is kept open: it may lose its name, and be written to then.
private final class SentVersion: Sendable {
    private struct State {
        var open: (any OpenFile)?
        var begun: FileStatus
    }

    private let file: URL
    private let files: any FileLayer
    private let state: Mutex<State>

    /// - Parameter entry: What the file is, whose upload may have been begun by an earlier command.
    init(of file: URL, _ entry: FileStatus, through files: any FileLayer) {
        self.file = file
        self.files = files
        state = Mutex(State(open: try? files.open(file.withoutLinks.path, .reading), begun: entry))
    }

    /// The file is sent from its first byte now.
    func begin() {
        guard let open = try? files.open(file.withoutLinks.path, .reading), let now = try? open.status() else { return }
        state.withLock { $0 = State(open: open, begun: now) }
    }

    /// Whether the file has not been written to since, as its length and modification time tell.
    var isUnchanged: Bool {
        state.withLock { state in
            guard let now = try? state.open?.status() else { return true }
            return now.length == state.begun.length && now.modified == state.begun.modified
        }
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

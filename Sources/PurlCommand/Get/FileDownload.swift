import Foundation
import Purl
import PurlDownloads
import PurlHTTP
internal import PurlIO

/// The download of one URL into one file, in as many attempts as needed and allowed.
struct FileDownload: Sendable {
    /// What the downloads of one command share.
    struct Context: Sendable {
        let options: GetOptions
        /// The list of `--check`.
        let checksums: ChecksumList?
        /// The list of `--digests`, for the only file.
        var pieces: PieceDigests?
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
    private let trace: VerboseLog
    private let verification: FileVerification
    /// What several servers say of the file, where nothing else tells what it has to be.
    private var agreement: MirrorAgreement?
    /// What is known of the server's ranges.
    private let experience = ParallelTransfer.Experience()

    /// - Parameter number: The position in the command's list.
    init(
        _ request: DownloadRequest, number: Int, _ context: Context, console: Console, events: EventLog? = nil
    ) {
        self.request = request
        self.number = number
        self.context = context
        messages = MessagePrinter(
            console: console, isQuiet: context.options.verbosity == .quiet,
            subject: context.isOneOfMany ? request.url.shownOrigin : nil, events: events)
        verification = FileVerification(request, number: number, context)
        trace = VerboseLog(
            console: context.options.verbosity == .verbose ? console : nil, name: messages.subject ?? "",
            messages: messages)
    }

    /// Where to save; `nil`, with an error message, when nothing can be saved there.
    func destination(in folder: URL, after earlier: EarlierAttempts) -> Destination? {
        do throws(CommandFailure) {
            let destination = try Destination(
                for: request, in: folder, after: earlier, updates: context.options.updates,
                through: context.session.configuration.files)
            if messages.events != nil, destination.isStandardOutput {
                throw CommandFailure("“\(destination.name)” is standard output, on which --json prints events.")
            }
            return destination
        } catch {
            fail(error.sentence)
            return nil
        }
    }

    /// An event of this download.
    private func event(_ kind: CommandEvent.Kind, _ destination: Destination? = nil) -> CommandEvent {
        CommandEvent(kind, file: destination?.name, url: request.url)
    }

    /// Prints why the download has failed.
    private func fail(_ sentence: String, _ destination: Destination? = nil) {
        messages.error(sentence, event(.failed, destination))
    }

    /// Reserves the paths of a destination; `nil`, with an error message, when another download has them.
    func reserve(_ destination: Destination) -> Destination? {
        do throws(CommandFailure) {
            return try context.reservations.reserveOrDisplace(destination, for: request.url)
        } catch {
            fail(error.sentence, destination)
            return nil
        }
    }

    /// Returns when the file is complete, or the download has failed. Cancelling the calling task interrupts it.
    ///
    /// - Parameter destination: Where to save, with its paths reserved.
    func run(to destination: Destination) async -> (DownloadOutcome, Destination) {
        do throws(CommandFailure) {
            // Where the server may choose another name, its response decides.
            if destination.choice != .url {
                _ = try verification.checksum(of: destination)
                try verification.checkDigestsCanBeKept(of: destination)
            }
            if context.pieces != nil, destination.parts == nil { throw CommandFailure("“--digests” needs a file.") }
            if let bytes = await lengthOfCompleteFile(destination) {
                try await verification.keepDigests(ofComplete: destination)
                return (announceComplete(destination, bytes: bytes), destination)
            }
            var download = self
            download.agreement = await findAgreement(on: destination)
            return try await download.runAttempts(to: destination)
        } catch {
            fail(error.sentence, destination)
            return (.failed, destination)
        }
    }

    /// The length of the file, when it needs no request.
    private func lengthOfCompleteFile(_ destination: Destination) async -> Int64? {
        guard context.options.resumes, let parts = destination.parts else { return nil }
        guard !isChecked else {
            guard parts.length == 0, let bytes = parts.length(of: destination.file),
                await verification.accepts(complete: destination)
            else { return nil }
            return bytes
        }
        return context.options.updates ? nil : parts.lengthOfFinishedFile(for: request.urls)
    }

    /// Whether something tells what the file has to be.
    private var isChecked: Bool { verification.expectsChecksum || context.pieces != nil }

    /// What follows “complete” of a file that is what it has to be.
    private var checked: String { isChecked ? " and checked" : "" }

    /// The recorded URLs of bytes that this download may resume or replace.
    private func sources(for destination: Destination) -> [URL] {
        // Bytes of unchecked servers are replaced by a command that checks them, and the other way round.
        let others = request.urlsOfOtherChecking
        guard let proof = proof(of: destination) else { return request.urls + others }
        return request.urls + others + request.urls.map { JoinedBytes.url(of: $0, under: proof.hexadecimal) }
    }

    /// What tells whether bytes of several servers belong together: the checksum of the whole, or of the list of its pieces.
    private func proof(of destination: Destination) -> Checksum? {
        givenProof(of: destination) ?? agreement?.checksum
    }

    /// The same, where the user has said it.
    private func givenProof(of destination: Destination) -> Checksum? {
        (try? verification.checksum(of: destination)) ?? context.pieces.map { Checksum(bytes: $0.pieceList.sha256) }
    }

    /// Asks the mirrors what they have, where that decides whether parts are requested from several of them.
    private func findAgreement(on destination: Destination) async -> MirrorAgreement? {
        guard request.urls.count > 1, context.options.connections.limit > 1, !context.options.updates,
            destination.parts != nil, givenProof(of: destination) == nil
        else { return nil }
        let trace = trace
        return await MirrorAgreement.find(
            among: request.urls.map(plainRequest), context.options.codings.content, in: context.session
        ) { request, response in
            trace.request(request)
            trace.response(response)
        }
    }

    // MARK: Attempts

    private func runAttempts(to first: Destination) async throws(CommandFailure) -> (DownloadOutcome, Destination) {
        var destination = first
        if context.options.updates, destination.parts?.recordOfFinishedFile(for: sources(for: destination)) != nil {
            destination.isUpdate = true
        }
        try destination.validatePlace()
        let output = try await open(destination)
        // The lock is held until the file has its name, or nothing more is done to the partial files.
        defer { if case .file(let sink) = output { sink.unlock() } }
        let mirrors = mirrorOrder(destination, output)
        var attempts = Attempts(download: self, destination: destination, output: output, mirrors: mirrors)
        let outcome = try await attempts.run(AttemptSequence(otherSources: mirrors.otherCount))
        return (outcome, attempts.destination)
    }

    /// The order of the servers; all of them at the same time where there are connections for that, and a proof.
    private func mirrorOrder(_ destination: Destination, _ output: FetchTask.Output) -> MirrorOrder {
        var mirrors = MirrorOrder(request, recorded: recordedURL(destination))
        guard context.options.connections.limit > 1, !context.options.updates, case .file(let sink) = output,
            let proof = proof(of: destination)
        else { return mirrors }
        let recorded = mirrors.current
        mirrors.joinAll(givenProof(of: destination) == nil ? agreement?.urls : nil, under: proof)
        // The record has to tell before a byte of another server is in the file.
        guard mirrors.current != recorded, destination.parts?.length ?? 0 > 0 else { return mirrors }
        do {
            try sink.adopt(mirrors.current)
        } catch {
            mirrors.startOver()
        }
        return mirrors
    }

    /// The attempts, until one has the file or nothing is left to be tried.
    private struct Attempts: ResumingTransfer {
        struct Report {
            let task: FetchTask.Report
            let result: AttemptResult
        }

        let download: FileDownload
        var destination: Destination
        let output: FetchTask.Output
        var mirrors: MirrorOrder
        /// How many bytes all attempts have received.
        private var received: Int64 = 0
        private var time = Stopwatch(ContinuousClock())

        init(download: FileDownload, destination: Destination, output: FetchTask.Output, mirrors: MirrorOrder) {
            self.download = download
            self.destination = destination
            self.output = output
            self.mirrors = mirrors
        }

        var retries: Int { download.context.options.retries }
        var messages: MessagePrinter { download.messages }
        var display: ProgressDisplay { download.context.display }
        var name: String { destination.name }
        var number: Int { download.number }

        func event(_ kind: CommandEvent.Kind) -> CommandEvent { download.event(kind, destination) }

        mutating func attempt() async -> Report {
            time.resume()
            let report = await download.attempt(mirrors.current, beside: mirrors.simultaneous, at: destination, output)
            destination = report.destination
            received += report.meaning?.newBytes(of: report.received) ?? 0
            if !isInPlace, let parts = destination.parts {
                return Report(task: report, result: .displaced(parts.displacement))
            }
            return Report(task: report, result: AttemptResult(report, isInterrupted: Task.isCancelled))
        }

        /// Whether the file that takes the bytes still is the one at its path.
        private var isInPlace: Bool {
            if case .file(let sink) = output { sink.isInPlace } else { true }
        }

        func end(of report: Report) -> AttemptSequence.End {
            let error: any Error
            switch report.result {
            case .complete: return .complete
            case .upToDate, .interrupted, .refused, .displaced: return .over
            case .httpError, .unlisted, .notTheFile: error = URLError(.badServerResponse)
            case .failed(let failure): error = failure
            }
            // What a stream has taken is not sent to it again.
            if let stream = output.stream, stream.length > 0 { return .over }
            return .failed(
                AttemptSequence.Failure(
                    error, report.task.response, of: report.result.isOfServer ? .source : .own,
                    at: report.task.presentCount ?? destination.parts?.length ?? 0))
        }

        func sentence(of report: Report) -> String { report.result.sentence }

        mutating func deliver(_ report: Report) async throws(CommandFailure) -> Delivery<DownloadOutcome> {
            time.pause()
            let agreed = mirrors.isJoined ? download.agreement?.checksum : nil
            switch try await download.verification.verify(
                destination, output.stream, report.task, agreed: agreed)
            {
            case .right(let digests):
                try confirmBytes()
                if let digests { try download.verification.save(digests, of: destination) }
            case .interrupted: return .over(try await conclude(report, .interrupted))
            case .wrong(let sentence):
                guard case .file = output else { throw CommandFailure(sentence) }
                let isJoined = report.task.isMixed || report.task.meaning?.usesEarlierBytes == true
                return .mismatched(isJoined: isJoined, sentence)
            }
            if case .file(let sink) = output, download.keepsRecord, mirrors.current != mirrors.origin {
                // The checksum is right: the file is this server's, too.
                try? sink.adopt(
                    report.task.isMarked ? UncheckedBytes.url(of: mirrors.origin) : mirrors.origin)
            }
            return .over(try download.finish(report.task, received: received, elapsed: time.elapsed))
        }

        /// Throws when the bytes are no longer those that were received.
        private func confirmBytes() throws(CommandFailure) {
            guard case .file(let sink) = output, let parts = destination.parts else { return }
            guard isInPlace else {
                parts.removeStrayRecord()
                throw parts.displacement
            }
            do {
                _ = try sink.length
            } catch {
                throw CommandFailure("“\(destination.name).part” cannot be used: \(error.reason).")
            }
        }

        mutating func prepare(_ next: NextAttempt, because sentence: String) async throws(CommandFailure) {
            switch next {
            case .fromFirstByte: mirrors.startOver()
            case .atNextSource: mirrors.moveOn()
            }
            download.announceMirror(mirrors.origin, for: destination, after: sentence)
            guard case .file(let sink) = output else { return }
            if next == .atNextSource(keepsBytes: true) {
                await download.join(&mirrors, destination, sink)
            } else {
                try download.empty(sink, destination)
            }
        }

        func conclude(_ report: Report, _ ending: TransferEnding) async throws(CommandFailure) -> DownloadOutcome {
            if case .upToDate = report.result { return download.concludeUpToDate(destination) }
            switch ending {
            case .failed: return download.conclude(report.result, mirrors.origin, destination, output.stream)
            case .interrupted: return download.conclude(.interrupted, mirrors.origin, destination, output.stream)
            case .mismatched(let sentence):
                try destination.parts?.remove()
                throw CommandFailure(sentence)
            }
        }
    }

    /// The URL in the record of the bytes there are, or of the file that `-N` updates.
    private func recordedURL(_ destination: Destination) -> URL? {
        guard let parts = destination.parts else { return nil }
        switch parts.content(for: sources(for: destination)) {
        case .unfinished(let record), .useless(let record): return record.url
        case .ofAnotherURL: return nil
        case .nothing: return parts.recordOfFinishedFile(for: request.urls)?.url
        }
    }

    private func announceMirror(_ mirror: URL, for destination: Destination, after sentence: String) {
        let subject = messages.subject.map { "\($0): " } ?? ""
        messages.info(
            "\(subject)\(sentence) Trying \(mirror.shownOrigin)",
            CommandEvent(.mirror, file: destination.name, url: mirror).with { $0.reason = sentence })
    }

    /// Lets the next server continue the bytes of another one, if a checksum will tell whether they belong together. The
    /// server's own validator is asked for, so that its response to the range request confirms it.
    private func join(
        _ mirrors: inout MirrorOrder, _ destination: Destination, _ sink: FileHandleSink
    ) async {
        guard let parts = destination.parts, parts.length > 0, let proof = proof(of: destination) else { return }
        var head = plainRequest(mirrors.origin)
        head.askForHead()
        guard let (_, response) = try? await context.session.data(for: head) as? (Data, HTTPURLResponse) else { return }
        trace.request(head)
        trace.response(response)
        var joined = mirrors
        joined.join(under: proof)
        guard response.statusCode == 200,
            (try? sink.adopt(joined.current, asVersionOf: response, context.options.codings.content)) != nil
        else {
            return
        }
        // It was not adopted if the server has another version, or one that cannot be resumed.
        if case .ofAnotherURL = parts.content(for: [joined.current]) { return }
        mirrors = joined
    }

    /// Opens what takes the bytes. Partial files are locked before anything is requested or changed.
    private func open(_ destination: Destination) async throws(CommandFailure) -> FetchTask.Output {
        let parts: PartFiles
        switch destination.kind {
        case .stream(let output): return .stream(StreamSink(output, maximumLength: context.options.maximumLength))
        case .file(let files): parts = files
        }
        // A record that stays has to be right after a power loss, too.
        let completion: SinkCompletion = keepsRecord ? .safe : .written
        let sink = FileHandleSink(
            fileAt: parts.bytes, recordAt: parts.record, completion: completion, through: parts.layer)
        sink.limit(to: context.options.maximumLength, reservingSpace: true)
        try await destination.lock(sink, for: sources(for: destination))
        guard !context.options.resumes else { return .file(sink) }
        do throws(CommandFailure) {
            if destination.mayReplace { try parts.setRecordOfFileAside() }
            try empty(sink, destination)
        } catch {
            parts.removeIfEmpty()
            throw error
        }
        return .file(sink)
    }

    private func empty(_ sink: FileHandleSink, _ destination: Destination) throws(CommandFailure) {
        do {
            try sink.saveRecord(nil)
            try sink.truncate(to: 0)
        } catch {
            throw CommandFailure("“\(destination.name).part” cannot be emptied: \(error.reason)")
        }
    }

    /// - Parameter mirrors: The servers that are asked for parts at the same time.
    private func attempt(
        _ url: URL, beside mirrors: [URL], at destination: Destination, _ output: FetchTask.Output
    ) async -> FetchTask.Report {
        var report = await fetchAll(url, beside: mirrors, at: destination, output)
        guard report.needsMark else { return report }
        let marked = UncheckedBytes.url(of: url)
        if context.options.resumes, !context.options.updates,
            destination.parts?.lengthOfFinishedFile(for: [marked]) != nil
        {
            report.meaning = .isUpToDate
            report.error = nil
            return report
        }
        report = await fetchAll(marked, beside: mirrors, at: report.destination, output)
        report.isMarked = true
        return report
    }

    /// Fetches what one task with the connections beside it brings, and what they have left to another one.
    private func fetchAll(
        _ url: URL, beside mirrors: [URL], at destination: Destination, _ output: FetchTask.Output
    ) async -> FetchTask.Report {
        var report = await fetch(url, beside: mirrors, at: destination, output)
        while report.needsAnother, !Task.isCancelled {
            let (meaning, isMixed) = (report.meaning, report.isMixed)
            report = await fetch(url, beside: mirrors, at: report.destination, output, isContinuation: true)
            if case .resumes = report.meaning { report.meaning = meaning }
            report.isMixed = report.isMixed || isMixed
        }
        return report
    }

    /// What the pieces are digested for while they arrive.
    private var checking: PieceChecking {
        if let list = context.pieces { return .listed(list.pieceList) }
        return context.options.keepsDigests ? .delivered : context.options.connections.checking
    }

    private func mirror(_ url: URL) -> ParallelTransfer.Mirror {
        let refusal = context.options.tls.refusal(of:)
        return ParallelTransfer.Mirror(plainRequest(url)) { response, request in
            response.leavesTLS(for: request) || refusal(request) != nil
        }
    }

    private func announce(_ transferEvent: ParallelTransfer.Event, _ destination: Destination) {
        let subject = messages.subject.map { "\($0): " } ?? ""
        switch transferEvent {
        case .damaged(let bytes):
            let last = bytes.upperBound - 1
            messages.info(
                "\(destination.name): bytes \(bytes.lowerBound)-\(last) are damaged, and are fetched again",
                event(.checked, destination).with {
                    ($0.result, $0.damaged) = ("damaged", [[bytes.lowerBound, last]])
                })
        case .dropped(let url, let reason):
            messages.info(
                "\(subject)\(reason) No more is requested from \(url?.shownOrigin ?? "")",
                CommandEvent(.warning, file: destination.name, url: url).with { $0.reason = reason })
        }
    }

    private func fetch(
        _ url: URL, beside mirrors: [URL], at destination: Destination, _ output: FetchTask.Output,
        isContinuation: Bool = false
    ) async -> FetchTask.Report {
        let connections = FetchTask.Connections(
            count: context.options.connections, experience: experience, mirrors: mirrors.map(mirror),
            checking: checking, content: context.options.codings.content
        ) { announce($0, destination) }
        let attempt = FetchTask(
            urlRequest(url, for: destination), of: request, sources: sources(for: destination), to: destination, output,
            connections, reservations: context.reservations, trace: trace,
            refusal: context.options.tls.refusal(of:)
        ) { destination, length throws(CommandFailure) in
            try checkConditions(destination, length: length)
        } onAccept: { task, destination, meaning, file in
            if case .resumes = meaning, isContinuation {
                // It is the same download.
            } else {
                announce(meaning, task, destination)
            }
            guard !isQuiet else { return }
            context.display.show(task, name: destination.name, number: number) { [weak file] in
                file?.rangedCount
            }
        }
        if !isQuiet, context.isOneOfMany {
            context.display.show({ "waiting for the server" }, name: destination.name, number: number)
        }
        let report = await attempt.run(in: context.session)
        context.display.hide(number: number)
        return report
    }

    private var isQuiet: Bool { context.options.verbosity == .quiet }

    /// Throws when a file of this name and length is refused.
    private func checkConditions(_ destination: Destination, length: Int64) throws(CommandFailure) {
        _ = try verification.checksum(of: destination)
        if let maximum = context.options.maximumLength, length > maximum {
            throw .tooLong(destination.name, maximum, length: length)
        }
    }

    private func plainRequest(_ url: URL) -> URLRequest {
        var urlRequest = URLRequest(url: url)
        urlRequest.add(context.options.headers)
        urlRequest.askForDigest(in: context.session)
        return urlRequest
    }

    private func urlRequest(_ url: URL, for destination: Destination) -> URLRequest {
        var urlRequest = plainRequest(url)
        // What has arrived is resumed as it is.
        if destination.parts?.length ?? 0 == 0 { context.options.codings.addFields(to: &urlRequest) }
        // A file with another checksum than the expected one is not a version to keep.
        if destination.isUpdate, !verification.expectsChecksum, let parts = destination.parts {
            addConditions(to: &urlRequest, parts)
        }
        return urlRequest
    }

    /// Asks for the file only if it is newer than the one there is: by its tag, otherwise by its date.
    private func addConditions(to urlRequest: inout URLRequest, _ parts: PartFiles) {
        // What has arrived of a newer version is resumed first.
        guard parts.length == 0, let record = parts.recordOfFinishedFile(for: [urlRequest.url].compactMap(\.self))
        else { return }
        // A tag of other characters may have come in other bytes than it would go out in.
        if let tag = record.validator, tag.hasPrefix("\""), tag.utf8.allSatisfy({ $0 < 0x80 }) {
            urlRequest.setValue(tag, forHTTPHeaderField: "If-None-Match")
        } else if let date = FileTime.date(of: parts.file) {
            urlRequest.setValue(date, forHTTPHeaderField: "If-Modified-Since")
        }
    }

    // MARK: End

    /// Renames the complete bytes to the file.
    ///
    /// - Parameter received: How many bytes all attempts have received, those included that were dropped.
    private func finish(
        _ report: FetchTask.Report, received: Int64, elapsed: Duration
    ) throws(CommandFailure) -> DownloadOutcome {
        let destination = report.destination
        if let parts = destination.parts {
            try parts.finish(replacing: mayReplace(destination, parts), keepsRecord: keepsRecord)
            if context.options.updates, let date = report.response?.value(forHTTPHeaderField: "Last-Modified") {
                FileTime.set(date, of: parts.file)
            }
        }
        let whole = report.received
        guard report.meaning?.newBytes(of: whole) != nil else {
            return announceComplete(destination, bytes: whole)
        }
        let new = min(received, whole)
        messages.info(
            "\(destination.name): complete\(checked), \(BatchText.amount(whole, new: new, in: elapsed))",
            completion("downloaded", destination, bytes: whole, new: new).with { $0.seconds = elapsed / .seconds(1) })
        return .complete(bytes: whole, new: new)
    }

    /// Says that the file is complete, and nothing was transferred.
    private func announceComplete(_ destination: Destination, bytes: Int64) -> DownloadOutcome {
        messages.info(
            "\(destination.name): already complete\(checked) (\(ByteText.count(bytes)))",
            completion("alreadyComplete", destination, bytes: bytes))
        return .complete(bytes: bytes, new: 0)
    }

    private func completion(
        _ result: String, _ destination: Destination, bytes: Int64, new: Int64 = 0
    ) -> CommandEvent {
        event(.complete, destination).with {
            ($0.result, $0.bytes, $0.newBytes) = (result, bytes, new)
            $0.isChecked = isChecked ? true : nil
        }
    }

    /// A file that `-N` found by itself may have been changed while its newer version arrived.
    private func mayReplace(_ destination: Destination, _ parts: PartFiles) -> Bool {
        guard destination.isUpdate, destination.choice != .user else { return destination.mayReplace }
        return parts.recordOfFinishedFile(for: sources(for: destination)) != nil
    }

    private func concludeUpToDate(_ destination: Destination) -> DownloadOutcome {
        let bytes = destination.parts?.length(of: destination.file) ?? 0
        destination.parts?.removeIfEmpty()
        guard context.options.updates else { return announceComplete(destination, bytes: bytes) }
        messages.info(
            "\(destination.name): up to date (\(ByteText.count(bytes)))",
            completion("upToDate", destination, bytes: bytes))
        return .complete(bytes: bytes, new: 0)
    }

    /// Prints how the download ended, and whether the next command can resume it.
    ///
    /// - Parameter url: The URL that was requested last.
    private func conclude(
        _ result: AttemptResult, _ url: URL, _ destination: Destination, _ stream: StreamSink?
    ) -> DownloadOutcome {
        switch result {
        // The last line says it.
        case .interrupted where context.isOneOfMany && messages.events == nil: break
        case .interrupted: messages.info("\(destination.name): interrupted", event(.interrupted, destination))
        case .httpError(let status), .notTheFile(let status):
            messages.error(result.sentence, of: url, event(.failed, destination).with { $0.status = status })
        case .complete, .upToDate, .refused, .displaced, .unlisted, .failed: fail(result.sentence, destination)
        }
        if let parts = destination.parts {
            if case .displaced = result {
                parts.removeStrayRecord()
                return result.outcome
            }
            removeUselessParts(parts)
            if case .refused = result { return result.outcome }
            printWhatIsSaved(parts, destination)
        } else if let length = stream?.length, length > 0 {
            messages.info(
                "\(destination.name): \(ByteText.count(length)) written, which cannot be resumed",
                saved(destination, bytes: length, isResumable: false))
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

    private func printWhatIsSaved(_ parts: PartFiles, _ destination: Destination) {
        let name = destination.name
        switch parts.content(for: sources(for: destination)) {
        case .nothing, .ofAnotherURL:
            break
        case .unfinished(let record):
            let progress = ByteText.progress(record.bytesReceived, of: record.totalBytes)
            messages.info(
                "\(name): \(progress) saved; the same command resumes the download",
                saved(destination, bytes: record.bytesReceived, of: record.totalBytes, isResumable: true))
        case .useless(let record) where record.validator == nil:
            let bytes = ByteText.count(parts.length)
            messages.info(
                "\(name): \(bytes) saved, but this server does not support resuming; the same command starts"
                    + " over", saved(destination, bytes: parts.length, isResumable: false))
        case .useless(let record) where record.bytesReceived == 0:
            let bytes = ByteText.count(parts.length)
            messages.info(
                "\(name): \(bytes) saved, which cannot be resumed; the same command starts over",
                saved(destination, bytes: parts.length, isResumable: false))
        case .useless:
            messages.info(
                "\(name): “\(parts.bytes.lastPathComponent)” cannot be resumed. It was left as it is.",
                saved(destination, bytes: parts.length, isResumable: false))
        }
    }

    private func saved(
        _ destination: Destination, bytes: Int64, of total: Int64? = nil, isResumable: Bool
    ) -> CommandEvent {
        event(.saved, destination).with { ($0.bytes, $0.total, $0.isResumable) = (bytes, total, isResumable) }
    }

    private func announce(_ meaning: ResponseMeaning, _ task: URLSessionTask, _ destination: Destination) {
        let expected = task.countOfBytesExpectedToReceive
        let total = expected == NSURLSessionTransferSizeUnknown ? nil : expected
        let size = total.map(ByteText.count) ?? "length unknown"
        func started(at offset: Int64, _ reason: String? = nil) -> CommandEvent {
            event(.started, destination).with { ($0.bytes, $0.total, $0.reason) = (offset, total, reason) }
        }
        if let remark = destination.remark { messages.info(remark) }
        if let remark = context.options.codings.remark(on: task.response) { trace.note(remark) }
        switch meaning {
        // On a terminal the table shows it.
        case .begins where context.isOneOfMany && messages.console.canRedraw && messages.events == nil: break
        case .begins: messages.info("\(destination.name): downloading (\(size))", started(at: 0))
        case .resumes(let offset):
            messages.info(
                "\(destination.name): resuming at \(ByteText.progress(offset, of: total))", started(at: offset))
        case .startsOver(let reason):
            messages.info(
                "\(destination.name): starting over (\(size)): \(reason.text)", started(at: 0, reason.text))
        case .isComplete, .isUpToDate, .errorPage, .notTheFile: break
        }
    }
}

extension Error {
    /// The precise reason, where the error has one: the system's own where it is the system's error.
    var reason: String {
        let error = asUnderlying as NSError
        return error.localizedFailureReason ?? error.localizedDescription
    }
}

import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// Where a transfer keeps its body: a download's partial file, or the sink of a data task.
///
/// It lasts as long as the transfer, through redirects and repeated requests. It is examined before the first request, so
/// that a transfer can continue where an earlier one stopped; it is emptied only once a response that replaces its
/// content has been accepted.
@NetworkActor
final class BodyStorage {
    /// What the storage holds before the first request.
    enum StoredContent: Sendable {
        /// Nothing, or nothing that can be trusted: all of the resource has to be requested.
        case unusable
        /// The bytes before this point are those of the resource.
        case partial(ResumePoint)
        /// All of the resource, which has this length.
        case complete(Int64)
    }

    /// The content of an accepted response.
    enum ArrivingContent: Sendable {
        /// All of the resource: the stored bytes belong to another version, and are removed first.
        case whole(length: Int64?)
        /// The bytes that follow those in the storage.
        case part(ResumedPart, at: Int64)

        var isWhole: Bool {
            switch self {
            case .whole: true
            case .part: false
            }
        }

        /// How many of the stored bytes are kept.
        var offset: Int64 {
            switch self {
            case .whole: 0
            case .part(_, let offset): offset
            }
        }

        /// How many of the kept bytes the body repeats at its beginning.
        var overlap: Int64 {
            switch self {
            case .whole: 0
            case .part(let part, _): part.overlap
            }
        }

        /// The offset after the body's last byte.
        var end: Int64? {
            switch self {
            case .whole(let length): length
            case .part(let part, _): part.end
            }
        }

        /// The length of the whole resource.
        var total: Int64? {
            switch self {
            case .whole(let length): length
            case .part(let part, _): part.total
            }
        }
    }

    private let transfer: Transfer
    private let calls: DelegateCalls
    /// The resume data that the transfer was made from, while it still describes the partial file.
    private(set) var resumeData: ResumeData?
    /// Where a resumed transfer continues; the request carries `Range` while it is set.
    private(set) var point: ResumePoint?
    /// The file of a download, once there is one.
    private(set) var partial: PartialFile?
    private var writer: SinkWriter?
    /// The pipe through which plain content goes into the sink's file, without passing through the process.
    private var pipe: ContentPipe?
    /// The content of the accepted response; `nil` before there is one.
    private var content: ArrivingContent?
    /// What describes the bytes that were there before the first request.
    private var found: ResumeData?
    private var checkpoint = CheckpointStage.none

    /// Checkpoints are made about once a second while bytes arrive, one at a time, and once more after the last ones.
    private enum CheckpointStage {
        case none
        case due(SessionTimer)
        /// - Parameter isOutOfDate: Bytes have been written since it began.
        case saving(isOutOfDate: Bool)
        case over
    }

    private static let checkpointInterval = Duration.seconds(1)

    init(of transfer: Transfer, resumeData: ResumeData? = nil) {
        self.transfer = transfer
        calls = transfer.calls
        self.resumeData = resumeData
    }

    /// Whether a sink has been opened: a user's, or a partial file.
    var isOpen: Bool { writer != nil }

    /// Whether it takes what one response brings, also a part of the resource.
    var takesParts: Bool { writer?.sink is any PartSink }

    /// Whether a response has been accepted.
    var hasBegun: Bool { content != nil }

    // MARK: Examining

    /// Examines a data task's sink, which may have a part of what a request is for.
    func examine(
        _ sink: any BodySink, for request: URLRequest,
        then: @escaping @Sendable @NetworkActor (Result<StoredContent, FileFailure>) -> Void
    ) {
        let writer = open(sink, .sinkRecord)
        writer.examineSink { [boot, file = writer.capabilities.file] sink in
            do {
                return try Self.examine(sink, for: request, inBoot: boot)
            } catch {
                throw FileFailure(.open, file?.fileURL, error)
            }
        } then: { [weak self] result in
            self?.didExamine(result.mapError { FileFailure(.open, nil, $0) }, then)
        }
    }

    private nonisolated static func examine(
        _ sink: any BodySink, for request: URLRequest, inBoot boot: String?
    ) throws -> Found {
        guard try sink.length > 0, let blob = try sink.loadRecord(), let record = try? ResumeData(decoding: blob),
            record.isUsable(for: request), let settled = try record.settled(for: sink, inBoot: boot)
        else { return .nothing }
        if settled.isComplete {
            // Who has written it may have ended before it was safe.
            if (sink as? any ConcurrentSink)?.completion != .written { try sink.synchronize() }
            return Found(.complete(settled.bytesReceived), settled)
        }
        let gap = try (sink as? any GappedSink)?.nextGap()
        guard case .range(let missing) = gap, var point = settled.point, missing.lowerBound == point.offset else {
            return .part(settled)
        }
        if let total = point.total, missing.upperBound < total { point.end = missing.upperBound }
        return Found(.partial(point), settled)
    }

    /// What an examination has found.
    private struct Found: Sendable {
        let content: StoredContent
        /// Describes the bytes that count.
        let resumeData: ResumeData?

        static let nothing = Found(.unusable, nil)

        /// Bytes that can be resumed if there is a validator for the rest.
        static func part(_ settled: ResumeData) -> Found {
            settled.point.map { Found(.partial($0), settled) } ?? .nothing
        }

        init(_ content: StoredContent, _ resumeData: ResumeData?) {
            self.content = content
            self.resumeData = resumeData
        }
    }

    /// The identifier of the machine's current boot.
    private var boot: String? { calls.session.settings.files.bootIdentifier }

    /// Opens the partial file that resume data names.
    func examine(
        _ resume: ResumeData, then: @escaping @Sendable @NetworkActor (Result<StoredContent, FileFailure>) -> Void
    ) {
        do throws(FileFailure) {
            guard let file = try PartialFile(named: resume.partialName, in: calls.session.partials),
                !resume.isOvertaken(by: try? file.length)
            else {
                return didExamine(.success(.nothing), then)
            }
            partial = file
            let isUsable = transfer.newRequest.map { resume.isUsable(for: $0) } ?? true
            open(file, checkpointPlace(of: file)).examineSink { [boot] sink in
                guard isUsable else { return .nothing }
                return try resume.settled(for: sink, inBoot: boot).map { .part($0) } ?? .nothing
            } then: { [weak self] result in
                // What cannot be read cannot be trusted: starting over costs time, not the file.
                self?.didExamine(.success((try? result.get()) ?? .nothing), then)
            }
        } catch {
            // Starting over would lose what is there.
            didExamine(.failure(error), then)
        }
    }

    private func didExamine(
        _ result: Result<Found, FileFailure>,
        _ then: @Sendable @NetworkActor (Result<StoredContent, FileFailure>) -> Void
    ) {
        if case .success(let found) = result {
            self.found = found.resumeData
            // Resume data is for downloads.
            resumeData = partial == nil ? nil : found.resumeData
            if case .partial(let resumePoint) = found.content { point = resumePoint }
        }
        then(result.map(\.content))
    }

    /// The server cannot continue at the point: all of the resource is requested.
    func forgetPoint() {
        point = nil
    }

    /// The server does not act on `If-Range`: the rest is requested with `If-Match`.
    func requireMatch() {
        point?.condition = .ifMatch
    }

    /// The server does not repeat the date that names the version: the rest is requested with bytes that are there.
    func requireOverlap() {
        point?.overlap = ResumePoint.provingOverlap
    }

    /// Whether the server has sent a part of what it was asked for, and what follows is to be requested.
    ///
    /// - Parameter received: How many bytes of the resource there are.
    func asksForRest(after received: Int64) -> Bool {
        guard case .part(let part, let offset) = content else { return false }
        return received == part.end && offset < received && received < part.total
    }

    /// The next request asks for what is missing after the part that has arrived.
    ///
    /// - Parameter gap: What the sink is missing, which has a part that this task is to request.
    func movePoint(to gap: SinkGap) {
        guard case .part(let part, _) = content else { return }
        if case .range(let missing) = gap {
            point?.offset = missing.lowerBound
            point?.end = missing.upperBound < part.total ? missing.upperBound : nil
        } else {
            point?.offset = part.end
            point?.end = nil
        }
        point?.total = part.total
    }

    /// Calls `then` with what the sink is missing when everything that was put in is written.
    func whenPartIsWritten(_ then: @escaping @Sendable @NetworkActor (Result<SinkGap, any Error>) -> Void) {
        writer?.examineSink { sink in
            try (sink as? any GappedSink)?.nextGap() ?? .rest
        } then: {
            then($0)
        }
    }

    /// Calls `then` when everything that was put in is written.
    func whenWritten(_ then: @escaping @Sendable @NetworkActor () -> Void) {
        writer?.examineSink { _ in
            ()
        } then: { _ in
            then()
        }
    }

    // MARK: Writing

    /// Prepares for the bytes of a response that is the resource, its rest, or a part of that.
    ///
    /// - Parameter request: The current request.
    func begin(_ response: ReceivedResponse, _ content: ArrivingContent, to request: URLRequest) {
        let follows = hasBegun && !content.isWhole
        self.content = content
        resumeData = nil
        let writer = writer ?? createPartialFile()
        let original = transfer.newRequest ?? calls.task.originalRequest ?? request
        let validator = content.isWhole ? newValidator(original, response.head) : point?.validator
        let template = ResumeTemplate(
            originalRequest: original, currentRequest: request, validator: validator, total: content.total, boot: boot)
        calls.trace?.stores(from: content.offset)
        guard !follows else { return writer.begin(template, .following) }
        checkpoint = .none
        writer.begin(template, content.isWhole ? .startingOver : found.map { .continuing($0) } ?? .startingOver)
        calls.startWriting(at: content.offset)
        if transfer.source.resumeData != nil {
            calls.reportResumed(at: content.offset, expected: content.total ?? NSURLSessionTransferSizeUnknown)
        }
    }

    /// The body of an upload's response cannot be requested again.
    private func newValidator(_ original: URLRequest, _ head: ResponseHead) -> String? {
        transfer.source.isUpload ? nil : Resumability.validator(for: original, response: head)
    }

    /// Lets plain content of known length go into the file without passing through the process.
    func movePlainContent(of response: ReceivedResponse) {
        guard case .length(let length) = response.framing, length >= Self.leastMovedContent,
            writer?.capabilities.piped != nil, let connection = response.source as? HTTPConnection
        else { return }
        // Without a pipe the content arrives as bytes.
        pipe = try? ContentPipe()
        if let pipe { connection.moveContent(into: pipe) }
    }

    /// Shorter content is copied: creating a pipe would cost more.
    private static let leastMovedContent: Int64 = 1 << 20

    /// Takes bytes that there are already: they must be the same. If they are not, all of the resource is requested.
    func compare(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
        transfer.hold(.full)
        writer?.compare(Data(bytes), at: offset) { [weak self] isSame in
            guard let self else { return }
            if isSame { self.transfer.release(.full) } else { self.transfer.requestWhole(instead: self) }
        }
    }

    /// Adds bytes. True when no more may come until they have been written.
    func put(_ bytes: UnsafeRawBufferPointer) -> Bool {
        writer?.put(bytes) ?? false
    }

    /// Adds bytes that are in the pipe. No more may come until they have been written.
    func putMoved(_ count: Int) {
        if let pipe { writer?.put(count, from: pipe) }
    }

    private func createPartialFile() -> SinkWriter {
        let file = PartialFile(creatingIn: calls.session.partials)
        partial = file
        calls.trace?.file(.create)
        return open(file, checkpointPlace(of: file))
    }

    @discardableResult
    private func open(_ sink: any BodySink, _ checkpointPlace: SinkWriter.CheckpointPlace) -> SinkWriter {
        let writer = SinkWriter(
            sink, checkpointPlace, limit: calls.session.settings.limits.bufferedBytesPerTask, trace: calls.trace
        ) { [weak self] event in
            self?.receive(event)
        }
        self.writer = writer
        return writer
    }

    private func receive(_ event: SinkWriter.Event) {
        switch event {
        case .wrote(let count, let resumesReading):
            calls.trace?.fileWritten(count)
            calls.reportWritten(Int64(count))
            scheduleCheckpoint()
            if resumesReading { transfer.release(.full) }
        case .failed(let error):
            transfer.fail(.file(FileFailure(.write, writer?.capabilities.file?.fileURL, error)))
        }
    }

    // MARK: Checkpoints

    /// Bytes have been written: a checkpoint follows soon, whether or not others arrive.
    private func scheduleCheckpoint() {
        switch checkpoint {
        case .none:
            guard writer?.savesCheckpoints == true else { return }
            checkpoint = .due(
                transfer.session.settings.clock.schedule(after: Self.checkpointInterval) { [weak self] in
                    self?.saveCheckpoint()
                })
        case .saving(isOutOfDate: false): checkpoint = .saving(isOutOfDate: true)
        case .due, .saving, .over: break
        }
    }

    private func saveCheckpoint() {
        guard case .due = checkpoint, let writer else { return }
        checkpoint = .saving(isOutOfDate: false)
        writer.saveCheckpoint { [weak self] in
            guard let self, case .saving(let isOutOfDate) = self.checkpoint else { return }
            self.checkpoint = .none
            if isOutOfDate { self.scheduleCheckpoint() }
        }
    }

    private func endCheckpoints() {
        if case .due(let timer) = checkpoint { timer.cancel() }
        checkpoint = .over
    }

    /// The journal of a background session follows a download's bytes as they become safe.
    private func checkpointPlace(of partial: PartialFile) -> SinkWriter.CheckpointPlace {
        guard let background = calls.session.background else { return .none }
        return .journal { [task = calls.task] checkpoint in
            let identifier = task.taskIdentifier
            switch checkpoint {
            case .reset:
                try background.updateDurably(identifier) { record in
                    record.resume = nil
                    record.finished = nil
                }
                try background.update(identifier) { $0.begun = partial.name }
            case .partial(let resume):
                try background.update(identifier) { $0.resume = resume }
            case .complete(let length):
                let finished = try JournaledTask.Finished(of: partial, length: length, response: task.response)
                try background.updateDurably(identifier) { $0.finished = finished }
            }
        }
    }

    // MARK: Ends

    /// The whole body has been put in: `then` is called when it is written and recorded, or could not be.
    func complete(then: @escaping @Sendable @NetworkActor (TransferFailure?) -> Void) {
        endCheckpoints()
        guard let writer else { return then(nil) }
        writer.complete { [weak self, file = writer.capabilities.file] result in
            switch result {
            case .success(let length):
                guard let total = self?.content?.total, total != length else { return then(nil) }
                then(.incomplete(received: length, total: total))
            case .failure(let error):
                then(.file(FileFailure(.write, file?.fileURL, error)))
            }
        }
    }

    /// Closes before the body is complete. `then` receives the resume data, if there can be any.
    func stop(then: @escaping @Sendable @NetworkActor (ResumeData?) -> Void) {
        endCheckpoints()
        guard let writer else { return then(nil) }
        writer.stop(then: then)
    }

    /// The partial file with which no later transfer continues, if there is one. A file that resume data of the user's
    /// names stays, as long as nothing was written to it; one that only the journal knows of does not.
    var unwantedFile: PartialFile? {
        if let partial { return partial }
        guard case .restored(let resume) = transfer.source else { return nil }
        return try? PartialFile(named: resume.partialName, in: calls.session.partials)
    }
}

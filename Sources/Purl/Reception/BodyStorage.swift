import Foundation
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

    private let transfer: Transfer
    private let calls: DelegateCalls
    /// The resume data that the transfer was made from, while it still describes the partial file.
    private(set) var resumeData: ResumeData?
    /// Where a resumed transfer continues; the request carries `Range` while it is set.
    private(set) var point: ResumePoint?
    /// The file of a download, once there is one.
    private(set) var partial: PartialFile?
    private var writer: SinkWriter?
    /// The way of plain content into the sink's file.
    private var pipe: ContentPipe?
    /// The length of the whole resource, where it is known.
    private var total: Int64?

    init(of transfer: Transfer, resumeData: ResumeData? = nil) {
        self.transfer = transfer
        calls = transfer.calls
        self.resumeData = resumeData
    }

    /// Whether there is a sink already: a user's, or a partial file.
    var isOpen: Bool { writer != nil }

    // MARK: Examining

    /// Examines a data task's sink.
    func examine(
        _ sink: any BodySink, url: String?,
        then: @escaping @Sendable @NetworkActor (Result<StoredContent, FileFailure>) -> Void
    ) {
        open(sink, .sinkRecord).examineSink { sink in
            do {
                return try Self.examine(sink, url: url)
            } catch {
                throw FileFailure(.open, (sink as? FileHandleSink)?.fileURL, error)
            }
        } then: { [weak self] result in
            self?.didExamine(result.mapError { FileFailure(.open, nil, $0) }, then)
        }
    }

    private nonisolated static func examine(_ sink: any BodySink, url: String?) throws -> StoredContent {
        guard try sink.length > 0, let blob = try sink.loadRecord(), let record = try? ResumeData(decoding: blob),
            record.originalRequest.url == url, try record.matches(sink)
        else { return .unusable }
        if record.isComplete { return .complete(record.bytesReceived) }
        return record.point.map { .partial($0) } ?? .unusable
    }

    /// Opens the partial file that resume data names.
    func examine(
        _ resume: ResumeData, then: @escaping @Sendable @NetworkActor (Result<StoredContent, FileFailure>) -> Void
    ) {
        do throws(FileFailure) {
            guard let file = try PartialFile(named: resume.partialName, in: calls.session.partials) else {
                return didExamine(.success(.unusable), then)
            }
            partial = file
            open(file, checkpointPlace(of: file)).examineSink { sink in
                guard try resume.matches(sink), let point = resume.point else { return StoredContent.unusable }
                return .partial(point)
            } then: { [weak self] result in
                // What cannot be read cannot be trusted: starting over costs time, not the file.
                self?.didExamine(.success((try? result.get()) ?? .unusable), then)
            }
        } catch {
            // Starting over would lose what is there.
            didExamine(.failure(error), then)
        }
    }

    private func didExamine(
        _ result: Result<StoredContent, FileFailure>,
        _ then: @Sendable @NetworkActor (Result<StoredContent, FileFailure>) -> Void
    ) {
        switch result {
        case .success(.unusable):
            point = nil
            resumeData = nil
        case .success(.partial(let resumePoint)):
            point = resumePoint
        case .success(.complete), .failure:
            break
        }
        then(result)
    }

    /// The server cannot continue at the point: all of the resource is requested.
    func forgetPoint() {
        point = nil
    }

    // MARK: Writing

    /// Prepares for the bytes of a response that is the resource, or its rest.
    ///
    /// - Parameters:
    ///   - request: The current request.
    ///   - startingOver: The bytes there are, if any, belong to another version, and are removed first.
    func begin(_ response: ReceivedResponse, to request: URLRequest, total: Int64?, startingOver: Bool) {
        self.total = total
        resumeData = nil
        let writer = writer ?? createPartialFile()
        let original = calls.task.originalRequest ?? request
        let validator = startingOver ? newValidator(original, response.head) : point?.validator
        writer.begin(
            ResumeTemplate(originalRequest: original, currentRequest: request, validator: validator, total: total),
            startingOver: startingOver)
        if transfer.source.resumeData != nil {
            calls.reportResumed(
                at: startingOver ? 0 : point?.offset ?? 0, expected: total ?? NSURLSessionTransferSizeUnknown)
        }
    }

    /// The body of an upload's response cannot be requested again.
    private func newValidator(_ original: URLRequest, _ head: ResponseHead) -> String? {
        transfer.source.isUpload ? nil : Resumability.validator(for: original, response: head)
    }

    /// Lets plain content of known length go into the file without passing through the process.
    func movePlainContent(of response: ReceivedResponse) {
        guard case .length(let length) = response.framing, length >= Self.leastMovedContent,
            writer?.sink is any PipedSink, let connection = response.source as? HTTPConnection
        else { return }
        // Without a pipe the content arrives as bytes.
        pipe = try? ContentPipe()
        if let pipe { connection.moveContent(into: pipe) }
    }

    /// For less than this many bytes a pipe is not worth making.
    private static let leastMovedContent: Int64 = 1 << 20

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
        return open(file, checkpointPlace(of: file))
    }

    @discardableResult
    private func open(_ sink: any BodySink, _ checkpointPlace: SinkWriter.CheckpointPlace) -> SinkWriter {
        let writer = SinkWriter(
            sink, checkpointPlace, limit: calls.session.settings.maximumBufferedBytesPerTask
        ) { [weak self] event in
            self?.receive(event)
        }
        self.writer = writer
        return writer
    }

    private func receive(_ event: SinkWriter.Event) {
        switch event {
        case .wrote(let count, let resumesReading):
            calls.reportWritten(Int64(count))
            if resumesReading { transfer.release(.full) }
        case .failed(let error):
            transfer.fail(.file(FileFailure(.write, (writer?.sink as? FileHandleSink)?.fileURL, error)))
        }
    }

    /// The journal of a background session follows a download's bytes as they become safe.
    private func checkpointPlace(of partial: PartialFile) -> SinkWriter.CheckpointPlace {
        guard let background = calls.session.background else { return .none }
        return .journal { [task = calls.task] checkpoint in
            let identifier = task.taskIdentifier
            switch checkpoint {
            case .reset:
                try background.update(identifier, durably: true) { record in
                    record.resume = nil
                    record.finished = nil
                }
                try background.update(identifier) { $0.begun = partial.name }
            case .partial(let resume):
                try background.update(identifier) { $0.resume = resume }
            case .complete(let length):
                let finished = JournaledTask.Finished(of: partial, length: length, response: task.response)
                try background.update(identifier, durably: true) { $0.finished = finished }
            }
        }
    }

    // MARK: Ends

    /// The whole body has been put in: `then` is called when it is written and recorded, or could not be.
    func complete(then: @escaping @Sendable @NetworkActor (TransferFailure?) -> Void) {
        guard let writer else { return then(nil) }
        writer.complete { [weak self] result in
            switch result {
            case .success(let length):
                guard let total = self?.total, total != length else { return then(nil) }
                then(.incomplete(received: length, total: total))
            case .failure(let error):
                then(.file(FileFailure(.write, nil, error)))
            }
        }
    }

    /// Closes before the body is complete. `then` receives the resume data, if there can be any.
    func stop(then: @escaping @Sendable @NetworkActor (ResumeData?) -> Void) {
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

import Foundation
internal import PurlHTTP
internal import PurlIO

/// How a transfer gets its sink: looked into, opened again, or made anew.
extension Transfer {
    /// What was found in a sink before anything is asked of the server.
    private enum Finding: Sendable {
        /// Nothing, or nothing that can be vouched for.
        case startOver
        case goOn(ResumePoint)
        case complete(Int64)
    }

    /// A data task that writes to a user's sink: asks it what it has.
    func look(into sink: any BodySink) {
        let writer = makeWriter(sink, .inSink)
        phase = .preparing
        let url = request.url?.absoluteString
        writer.ask { sink in
            do {
                return try Self.find(in: sink, url: url)
            } catch {
                throw FileFailure(.open, (sink as? FileHandleSink)?.fileURL, error)
            }
        } then: { [weak self] result in
            self?.found(result)
        }
    }

    private nonisolated static func find(in sink: any BodySink, url: String?) throws -> Finding {
        guard try sink.length > 0, let blob = try sink.loadRecord(), let record = try? ResumeData(decoding: blob),
            record.originalRequest.url == url, try record.matches(sink)
        else { return .startOver }
        if record.isComplete { return .complete(record.bytesReceived) }
        return record.point.map { .goOn($0) } ?? .startOver
    }

    /// A download made from resume data: opens the partial file again, or starts over in a new one.
    func openPartial(_ resume: ResumeData) {
        phase = .preparing
        let partial: PartialFile
        do throws(FileFailure) {
            guard let file = try PartialFile(named: resume.partialName, in: session.partials) else {
                return startWithoutRest()
            }
            partial = file
        } catch {
            // A new start would lose what is there.
            return fail(.file(error))
        }
        self.partial = partial
        makeWriter(partial, bookkeeping(of: partial)).ask { sink in
            guard try resume.matches(sink), let point = resume.point else { return Finding.startOver }
            return .goOn(point)
        } then: { [weak self] result in
            // What cannot be read cannot be trusted: a new start costs time, not the file.
            self?.found(.success((try? result.get()) ?? .startOver))
        }
    }

    private func startWithoutRest() {
        rest = nil
        untouched = nil
        connect()
    }

    private func found(_ result: Result<Finding, any Error>) {
        guard case .preparing = phase else { return }
        switch result {
        case .failure(let error):
            fail(.file(FileFailure(.open, nil, error)))
        case .success(.startOver):
            startWithoutRest()
        case .success(.goOn(let point)):
            rest = point
            connect()
        case .success(.complete(let length)):
            task.updateCounts { counts in
                counts.received = length
                counts.expectedToReceive = length
            }
            phase = .ending
            writer?.stop { [weak self] _ in self?.conclude(.success(())) }
        }
    }

    @discardableResult
    private func makeWriter(_ sink: any BodySink, _ bookkeeping: SinkWriter.Bookkeeping) -> SinkWriter {
        let writer = SinkWriter(
            sink, bookkeeping, limit: session.settings.maximumBufferedBytesPerTask
        ) { [weak self] event in
            self?.sinkReports(event)
        }
        self.writer = writer
        return writer
    }

    /// A background session's journal hears of a download's bytes as they become safe.
    private func bookkeeping(of partial: PartialFile) -> SinkWriter.Bookkeeping {
        guard let background = session.background else { return .none }
        return .elsewhere { [task] note in
            let identifier = task.taskIdentifier
            switch note {
            case .startsOver:
                try background.update(identifier, durably: true) { record in
                    record.resume = nil
                    record.finished = nil
                }
                try background.update(identifier) { $0.begun = partial.name }
            case .holds(let resume):
                try background.update(identifier) { $0.resume = resume }
            case .isWhole(let length):
                let finished = TaskRecord.Finished(of: partial, length: length, response: task.response)
                try background.update(identifier, durably: true) { $0.finished = finished }
            }
        }
    }

    private func sinkReports(_ event: SinkWriter.Event) {
        switch event {
        case .wrote(let count, let mayReadOn):
            reportWritten(Int64(count))
            if mayReadOn {
                holds.remove(.full)
                updateFlow()
            }
        case .failed(let error):
            fail(.file(FileFailure(.write, (writer?.sink as? FileHandleSink)?.fileURL, error)))
        }
    }

    /// The response is the resource: makes ready to store it.
    ///
    /// - Parameter startingOver: The bytes there are, if any, belong to another version.
    func openStorage(_ answer: Answer, startingOver: Bool) {
        let writer = writer ?? makePartialWriter()
        untouched = nil
        let validator = startingOver ? newValidator(answer.head) : rest?.validator
        writer.begin(
            ResumeTemplate(
                originalRequest: originalRequest, currentRequest: request, validator: validator, total: total),
            startingOver: startingOver)
        destination = .sink(writer)
        movePlainContent(of: answer, to: writer.sink)
        if isResumedDownload { reportResumed(at: startingOver ? 0 : rest?.offset ?? 0) }
    }

    /// Plain content of known length need not pass through the process on its way into a file.
    private func movePlainContent(of answer: Answer, to sink: any BodySink) {
        guard coded == nil, case .length(let length) = answer.framing, length >= Self.leastMovedContent,
            sink is any PipedSink, let connection = answer.source as? HTTPConnection
        else { return }
        // Without a pipe it comes as bytes.
        pipe = try? ContentPipe()
        if let pipe { connection.moveContent(into: pipe) }
    }

    /// For less than this many bytes a pipe is not worth making.
    private static let leastMovedContent: Int64 = 1 << 20

    func exchange(_ source: any ResponseSource, didMoveContent count: Int) {
        guard case .sink(let writer) = destination, let pipe else { return }
        writer.put(count, from: pipe)
        metrics?.current.noteContent(count)
        received += Int64(count)
        task.updateCounts { $0.received = received }
        hold(.full)
    }

    private func newValidator(_ head: ResponseHead) -> String? {
        isUpload ? nil : Resumability.validator(for: originalRequest, answeredBy: head)
    }

    private func makePartialWriter() -> SinkWriter {
        let partial = PartialFile(creatingIn: session.partials)
        self.partial = partial
        return makeWriter(partial, bookkeeping(of: partial))
    }

    /// The request the transfer began with, which resume data begins with again.
    private var originalRequest: URLRequest { task.originalRequest ?? request }
}

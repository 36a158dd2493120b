import Foundation
internal import PurlIO
import Synchronization

/// Writes one transfer's bytes to its sink, away from the network thread.
///
/// Everything that touches the sink runs on one serial queue, in the order in which it was asked for; so a question
/// asked behind some bytes is answered when they have been written. The first failure stops the writing and is
/// reported once.
final class SinkWriter: Sendable {
    /// What the transfer hears while bytes are written.
    enum Event: Sendable {
        /// - Parameter mayReadOn: Reading had stopped for want of room, and there is room again.
        case wrote(Int, mayReadOn: Bool)
        case failed(any Error)
    }

    /// Where it is written down, as bytes come, how far the sink has come.
    enum Bookkeeping: Sendable {
        /// Nowhere: only `stop` makes resume data.
        case none
        /// In the sink's own record.
        case inSink
        /// With somebody else, who is told on the writer's queue.
        case elsewhere(@Sendable (Note) throws -> Void)
    }

    enum Note: Sendable {
        /// What was said before holds no longer: the sink is about to be emptied.
        case startsOver
        /// The bytes that this speaks of are safe.
        case holds(ResumeData)
        /// The whole body is, and has this length.
        case isWhole(Int64)
    }

    private struct State {
        var template: ResumeTemplate?
        var failure: (any Error)?
        var schedule = CheckpointSchedule()
        var isClosed = false
        /// How many bytes wait in the pipe.
        var piped = 0
    }

    let sink: any BodySink
    private let bookkeeping: Bookkeeping
    private let queue = DispatchQueue(label: "Purl.SinkWriter")
    private let mailbox: ByteMailbox
    private let report: @Sendable @NetworkActor (Event) -> Void
    private let state = Mutex(State())

    init(
        _ sink: any BodySink, _ bookkeeping: Bookkeeping, limit: Int,
        report: @escaping @Sendable @NetworkActor (Event) -> Void
    ) {
        self.sink = sink
        self.bookkeeping = bookkeeping
        mailbox = ByteMailbox(limit: limit)
        self.report = report
    }

    // MARK: Writing

    /// Hands over bytes. True when reading must stop until an event says otherwise.
    func put(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let receipt = mailbox.put(bytes)
        if receipt.wakesConsumer { queue.async { self.writeWhatWaits() } }
        return receipt.isFull
    }

    private func writeWhatWaits() {
        while let data = mailbox.take() {
            do {
                // A user's stream may lead into a pipe whose reader has gone.
                try BrokenPipe.withoutSignal { try sink.append(data) }
                try saveCheckpointIfDue(adding: data.count)
                let hasRoom = mailbox.done(data.count)
                tell(.wrote(data.count, mayReadOn: hasRoom && state.withLock { $0.piped == 0 }))
            } catch {
                return fail(error)
            }
        }
    }

    /// Hands over bytes that are in the pipe, after those handed over before. Reading must stop until an event says
    /// otherwise: a full pipe cannot be told from an idle socket.
    func put(_ count: Int, from pipe: ContentPipe) {
        state.withLock { $0.piped += count }
        queue.async { [self] in
            do {
                if let failure = state.withLock({ $0.failure }) { throw failure }
                guard let sink = sink as? any PipedSink else { return }
                try sink.append(count, from: pipe)
                try saveCheckpointIfDue(adding: count)
                let isEmpty = state.withLock { state in
                    state.piped -= count
                    return state.piped == 0
                }
                tell(.wrote(count, mayReadOn: isEmpty))
            } catch {
                fail(error)
            }
        }
    }

    private func fail(_ error: any Error) {
        mailbox.close()
        let isFirst = state.withLock { state in
            defer { state.failure = state.failure ?? error }
            return state.failure == nil
        }
        if isFirst { tell(.failed(error)) }
    }

    private func tell(_ event: Event) {
        NetworkActor.post { [report] in report(event) }
    }

    // MARK: Beginning

    /// Asks the sink something, behind what was handed over before.
    func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (any BodySink) throws -> Answer,
        then: @escaping @Sendable @NetworkActor (Result<Answer, any Error>) -> Void
    ) {
        queue.async { [sink] in
            let answer = Result { try question(sink) }
            NetworkActor.post { then(answer) }
        }
    }

    /// The response is the resource: its bytes follow.
    ///
    /// - Parameter startingOver: Empties the sink first. The record goes before the bytes do, so that at no moment it
    ///   vouches for bytes of another version.
    func begin(_ template: ResumeTemplate, startingOver: Bool) {
        queue.async { [self] in
            // As long as the sink holds another version's bytes, the template does not speak of them.
            guard startingOver else { return state.withLock { $0.template = template } }
            do {
                switch bookkeeping {
                case .none: break
                case .inSink: try sink.saveRecord(nil)
                case .elsewhere(let tell): try tell(.startsOver)
                }
                try sink.truncate(to: 0)
                state.withLock { $0.template = template }
            } catch {
                fail(error)
            }
        }
    }

    // MARK: Ending

    /// Ends with the whole body: the answer comes when it is written and recorded, and is the sink's length.
    func complete(then: @escaping @Sendable @NetworkActor (Result<Int64, any Error>) -> Void) {
        queue.async { [self] in
            let result = Result<Int64, any Error> {
                if let failure = state.withLock({ $0.failure }) { throw failure }
                let length = try sink.length
                state.withLock { state in
                    if state.template?.total == nil { state.template?.total = length }
                }
                guard length == state.withLock({ $0.template?.total }) else { return length }
                // A finished download stays locked until its delegate has it: nobody may go on with it meanwhile.
                switch bookkeeping {
                case .none:
                    break
                case .inSink:
                    try saveCheckpoint()
                    try close()
                case .elsewhere(let tell):
                    try sink.synchronize()
                    try tell(.isWhole(length))
                }
                return length
            }
            NetworkActor.post { then(result) }
        }
    }

    /// Ends before the body does. What was handed over is written; the answer is the resume data, if there can be any.
    func stop(then: @escaping @Sendable @NetworkActor (ResumeData?) -> Void) {
        queue.async { [self] in
            let resume = try? makeResumeData()
            // Where no record could be written, for want of room say, the resume data still tells what is there.
            if let resume { try? write(resume) }
            try? close()
            NetworkActor.post { then(resume) }
        }
    }

    // MARK: Checkpoints

    private func saveCheckpointIfDue(adding count: Int) throws {
        if case .none = bookkeeping { return }
        guard state.withLock({ $0.schedule.isDue(afterWriting: count) }) else { return }
        try saveCheckpoint()
        state.withLock { $0.schedule.checkpointEnded() }
    }

    /// Brings what is written down up to date.
    private func saveCheckpoint() throws {
        if let resume = try makeResumeData() { try write(resume) }
    }

    /// What can be said of the bytes, once they are safe: so that it never claims more than a power loss would leave.
    private func makeResumeData() throws -> ResumeData? {
        guard let resume = try state.withLock({ $0.template })?.resumeData(for: sink) else { return nil }
        try sink.synchronize()
        return resume
    }

    private func write(_ resume: ResumeData) throws {
        switch bookkeeping {
        case .none: break
        case .inSink: try sink.saveRecord(try resume.encoded())
        case .elsewhere(let tell): try tell(.holds(resume))
        }
    }

    private func close() throws {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        mailbox.close()
        if isFirst { try sink.close() }
    }
}

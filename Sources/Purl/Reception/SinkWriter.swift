import Foundation
internal import PurlIO
import Synchronization

/// Writes one transfer's bytes to its sink, away from the network thread.
///
/// Everything that touches the sink runs on one serial queue, in the order of the calls: what is called after some bytes
/// were put runs when they have been written. The first failure stops the writing and is reported once.
final class SinkWriter: Sendable {
    /// What is reported while bytes are written.
    enum Event: Sendable {
        /// - Parameter resumesReading: Reading had stopped for lack of room, and there is room again.
        case wrote(Int, resumesReading: Bool)
        case failed(any Error)
    }

    /// Where checkpoints are saved as bytes are written.
    enum CheckpointPlace: Sendable {
        /// Nowhere: only `stop` creates resume data.
        case none
        /// The sink's own record.
        case sinkRecord
        /// A journal, which this call updates, on the writer's queue.
        case journal(@Sendable (Checkpoint) throws -> Void)
    }

    /// What a journal records.
    enum Checkpoint: Sendable {
        /// Earlier checkpoints no longer hold: the sink is about to be emptied.
        case reset
        /// The bytes that the resume data describes are safe.
        case partial(ResumeData)
        /// The whole body is safe, and has this length.
        case complete(Int64)
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
    private let checkpointPlace: CheckpointPlace
    private let queue = DispatchQueue(label: "Purl.SinkWriter")
    private let mailbox: ByteMailbox
    private let report: @Sendable @NetworkActor (Event) -> Void
    private let state = Mutex(State())

    init(
        _ sink: any BodySink, _ checkpointPlace: CheckpointPlace, limit: Int,
        report: @escaping @Sendable @NetworkActor (Event) -> Void
    ) {
        self.sink = sink
        self.checkpointPlace = checkpointPlace
        mailbox = ByteMailbox(limit: limit)
        self.report = report
    }

    // MARK: Writing

    /// Adds bytes. True when reading must stop until an event resumes it.
    func put(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let receipt = mailbox.put(bytes)
        if receipt.wakesConsumer { queue.async { self.writePending() } }
        return receipt.isFull
    }

    private func writePending() {
        while let data = mailbox.take() {
            do {
                // A user's stream may write to a pipe whose reader has closed it.
                try BrokenPipe.withoutSignal { try sink.append(data) }
                try saveCheckpointIfDue(adding: data.count)
                let hasRoom = mailbox.done(data.count)
                post(.wrote(data.count, resumesReading: hasRoom && state.withLock { $0.piped == 0 }))
            } catch {
                return fail(error)
            }
        }
    }

    /// Adds bytes that are in the pipe, after those added before. Reading must stop until an event resumes it: a full pipe
    /// cannot be told from an idle socket.
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
                post(.wrote(count, resumesReading: isEmpty))
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
        if isFirst { post(.failed(error)) }
    }

    private func post(_ event: Event) {
        NetworkActor.post { [report] in report(event) }
    }

    // MARK: Beginning

    /// Examines the sink after the bytes added before have been written.
    func examineSink<Value: Sendable>(
        _ examination: @escaping @Sendable (any BodySink) throws -> Value,
        then: @escaping @Sendable @NetworkActor (Result<Value, any Error>) -> Void
    ) {
        queue.async { [sink] in
            let result = Result { try examination(sink) }
            NetworkActor.post { then(result) }
        }
    }

    /// Prepares for the bytes of a response that is the resource, or its rest.
    ///
    /// - Parameter startingOver: Empties the sink first. The record is removed before the bytes are, so that it never
    ///   describes bytes of another version.
    func begin(_ template: ResumeTemplate, startingOver: Bool) {
        queue.async { [self] in
            // The template must not describe another version's bytes: with those, it is set after the truncation.
            guard startingOver else { return state.withLock { $0.template = template } }
            do {
                switch checkpointPlace {
                case .none: break
                case .sinkRecord: try sink.saveRecord(nil)
                case .journal(let save): try save(.reset)
                }
                try sink.truncate(to: 0)
                state.withLock { $0.template = template }
            } catch {
                fail(error)
            }
        }
    }

    // MARK: Ending

    /// Ends with the whole body. `then` receives the sink's length when the body is written and recorded.
    func complete(then: @escaping @Sendable @NetworkActor (Result<Int64, any Error>) -> Void) {
        queue.async { [self] in
            let result = Result<Int64, any Error> {
                if let failure = state.withLock({ $0.failure }) { throw failure }
                let length = try sink.length
                state.withLock { state in
                    if state.template?.total == nil { state.template?.total = length }
                }
                guard length == state.withLock({ $0.template?.total }) else { return length }
                // A finished download stays locked until its delegate has it: no other task may continue it meanwhile.
                switch checkpointPlace {
                case .none:
                    break
                case .sinkRecord:
                    try saveCheckpoint()
                    try close()
                case .journal(let save):
                    try sink.synchronize()
                    try save(.complete(length))
                }
                return length
            }
            NetworkActor.post { then(result) }
        }
    }

    /// Ends before the body is complete. What was added is written; `then` receives the resume data, if there can be any.
    func stop(then: @escaping @Sendable @NetworkActor (ResumeData?) -> Void) {
        queue.async { [self] in
            let resume = try? makeResumeData()
            // Where no record can be written, for lack of room perhaps, the resume data still describes what is there.
            if let resume { try? write(resume) }
            try? close()
            NetworkActor.post { then(resume) }
        }
    }

    // MARK: Checkpoints

    private func saveCheckpointIfDue(adding count: Int) throws {
        if case .none = checkpointPlace { return }
        guard state.withLock({ $0.schedule.isDue(afterWriting: count) }) else { return }
        try saveCheckpoint()
        state.withLock { $0.schedule.checkpointEnded() }
    }

    /// Saves how many bytes the sink holds now.
    private func saveCheckpoint() throws {
        if let resume = try makeResumeData() { try write(resume) }
    }

    /// Synchronises the sink, and describes its bytes: so the data never claims more than a power loss would leave.
    private func makeResumeData() throws -> ResumeData? {
        guard let resume = try state.withLock({ $0.template })?.resumeData(for: sink) else { return nil }
        try sink.synchronize()
        return resume
    }

    private func write(_ resume: ResumeData) throws {
        switch checkpointPlace {
        case .none: break
        case .sinkRecord: try sink.saveRecord(try resume.encoded())
        case .journal(let save): try save(.partial(resume))
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

/// Decides when a checkpoint is saved, so that a process that is killed loses little.
///
/// A checkpoint is due after 512 KiB, but as a rule no sooner than nine times what the last ones took, so that making
/// bytes safe takes no more than a tenth of the time; and after a second in any case.
struct CheckpointSchedule {
    private static let interval = Duration.seconds(1)
    private static let bytes = 1 << 19
    /// On a disk that is slow for good, a smaller part of the time is left rather than more bytes lost.
    private static let longestRest = Duration.milliseconds(250)

    private var unsaved = 0
    private var start = ContinuousClock.now
    private var end = ContinuousClock.now
    private var rest = Duration.zero
    /// What the last checkpoint took. A single slow one does not count.
    private var cost = Duration.zero

    /// Counts bytes that were written. True when a checkpoint is due, which then begins.
    mutating func isDue(afterWriting count: Int) -> Bool {
        unsaved += count
        let now = ContinuousClock.now
        let passed = now - end
        guard passed >= Self.interval || (unsaved >= Self.bytes && passed >= rest) else { return false }
        start = now
        return true
    }

    mutating func checkpointEnded() {
        end = .now
        unsaved = 0
        let latest = end - start
        rest = min(min(cost, latest) * 9, Self.longestRest)
        cost = latest
    }
}

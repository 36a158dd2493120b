import Foundation
internal import PurlConnections
internal import PurlIO
import Synchronization

/// Writes one transfer's bytes to its sink, away from the network thread.
///
/// What touches the sink runs on one serial queue, in the order of the calls: what is called after some bytes were put runs
/// when they have been written. Only waiting for the disk does not, where the sink allows that: no byte waits for it. The
/// first failure stops the writing and is reported once.
///
/// Waking a thread costs more than copying some thousand bytes. So what arrives by itself is written at once, and what follows
/// closely waits for company: until there are 64 KiB, or a moment has passed, or another call is made.
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
        /// Resume data for the bytes so far.
        case partial(ResumeData)
        /// The whole body is safe, and has this length.
        case complete(Int64)
    }

    /// Where the bytes of a response begin.
    enum Beginning: Sendable {
        /// The sink is emptied first.
        case startingOver
        /// They follow those that this data describes.
        case continuing(ResumeData)
        /// They follow those that have been written already.
        case following
    }

    private struct State {
        var template: ResumeTemplate?
        var failure: (any Error)?
        /// The bytes that arrive do not belong to those of the sink: they are dropped until the next beginning.
        var isRejecting = false
        var closing = Closing.open
        /// How many bytes wait in the pipe.
        var piped = 0
        /// Counts beginnings and ends: a checkpoint of one that is over is dropped.
        var period = 0
        var disk = DiskState.sound(safe: nil)
    }

    private enum Closing {
        case open
        /// The sink may be another task's from now on.
        ///
        /// - Parameter leaving: What ``stop(then:)`` delivers, also when it is called again.
        case closed(leaving: ResumeData?)
    }

    /// Whether the disk has kept what was synchronised. The system tells only once of bytes that it has lost.
    private enum DiskState {
        case sound(safe: DigestedBytes?)
        case failed(any Error, safe: DigestedBytes?)

        var safe: DigestedBytes? {
            switch self {
            case .sound(let safe), .failed(_, let safe): safe
            }
        }

        /// Throws what the system has told of bytes that are lost.
        func check() throws {
            if case .failed(let error, _) = self { throw error }
        }
    }

    /// The least that is written at a time, unless the bytes are few or slow.
    static let piece = 65_536
    /// How long fewer bytes wait for company.
    private static let gatheringTime = Duration.milliseconds(10)

    let sink: any BodySink
    let capabilities: SinkCapabilities
    private let checkpointPlace: CheckpointPlace
    private let queue: WorkQueue
    private let mailbox: ByteMailbox
    private let report: @Sendable @NetworkActor (Event) -> Void
    private let trace: TaskTrace?
    private let state = Mutex(State())
    /// Held while a checkpoint is made or written, not while the disk is waited for: none follows the end.
    private let checkpoints = Mutex(())
    /// Held while the disk is waited for: who waits next knows what the one before was told.
    private let synchronizations = Mutex(())
    /// Runs for a moment after fewer bytes than a piece were handed over.
    @NetworkActor private var gathering: LoopTimer?

    init(
        _ sink: any BodySink, _ checkpointPlace: CheckpointPlace, limit: Int, trace: TaskTrace? = nil,
        report: @escaping @Sendable @NetworkActor (Event) -> Void
    ) {
        self.sink = sink
        capabilities = SinkCapabilities(of: sink)
        self.checkpointPlace = checkpointPlace
        let makeQueue = { WorkQueue(on: sink is PartialFile ? .downloads : .sinks) }
        queue = capabilities.exclusive?.turn.queue(orNew: makeQueue) ?? makeQueue()
        mailbox = ByteMailbox(limit: limit, piece: Self.piece)
        self.report = report
        self.trace = trace
    }

    // MARK: Writing

    /// Adds bytes. True when reading must stop until an event resumes it.
    @NetworkActor func put(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let receipt = mailbox.put(bytes)
        if receipt.wakesConsumer { queue.async { self.writePending() } }
        if gathering == nil { writeGathered() }
        return receipt.isFull
    }

    /// Writes the bytes that wait, however few they are, and gathers those that follow within a moment.
    @NetworkActor private func writeGathered() {
        gathering = nil
        guard let wakesConsumer = mailbox.makeDue() else { return }
        if wakesConsumer { queue.async { self.writePending() } }
        gathering = EventLoop.shared.schedule(after: Self.gatheringTime) { [weak self] in self?.writeGathered() }
    }

    /// Makes a call on the queue, after the bytes so far have been written.
    private func afterWriting(_ call: @escaping @Sendable () -> Void) {
        // Not within the call: by then there may be bytes that belong behind it.
        if mailbox.makeDue() == true { queue.async { self.writePending() } }
        queue.async(call)
    }

    private func writePending() {
        while let data = mailbox.take() {
            if state.withLock({ $0.isRejecting }) {
                post(.wrote(0, resumesReading: mailbox.done(data.count)))
                continue
            }
            do {
                // A user's stream may write to a pipe whose reader has closed it.
                try BrokenPipe.withoutSignal { try sink.append(data) }
                trace?.file(.write(data.count))
                let hasRoom = mailbox.done(data.count)
                post(.wrote(data.count, resumesReading: hasRoom && state.withLock { $0.piped == 0 }))
            } catch {
                return fail(error)
            }
        }
    }

    /// Compares bytes that have arrived with those that the sink holds. If they differ, nothing is added until the next
    /// beginning. `then` receives whether they are the same.
    func compare(_ bytes: Data, at offset: Int64, then: @escaping @Sendable @NetworkActor (Bool) -> Void) {
        afterWriting { [self] in
            let held = try? sink.bytes(in: offset..<(offset + Int64(bytes.count)))
            let isSame = held == bytes && !state.withLock { $0.isRejecting }
            if !isSame { state.withLock { $0.isRejecting = true } }
            NetworkActor.post { then(isSame) }
        }
    }

    /// Adds bytes that are in the pipe, after those added before. Reading must stop until an event resumes it: a full pipe
    /// cannot be told from an idle socket.
    func put(_ count: Int, from pipe: ContentPipe) {
        state.withLock { $0.piped += count }
        afterWriting { [self] in
            do {
                if let failure = state.withLock({ $0.failure }) { throw failure }
                guard let sink = capabilities.piped else { return }
                try sink.append(count, from: pipe)
                trace?.file(.write(count))
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

    /// Examines the sink after the bytes added before have been written. Fails while another writer has the sink.
    func examineSink<Value: Sendable>(
        _ examination: @escaping @Sendable (any BodySink) throws -> Value,
        then: @escaping @Sendable @NetworkActor (Result<Value, any Error>) -> Void
    ) {
        afterWriting { [self] in
            let result = Result {
                try capabilities.exclusive?.turn.begin(self)
                return try examination(sink)
            }
            NetworkActor.post { then(result) }
        }
    }

    /// Prepares for the bytes of a response that is the resource, or its rest.
    ///
    /// The record is removed before the sink is emptied, so that it never describes bytes of another version. Before the
    /// first byte there is one that says that bytes follow: if the process is killed, they count.
    func begin(_ template: ResumeTemplate, _ beginning: Beginning) {
        afterWriting { [self] in
            state.withLock { $0.isRejecting = false }
            do {
                switch beginning {
                case .following: state.withLock { $0.template = template }
                case .startingOver:
                    endCheckpoints()
                    try empty(for: template)
                    try reserve(upTo: template.total)
                case .continuing(let found):
                    endCheckpoints()
                    let safe = found.safe ?? DigestedBytes(count: found.bytesReceived, tailDigest: found.tailDigest)
                    state.withLock { state in
                        state.template = template
                        state.disk = .sound(safe: safe)
                    }
                    try write(template.record(of: sink, continuing: found))
                    try reserve(upTo: template.total)
                }
            } catch {
                fail(error)
            }
        }
    }

    private func empty(for template: ResumeTemplate) throws {
        // What is told late belongs to the content that is dropped.
        synchronizations.withLock { _ in }
        switch checkpointPlace {
        case .none: break
        case .sinkRecord: try sink.saveRecord(nil)
        case .journal(let save): try save(.reset)
        }
        try sink.truncate(to: 0)
        trace?.file(.truncate)
        // The template must not describe another version's bytes: so it is set after the truncation.
        state.withLock { state in
            state.template = template
            state.disk = .sound(safe: nil)
        }
        let first = template.emptyRecord(of: sink, .writing)
        switch checkpointPlace {
        case .none: break
        // It tells whose the file is, even where nothing can be resumed.
        case .sinkRecord: try write(first)
        case .journal: if template.validator != nil { try write(first) }
        }
    }

    private func reserve(upTo total: Int64?) throws {
        if let total { try capabilities.file?.reserve(upTo: total) }
    }

    // MARK: Ending

    /// Ends with the whole body. `then` receives the sink's length when the body is written and recorded.
    func complete(then: @escaping @Sendable @NetworkActor (Result<Int64, any Error>) -> Void) {
        afterWriting { [self] in
            let result = Result<Int64, any Error> {
                if let failure = state.withLock({ $0.failure }) { throw failure }
                let length = try sink.length
                state.withLock { state in
                    if state.template?.total == nil { state.template?.total = length }
                }
                guard length == state.withLock({ $0.template?.total }) else { return length }
                endCheckpoints()
                trace?.file(.complete)
                // A finished download stays locked until its delegate has it: no other task may continue it meanwhile.
                switch checkpointPlace {
                case .none:
                    break
                case .sinkRecord:
                    try completeRecord()
                case .journal(let save):
                    try waitForDisk(sink.synchronize)
                    trace?.file(.sync)
                    try save(.complete(length))
                }
                return length
            }
            NetworkActor.post { then(result) }
        }
    }

    private func completeRecord() throws {
        let (template, disk) = state.withLock { ($0.template, $0.disk) }
        var resume = try template?.resumeData(for: sink, .stopped)
        if let sink = capabilities.concurrent, sink.completion == .written {
            try disk.check()
            resume?.safe = disk.safe ?? .nothing
            if let resume { try write(resume) }
            try close { _ in try sink.closeWithoutWaiting() }
        } else {
            try waitForDisk(sink.synchronize)
            trace?.file(.sync)
            if let resume { try write(resume) }
            try close { try $0.close() }
        }
    }

    /// Ends before the body is complete. What was added is written; `then` receives the resume data, if there can be any.
    func stop(then: @escaping @Sendable @NetworkActor (ResumeData?) -> Void) {
        afterWriting { [self] in
            endCheckpoints()
            if case .closed(let resume) = state.withLock({ $0.closing }) { return NetworkActor.post { then(resume) } }
            let resume = finalResumeData()
            trace?.file(.stop)
            // Where no record can be written, for lack of room perhaps, the resume data still describes what is there.
            if let resume { try? write(resume) }
            try? close(leaving: resume) { try $0.close() }
            NetworkActor.post { then(resume) }
        }
    }

    /// The resume data for what the sink holds, if there can be any.
    private func finalResumeData() -> ResumeData? {
        do {
            return try makeResumeData()
        } catch {
            // A partial file is gone then. The file of a sink may have been changed by another program: its record stays, and
            // must not count what is there now.
            guard case .sinkRecord = checkpointPlace, let template = state.withLock({ $0.template }) else { return nil }
            return safeResumeData(template)
        }
    }

    /// Synchronises the sink, and describes its bytes for good. What the disk has lost is not described.
    private func makeResumeData() throws -> ResumeData? {
        let (template, disk) = state.withLock { ($0.template, $0.disk) }
        guard let template else { return nil }
        if case .sound = disk {
            guard let resume = try template.resumeData(for: sink, .stopped) else { return nil }
            if (try? waitForDisk(sink.synchronize)) != nil { return resume }
        }
        return safeResumeData(template)
    }

    /// The resume data for the bytes that are known to be safe. Without any, the record says that none counts.
    private func safeResumeData(_ template: ResumeTemplate) -> ResumeData? {
        let safe = state.withLock { $0.disk.safe }
        if let resume = safe.flatMap({ template.resumeData(for: sink, safe: $0) }) { return resume }
        try? write(template.emptyRecord(of: sink, .stopped))
        return nil
    }

    private func close(leaving resume: ResumeData? = nil, _ closing: (any BodySink) throws -> Void) throws {
        state.withLock { $0.closing = .closed(leaving: resume) }
        mailbox.close()
        if let turn = capabilities.exclusive?.turn, !turn.end(self) { return }
        try closing(sink)
    }

    // MARK: Checkpoints

    /// Whether there is anything to make a checkpoint for.
    var savesCheckpoints: Bool {
        if case .none = checkpointPlace { false } else { true }
    }

    /// Waits until the bytes so far have reached the disk, and records them; then calls `then`. Bytes are written meanwhile,
    /// unless the sink is one that takes one call at a time.
    func saveCheckpoint(then: @escaping @Sendable @NetworkActor () -> Void) {
        // What ends before the call is made leaves nothing to record.
        let period = state.withLock { $0.period }
        let save = { @Sendable [self] in
            do {
                try saveCheckpoint(of: period)
            } catch {
                if isCurrent(period) { fail(error) }
            }
            NetworkActor.post { then() }
        }
        if capabilities.concurrent != nil {
            Worker.shared.run(on: .synchronization, save)
        } else {
            afterWriting(save)
        }
    }

    private func saveCheckpoint(of period: Int) throws {
        guard let (resume, synchronize) = try whileCurrent(period, makeCheckpoint) ?? nil else { return }
        try waitForDisk {
            // After the end the file may be another task's, which has to be told of what is lost then.
            guard isCurrent(period) else { return }
            try synchronize()
            trace?.file(.sync)
        }
        try whileCurrent(period) {
            try write(resume)
            state.withLock {
                $0.disk = .sound(safe: DigestedBytes(count: resume.bytesReceived, tailDigest: resume.tailDigest))
            }
        }
        guard case .sinkRecord = checkpointPlace else { return }
        try capabilities.concurrent?.synchronizeRecord()
    }

    /// The resume data for the bytes so far, and the call that waits for them; `nil` when nothing could be resumed.
    private func makeCheckpoint() throws -> (ResumeData, @Sendable () throws -> Void)? {
        guard let resume = try state.withLock({ $0.template })?.resumeData(for: sink, .writing) else { return nil }
        guard let sink = capabilities.concurrent else { return (resume, sink.synchronize) }
        return (resume, try sink.makeSynchronization())
    }

    /// Synchronises the sink by this call, after the one that is under way. When one has failed, in whatever period, the bytes
    /// since the last checkpoint may be lost: a second try would not show it, and is not made.
    private func waitForDisk(_ synchronize: () throws -> Void) throws {
        try synchronizations.withLock { _ in
            try state.withLock { $0.disk }.check()
            do {
                try synchronize()
            } catch {
                state.withLock { $0.disk = .failed(error, safe: $0.disk.safe) }
                throw error
            }
        }
    }

    private func isCurrent(_ period: Int) -> Bool { state.withLock { $0.period == period } }

    /// Makes the call unless the period is over; then returns `nil`.
    private func whileCurrent<Value>(_ period: Int, _ body: () throws -> Value) throws -> Value? {
        try checkpoints.withLock { _ in
            guard isCurrent(period) else { return nil }
            return try body()
        }
    }

    /// Drops the checkpoint that is being made, if there is one.
    private func endCheckpoints() {
        checkpoints.withLock { _ in state.withLock { $0.period += 1 } }
    }

    private func write(_ resume: ResumeData) throws {
        switch checkpointPlace {
        case .none: return
        case .sinkRecord: try sink.saveRecord(try resume.encoded())
        case .journal(let save): try save(.partial(resume))
        }
        trace?.file(.record(bytes: resume.bytesReceived))
    }
}

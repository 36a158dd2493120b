import Foundation
import Purl
package import PurlIO
import Synchronization

/// The file of an unfinished download, which several connections may fill: each byte is written at its place.
///
/// It is the sink of the task that requests the whole or the rest, the leader; as long as that is the only one, the file is
/// that of a `FileHandleSink`, and its record the same. After ``split(_:)`` other connections write through ``place(_:by:in:)``.
/// For the leader the file then holds the bytes up to the first one that is missing. So all rules by which a transfer resumes,
/// starts over or is refused stay those of one task, and what the others have written is dropped with what it began with.
package final class RangedFile: FileSink, PipedSink, ConcurrentSink, GappedSink {
    /// Counts the versions of the content: bytes that belong to an earlier one are not written.
    package typealias Generation = Int

    /// The reader in the plan that is the task whose sink this is.
    package static let leader: RangePlan.Reader = 0

    /// What follows bytes that were written, or dropped.
    package enum Placed: Sendable, Equatable {
        /// More may follow.
        case continues
        /// All bytes that this connection was to bring are there.
        case over
        /// The file has another content by now.
        case outdated
    }

    /// How far the file has come.
    package enum Completeness: Sendable, Equatable {
        /// Its bytes follow one another: how many there have to be is the leader's matter.
        case sequential
        /// Bytes are missing.
        case incomplete
        /// Every byte is there, and some of them have to be checked.
        case checking
        /// Every byte is there, and the file has become one whose bytes followed one another.
        case complete
    }

    private enum Content {
        /// It has not been looked at, or was left by an earlier attempt and no journal describes it.
        case unknown
        /// The bytes follow one another.
        case sequential
        case ranged(RangePlan, RangeJournal.Version, isClean: Bool)
    }

    /// The part of the resource that the leader has requested, where it has not requested everything that follows.
    private struct LeaderPart {
        let end: Int64
        var position: Int64
    }

    private struct State {
        var content = Content.unknown
        var generation: Generation = 0
        /// Whether several connections have brought what is there.
        var hasBeenRanged = false
        /// Counts the attempts: what one of them has begun to synchronise is not written after its end, when the file may
        /// have another name or another owner.
        var attempt = 0
        /// The bytes that are there, as far as they are known.
        var count: Int64 = 0
        /// Called when the first bytes of the leader's response are written.
        var onFirstBytes: (@Sendable () -> Void)?
        /// Called when the leader has brought all it was to bring.
        var onLeaderOver: (@Sendable () -> Void)?
        /// What the leader still receives is not needed.
        var isLeaderOver = false
        var leaderPart: LeaderPart?
        /// At the end of what it has requested, the leader requests what is missing then.
        var isLeaderBetweenParts: Bool { leaderPart.map { $0.position == $0.end } ?? false }
        /// For how many connections the rest is divided.
        var shares = 1
        /// Whether the leader requests no more than what is missing up to bytes that are there.
        var requestsGaps = true
        /// How many bytes are there that have not been synchronised.
        var unsafeCount: Int64 = 0
        /// The ranges that were synchronised last.
        var safe: RangeJournal?
        /// What the disk has told of bytes that it has lost: what it says of later ones does not count.
        var loss: (any Error)?
        /// Digests the pieces of a file that is ranged.
        var checker: PieceChecker?
        var checked = CheckedPieces.none
        var meters = RangeMeters()
    }

    private let file: FileHandleSink
    private let checking: PieceChecking
    private let leastShare: Int64
    private let state = Mutex(State())
    /// Held while the disk is waited for: who waits next knows what the one before was told.
    private let synchronizations = Mutex(())

    /// - Parameters:
    ///   - checking: What the pieces are digested for.
    ///   - leastShare: The least part that another connection takes.
    package init(
        _ file: FileHandleSink, checking: PieceChecking = .found, leastShare: Int64 = RangePlan.leastShare
    ) {
        self.file = file
        self.checking = checking
        self.leastShare = leastShare
    }

    package var fileURL: URL? { file.fileURL }
    package var recordedName: String { file.recordedName }
    package var completion: SinkCompletion { file.completion }

    package func reserve(upTo total: Int64) throws { try file.reserve(upTo: total) }

    /// How many bytes of the resource are there, wherever they are.
    package var presentCount: Int64 { state.withLock { $0.count } }

    /// The same, where several connections have brought them, also when all of them are there; otherwise `nil`.
    package var rangedCount: Int64? { state.withLock { $0.hasBeenRanged ? $0.count : nil } }

    /// Whether parts of the resource were written out of order.
    package var isRanged: Bool {
        state.withLock { state in
            if case .ranged = state.content { true } else { false }
        }
    }

    // MARK: Splitting

    /// Sets what follows the first bytes of the leader's response, and the last ones that it is to bring. Each is called once.
    package func notifyLeader(
        onFirstBytes: (@Sendable () -> Void)?, onOver: @escaping @Sendable () -> Void
    ) {
        state.withLock { state in
            state.onFirstBytes = onFirstBytes
            state.onLeaderOver = onOver
        }
    }

    /// Sets for how many connections the rest is divided, before they are opened.
    ///
    /// - Parameter requestsGaps: Whether the leader requests gap by gap. Otherwise it requests everything that follows the
    ///   first one's start, and is over where something is there.
    package func setShares(_ count: Int, requestsGaps: Bool = true) {
        state.withLock { state in
            state.shares = max(1, count)
            state.requestsGaps = requestsGaps
        }
    }

    /// Makes no more of these calls, and writes nothing more that was begun for the leader.
    package func forgetLeader() {
        state.withLock { state in
            state.attempt += 1
            state.onFirstBytes = nil
            state.onLeaderOver = nil
            state.checker?.stop()
        }
    }

    /// Lets other connections write as well, if the file's record names a version that ranges can prove.
    ///
    /// - Parameter count: For how many connections the rest is divided.
    /// - Returns: What proves the version, and the generation; `nil` when only the leader can write.
    package func split(over count: Int) throws -> (RangeProof, Generation)? {
        try state.withLock { state in
            guard let data = try file.loadRecord(), let record = SinkRecord(data), let validator = record.validator,
                let total = record.totalBytes, 1...RangeJournal.longestResource ~= total
            else { return nil }
            switch state.content {
            case .unknown: return nil
            case .ranged(var plan, let version, let isClean):
                guard version == RangeJournal.Version(validator: validator), plan.total == total else { return nil }
                if !plan.hasUnreadSegment { plan.spread(over: count) }
                state.content = .ranged(plan, version, isClean: isClean)
                try save(.written, &state)
            case .sequential:
                let length = try file.length
                guard length < total, total - length >= 2 * leastShare else { return nil }
                var plan = RangePlan(total: total, present: length > 0 ? [0..<length] : [], share: leastShare)
                plan.spread(over: count)
                plan.assignLeader(Self.leader)
                // From now on the file's length does not say what is there: the record must not count on it.
                try file.saveRecord(try record.stopped(at: length, in: file, inBoot: file.bootIdentifier))
                state.content = .ranged(plan, RangeJournal.Version(validator: validator), isClean: true)
                state.hasBeenRanged = true
                state.unsafeCount = length
                try save(.written, &state)
                if checking != .found { state.checker = PieceChecker(checking, of: plan, in: file) }
            }
            return (RangeProof(validator: validator, total: total), state.generation)
        }
    }

    /// The range that a connection is to request, which reads it from now on; `nil` when it is not needed, or the content is
    /// of another generation.
    package func assign(_ reader: RangePlan.Reader, in generation: Generation) -> Range<Int64>? {
        state.withLock { state in
            guard state.generation == generation, case .ranged(var plan, let version, let isClean) = state.content,
                plan.segments.count < RangeJournal.maximumRanges
            else { return nil }
            let before = state.content
            if let fastest = state.meters.fastest { plan.setRate(fastest, of: reader) }
            guard let range = plan.assign(reader) else { return nil }
            state.content = .ranged(plan, version, isClean: isClean)
            do {
                // A part is recorded before its first byte is written.
                try save(.written, &state)
            } catch {
                state.content = before
                return nil
            }
            return range
        }
    }

    package func nextGap() throws -> SinkGap {
        try state.withLock { state in
            try examine(&state)
            guard case .ranged(var plan, let version, let isClean) = state.content else { return .rest }
            plan.release(Self.leader)
            state.leaderPart = nil
            if plan.isComplete { return .none }
            if state.shares == 1 {
                plan.joinUnread()
            } else if plan.readers.isEmpty, !plan.hasSeveralRests {
                // So that the leader requests its share only.
                plan.spread(over: state.shares)
            }
            let range = plan.assignUnread(Self.leader)
            state.content = .ranged(plan, version, isClean: isClean)
            try save(.written, &state)
            guard let range else { return .ofOthers }
            state.isLeaderOver = false
            guard state.requestsGaps else { return .range(range.lowerBound..<plan.total) }
            state.leaderPart = LeaderPart(end: range.upperBound, position: range.lowerBound)
            return .range(range)
        }
    }

    /// The connection has ended, and what it was to bring is for others.
    package func forget(_ reader: RangePlan.Reader, in generation: Generation) {
        _ = change(in: generation) { $0.forget(reader) }
        state.withLock { $0.meters.forget(reader) }
    }

    /// Measures all connections.
    ///
    /// - Parameter interval: The time since the last measurement.
    /// - Returns: The bytes a second of all together.
    package func measure(over interval: Duration, in generation: Generation) -> Double {
        state.withLock { state in
            guard state.generation == generation, interval > .zero,
                case .ranged(var plan, let version, let isClean) = state.content
            else { return 0 }
            let whole = state.meters.measure(&plan, over: interval)
            state.content = .ranged(plan, version, isClean: isClean)
            return whole
        }
    }

    /// Whether a connection's range is, and stays, its own as a whole.
    func keepWhole(_ range: Range<Int64>, by reader: RangePlan.Reader, in generation: Generation) -> Bool {
        change(in: generation) { $0.keepWhole(reader, range) } ?? false
    }

    /// Whether the leader brings nothing more: what it was to bring is there, and it is not about to request another part.
    func leaderIsOver(in generation: Generation) -> Bool {
        state.withLock { state in
            guard state.generation == generation, case .ranged(let plan, _, _) = state.content else { return false }
            return plan.rest(of: Self.leader) == nil && !state.isLeaderBetweenParts
        }
    }

    /// The plan; `nil` when the content is of another generation.
    package func plan(in generation: Generation) -> RangePlan? { change(in: generation) { $0 } }

    private func change<Value>(in generation: Generation, _ change: (inout RangePlan) -> Value) -> Value? {
        state.withLock { state in
            guard state.generation == generation, case .ranged(var plan, let version, let isClean) = state.content
            else { return nil }
            defer { state.content = .ranged(plan, version, isClean: isClean) }
            return change(&plan)
        }
    }

    /// Lets the file become one whose bytes followed one another, if every byte is there and has been checked.
    package func join() throws -> Completeness {
        try synchronizations.withLock { _ in try state.withLock { try join(&$0) } }
    }

    private func join(_ state: inout State) throws -> Completeness {
        guard case .ranged(let plan, _, _) = state.content else { return .sequential }
        guard plan.isComplete else { return .incomplete }
        if let loss = state.loss { throw loss }
        if let checker = state.checker {
            guard !checker.isPending else { return .checking }
            state.checked = checker.checkedPieces(in: file)
            state.checker = nil
        }
        // As at the end of any transfer: the bytes are safe before the record that counts them, where that is promised.
        if file.completion == .safe { try synchronize(&state) }
        // Another program may have removed the record.
        if let data = try file.loadRecord(), let record = SinkRecord(data) {
            try file.saveRecord(try record.stopped(at: plan.total, in: file, inBoot: file.bootIdentifier))
            if file.completion == .safe { try file.synchronizeRecord() }
        }
        try file.truncate(to: plan.total)
        state.content = .sequential
        state.safe = nil
        state.generation += 1
        return .complete
    }

    // MARK: Placing

    /// Writes what a connection has received, where it is missing.
    package func place(_ data: Data, by reader: RangePlan.Reader, in generation: Generation) throws -> Placed {
        var rest = data
        var placed = Placed.continues
        while !rest.isEmpty, placed == .continues {
            let step = rest.prefix(RangeJournal.longestStep)
            placed = try place(step.count, by: reader, in: generation) { placement in
                let start = step.startIndex + placement.skipped
                try file.write(step[start..<start + placement.count], at: placement.offset)
            } drop: { _ in
            }
            rest = rest.dropFirst(step.count)
        }
        return placed
    }

    /// Writes bytes that are in the pipe, where they are missing.
    package func place(
        _ count: Int, from pipe: ContentPipe, by reader: RangePlan.Reader, in generation: Generation
    ) throws -> Placed {
        var rest = count
        var placed = Placed.continues
        while rest > 0, placed == .continues {
            let step = min(rest, RangeJournal.longestStep)
            placed = try place(step, by: reader, in: generation) { placement in
                if placement.skipped > 0 { _ = try pipe.bytes(placement.skipped) }
                try file.write(placement.count, from: pipe, at: placement.offset)
                let surplus = step - placement.skipped - placement.count
                if surplus > 0 { _ = try pipe.bytes(surplus) }
            } drop: { count in
                _ = try pipe.bytes(count)
            }
            rest -= step
        }
        if rest > 0 { _ = try pipe.bytes(rest) }
        return placed
    }

    private func place(
        _ count: Int, by reader: RangePlan.Reader, in generation: Generation?,
        write: (RangePlan.Placement) throws -> Void, drop: (Int) throws -> Void
    ) throws -> Placed {
        let placed = try placeBytes(count, by: reader, in: generation, write: write, drop: drop)
        state.withLock { $0.checker }?.check(in: self)
        return placed
    }

    private func placeBytes(
        _ count: Int, by reader: RangePlan.Reader, in generation: Generation?,
        write: (RangePlan.Placement) throws -> Void, drop: (Int) throws -> Void
    ) throws -> Placed {
        try state.withLock { state in
            guard generation == nil || generation == state.generation,
                case .ranged(var plan, let version, let isClean) = state.content
            else {
                try drop(count)
                return .outdated
            }
            if reader == Self.leader {
                state.leaderPart?.position += Int64(count)
                // The leader's response goes on to the end of the resource.
                if state.leaderPart == nil { plan.extend(reader, for: count) }
            }
            guard let placement = plan.placement(of: count, by: reader) else {
                try drop(count)
                return .over
            }
            if placement.count > 0 { try write(placement) } else { try drop(count) }
            state.meters.add(count, by: reader)
            let isOver = plan.place(count, by: reader)
            if isOver { plan.release(reader) }
            state.content = .ranged(plan, version, isClean: isClean)
            state.count += Int64(placement.count)
            state.unsafeCount += Int64(placement.count)
            if placement.count > 0 {
                try save(.written, &state)
                let end = placement.offset + Int64(placement.count)
                state.checker?.place(placement.offset..<end, by: reader, in: plan)
            }
            return isOver ? .over : .continues
        }
    }

    private func save(_ page: RangeJournal.Page, _ state: inout State) throws {
        guard var journal = Self.journal(of: state.content) else { return }
        if state.loss != nil {
            // What a later attempt finds may only be what was safe before.
            journal.filled = state.safe?.filled ?? []
            journal.isClean = false
        }
        try file.saveRanges(journal, page)
        state.count = journal.presentCount
    }

    private static func journal(of content: Content) -> RangeJournal? {
        guard case .ranged(let plan, let version, let isClean) = content else { return nil }
        return RangeJournal(total: plan.total, version: version, filled: plan.filled, isClean: isClean)
    }

    // MARK: Pieces

    /// What is known of the pieces of the complete file.
    package var checkedPieces: CheckedPieces { state.withLock { $0.checked } }

    /// Whether pieces are digested, or would be in a file that is divided: one that is dropped is requested once more.
    var checksPieces: Bool {
        switch checking {
        case .found, .recorded: state.withLock { $0.checker != nil }
        case .delivered, .listed: true
        }
    }

    /// How many pieces have been dropped.
    package var droppedPieces: Int { state.withLock { $0.checker?.droppedPieces ?? 0 } }

    /// Begins to digest pieces.
    ///
    /// - Parameter onCheck: Called for each piece, from any thread.
    package func startChecks(_ onCheck: @escaping @Sendable (PieceResult) -> Void) {
        guard let checker = state.withLock({ $0.checker }) else { return }
        checker.start(onCheck)
        checker.check(in: self)
    }

    /// A file that can be read while the content stays as it is; `nil` where a piece could not be dropped now.
    func makeReader(for checker: PieceChecker) throws -> (@Sendable (Range<Int64>) throws -> Data)? {
        try state.withLock { state in
            guard state.checker === checker, case .ranged(let plan, _, _) = state.content, plan.hasRoomToDrop else {
                return nil
            }
            return try file.makeReader()
        }
    }

    /// Lets the checker keep the digest of a piece, or drops the piece if it has to be another one. `nil` when no one waits for
    /// the result any more.
    func settle(_ job: PieceChecker.Job, of checker: PieceChecker) -> PieceResult? {
        state.withLock { state in
            guard state.checker === checker, case .ranged(var plan, let version, _) = state.content,
                let verdict = checker.settle(job, in: file)
            else { return nil }
            guard case .dropped(let bytes, _) = verdict else { return verdict }
            do {
                try drop(bytes, from: &plan, version, &state)
                return verdict
            } catch {
                return .failed(error)
            }
        }
    }

    private func drop(
        _ bytes: Range<Int64>, from plan: inout RangePlan, _ version: RangeJournal.Version, _ state: inout State
    ) throws {
        plan.drop(bytes)
        state.safe = nil
        // The bytes that are missing now are not zero.
        state.content = .ranged(plan, version, isClean: false)
        // So that the page that counts after a power loss soon agrees.
        state.unsafeCount += Int64(bytes.count)
        try save(.written, &state)
        if let data = try file.loadRecord(), let record = SinkRecord(data) { try save(record, of: plan) }
    }

    // MARK: What a response says of its bytes

    /// Whether bytes are what their response has said; `true` where they cannot be read.
    func has(_ claim: PartDigest) -> Bool {
        guard let read = try? file.makeReader() else { return true }
        let start = claim.bytes.lowerBound
        let found = try? FileDigest.sha256(
            length: Int64(claim.bytes.count), isStopped: { false },
            read: { try read(start + $0.lowerBound..<start + $0.upperBound) })
        return found == nil || found == .some(claim.sha256)
    }

    /// Bytes of one connection are not what their response has said, and are missing from now on.
    func drop(_ bytes: Range<Int64>, in generation: Generation) throws {
        try state.withLock { state in
            guard state.generation == generation, case .ranged(var plan, let version, _) = state.content else { return }
            guard plan.hasRoomToDrop else { throw CocoaError(.fileWriteUnknown) }
            try drop(bytes, from: &plan, version, &state)
        }
    }

    /// The same for the end of a file that one connection has brought.
    func cut(to length: Int64) throws {
        // Without a record nothing tells of which version they are.
        guard let record = try file.loadRecord().flatMap({ SinkRecord($0) }) else { return try truncate(to: 0) }
        // First, so that they count no more where they cannot be cut off.
        try file.saveRecord(try record.stopped(at: length, in: file, inBoot: file.bootIdentifier))
        try truncate(to: length)
    }

    // MARK: BodySink

    package var length: Int64 {
        get throws {
            try state.withLock { state in
                try examine(&state)
                if case .ranged(let plan, _, _) = state.content {
                    // The file has to be there still.
                    _ = try file.length
                    return plan.prefix
                }
                state.count = try file.length
                return state.count
            }
        }
    }

    /// Finds out what an earlier attempt has left.
    private func examine(_ state: inout State) throws {
        guard case .unknown = state.content else { return }
        let length = try file.length
        guard length > 0 else {
            state.content = .sequential
            return
        }
        guard let data = try file.loadRecord(), let record = SinkRecord(data),
            let validator = record.validator,
            let journal = try record.journal(length: length, inBoot: file.bootIdentifier, read: file.bytes(in:)),
            journal.present.first?.lowerBound == 0
        else { return }
        let found = try journal.reading(file.bytes(in:))
        state.content = .ranged(
            RangePlan(total: found.total, present: found.present, share: leastShare),
            RangeJournal.Version(validator: validator), isClean: found.isClean)
        state.hasBeenRanged = true
        state.count = found.presentCount
        if case .ranged(let plan, _, _) = state.content { state.checker = PieceChecker(checking, of: plan, in: file) }
        _ = try join(&state)
    }

    package func append(_ data: Data) throws {
        try append(data.count) { generation in
            try place(data, by: Self.leader, in: generation)
        } sequentially: {
            try file.append(data)
        }
    }

    package func append(_ count: Int, from pipe: ContentPipe) throws {
        try append(count) { generation in
            try place(count, from: pipe, by: Self.leader, in: generation)
        } sequentially: {
            try file.append(count, from: pipe)
        }
    }

    private func append(
        _ count: Int, placing place: (Generation) throws -> Placed, sequentially write: () throws -> Void
    ) throws {
        let isSequential = try state.withLock { state in
            if case .ranged = state.content { return false }
            try write()
            state.content = .sequential
            state.count += Int64(count)
            return true
        }
        takeOnFirstBytes()?()
        if isSequential { return }
        switch try place(state.withLock { $0.generation }) {
        case .continues: break
        case .over:
            let isBetweenParts = state.withLock { state in
                state.isLeaderOver = true
                return state.isLeaderBetweenParts
            }
            if !isBetweenParts { takeOnLeaderOver()?() }
        // The content changes only on the queue that appends.
        case .outdated: throw CocoaError(.fileWriteUnknown)
        }
    }

    private func takeOnFirstBytes() -> (@Sendable () -> Void)? {
        state.withLock { state in
            defer { state.onFirstBytes = nil }
            return state.onFirstBytes
        }
    }

    private func takeOnLeaderOver() -> (@Sendable () -> Void)? {
        state.withLock { state in
            defer { state.onLeaderOver = nil }
            return state.onLeaderOver
        }
    }

    /// In a file with ranges, what lies before `length` stays and everything else is dropped, unless nothing has to be.
    package func truncate(to length: Int64) throws {
        try state.withLock { state in
            if case .ranged(let plan, _, _) = state.content, length > 0, length >= plan.prefix { return }
            let mayHaveJournal = if case .sequential = state.content { false } else { true }
            state.generation += 1
            state.content = .sequential
            state.isLeaderOver = false
            state.leaderPart = nil
            state.hasBeenRanged = false
            state.unsafeCount = 0
            state.safe = nil
            if length == 0 { state.loss = nil }
            state.meters.forgetAll()
            state.checker = nil
            try file.truncate(to: length)
            // After a power loss the journal could be there again, also one that cannot be read now, and agree with what follows
            // of the same version.
            if mayHaveJournal { try synchronize(&state) }
            state.count = length
        }
    }

    package func bytes(in range: Range<Int64>) throws -> Data { try file.bytes(in: range) }

    package func synchronize() throws { try makeSynchronization()() }

    /// What has been written by now is safe when the call returns, and said to be so in the journal.
    package func makeSynchronization() throws -> @Sendable () throws -> Void {
        let synchronize = try file.makeSynchronization()
        let (journal, generation, attempt, count) = state.withLock {
            (Self.journal(of: $0.content), $0.generation, $0.attempt, $0.unsafeCount)
        }
        return { [self] in
            try synchronizations.withLock { _ in
                try waitForDisk(synchronize)
                guard let journal else { return }
                try state.withLock { state in
                    guard state.generation == generation, state.attempt == attempt, case .ranged = state.content
                    else { return }
                    state.safe = journal
                    try file.saveRanges(journal, .safe)
                    state.unsafeCount -= min(count, state.unsafeCount)
                }
                try waitForDisk(synchronize)
            }
        }
    }

    private func waitForDisk(_ synchronize: () throws -> Void) throws {
        if let loss = state.withLock({ $0.loss }) { throw loss }
        do {
            try synchronize()
        } catch {
            state.withLock { lose(error, &$0) }
            throw error
        }
    }

    /// The same while the content is being changed.
    private func synchronize(_ state: inout State) throws {
        do {
            try file.synchronize()
        } catch {
            lose(error, &state)
            throw error
        }
    }

    /// The system tells only once of bytes that it has lost: what is there and was not safe before counts no more.
    private func lose(_ error: any Error, _ state: inout State) {
        state.loss = error
        try? save(.written, &state)
    }

    /// Whether bytes are there that have not been synchronised.
    package var hasUnsafeBytes: Bool {
        state.withLock { state in
            if case .ranged = state.content { state.unsafeCount > 0 && state.loss == nil } else { false }
        }
    }

    package func synchronizeRecord() throws { try file.synchronizeRecord() }

    package func loadRecord() throws -> Data? {
        try state.withLock { state in
            try examine(&state)
            // A task that begins asks for it.
            state.isLeaderOver = false
            guard case .ranged(let plan, _, _) = state.content, let data = try file.loadRecord(),
                let record = SinkRecord(data)
            else { return try file.loadRecord() }
            return try record.stopped(at: plan.prefix, in: file, inBoot: file.bootIdentifier)
        }
    }

    package func saveRecord(_ record: Data?) throws {
        try state.withLock { state in
            guard case .ranged(let plan, _, _) = state.content, let found = record.flatMap({ SinkRecord($0) }) else {
                return try file.saveRecord(record)
            }
            try save(found, of: plan)
        }
    }

    /// Saves the record, which may have been made before bytes that it counts were dropped.
    private func save(_ record: SinkRecord, of plan: RangePlan) throws {
        let isTrue = record.bytesReceived <= plan.prefix
        try file.saveRecord(
            try isTrue ? record.stopped() : record.stopped(at: plan.prefix, in: file, inBoot: file.bootIdentifier))
    }

    package func close() throws { try file.close() }

    package func closeWithoutWaiting() throws { try file.closeWithoutWaiting() }
}

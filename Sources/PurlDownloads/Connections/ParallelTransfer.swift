import Foundation
import Purl
internal import PurlIO
import Synchronization

/// Several connections that fill one file, for one attempt at a download.
///
/// One of them is the leader: the task that requests the whole, or the rest, with the file as its sink. It alone decides which
/// version there is. When its first bytes are in the file, the rest is divided and others request ranges of that version. What
/// they cannot prove is dropped, and no more are opened; the leader continues as far as nothing else is there, and where it
/// cannot, another attempt's leader requests what is missing.
///
/// ``RangePlan`` decides who reads what.
package final class ParallelTransfer: Sendable {
    /// How it ends.
    package enum End: Sendable {
        /// The leader was the only connection: its end is the attempt's.
        case leader((any Error)?)
        /// Every byte is there.
        case complete
        /// - Parameter response: The response that is the failure, if it is one.
        case failed(any Error, HTTPURLResponse?)
        /// A leader has to request what is missing.
        ///
        /// - Parameters:
        ///   - error: Why the connections could not bring it: what the download fails with where no leader begins.
        ///   - response: The response that is the failure, if it is one.
        case again((any Error)?, HTTPURLResponse?)
    }

    fileprivate enum Stop {
        case byOwner
        case failed(any Error)
        /// The server has sent something of another version.
        case again
        /// The only connection has brought bytes that are not what its response has said, and they were cut.
        case damaged(URLError)
    }

    fileprivate enum Leader {
        case none
        case running(URLSessionTask)
        /// It has brought what it was to bring, and has been cancelled.
        case over(URLSessionTask)
        case ended((any Error)?)
        /// It has ended, and its share is for others.
        case gone
    }

    fileprivate struct Split {
        let total: Int64
        let generation: RangedFile.Generation
        var servers: RangeServers
    }

    fileprivate struct State {
        var leader = Leader.none
        var request: URLRequest?
        var isAdvertised = false
        /// How many bytes were there when the leader's response began.
        var presentCount: Int64?
        /// What the leader's response says of its bytes, where these are a part.
        var claim: PartDigest?
        /// The digest that the leader's response names of the whole: a part that names the same one says nothing of itself.
        var wholeDigest: String?
        var split: Split?
        var helpers: [RangePlan.Reader: RangeRequest] = [:]
        var lastReader = RangedFile.leader
        /// How many connections may be open.
        var slots: Int
        /// How many are wanted, when their number is not adaptive; then how many the server has taken.
        var wanted: Int
        var growth: ConnectionGrowth?
        var recovery = ConnectionRecovery()
        /// When the connections were measured.
        var measured: MonotonicTime?
        var synchronization = Synchronization.idle
        /// A range was refused by what is no failure of the whole: another leader finds out.
        var needsLeader = false
        /// A piece was dropped, for which another connection may be open.
        var needsRepair = false
        /// How often pieces were dropped that have begun here.
        var drops: [Int64: Int] = [:]
        /// Nothing is requested before: the server's `Retry-After`.
        var pause: MonotonicTime?
        var stop: Stop?
        var failure: (error: any Error, response: HTTPURLResponse?)?
        var completion: (@Sendable (End) -> Void)?
        var clock: Task<Void, Never>?
    }

    /// Whether what has been written is on its way to the disk.
    fileprivate enum Synchronization {
        case idle
        /// - Parameter since: How long that, or what followed the last one, has taken.
        case waiting(since: Duration)
        case running
    }

    /// How often connections are measured.
    private static let interval = Duration.milliseconds(250)
    /// How long bytes are there before they are synchronised.
    private static let safetyInterval = Duration.seconds(1)
    /// How often a piece may be wrong.
    private static let mostDrops = 3

    private let file: RangedFile
    private let session: URLSession
    private let experience: Experience
    private let mirrors: [Mirror]
    private let onExchange: @Sendable (_ connection: Int, URLSessionTask, RangeRequestEvent) -> Void
    private let onProgress: @Sendable () -> Void
    private let onEvent: @Sendable (Event) -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - file: The sink of the leader.
    ///   - session: Makes the requests for ranges.
    ///   - mirrors: Other servers, whose bytes something else proves.
    ///   - onExchange: Called with what the other connections do, and the number of each, on the session's delegate queue. The leader
    ///     is the first.
    ///   - onProgress: Called when other connections have brought bytes. From any thread.
    ///   - onEvent: Called from any thread.
    package init(
        _ file: RangedFile, _ count: ConnectionCount, session: URLSession, _ experience: Experience,
        mirrors: [Mirror] = [],
        onExchange: @escaping @Sendable (_ connection: Int, URLSessionTask, RangeRequestEvent) -> Void = { _, _, _ in },
        onProgress: @escaping @Sendable () -> Void = {}, onEvent: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        self.file = file
        self.session = session
        self.experience = experience
        self.mirrors = mirrors
        self.onExchange = onExchange
        self.onProgress = onProgress
        self.onEvent = onEvent
        let isTrusted = !experience.distrustsRanges
        file.setShares(isTrusted ? count.number ?? 1 : 1, requestsGaps: isTrusted)
        state = Mutex(
            State(
                slots: count.number ?? 1, wanted: count.number ?? 1,
                growth: count.number == nil ? ConnectionGrowth(maximum: count.limit) : nil))
    }

    // MARK: The leader

    /// The leader has received a response that is accepted: the whole, or the rest.
    package func begin(_ task: URLSessionTask, _ response: HTTPURLResponse) {
        state.withLock { state in
            state.leader = .running(task)
            state.request = task.currentRequest ?? task.originalRequest
            state.presentCount = file.presentCount
            state.claim = PartDigest(of: response)
            state.wholeDigest = response.statusCode == 200 ? response.contentSHA256 : nil
            state.isAdvertised = RangeProof.advertisesRanges(response)
        }
        let isWanted = state.withLock { $0.slots > 1 || $0.growth != nil } || file.checksPieces
        let isPossible = [200, 206].contains(response.statusCode) && RangeProof.allowsRanges(response)
        if isWanted, isPossible, !experience.refusesRanges || !mirrors.isEmpty {
            file.notifyLeader(onFirstBytes: { self.split() }, onOver: { self.leaderIsOver() })
        } else if file.isRanged {
            // What earlier connections have left has to be passed over.
            file.notifyLeader(onFirstBytes: nil, onOver: { self.leaderIsOver() })
        }
        startChecks()
    }

    /// The leader has ended. `completion` receives the end of the attempt, when no connection is open any more.
    package func leaderEnded(_ error: (any Error)?, completion: @escaping @Sendable (End) -> Void) {
        let claim = state.withLock { $0.split == nil ? $0.claim : nil }
        guard error == nil, let claim, !file.isRanged, claim.bytes.upperBound == file.presentCount else {
            return leaderIsDone(error, completion)
        }
        Worker.shared.run(on: .downloads) { [self] in
            if !file.has(claim) {
                let stop: Stop
                do {
                    try file.cut(to: claim.bytes.lowerBound)
                    stop = .damaged(Self.damage(claim.bytes, Self.otherDigest))
                } catch {
                    stop = .failed(error)
                }
                state.withLock { state in
                    switch state.stop {
                    // The leader has ended without an error: if the owner has stopped meanwhile, nothing else keeps the bytes
                    // from counting as complete.
                    case .byOwner, nil: state.stop = stop
                    case .failed, .again, .damaged: break
                    }
                }
                onProgress()
            }
            leaderIsDone(nil, completion)
        }
    }

    private func leaderIsDone(_ error: (any Error)?, _ completion: @escaping @Sendable (End) -> Void) {
        state.withLock { state in
            switch state.leader {
            case .over: state.leader = .gone
            case .none, .running, .ended, .gone: state.leader = .ended(error)
            }
            state.completion = completion
        }
        // What was complete before has needed no response.
        startChecks()
        proceed()
    }

    /// Ends all other connections; the owner ends the leader.
    package func stop() {
        state.withLock { state in
            if state.stop == nil { state.stop = .byOwner }
        }
        proceed()
    }

    private func split() {
        let (slots, isAdaptive) = state.withLock { ($0.slots, $0.growth != nil) }
        do {
            guard let (proof, generation) = try file.split(over: isAdaptive ? 1 : slots) else { return }
            state.withLock { state in
                guard let request = state.request else { return }
                state.clock?.cancel()
                state.measured = .current
                let servers = RangeServers(
                    leader: request, proof, isConfirmed: state.isAdvertised, mirrors: mirrors)
                state.split = Split(total: proof.total, generation: generation, servers: servers)
                state.clock = Task { [weak self] in
                    while let self, !Task.isCancelled {
                        self.measure()
                        try? await Pause.sleep(for: Self.interval)
                    }
                }
            }
            startChecks()
        } catch {
            state.withLock { state in
                state.stop = state.stop ?? .failed(error)
                if case .running(let task) = state.leader { task.cancel() }
            }
        }
        proceed()
    }

    private func leaderIsOver() {
        let task: URLSessionTask? = state.withLock { state in
            guard case .running(let task) = state.leader else { return nil }
            state.leader = .over(task)
            return task
        }
        task?.cancel()
        proceed()
    }

    // MARK: Pieces

    private func startChecks() {
        file.startChecks { [weak self] in self?.pieceEnded($0) }
    }

    private func pieceEnded(_ result: PieceResult) {
        let event: Event? = state.withLock { state in
            switch result {
            case .right: return nil
            case .failed(let error):
                state.stop = state.stop ?? .failed(error)
                return nil
            case .dropped(let bytes, let readers):
                return dropped(bytes, of: readers, &state, because: Self.damage(bytes, "are not those of the list"))
            }
        }
        if let event { onEvent(event) }
        proceed()
    }

    /// Bytes are missing again, which these readers have brought.
    private func dropped(
        _ bytes: Range<Int64>, of readers: Set<RangePlan.Reader>, _ state: inout State, because error: URLError
    ) -> Event? {
        state.needsRepair = true
        if let number = state.split?.servers.culprit(of: readers) { return drop(number, &state, because: error) }
        state.drops[bytes.lowerBound, default: 0] += 1
        guard state.drops[bytes.lowerBound, default: 0] >= Self.mostDrops else { return .damaged(bytes) }
        state.stop = state.stop ?? .failed(error)
        return nil
    }

    /// Requests nothing more of a server. `nil` when that is so already.
    private func drop(_ number: RangeServers.Number, _ state: inout State, because error: any Error) -> Event? {
        guard let split = state.split, state.split?.servers.drop(number) == true else { return nil }
        if number == RangeServers.leader { file.forget(RangedFile.leader, in: split.generation) }
        state.failure = state.failure ?? (error, nil)
        return .dropped(split.servers[number].url, reason: error.reason)
    }

    private static let otherDigest = "have another digest than it has sent"

    private static func damage(_ bytes: Range<Int64>, _ what: String) -> URLError {
        let sentence = "The server's bytes \(bytes.lowerBound)-\(bytes.upperBound - 1) \(what)."
        return URLError(.badServerResponse, userInfo: [NSLocalizedFailureReasonErrorKey: sentence])
    }

    // MARK: The others

    private func helperEnded(_ helper: RangeRequest, _ end: RangeRequest.End) {
        let event: Event? = state.withLock { state in
            guard let split = state.split else { return nil }
            let isNeeded = file.plan(in: split.generation)?.readers.contains(helper.reader) == true
            file.forget(helper.reader, in: split.generation)
            state.helpers[helper.reader] = nil
            if end.isDamaged || end.hasOtherLength {
                do {
                    try file.drop(helper.range, in: split.generation)
                } catch {
                    state.stop = state.stop ?? .failed(error)
                    return nil
                }
            }
            if end.isDamaged {
                return dropped(
                    helper.range, of: [helper.reader], &state,
                    because: Self.damage(helper.range, Self.otherDigest))
            }
            guard helper.number == RangeServers.leader else {
                return mirrorEnded(helper, end, isNeeded: isNeeded, &state)
            }
            switch end.verdict {
            case .proven?, nil:
                if end.isUseful(for: helper.range) { experience.addRange() }
                // One that was overtaken, or is not needed for another reason, has not failed.
                guard let error = end.error, isNeeded, !end.isCancelled else { break }
                if DownloadFailure.isOfFile(error) {
                    state.stop = state.stop ?? .failed(error)
                } else {
                    state.note(error)
                    guard !end.isUseful(for: helper.range) else { break }
                    experience.addFailure()
                    state.lessenConnections()
                }
            case .busy?:
                state.failure = (URLError(.badServerResponse), end.refusal)
                let asked = end.refusal?.value(forHTTPHeaderField: "Retry-After").flatMap { RetryAfter($0)?.delay }
                experience.addFailure()
                state.lessenConnections(asking: asked ?? .zero)
                if let asked {
                    state.pause = max(state.pause ?? .current, MonotonicTime.current + asked)
                }
            case .refused?:
                // The address may have expired, which another leader's redirect renews.
                state.needsLeader = true
                experience.addRefusal()
                state.lessenConnections()
            case .unproven?:
                experience.addUnproven()
            case .otherVersion?:
                experience.addOtherVersion()
                state.stop = state.stop ?? .again
            }
            if experience.refusesRanges {
                state.split?.servers.leaderHasNoRanges()
                if state.split?.servers.haveRanges == false { file.setShares(1) }
            }
            return nil
        }
        if let event { onEvent(event) }
        proceed()
    }

    /// A mirror that fails, or has something else, is no matter of the file.
    private func mirrorEnded(
        _ helper: RangeRequest, _ end: RangeRequest.End, isNeeded: Bool, _ state: inout State
    ) -> Event? {
        switch end.verdict {
        case .proven?, nil:
            guard let error = end.error, isNeeded, !end.isCancelled else { return nil }
            if DownloadFailure.isOfFile(error) {
                state.stop = state.stop ?? .failed(error)
                return nil
            }
            return end.isUseful(for: helper.range) ? nil : drop(helper.number, &state, because: error)
        case .busy?, .refused?, .unproven?, .otherVersion?:
            return drop(helper.number, &state, because: Self.refusal(end))
        }
    }

    private static func refusal(_ end: RangeRequest.End) -> URLError {
        let sentence =
            switch end.verdict {
            case .otherVersion?: "The server has another version, or a file of another length."
            case .busy?, .refused?: "The server answered \(end.refusal?.statusCode ?? 0)."
            case .proven?, .unproven?, nil: "The server does not prove that its parts are of one version."
            }
        return URLError(.badServerResponse, userInfo: [NSLocalizedFailureReasonErrorKey: sentence])
    }

    private func measure() {
        let isUnsafe = file.hasUnsafeBytes
        let (isDue, synchronizes) = state.withLock { state in
            guard let split = state.split else { return (false, false) }
            let now = MonotonicTime.current
            let elapsed = now - (state.measured ?? now)
            state.measured = now
            let rate = file.measure(over: elapsed, in: split.generation)
            let open = state.openCount
            if let slots = state.growth?.connections(at: rate, open: open) {
                state.slots = slots
                state.wanted = max(slots, state.wanted)
            }
            if state.recovery.adds(after: elapsed, isComplete: state.slots >= state.wanted) { state.slots += 1 }
            return (true, state.synchronizes(after: elapsed, isUnsafe, every: Self.safetyInterval))
        }
        if synchronizes { Worker.shared.run(on: .synchronization) { self.synchronize() } }
        if isDue { proceed() }
    }

    /// Lets what is there survive a loss of power.
    private func synchronize() {
        let result = Result { try file.makeSynchronization()() }
        state.withLock { state in
            state.synchronization = .idle
            if case .failure(let error) = result { state.stop = state.stop ?? .failed(error) }
        }
        proceed()
    }

    // MARK: What is next

    /// Opens and closes connections until that agrees with the plan, and ends when none is left.
    private func proceed() {
        var started: [RangeRequest] = []
        var cancelled: [() -> Void] = []
        var end: (@Sendable () -> Void)?
        state.withLock { state in
            guard let split = state.split else {
                if !state.isSynchronizing, let outcome = endOfLeader(state) { end = self.end(&state, outcome) }
                return
            }
            let plan = file.plan(in: split.generation)
            releaseLeader(&state, split, plan)
            if state.stop != nil || plan?.isComplete != false {
                for helper in state.openHelpers { cancelled.append(helper.cancel) }
                if plan != nil, case .running(let task) = state.leader {
                    if state.stop == nil { state.leader = .over(task) }
                    cancelled.append(task.cancel)
                }
            } else if let plan {
                for helper in state.openHelpers
                where plan.rest(of: helper.reader) == nil || split.servers.isDropped(helper.number) {
                    cancelled.append(helper.cancel)
                }
                if case .running(let task) = state.leader, file.leaderIsOver(in: split.generation) {
                    state.leader = .over(task)
                    cancelled.append(task.cancel)
                }
                started = open(&state, split)
            }
            guard state.helpers.isEmpty, !state.isSynchronizing else { return }
            let outcome: End?
            switch state.leader {
            case .none, .running, .over: return
            case .ended(let error): outcome = self.outcome(state, plan, leader: error)
            case .gone: outcome = self.outcome(state, plan, leader: nil)
            }
            guard let outcome else { return }
            end = self.end(&state, outcome)
        }
        for helper in started { helper.start() }
        for cancel in cancelled { cancel() }
        end?()
    }

    /// The end of an attempt without other connections; `nil` while the leader is open, or pieces are checked.
    private func endOfLeader(_ state: State) -> End? {
        let error: (any Error)?
        switch state.leader {
        case .none, .running, .over: return nil
        case .ended(let failure): error = failure
        case .gone: error = nil
        }
        switch state.stop {
        case .failed(let failure): return .failed(failure, nil)
        case .damaged(let damage): return .again(damage, nil)
        case .byOwner, .again, nil: break
        }
        do {
            switch try file.join() {
            case .complete: return .complete
            case .checking:
                if case .byOwner = state.stop { return .failed(URLError(.cancelled), nil) }
                return nil
            case .incomplete where file.droppedPieces > 0:
                // A leader without a response that was accepted has failed by itself: the server may want to be left alone.
                if let error, state.presentCount == nil { return .leader(error) }
                return .again(error, nil)
            case .incomplete, .sequential: break
            }
        } catch {
            return .failed(error, nil)
        }
        if case .gone = state.leader { return .again(nil, nil) }
        return .leader(error)
    }

    private func end(_ state: inout State, _ end: End) -> (@Sendable () -> Void)? {
        guard let completion = state.completion else { return nil }
        state.clock?.cancel()
        state.clock = nil
        file.forgetLeader()
        state.completion = nil
        if case .complete = end {
            // Nothing follows.
        } else if state.presentCount == file.presentCount {
            // The part that the leader has requested may be what the server cannot send.
            experience.addFailure()
        }
        guard file.hasUnsafeBytes else { return { completion(end) } }
        let file = file
        // As at the end of one connection: what is recorded then survives a loss of power.
        return {
            Worker.shared.run(on: .synchronization) {
                try? file.synchronize()
                completion(end)
            }
        }
    }

    /// A leader that has ended while something was missing leaves its share to others.
    private func releaseLeader(_ state: inout State, _ split: Split, _ plan: RangePlan?) {
        guard case .ended(let error) = state.leader, plan != nil else { return }
        file.forget(RangedFile.leader, in: split.generation)
        state.leader = .gone
        guard let error else { return }
        if DownloadFailure.isOfFile(error) || (error as? URLError)?.code == .cancelled {
            state.stop = state.stop ?? .failed(error)
        } else {
            state.note(error)
        }
    }

    private func open(_ state: inout State, _ split: Split) -> [RangeRequest] {
        guard state.pause.map({ $0 <= .current }) ?? true else { return [] }
        if experience.refusesRanges { state.split?.servers.leaderHasNoRanges() }
        var opened: [RangeRequest] = []
        while state.openCount < state.slots + state.repairs,
            let number = state.split?.servers.next(of: state.slots + state.repairs, open: state.openReaders)
        {
            let reader = state.lastReader + 1
            guard let range = file.assign(reader, in: split.generation) else { break }
            state.needsRepair = false
            state.lastReader = reader
            state.split?.servers.open(reader, at: number)
            let connection = state.freeNumber
            let request = RangeRequest(
                range, of: split.total, by: reader, from: split.servers[number], number, of: file,
                in: split.generation, session: session, over: connection, wholeDigest: state.wholeDigest,
                onExchange: { [onExchange] in onExchange(connection, $0, $1) }, onProgress: onProgress,
                onProof: { [weak self] in self?.confirm(number, $0, $1) },
                completion: { [self] helper, end in helperEnded(helper, end) })
            state.helpers[reader] = request
            opened.append(request)
        }
        return opened
    }

    /// A server has proved that it has ranges.
    private func confirm(_ number: RangeServers.Number, _ proof: RangeProof, _ request: URLRequest?) {
        let isFirst = state.withLock { $0.split?.servers.confirm(number, proof, request) == true }
        if isFirst { proceed() }
    }

    /// Whether bytes of several servers may be in the file.
    package var isMixed: Bool { state.withLock { $0.split?.servers.isMixed == true } }

    /// The end, when no connection is open; `nil` while pieces are checked.
    private func outcome(_ state: State, _ plan: RangePlan?, leader error: (any Error)?) -> End? {
        switch state.stop {
        case .byOwner: return .failed(URLError(.cancelled), nil)
        case .failed(let error): return .failed(error, nil)
        case .again: return .again(nil, nil)
        case .damaged(let damage): return .again(damage, nil)
        case nil: break
        }
        // The leader has started over, alone.
        guard let plan else { return .leader(error) }
        if plan.isComplete {
            do {
                switch try file.join() {
                case .complete, .sequential: return .complete
                // A piece that was dropped meanwhile is reported next.
                case .checking, .incomplete: return nil
                }
            } catch {
                return .failed(error, nil)
            }
        }
        if experience.refusesRanges || state.needsLeader {
            return .again(state.failure?.error, state.failure?.response)
        }
        return state.failure.map { .failed($0.error, $0.response) } ?? .again(nil, nil)
    }
}

extension ParallelTransfer.State {
    /// The connections that may still bring bytes.
    fileprivate var openCount: Int {
        if case .running = leader { helpers.count + 1 } else { helpers.count }
    }

    /// A connection has broken. Where a server wants to be left alone that is what counts, until then.
    fileprivate mutating func note(_ error: any Error) {
        if failure?.response != nil, let pause, pause > .current { return }
        failure = (error, nil)
    }

    /// How many connections more may be open, for a piece that has to be requested again.
    fileprivate var repairs: Int { needsRepair ? 1 : 0 }

    fileprivate var openReaders: [RangePlan.Reader] {
        if case .running = leader { helpers.keys + [RangedFile.leader] } else { Array(helpers.keys) }
    }

    /// The lowest number that no open connection has. The leader's is 1.
    fileprivate var freeNumber: Int {
        var taken = Set(helpers.values.map(\.connection))
        if case .running = leader { taken.insert(1) }
        return (1...).first { !taken.contains($0) } ?? 1
    }

    /// The connections beside the leader, in the order in which they were opened.
    fileprivate var openHelpers: [RangeRequest] { helpers.sorted { $0.key < $1.key }.map(\.value) }

    /// A connection was refused, or has broken before it brought anything: one less.
    ///
    /// - Parameter asked: How long the server wants to be left alone.
    fileprivate mutating func lessenConnections(asking asked: Duration = .zero) {
        slots = max(0, min(slots, openCount + 1) - 1)
        growth?.stop()
        recovery.refused(asking: asked)
    }

    /// Whether the file is being synchronised, or is about to be, which would make it again where the owner has moved it.
    fileprivate var isSynchronizing: Bool {
        if case .running = synchronization { true } else { false }
    }

    /// Whether what is there is to be synchronised now.
    fileprivate mutating func synchronizes(after elapsed: Duration, _ isUnsafe: Bool, every interval: Duration) -> Bool
    {
        switch synchronization {
        case .running: return false
        case .idle:
            if isUnsafe { synchronization = .waiting(since: .zero) }
            return false
        case .waiting(let since):
            guard isUnsafe else {
                synchronization = .idle
                return false
            }
            let isDue = since + elapsed >= interval
            synchronization = isDue ? .running : .waiting(since: since + elapsed)
            return isDue
        }
    }
}

extension Error {
    /// The precise reason, where the error has one.
    var reason: String { (self as NSError).localizedFailureReason ?? localizedDescription }
}

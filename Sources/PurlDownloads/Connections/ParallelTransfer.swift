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
        let proof: RangeProof
        let generation: RangedFile.Generation
        let request: URLRequest
        /// Whether other connections may be opened before one has proved that the server has ranges.
        var isConfirmed: Bool
    }

    fileprivate struct State {
        var leader = Leader.none
        var request: URLRequest?
        var isAdvertised = false
        /// How many bytes were there when the leader's response began.
        var presentCount: Int64?
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

    private let file: RangedFile
    private let session: URLSession
    private let experience: Experience
    private let onProgress: @Sendable () -> Void
    private let state: Mutex<State>

    /// - Parameters:
    ///   - file: The sink of the leader.
    ///   - session: Makes the requests for ranges.
    ///   - onProgress: Called when other connections have brought bytes. From any thread.
    package init(
        _ file: RangedFile, _ count: ConnectionCount, session: URLSession, _ experience: Experience,
        onProgress: @escaping @Sendable () -> Void = {}
    ) {
        self.file = file
        self.session = session
        self.experience = experience
        self.onProgress = onProgress
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
            state.isAdvertised = RangeProof.advertisesRanges(response)
        }
        let isWanted = state.withLock { $0.slots > 1 || $0.growth != nil }
        let isPossible = [200, 206].contains(response.statusCode) && RangeProof.allowsRanges(response)
        if isWanted, isPossible, !experience.refusesRanges {
            file.notifyLeader(onFirstBytes: { self.split() }, onOver: { self.leaderIsOver() })
        } else if file.isRanged {
            // What earlier connections have left has to be passed over.
            file.notifyLeader(onFirstBytes: nil, onOver: { self.leaderIsOver() })
        }
    }

    /// The leader has ended. `completion` receives the end of the attempt, when no connection is open any more.
    package func leaderEnded(_ error: (any Error)?, completion: @escaping @Sendable (End) -> Void) {
        state.withLock { state in
            switch state.leader {
            case .over: state.leader = .gone
            case .none, .running, .ended, .gone: state.leader = .ended(error)
            }
            state.completion = completion
        }
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
                state.split = Split(
                    proof: proof, generation: generation, request: request, isConfirmed: state.isAdvertised)
                state.clock = Task { [weak self] in
                    while let self, !Task.isCancelled {
                        self.measure()
                        try? await Pause.sleep(for: Self.interval)
                    }
                }
            }
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

    // MARK: The others

    private func helperEnded(_ helper: RangeRequest, _ end: RangeRequest.End) {
        state.withLock { state in
            guard let split = state.split else { return }
            let isNeeded = file.plan(in: split.generation)?.readers.contains(helper.reader) == true
            file.forget(helper.reader, in: split.generation)
            state.helpers[helper.reader] = nil
            switch end.verdict {
            case .proven?, nil:
                if end.received > 0 { experience.addRange() }
                // One that was overtaken, or is not needed for another reason, has not failed.
                guard let error = end.error, isNeeded, !end.isCancelled else { break }
                if Self.isOfFile(error) {
                    state.stop = state.stop ?? .failed(error)
                } else {
                    state.failure = (error, nil)
                    guard end.received == 0 else { break }
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
            if experience.refusesRanges { file.setShares(1) }
        }
        proceed()
    }

    /// Whether what is on this machine has failed.
    private static func isOfFile(_ error: any Error) -> Bool {
        let codes: Set<URLError.Code> = [.cannotCreateFile, .cannotOpenFile, .cannotWriteToFile, .cannotMoveFile]
        return (error as? URLError).map { codes.contains($0.code) } ?? true
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
        if case .failure = result { proceed() }
    }

    // MARK: What is next

    /// Opens and closes connections until that agrees with the plan, and ends when none is left.
    private func proceed() {
        var started: [RangeRequest] = []
        var cancelled: [() -> Void] = []
        var end: (@Sendable () -> Void)?
        state.withLock { state in
            guard let split = state.split else {
                if let outcome = endOfLeader(state) { end = self.end(&state, outcome) }
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
                for helper in state.openHelpers where plan.rest(of: helper.reader) == nil {
                    cancelled.append(helper.cancel)
                }
                if case .running(let task) = state.leader, plan.rest(of: RangedFile.leader) == nil {
                    state.leader = .over(task)
                    cancelled.append(task.cancel)
                }
                started = open(&state, split)
            }
            guard state.helpers.isEmpty else { return }
            let outcome: End
            switch state.leader {
            case .none, .running, .over: return
            case .ended(let error): outcome = self.outcome(state, plan, leader: error)
            case .gone: outcome = self.outcome(state, plan, leader: nil)
            }
            end = self.end(&state, outcome)
        }
        for helper in started { helper.start() }
        for cancel in cancelled { cancel() }
        end?()
    }

    /// The end of an attempt without other connections; `nil` while the leader is open.
    private func endOfLeader(_ state: State) -> End? {
        let error: (any Error)?
        switch state.leader {
        case .none, .running, .over: return nil
        case .ended(let failure): error = failure
        case .gone: error = nil
        }
        if case .failed(let failure) = state.stop { return .failed(failure, nil) }
        do {
            if try file.join() { return .complete }
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
        if Self.isOfFile(error) || (error as? URLError)?.code == .cancelled {
            state.stop = state.stop ?? .failed(error)
        } else {
            state.failure = (error, nil)
        }
    }

    private func open(_ state: inout State, _ split: Split) -> [RangeRequest] {
        guard !experience.refusesRanges, state.pause.map({ $0 <= .current }) ?? true else { return [] }
        var opened: [RangeRequest] = []
        while state.openCount < state.slots, split.isConfirmed || state.helpers.isEmpty {
            let reader = state.lastReader + 1
            guard let range = file.assign(reader, in: split.generation) else { break }
            state.lastReader = reader
            let request = RangeRequest(
                range, by: reader, like: split.request, split.proof, of: file, in: split.generation, session: session,
                onProgress: onProgress
            ) { [weak self] in
                self?.confirm()
            } completion: { [self] helper, end in
                helperEnded(helper, end)
            }
            state.helpers[reader] = request
            opened.append(request)
        }
        return opened
    }

    /// The server has proved that it has ranges.
    private func confirm() {
        let isFirst = state.withLock { state in
            defer { state.split?.isConfirmed = true }
            return state.split?.isConfirmed == false
        }
        if isFirst { proceed() }
    }

    /// The end, when no connection is open.
    private func outcome(_ state: State, _ plan: RangePlan?, leader error: (any Error)?) -> End {
        switch state.stop {
        case .byOwner: return .failed(URLError(.cancelled), nil)
        case .failed(let error): return .failed(error, nil)
        case .again: return .again(nil, nil)
        case nil: break
        }
        // The leader has started over, alone.
        guard let plan else { return .leader(error) }
        if plan.isComplete {
            do {
                _ = try file.join()
                return .complete
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

/// How many connections there are when their number is adaptive: one more as long as the last one has made the whole at least a
/// tenth faster. One that has not is given up when it has brought what it reads.
struct ConnectionGrowth: Sendable, Equatable {
    /// A connection has reached its rate after so many measurements.
    static let measurements = 4

    let maximum: Int
    private var connections = 1
    private var rates: [Double] = []
    /// The rate with one connection less.
    private var earlier: Double?
    private var isOver = false

    init(maximum: Int) {
        self.maximum = maximum
    }

    /// The server has refused a connection.
    mutating func stop() { isOver = true }

    /// The number that follows a measurement; `nil` when it stays.
    ///
    /// - Parameters:
    ///   - rate: The bytes a second of all connections together.
    ///   - open: How many connections are open.
    mutating func connections(at rate: Double, open: Int) -> Int? {
        guard !isOver, open >= connections else { return nil }
        rates.append(rate)
        guard rates.count >= Self.measurements else { return nil }
        // The first measurement still has the time of the request in it.
        let mean = rates.dropFirst().reduce(0, +) / Double(rates.count - 1)
        rates = []
        if let earlier, mean < earlier * 1.1 || mean == 0 {
            isOver = true
            connections -= 1
            return connections
        }
        guard connections < maximum else {
            isOver = true
            return nil
        }
        earlier = mean
        connections += 1
        return connections
    }
}

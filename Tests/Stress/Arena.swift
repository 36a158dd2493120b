import Foundation
import Purl
import Synchronization

/// What the threads share: sessions, tasks, resume data, a server, a folder.
final class Arena: Sendable {
    private static let sessionSlots = 6
    private static let taskSlots = 120
    /// More tasks than these are not begun before others are over.
    private static let openTasks = 250

    private struct State {
        var sessions: [NumberedSession] = []
        /// Sessions that are on their way out: somebody may have to hurry them.
        var retired: [NumberedSession] = []
        var tasks: [URLSessionTask] = []
        var works: [Task<Void, Never>] = []
        var resumeData: [Data] = []
        var lastFile = 0
        var isClosing = false
    }

    let ledger: Ledger
    let server: MisbehavingServer
    let folder: URL
    let captures = Captures()
    private let state = Mutex(State())

    init(_ ledger: Ledger, _ folder: URL, _ dice: inout Dice) throws {
        self.ledger = ledger
        self.folder = folder
        server = try MisbehavingServer()
        try MisbehavingServer.content.data.prefix(50_000).write(to: uploadFile)
        for _ in 0..<Self.sessionSlots { replaceSession(&dice) }
    }

    var uploadFile: URL { folder.appendingPathComponent("upload") }

    /// A file that nobody else has.
    func newFile() -> URL {
        let number = state.withLock { state in
            state.lastFile += 1
            return state.lastFile
        }
        return folder.appendingPathComponent("sink-\(number)")
    }

    // MARK: Sessions

    func session(_ dice: inout Dice) -> NumberedSession {
        state.withLock { $0.sessions[dice.below($0.sessions.count)] }
    }

    /// Ends a session in one way or another, and makes another one.
    func replaceSession(_ dice: inout Dice) {
        guard !isClosing else { return }
        let session = makeSession(&dice)
        let old: NumberedSession? = state.withLock { state in
            state.retired.removeAll { $0.delegate == nil }
            guard state.sessions.count == Self.sessionSlots else {
                state.sessions.append(session)
                return nil
            }
            let slot = dice.below(Self.sessionSlots)
            defer { state.sessions[slot] = session }
            state.retired.append(state.sessions[slot])
            return state.sessions[slot]
        }
        if dice.once(in: 3) { old?.finishTasksAndInvalidate() } else { old?.invalidateAndCancel() }
    }

    private func makeSession(_ dice: inout Dice) -> NumberedSession {
        let nuisance = Nuisance(self, dice.offspring())
        ledger.beginSession()
        let session = NumberedSession(
            configuration: configuration(&dice), delegate: nuisance, delegateQueue: Self.queue(&dice))
        ledger.follow(session)
        return session
    }

    /// Any session but one without a delegate may be had; a few background sessions want the same identifier.
    private func configuration(_ dice: inout Dice) -> URLSessionConfiguration {
        let configuration: URLSessionConfiguration =
            switch dice.below(5) {
            case 0: .background(withIdentifier: "stress.\(dice.below(4))")
            case 1, 2: .ephemeral
            default: .default
            }
        configuration.partialDownloadsDirectory = folder.appendingPathComponent("partials")
        configuration.backgroundSessionsDirectory = folder.appendingPathComponent("background")
        configuration.protocolClasses = [Murmur.self]
        configuration.timeoutIntervalForRequest = Double(dice.below(4) + 1) / 4
        configuration.timeoutIntervalForResource = 20
        configuration.httpMaximumConnectionsPerHost = dice.below(6) + 1
        configuration.waitsForConnectivity = dice.once(in: 4)
        configuration.requestCachePolicy =
            dice.pick([.useProtocolCachePolicy, .reloadIgnoringLocalCacheData, .returnCacheDataElseLoad])
            ?? .useProtocolCachePolicy
        if dice.once(in: 4) { configuration.maximumBytesReceivedPerSecond = 4 << 20 }
        if dice.once(in: 4) { configuration.maximumBytesSentPerSecond = 4 << 20 }
        if dice.once(in: 3) { configuration.maximumBufferedBytesPerTask = 1000 }
        return configuration
    }

    private static func queue(_ dice: inout Dice) -> OperationQueue? {
        guard dice.once(in: 2) else { return nil }
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = dice.below(4) + 1
        return queue
    }

    // MARK: Tasks

    var hasRoom: Bool { !isClosing && ledger.openCount < Self.openTasks }

    func task(_ dice: inout Dice) -> URLSessionTask? {
        state.withLock { dice.pick($0.tasks) }
    }

    func webSocketTask(_ dice: inout Dice) -> URLSessionWebSocketTask? {
        state.withLock { state in dice.pick(state.tasks.compactMap { $0 as? URLSessionWebSocketTask }) }
    }

    func streamTask(_ dice: inout Dice) -> URLSessionStreamTask? {
        state.withLock { state in dice.pick(state.tasks.compactMap { $0 as? URLSessionStreamTask }) }
    }

    /// From now on anybody may have the task. One that nobody can have any more, and that would wait for somebody to resume
    /// it or to close its stream, is cancelled.
    func share(_ task: URLSessionTask, _ dice: inout Dice) {
        let old: URLSessionTask? = state.withLock { state in
            guard state.tasks.count == Self.taskSlots else {
                state.tasks.append(task)
                return nil
            }
            let slot = dice.below(Self.taskSlots)
            defer { state.tasks[slot] = task }
            return state.tasks[slot]
        }
        if old?.state == .suspended || old is URLSessionStreamTask { old?.cancel() }
    }

    /// From now on anybody may cancel the work.
    func share(_ work: Task<Void, Never>, _ dice: inout Dice) {
        state.withLock { state in
            if state.works.count < Self.taskSlots {
                state.works.append(work)
            } else {
                state.works[dice.below(Self.taskSlots)] = work
            }
        }
    }

    func work(_ dice: inout Dice) -> Task<Void, Never>? {
        state.withLock { dice.pick($0.works) }
    }

    // MARK: Resume data

    func keep(_ resumeData: Data?) {
        guard let resumeData else { return }
        state.withLock { state in
            state.resumeData.append(resumeData)
            if state.resumeData.count > 16 { state.resumeData.removeFirst() }
        }
    }

    /// Resume data of some download, or something that only looks like it.
    func resumeData(_ dice: inout Dice) -> Data {
        let data = state.withLock { dice.pick($0.resumeData) } ?? Data("nothing".utf8)
        return dice.once(in: 8) ? data.prefix(dice.below(data.count)) : data
    }

    // MARK: The end

    /// Nothing new is begun.
    var isClosing: Bool { state.withLock { $0.isClosing } }

    func close() {
        state.withLock { $0.isClosing = true }
        captures.close()
    }

    /// Invalidates every session. Whoever comes later, out of a delegate's call, still finds them.
    func invalidateAll() {
        let (sessions, works, tasks) = state.withLock { ($0.sessions + $0.retired, $0.works, $0.tasks) }
        for session in sessions { session.invalidateAndCancel() }
        for work in works { work.cancel() }
        for task in tasks { task.cancel() }
    }

    /// Holds nothing any more, and leaves nothing where sessions share it.
    func letGo() {
        URLCache.shared.removeAllCachedResponses()
        HTTPCookieStorage.shared.removeCookies(since: .distantPast)
        for (space, users) in URLCredentialStorage.shared.allCredentials {
            for credential in users.values { URLCredentialStorage.shared.remove(credential, for: space) }
        }
        state.withLock { $0 = State(isClosing: true) }
        ledger.letGo()
        server.stop()
    }
}

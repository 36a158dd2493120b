import Foundation
import Purl
import Synchronization

/// What the threads share: sessions, tasks, resume data, a server, a folder.
final class Arena: Sendable {
    private static let sessionSlots = 6
    private static let taskSlots = 120
    /// No more tasks than these run at the same time.
    private static let openTasks = 250

    private struct State {
        var sessions: [NumberedSession] = []
        /// Sessions that are being invalidated: some have to be cancelled at the end.
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

    /// A file that no other thread uses.
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

    /// Invalidates a session in one way or the other, and creates another one.
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
        configuration.tlsProvider = server.provider
        configuration.timeoutIntervalForRequest = Double(dice.below(4) + 1) / 4
        configuration.timeoutIntervalForResource = 20
        configuration.httpMaximumConnectionsPerHost = dice.below(6) + 1
        configuration.waitsForConnectivity = dice.once(in: 4)
        configuration.requestCachePolicy =
            dice.pick([.useProtocolCachePolicy, .reloadIgnoringLocalCacheData, .returnCacheDataElseLoad])
            ?? .useProtocolCachePolicy
        if dice.once(in: 4) { configuration.limits.bytesReceivedPerSecond = 4 << 20 }
        if dice.once(in: 4) { configuration.limits.bytesSentPerSecond = 4 << 20 }
        if dice.once(in: 3) { configuration.limits.bufferedBytesPerTask = 1000 }
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

    /// Lets all threads pick the task. One that no thread can pick any more, and that would wait for a call to resume
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

    /// Lets all threads cancel the work.
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

    /// Resume data of some download, or bytes that resemble it.
    func resumeData(_ dice: inout Dice) -> Data {
        let data = state.withLock { dice.pick($0.resumeData) } ?? Data("nothing".utf8)
        return dice.once(in: 8) ? data.prefix(dice.below(data.count)) : data
    }

    // MARK: The end

    /// Whether no more tasks are started.
    var isClosing: Bool { state.withLock { $0.isClosing } }

    func close() {
        state.withLock { $0.isClosing = true }
        captures.close()
    }

    /// Invalidates every session. Delegate calls that come later still find them.
    func invalidateAll() {
        let (sessions, works, tasks) = state.withLock { ($0.sessions + $0.retired, $0.works, $0.tasks) }
        for session in sessions { session.invalidateAndCancel() }
        for work in works { work.cancel() }
        for task in tasks { task.cancel() }
    }

    /// Releases everything, and empties the shared storages.
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

extension Arena {
    /// A completion handler was called, or an `async` call has returned.
    func finish(_ ticket: Ledger.Ticket, _ body: Data?, _ response: URLResponse?, _ error: (any Error)?) {
        keep((error as? URLError)?.downloadTaskResumeData)
        if error == nil, let body, let response { check(body, of: response) }
        ledger.end(ticket, Self.outcome(error))
    }

    /// The delegate has received a task's `didComplete`.
    func finish(_ key: Ledger.Key, _ error: (any Error)?) {
        keep((error as? URLError)?.downloadTaskResumeData)
        ledger.end(key, Self.outcome(error))
    }

    /// Paths without the resource, or whose cache entries other threads write.
    private static let others = ["/echo", "/cacheable"]

    /// Checks that a long body is the resource: all of it, and nothing else.
    func check(_ body: Data, of response: URLResponse) {
        guard body.count > 1000, let path = response.url?.path(), !Self.others.contains(path) else { return }
        let content = MisbehavingServer.content
        ledger.check(content.matches(body), "a body is not the resource: \(path)")
        // Without a length the client cannot know that the rest is missing.
        let isWhole = body.count == content.size || path == "/until-close"
        ledger.check(isWhole, "a body has \(body.count) bytes: \(path)")
    }

    private static func outcome(_ error: (any Error)?) -> String {
        guard let error else { return "success" }
        return (error as? URLError).map { "URLError \($0.code.rawValue)" } ?? "\(type(of: error))"
    }
}

/// A session that has a number, which its delegate still knows when the session has forgotten the delegate.
///
/// `@unchecked Sendable` as its superclass is; what it adds is behind a `Mutex`, or does not change.
final class NumberedSession: URLSession, @unchecked Sendable {
    private static let last = Mutex(0)

    let number = NumberedSession.last.withLock { last in
        last += 1
        return last
    }
    private let isInside = Mutex(false)

    /// The ledger's key for a task.
    func key(_ task: URLSessionTask) -> Ledger.Key { Ledger.Key(session: number, task: task.taskIdentifier) }

    /// A call to a delegate begins. False when another one has not ended.
    func enter() -> Bool {
        isInside.withLock { isInside in
            defer { isInside = true }
            return !isInside
        }
    }

    func leave() { isInside.withLock { $0 = false } }
}

/// Answers for one host, in pieces.
final class Murmur: URLProtocol {
    static let url = URL(string: "http://murmur.invalid/file")

    override class func canInit(with request: URLRequest) -> Bool { request.url?.host() == "murmur.invalid" }

    override func startLoading() {
        guard let url = request.url,
            let response = HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: ["Cache-Control": "max-age=60"])
        else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .allowed)
        for word in ["a ", "few ", "words"] { client?.urlProtocol(self, didLoad: Data(word.utf8)) }
        client?.urlProtocolDidFinishLoading(self)
    }
}

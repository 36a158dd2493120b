import Foundation
internal import PurlHTTP
internal import PurlIO

/// One task's journey, from its first `resume` to its last call: connection, exchange, redirects, disposition, sink.
///
/// It lives on the network thread. Users' calls reach it as messages; what it has to say goes to the delegate queue.
/// It ends in exactly one call of `conclude`.
@NetworkActor
final class Transfer: ExchangeClient {
    /// What the task was made from.
    enum Origin: Sendable {
        case request
        case sink(any BodySink)
        case resume(ResumeData)
        /// The same after a relaunch: nobody but the journal knows of the resume data.
        case restored(ResumeData)
        case unreadable(any Error)
        /// A body of the task's own, in place of the request's.
        case upload(RequestBody)
        /// No response, but what goes over the connection.
        case webSocket(WebSocketConversation)
        case stream(StreamConversation)

        /// What the transfer goes on from.
        var resumeData: ResumeData? {
            switch self {
            case .resume(let resume), .restored(let resume): resume
            case .request, .sink, .unreadable, .upload, .webSocket, .stream: nil
            }
        }
    }

    enum Phase {
        /// Not begun, or suspended while it had no connection.
        case parked
        /// The sink, or the request's body, is being looked at.
        case preparing
        case leasing
        case waiting(ConnectionPool.Ticket)
        case exchanging(any ResponseSource)
        /// The message is over; its consumer has not taken all of the content yet.
        case decoding
        /// The message is over, or the transfer has failed: the sink is being brought to an end.
        case ending
        case concluded
    }

    /// Why nothing is read from the connection.
    struct Holds: OptionSet {
        let rawValue: Int
        static let suspended = Holds(rawValue: 1)
        /// The delegate is to answer.
        static let deciding = Holds(rawValue: 2)
        /// The consumer has as many bytes as it may.
        static let full = Holds(rawValue: 4)
        /// There is more to decode than one turn of the loop is long.
        static let decoding = Holds(rawValue: 8)
    }

    /// What takes the place of a response.
    enum Following {
        case request(URLRequest)
        /// Without an age it has just been confirmed.
        case stored(CachedURLResponse, age: Int64?)
    }

    /// Where the body goes.
    enum Destination {
        case nowhere
        case delegate(ByteMailbox)
        case memory
        case sink(SinkWriter)
        case stream(ByteStream)
    }

    var task: URLSessionTask
    let session: URLSession
    let origin: Origin
    var phase = Phase.parked
    var hasBegun = false
    var holds: Holds = []
    var request: URLRequest
    var redirects = 0
    var redirectsFollowed = 0
    var hasLeftOrigin = false
    var hasRetried = false
    /// No protocol wants the request of the moment.
    var hasAskedProtocols = false
    /// Who passes on the request of the moment, in the server's place.
    var proxy: HTTPProxy?
    /// How far the task has come in proving who asks, with each of those who want to know.
    var authentications: [Challenger: Authentication] = [:]
    /// The upload task's body, as long as redirects ask for it.
    var upload: RequestBody?
    /// The body of the request of the moment, once it is ready to be sent.
    var outgoing: OutgoingBody?
    /// What follows once the body of the moment has been read.
    var following: Following?
    /// What the server of a WebSocket has been asked; `nil` while it is a proxy that is asked.
    var handshake: WebSocketHandshake?
    /// What the connection is for, where it is for a WebSocket.
    let webSocket: WebSocketConversation?
    /// What the connection is for, where it is for a stream, from the start or in place of a data task's response.
    var stream: StreamConversation?
    /// What the request of the moment has to do with the cache.
    var visit: CacheVisit?
    /// The cache has been asked about the request of the moment.
    var hasConsultedCache = false
    /// What is stored has turned out to be something else than the server speaks of.
    var distrustsCache = false
    /// The response of the moment came from the cache; the server may have confirmed it.
    var isAnsweredByCache = false
    /// Where a resumed transfer goes on; set when the request carries `Range`.
    var rest: ResumePoint?
    var partial: PartialFile?
    /// The resume data the transfer was made from, while it still describes the partial file.
    var untouched: ResumeData?
    var writer: SinkWriter?
    var destination = Destination.nowhere
    /// The way of plain content into the sink's file.
    var pipe: ContentPipe?
    /// A sink's response waits for the delegate's word; then the sink is emptied first, or not.
    var storesFromStart: Bool?
    var collected = Data()
    /// The body, when it is in a content coding.
    var coded: CodedBody?
    /// The length the whole resource has, where it is known.
    var total: Int64?
    /// How much of it has arrived, what the sink had before included.
    var received: Int64 = 0
    lazy var writeReport = WriteReport()
    /// How the requests went, where somebody could be told.
    var metrics: MetricsLog?
    /// Until the task's date to begin at.
    var delay: SessionTimer?
    /// How often no connection could be made while the session waits for connectivity, and when it is tried next.
    var redials = 0
    var redialTimer: SessionTimer?
    /// Of the exchange of the moment.
    lazy var sendReport = WriteReport()
    /// The time by which it goes.
    let clock: SessionClock
    private var lastProgress: MonotonicTime
    /// When the transfer has used up all the time it may take; set from its beginning.
    private var lastMoment: MonotonicTime?
    /// Runs at the earliest moment at which a limit could be used up.
    private var watchTimer: SessionTimer?

    init(task: URLSessionTask, session: URLSession, origin: Origin) {
        self.task = task
        self.session = session
        self.origin = origin
        clock = session.settings.clock
        lastProgress = clock.now
        request = task.originalRequest ?? .unreadable
        untouched = origin.resumeData
        if case .webSocket(let conversation) = origin { webSocket = conversation } else { webSocket = nil }
        switch origin {
        case .upload(let body):
            upload = body
            request.httpBody = nil
        case .webSocket:
            // RFC 6455 §4.1: a handshake is a GET, and has nothing to do with protocols for responses.
            request.httpMethod = "GET"
            request.httpBody = nil
            hasAskedProtocols = true
        case .stream(let conversation):
            stream = conversation
            request = conversation.request ?? .unreadable
            hasAskedProtocols = true
            hasConsultedCache = true
        case .request, .sink, .resume, .restored, .unreadable: break
        }
    }

    /// What the connection is for, where it is not for a response.
    var conversation: (any Conversation)? { webSocket ?? stream }

    /// The task as a download: it becomes one, or is one from the start.
    var downloadTask: URLSessionDownloadTask? { task as? URLSessionDownloadTask }

    /// The task has a body of its own, which neither resume data nor a download's record could bring back.
    var isUpload: Bool {
        if case .upload = origin { return true }
        return false
    }

    /// The download was made from resume data, and its delegate is to hear where it goes on.
    var isResumedDownload: Bool { origin.resumeData != nil }

    // MARK: Messages from the task

    func resume() {
        holds.remove(.suspended)
        conversation?.isPaused = !holds.isEmpty
        markProgress()
        switch phase {
        case .parked: hasBegun ? connect() : begin()
        case .exchanging, .decoding: updateFlow()
        case .preparing, .leasing, .waiting, .ending, .concluded: break
        }
    }

    func suspend() {
        holds.insert(.suspended)
        conversation?.isPaused = true
        redialTimer?.cancel()
        redialTimer = nil
        switch phase {
        case .waiting(let ticket):
            ticket.cancel()
            phase = .parked
        case .exchanging, .decoding: updateFlow()
        case .parked, .preparing, .leasing, .ending, .concluded: break
        }
    }

    /// The task has become more urgent, or less.
    func priorityChanged() {
        if case .waiting(let ticket) = phase { ticket.move(to: task.priority) }
    }

    func cancel() {
        fail(.cancelled)
    }

    /// Cancels; the handler gets the resume data before the completion is delivered. A transfer that has the whole
    /// body already is not cancelled any more: its file comes.
    func cancelProducingResumeData(_ handler: @escaping @Sendable (Data?) -> Void) {
        switch phase {
        case .ending, .concluded:
            session.queue.enqueue { handler(nil) }
        case .parked, .preparing, .leasing, .waiting, .exchanging, .decoding:
            fail(.cancelled, resumeHandler: handler)
        }
    }

    // MARK: Beginning

    private func begin() {
        if let refusal = task.shared.withLock({ $0.refusal }) { return fail(refusal) }
        beginInTime()
    }

    func beginNow() {
        hasBegun = true
        lastMoment = clock.now + Self.duration(session.settings.timeoutIntervalForResource)
        watchProgress()
        switch origin {
        case .request, .upload, .webSocket, .stream:
            connect()
        case .sink(let sink):
            look(into: sink)
        case .resume(let resume), .restored(let resume):
            openPartial(resume)
        case .unreadable(let error):
            fail(.unreadableResumeData("\(error)"))
        }
    }

    /// Gets the body of the request of the moment ready, then leases a connection.
    func connect() {
        guard !holds.contains(.suspended) else {
            phase = .parked
            return
        }
        if !hasAskedProtocols, case let classes = session.protocolClasses, !classes.isEmpty {
            guard let body = outgoing ?? bodyAtHand else { return prepareBody() }
            return askProtocols(classes, body)
        }
        if conversation == nil, loadsDataURL { return loadDataURL() }
        let target: RequestTarget
        do throws(RequestTarget.Refusal) {
            target = try RequestTarget(request.url, like: session.pool.latestTarget)
            session.pool.latestTarget = target
        } catch {
            return fail(.url(error))
        }
        guard target.origin.isWebSocket == (webSocket != nil), target.origin.isStream == (stream != nil) else {
            return fail(.url(.wrongTask(target.origin.scheme)))
        }
        guard !consultCache() else { return }
        do throws(ProxyFault) {
            proxy = try session.proxies.proxy(for: target)
        } catch {
            return fail(.proxy(error))
        }
        guard let body = outgoing ?? bodyAtHand else { return prepareBody() }
        recordBeginning()
        redialTimer?.cancel()
        watchProgress()
        let origin = proxy.map { .proxy($0.endpoint) } ?? target.origin
        if !hasRetried, let connection = session.pool.takeIdle(of: origin) {
            return begin(body, on: connection, target)
        }
        phase = .leasing
        let ticket = session.pool.lease(origin, priority: task.priority, fresh: hasRetried) { [weak self] result in
            self?.leased(result, target, body)
        }
        // The answer may have come already.
        if case .leasing = phase { phase = .waiting(ticket) }
    }

    private func leased(
        _ result: Result<HTTPConnection, DialError>, _ target: RequestTarget, _ body: OutgoingBody
    ) {
        switch result {
        case .failure(let error):
            if case .waiting(let ticket) = phase { metrics?.current.noteFailedDial(ticket.dialTimes) }
            noteNoConnection(error)
        case .success(let connection):
            begin(body, on: connection, target)
        }
    }

    private func begin(_ body: OutgoingBody, on connection: HTTPConnection, _ target: RequestTarget) {
        phase = .exchanging(connection)
        markProgress()
        if stream != nil {
            openStream(on: connection, target)
        } else if webSocket != nil {
            shakeHands(on: connection, target)
        } else {
            send(body, on: connection, target)
        }
    }

    private func send(_ body: OutgoingBody, on connection: HTTPConnection, _ target: RequestTarget) {
        // Whoever sends it again has to get it ready again.
        outgoing = nil
        var head = composeHead(at: target, framing: body.framing)
        authenticate(&head, to: .server(target.origin), target: target.originForm)
        if let proxy { authenticate(&head, to: .proxy(proxy.endpoint), target: head.target) }
        cachePolicy.addFields(to: &head.fields)
        visit?.send(&head.fields)
        if let fault = RequestComposer.fault(in: head, body.framing) {
            return giveBack(connection, failing: .request(fault))
        }
        guard let bytes = encode(head, for: connection) else { return }
        if body.length != 0 { sendReport = WriteReport() }
        task.update { shared in
            shared.sentFields = head.fields
            shared.counts.sent = 0
            shared.counts.expectedToSend = body.length ?? NSURLSessionTransferSizeUnknown
        }
        metrics?.current.noteStart(on: connection, fields: head.fields)
        connection.start(
            head, encoded: bytes, body: body, record: metrics?.current, mayUpgrade: mayUpgrade, client: self)
    }

    /// The head as it goes onto the wire; nil when it cannot, which is the transfer's end.
    func encode(_ head: RequestHead, for connection: HTTPConnection) -> [UInt8]? {
        var bytes: [UInt8] = []
        do throws(EncodeError) {
            try head.encode(into: &bytes)
            return bytes
        } catch {
            giveBack(connection, failing: .request(error))
            return nil
        }
    }

    /// Fails before anything was sent: the connection stays for others.
    func giveBack(_ connection: HTTPConnection, failing failure: TransferFailure) {
        session.pool.release(connection, mayStay: true)
        phase = .parked
        fail(failure)
    }

    /// The head of the request of the moment, but for what proves who asks.
    func composeHead(at target: RequestTarget, framing: BodyFraming) -> RequestHead {
        RequestComposer.head(
            for: request, at: target, throughProxy: proxy != nil, framing: framing,
            additional: session.settings.httpAdditionalHeaders,
            cookies: cookieHeader, rest: rest,
            decidesRange: writer != nil, wantsPlainBytes: writer != nil || downloadTask != nil,
            mayCarryCredentials: !hasLeftOrigin, mayUpgrade: mayUpgrade)
    }

    private var cookieHeader: String? {
        guard session.settings.httpShouldSetCookies, request.httpShouldHandleCookies, mayCarrySecrets else {
            return nil
        }
        return session.settings.httpCookieStorage?.cookieHeader(for: request)
    }

    // MARK: Flow

    /// Reads while nothing holds it back.
    func updateFlow() {
        markProgress()
        decode()
        if case .exchanging(let source) = phase { source.isPaused = !holds.isEmpty }
    }

    func markProgress() {
        lastProgress = clock.now
    }

    // MARK: Time-outs

    /// From now on there has to be progress.
    func watchProgress() {
        markProgress()
        if watchTimer == nil { startWatch(after: Self.duration(progressLimit)) }
    }

    var progressLimit: TimeInterval {
        request.timeoutInterval == URLRequest.defaultTimeoutInterval
            ? session.settings.timeoutIntervalForRequest : request.timeoutInterval
    }

    /// Progress that is made meanwhile does not move the timer: it finds out when it runs.
    private func startWatch(after delay: Duration) {
        var delay = delay
        if let lastMoment { delay = min(delay, lastMoment - clock.now) }
        watchTimer = clock.schedule(after: delay) { [weak self] in
            self?.checkTime()
        }
    }

    private func checkTime() {
        let now = clock.now
        if let lastMoment, lastMoment <= now {
            return fail(.tookTooLong(seconds: session.settings.timeoutIntervalForResource))
        }
        if clockStandsStill { markProgress() }
        let deadline = lastProgress + Self.duration(progressLimit)
        guard deadline <= now else { return startWatch(after: deadline - now) }
        fail(.stalled(seconds: progressLimit))
    }

    /// Nothing is expected of the network: the user, a stream of his, the queue for a connection or the disk is in the
    /// way.
    private var clockStandsStill: Bool {
        switch phase {
        case .parked, .preparing, .leasing, .decoding, .ending, .concluded:
            return true
        case .exchanging(let source):
            return !holds.isEmpty || source.awaitsItsOwn
        case .waiting(let ticket):
            if let start = ticket.dialStart, start > lastProgress { lastProgress = start }
            return ticket.dialStart == nil
        }
    }

    /// Seconds as users give them, which may be anything: infinite, not a number, or nothing at all for "no limit".
    nonisolated static func duration(_ seconds: TimeInterval) -> Duration {
        guard seconds > 0, seconds < 1_000_000_000 else { return .seconds(1_000_000_000) }
        return .milliseconds(Int64((seconds * 1000).rounded(.up)))
    }

    func stopTimers() {
        delay?.cancel()
        delay = nil
        redialTimer?.cancel()
        redialTimer = nil
        watchTimer?.cancel()
        watchTimer = nil
    }
}

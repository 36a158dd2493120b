import Foundation
internal import PurlHTTP
internal import PurlIO
import Synchronization

/// One transfer of a session: made suspended, started with ``resume()``, over after its completion was delivered.
///
/// Every property may be read from any thread. Calls take effect in the order in which they are made.
/// `@unchecked Sendable` because the class is open; its mutable state is `shared`, behind a `Mutex`, and `transfer`,
/// which belongs to `NetworkActor`.
open class URLSessionTask: NSObject, NSCopying, ProgressReporting, @unchecked Sendable {
    /// Where a task stands.
    public enum State: Int, Sendable {
        /// Loading, or waiting for a connection.
        case running = 0
        /// Not started yet, or paused by ``URLSessionTask/suspend()``.
        case suspended = 1
        /// Cancelled; the completion is on its way.
        case canceling = 2
        /// Over: the completion has been delivered.
        case completed = 3
    }

    /// The priority of a task nobody set one for: 0.5.
    public static let defaultPriority: Float = 0.5
    /// A low priority: 0.25.
    public static let lowPriority: Float = 0.25
    /// A high priority: 0.75.
    public static let highPriority: Float = 0.75

    /// What users may read at any time.
    struct Shared {
        var state = State.suspended
        /// `cancel` was called, so that the completion has to say so. Stopping for resume data is not that: a
        /// download that turns out to be whole is delivered.
        var isCancelled = false
        /// `suspend` and `resume` nest; a new task has been suspended once.
        var suspensions = 1
        var currentRequest: URLRequest?
        /// The header fields that went over the wire for it, the client's own included.
        var sentFields: HeaderFields?
        var response: URLResponse?
        var error: (any Error)?
        var counts = ByteCounts()
        var taskDescription: String?
        var priority = URLSessionTask.defaultPriority
        var delegate: (any URLSessionTaskDelegate)?
        var progress: Progress?
        /// The task that took this one's place, until the delegate is told of it.
        var successor: URLSessionTask?
        /// Why the task fails as soon as it is resumed.
        var refusal: TransferFailure?
        let created = MonotonicTime.current
        var earliestBeginDate: Date?
        var expectsToSend = NSURLSessionTransferSizeUnknown
        var expectsToReceive = NSURLSessionTransferSizeUnknown
        var prefersIncrementalDelivery = true
    }

    /// The byte counts of a task's current exchange.
    struct ByteCounts: Sendable, Equatable {
        var received: Int64 = 0
        var sent: Int64 = 0
        var expectedToReceive: Int64 = NSURLSessionTransferSizeUnknown
        var expectedToSend: Int64 = 0
    }

    /// A number unique within the session.
    public let taskIdentifier: Int
    /// The request the task was made with.
    public let originalRequest: URLRequest?
    let session: URLSession?
    /// Who hears of the task: the delegates, or the one handler it was made with.
    let audience: Audience
    let shared: Mutex<Shared>
    /// The work behind the task, from its first `resume` or `cancel` until it is over.
    @NetworkActor var transfer: Transfer?
    /// The transfer is over; its last calls may still wait in the delegate queue.
    @NetworkActor var isConcluded = false
    /// What the transfer is made from when it is first needed.
    private let origin: Transfer.Origin

    init(session: URLSession, identifier: Int, request: URLRequest?, origin: Transfer.Origin, audience: Audience) {
        self.session = session
        taskIdentifier = identifier
        originalRequest = request
        self.origin = origin
        self.audience = audience
        shared = Mutex(Shared(currentRequest: request))
    }

    /// A task of no session: resuming it does nothing.
    public override init() {
        session = nil
        taskIdentifier = 0
        originalRequest = nil
        origin = .request
        audience = .delegate
        shared = Mutex(Shared())
    }

    open override func copy() -> Any { copy(with: nil) }

    /// Returns the task itself: a transfer cannot be doubled.
    open func copy(with zone: NSZone?) -> Any { self }

    open override var description: String {
        "<\(Self.self) \(taskIdentifier)> { \(currentRequest?.summary ?? "no request"), \(state) }"
    }

    // MARK: Control

    /// Starts the task, or takes back one ``suspend()``.
    open func resume() {
        let starts = shared.withLock { shared in
            guard shared.state == .suspended, shared.suspensions > 0 else { return false }
            shared.suspensions -= 1
            if shared.suspensions == 0 { shared.state = .running }
            return shared.suspensions == 0
        }
        guard starts else {
            successor?.resume()
            return
        }
        keep { $0.isRunning = true }
        send { $0?.resume() }
    }

    /// Pauses the task: nothing is read from or written to its connection until as many ``resume()`` calls have
    /// followed. The server feels it: its sends block once the socket's buffers are full. The time-out of the
    /// request stands still meanwhile. A delegate may still be told of what had arrived before.
    open func suspend() {
        let stops = shared.withLock { shared in
            guard shared.state == .running || shared.state == .suspended else { return false }
            shared.suspensions += 1
            defer { shared.state = .suspended }
            return shared.state == .running
        }
        guard stops else {
            successor?.suspend()
            return
        }
        keep { $0.isRunning = false }
        send { $0?.suspend() }
    }

    /// Ends the task: it completes with `URLError.cancelled`, unless it was over already.
    open func cancel() {
        guard markCancelling(outright: true) else {
            successor?.cancel()
            return
        }
        send { $0?.cancel() }
    }

    /// Whom a user means who cannot know yet that another task goes on with the transfer.
    private var successor: URLSessionTask? { shared.withLock { $0.successor } }

    /// True when the task was not over or being cancelled already.
    func markCancelling(outright: Bool) -> Bool {
        guard session != nil else { return false }
        let isFirst = shared.withLock { shared in
            guard shared.state == .running || shared.state == .suspended else { return false }
            shared.state = .canceling
            shared.isCancelled = outright
            return true
        }
        if isFirst { keep { $0.ending = outright ? .cancelled : .stopped } }
        return isFirst
    }

    /// Sends a message to the transfer, which lives on the network thread; messages keep their order. A transfer
    /// that is over gets none: `nil` stands for it.
    func send(_ message: @escaping @Sendable @NetworkActor (Transfer?) -> Void) {
        guard let session else { return }
        NetworkActor.post {
            if self.transfer == nil, !self.isConcluded {
                self.transfer = Transfer(task: self, session: session, origin: self.origin)
            }
            message(self.transfer)
        }
    }

    // MARK: What users read and set

    /// Where the task stands.
    open var state: State { shared.withLock { $0.state } }
    /// The request of the moment: after a redirect, the one that was followed. Once it has been sent, its header
    /// fields are those that went over the wire, with what the session and the client added.
    open var currentRequest: URLRequest? {
        let (request, sent) = shared.withLock { ($0.currentRequest, $0.sentFields) }
        guard let sent, var request else { return request }
        request.replaceFields(with: sent)
        return request
    }
    /// The response, once its head has arrived.
    open var response: URLResponse? { shared.withLock { $0.response } }
    /// Why the task failed, once it has.
    open var error: (any Error)? { shared.withLock { $0.error } }
    /// Bytes of the body received so far. For downloads, those of the earlier attempts it goes on from are included.
    open var countOfBytesReceived: Int64 { shared.withLock { $0.counts.received } }
    /// Bytes of the request's body sent so far.
    open var countOfBytesSent: Int64 { shared.withLock { $0.counts.sent } }
    /// The length of the request's body, or ``NSURLSessionTransferSizeUnknown`` while a stream without a length is sent.
    open var countOfBytesExpectedToSend: Int64 { shared.withLock { $0.counts.expectedToSend } }
    /// The length of the whole body, or ``NSURLSessionTransferSizeUnknown`` when the server did not say.
    open var countOfBytesExpectedToReceive: Int64 { shared.withLock { $0.counts.expectedToReceive } }

    /// A text of the user's own.
    open var taskDescription: String? {
        get { shared.withLock { $0.taskDescription } }
        set {
            shared.withLock { $0.taskDescription = newValue }
            keep { $0.taskDescription = newValue }
        }
    }

    /// How urgent the task is, from 0 to 1. Of the tasks that wait for a connection to a host the most urgent one is
    /// served first, among equals the one that has waited longest. It may change at any time; a transfer that has its
    /// connection is not slowed down for another.
    open var priority: Float {
        get { shared.withLock { $0.priority } }
        set {
            let priority = Self.clampedPriority(newValue)
            let hasChanged = shared.withLock { shared in
                defer { shared.priority = priority }
                return shared.priority != priority
            }
            keep { $0.priority = priority }
            if hasChanged { NetworkActor.post { self.transfer?.priorityChanged() } }
        }
    }

    /// The task does not begin before this moment, though it has been resumed. `nil`, the default, begins at once.
    ///
    /// When the time has come, the delegate is asked in
    /// `urlSession(_:task:willBeginDelayedRequest:completionHandler:)`; only then does
    /// ``URLSessionConfiguration/timeoutIntervalForResource`` begin to run. Works in every kind of session; a background
    /// session keeps the date.
    open var earliestBeginDate: Date? {
        get { shared.withLock { $0.earliestBeginDate } }
        set {
            shared.withLock { $0.earliestBeginDate = newValue }
            keep { $0.earliestBeginDate = newValue }
            NetworkActor.post { self.transfer?.beginDateChanged() }
        }
    }

    /// How many bytes the program thinks that it will send at most, head and body. A hint to a scheduler, kept for the
    /// user; ``NSURLSessionTransferSizeUnknown`` by default.
    open var countOfBytesClientExpectsToSend: Int64 {
        get { shared.withLock { $0.expectsToSend } }
        set { shared.withLock { $0.expectsToSend = newValue } }
    }

    /// How many bytes the program thinks that it will receive at most, head and body. A hint to a scheduler, kept for the
    /// user; ``NSURLSessionTransferSizeUnknown`` by default.
    open var countOfBytesClientExpectsToReceive: Int64 {
        get { shared.withLock { $0.expectsToReceive } }
        set { shared.withLock { $0.expectsToReceive = newValue } }
    }

    /// Whether a data task's delegate gets bytes as they come. `true` by default.
    ///
    /// If `false` when the response comes, it gets them at the end of the body; of a body longer than
    /// ``URLSessionConfiguration/maximumBufferedBytesPerTask`` it gets as many at a time.
    open var prefersIncrementalDelivery: Bool {
        get { shared.withLock { $0.prefersIncrementalDelivery } }
        set { shared.withLock { $0.prefersIncrementalDelivery = newValue } }
    }

    static func clampedPriority(_ priority: Float) -> Float {
        priority.isNaN ? defaultPriority : min(max(priority, 0), 1)
    }

    /// A delegate for this task alone, asked before the session's. Kept until the task is over.
    open var delegate: (any URLSessionTaskDelegate)? {
        get { shared.withLock { $0.delegate } }
        set { shared.withLock { $0.delegate = newValue } }
    }

    /// The task's progress in bytes (for an upload, those sent and those received), indeterminate while the length is unknown. Cancelling, pausing and resuming it
    /// cancels, suspends and resumes the task.
    open var progress: Progress {
        shared.withLock { shared in
            if let progress = shared.progress { return progress }
            let progress = Progress(totalUnitCount: -1)
            progress.kind = .file
            progress.isCancellable = true
            progress.isPausable = true
            control(by: progress)
            shared.progress = progress
            show(shared.counts, in: progress)
            return progress
        }
    }

    /// Changes what a background session keeps of the task.
    private func keep(_ change: (inout TaskRecord) -> Void) {
        // What cannot be written now is written with the task's next change.
        try? session?.background?.update(taskIdentifier, change)
    }

    // MARK: For the transfer

    /// Changes the byte counts and whatever shows them.
    func updateCounts(_ change: (inout ByteCounts) -> Void) {
        update { change(&$0.counts) }
    }

    /// Changes what users see of the task, the byte counts among it.
    func update(_ change: (inout Shared) -> Void) {
        let shown: (Progress, ByteCounts)? = shared.withLock { shared in
            change(&shared)
            return shared.progress.map { ($0, shared.counts) }
        }
        if let (progress, counts) = shown { show(counts, in: progress) }
    }

    private func control(by progress: Progress) {
        progress.cancellationHandler = { [weak self] in self?.cancel() }
        progress.pausingHandler = { [weak self] in self?.suspend() }
        progress.resumingHandler = { [weak self] in self?.resume() }
    }

    /// What errors of the task speak of.
    var failingURL: URL? { currentRequest?.url }

    /// Ends the task for its users; the completion is delivered right after. A `cancel` that came before this moment
    /// wins over a success, so that nobody who cancelled is told that all went well.
    func conclude(_ error: (any Error)?) -> (any Error)? {
        let url = failingURL
        let (final, progress, counts) = shared.withLock { shared in
            let cancelled = error == nil && shared.isCancelled
            let final = cancelled ? TransferFailure.cancelled.urlError(for: url) : error
            shared.state = .completed
            shared.error = final
            return (final, shared.progress, shared.counts)
        }
        if let progress {
            // A progress object may outlive its task by far.
            progress.cancellationHandler = nil
            progress.pausingHandler = nil
            progress.resumingHandler = nil
            if final == nil { Self.finish(progress, at: completedBytes(counts)) }
        }
        return final
    }

    /// Gives everything users see to the task that takes this one's place, and ends this one silently. True when
    /// either had been cancelled.
    func hand(over next: URLSessionTask) -> Bool {
        let (old, progress) = shared.withLock { shared in
            defer {
                shared.state = .completed
                shared.progress = nil
                shared.successor = next
            }
            return (shared, shared.progress)
        }
        let isCancelled = next.shared.withLock { shared in
            let wasCancelled = shared.isCancelled
            shared = old
            if wasCancelled {
                shared.isCancelled = true
                shared.state = .canceling
            }
            return shared.isCancelled
        }
        if let progress { next.control(by: progress) }
        return isCancelled
    }

    /// Forgets who was told of the task; after its last call.
    func release() {
        let delegate = shared.withLock { shared in
            defer { shared.delegate = nil }
            return shared.delegate
        }
        // Released outside the lock: its deinitialiser may call the task.
        withExtendedLifetime(delegate) {}
    }

    /// Brings a progress to its end, also when no length was known, or no byte came: nothing of nothing would count
    /// as indeterminate.
    private static func finish(_ progress: Progress, at count: Int64) {
        progress.totalUnitCount = max(1, count)
        progress.completedUnitCount = max(1, count)
    }

    private func show(_ counts: ByteCounts, in progress: Progress) {
        let total = totalBytes(counts)
        if progress.totalUnitCount != total { progress.totalUnitCount = total }
        progress.completedUnitCount = completedBytes(counts)
    }

    /// For an upload, what it sends counts, too, and is all that is known before the response.
    private func totalBytes(_ counts: ByteCounts) -> Int64 {
        guard self is URLSessionUploadTask, counts.expectedToSend > 0 else { return counts.expectedToReceive }
        return counts.expectedToSend + max(0, counts.expectedToReceive)
    }

    private func completedBytes(_ counts: ByteCounts) -> Int64 {
        self is URLSessionUploadTask ? counts.sent + counts.received : counts.received
    }
}

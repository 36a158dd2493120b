import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO
import Synchronization

/// One transfer of a session: created suspended, started with ``resume()``, over after its completion was delivered.
///
/// Every property may be read from any thread. Calls take effect in the order in which they are made.
/// `@unchecked Sendable` because the class is open; its mutable state is `values`, behind a `Mutex`, and `work`, which
/// belongs to `NetworkActor`.
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

    /// The priority of a task that was given no other: 0.5.
    public static let defaultPriority: Float = 0.5
    /// A low priority: 0.25.
    public static let lowPriority: Float = 0.25
    /// A high priority: 0.75.
    public static let highPriority: Float = 0.75

    /// What users may read at any time.
    struct Values {
        var state = State.suspended
        /// `cancel` was called, so the completion reports it. Stopping for resume data does not count: a download that turns
        /// out to be complete is delivered.
        var isCancelled = false
        /// `suspend` and `resume` nest; a new task has been suspended once.
        var suspensions = 1
        /// One of the suspensions is the progress's.
        var isPaused = false
        var currentRequest: URLRequest?
        /// The header fields that went over the wire for it, the client's own included.
        var sentFields: HeaderFields?
        var response: URLResponse?
        var error: (any Error)?
        var counts = ByteCounts()
        var taskDescription: String?
        var priority = URLSessionTask.defaultPriority
        var delegate = OwnDelegate.never
        var progress: Progress?
        /// Another task has taken this one's place.
        var replacement: Replacement?
        /// Why the task fails as soon as it is resumed.
        var refusal: TransferFailure?
        let created = MonotonicTime.current
        var earliestBeginDate: Date?
        var expectsToSend = NSURLSessionTransferSizeUnknown
        var expectsToReceive = NSURLSessionTransferSizeUnknown
        /// `nil` until the program has set it.
        var prefersIncrementalDelivery: Bool?
        var trace: TaskTrace?
        /// Receives what it takes to resume an upload.
        var resumeDataObserver: (@Sendable (Data?) -> Void)?
        /// Receives the failures after which an upload resumes by itself.
        var interruptionObserver: (@Sendable (any Error) -> Void)?

        /// Counts a suspension more or less, where the call is meant for the task that has taken this one's place.
        ///
        /// - Returns: That task.
        mutating func handOn(_ difference: Int) -> URLSessionTask? {
            switch replacement {
            case nil: return nil
            case .unknown(let task):
                suspensions = max(0, suspensions + difference)
                return task
            case .known(let task):
                suspensions += difference
                if suspensions == 0 { replacement = nil }
                return task
            }
        }

        /// The delegate receives the task that has taken this one's place.
        mutating func replacementBecomesKnown() {
            guard case .unknown(let task) = replacement else { return }
            replacement = suspensions > 0 ? .known(task) : nil
        }
    }

    /// The task that has taken another's place, and which of that one's calls are meant for it.
    enum Replacement {
        /// The delegate has not received it, so that the program cannot know of it: all calls, and what is set and read.
        case unknown(URLSessionTask)
        /// The delegate has received it: `suspend` and `resume`, until what was suspended through the old task has been
        /// resumed. A thread may have called the one before, and call the other now.
        case known(URLSessionTask)
    }

    /// A task's own delegate.
    enum OwnDelegate {
        /// There has been none.
        case never
        case present(any URLSessionTaskDelegate)
        /// It was taken away again; calls that were meant for it may wait in the delegate queue.
        case removed
        /// The task has had its last call, and keeps none.
        case released

        var value: (any URLSessionTaskDelegate)? {
            if case .present(let delegate) = self { delegate } else { nil }
        }

        /// Puts another one in its place.
        ///
        /// - Returns: The one that was there.
        mutating func replace(with delegate: (any URLSessionTaskDelegate)?) -> (any URLSessionTaskDelegate)? {
            let former = value
            switch (self, delegate) {
            case (.released, _), (.never, nil): break
            case (_, let delegate?): self = .present(delegate)
            case (.present, nil), (.removed, nil): self = .removed
            }
            return former
        }
    }

    /// The byte counts of a task's current exchange.
    struct ByteCounts: Sendable, Equatable {
        var received: Int64 = 0
        var sent: Int64 = 0
        var expectedToReceive: Int64 = NSURLSessionTransferSizeUnknown
        var expectedToSend: Int64 = 0

        /// A server names where a response continues, so that the sum has to have a bound.
        var moved: Int64 { received.addingClamped(sent) }
    }

    /// A number unique within the session.
    open private(set) var taskIdentifier: Int
    /// The request the task was made with.
    open private(set) var originalRequest: URLRequest?
    let session: URLSession?
    /// What receives the body and the completion: the delegates, or the handler that the task was made with.
    let consumer: BodyConsumer
    private let values: Mutex<Values>
    @NetworkActor private var work: Work

    /// A task's transfer, as far as messages to it are concerned.
    private enum Work {
        /// The task has not been sent a message yet.
        case waiting(TransferSource)
        case running(Transfer)
        /// The transfer continues as another task's, and so do messages that were sent before.
        case continued(URLSessionTask)
        /// The transfer is over; its last calls may still wait in the delegate queue.
        case concluded
    }

    init(session: URLSession, identifier: Int, request: URLRequest?, source: TransferSource, consumer: BodyConsumer) {
        self.session = session
        taskIdentifier = identifier
        originalRequest = request
        work = .waiting(source)
        self.consumer = consumer
        values = Mutex(Values(currentRequest: request))
        super.init()
        if let trace = session.settings.trace { record(in: trace) }
    }

    /// A task without a session: resuming it does nothing.
    public override init() {
        session = nil
        taskIdentifier = 0
        originalRequest = nil
        work = .concluded
        consumer = .delegate
        values = Mutex(Values())
    }

    open override func copy() -> Any { copy(with: nil) }

    /// Returns the task itself: a transfer cannot be doubled.
    ///
    /// - Parameter zone: Ignored.
    open func copy(with zone: NSZone?) -> Any { self }

    open override var description: String {
        "\(super.description) { \(taskIdentifier), \(currentRequest?.summary ?? "no request"), \(state) }"
    }

    // MARK: Control

    /// Starts the task, or takes back one ``URLSessionTask/suspend()``.
    open func resume() {
        values.withLock { takeBackSuspension(&$0) }?.resume()
    }

    /// - Returns: The task that the call is meant for, where that is another one.
    private func takeBackSuspension(_ values: inout Values) -> URLSessionTask? {
        switch values.state {
        case .suspended where values.suspensions > 0:
            values.suspensions -= 1
            if values.suspensions == 0 {
                values.state = .running
                values.trace?.call(.resume)
                keep { $0.isRunning = true }
                send { $0?.resume() }
            }
        case .suspended, .running: break
        case .canceling, .completed:
            return values.handOn(-1)
        }
        return nil
    }

    /// Pauses the task: nothing is read from or written to its connection until as many ``resume()`` calls have
    /// followed. The server's sends block once the socket's buffers are full. The time-out of the request stands
    /// still meanwhile. A delegate may still receive what had arrived before.
    open func suspend() {
        values.withLock { addSuspension(&$0) }?.suspend()
    }

    /// - Returns: The task that the call is meant for, where that is another one.
    private func addSuspension(_ values: inout Values) -> URLSessionTask? {
        switch values.state {
        case .running:
            values.state = .suspended
            values.suspensions += 1
            values.trace?.call(.suspend)
            keep { $0.isRunning = false }
            send { $0?.suspend() }
        case .suspended:
            values.suspensions += 1
        case .canceling, .completed:
            return values.handOn(1)
        }
        return nil
    }

    /// Suspends the task once while its progress is paused. What counts is the progress's state: its handlers are called for
    /// each call, also where that changes nothing, and not always in the order of the calls.
    private func followProgress() {
        values.withLock { values in
            guard let isPaused = values.progress?.isPaused, isPaused != values.isPaused else { return }
            values.isPaused = isPaused
            // A task with a progress has not been replaced.
            _ = isPaused ? addSuspension(&values) : takeBackSuspension(&values)
        }
    }

    /// Ends the task: it completes with `URLError.cancelled`, unless it was over already.
    open func cancel() {
        guard !cancel(.cancel, { $0?.cancel() }) else { return }
        if case .unknown(let task) = values.withLock({ $0.replacement }) { task.cancel() }
    }

    /// Marks the task as being cancelled, and sends the message that cancels its transfer.
    ///
    /// - Parameters:
    ///   - call: What the program has called. After ``TransferTrace/TaskCall/cancel`` the completion reports the
    ///     cancellation, even if the whole body has arrived meanwhile.
    ///   - message: Cancels the transfer.
    /// - Returns: False when the task was over or being cancelled already; nothing is sent then.
    func cancel(_ call: TransferTrace.TaskCall, _ message: @escaping @Sendable @NetworkActor (Transfer?) -> Void)
        -> Bool
    {
        guard session != nil else { return false }
        return values.withLock { values in
            guard values.state == .running || values.state == .suspended else { return false }
            values.state = .canceling
            values.isCancelled = call == .cancel
            values.trace?.call(call)
            keep { $0.ending = call == .cancel ? .cancelled : .stopped }
            send(message)
            return true
        }
    }

    /// Cancels the transfer, and delivers its resume data on the delegate queue; `nil` when there is none.
    func cancelProducingResumeData(_ handler: @escaping @Sendable (Data?) -> Void) {
        guard let session else { return handler(nil) }
        let isFirst = cancel(.cancelByProducingResumeData) { transfer in
            guard let transfer else { return session.queue.enqueue { handler(nil) } }
            transfer.cancelProducingResumeData(handler)
        }
        if !isFirst { session.queue.enqueue { handler(nil) } }
    }

    /// Sends a message to the transfer, which belongs to the network thread. The message receives `nil` when the transfer is
    /// over.
    ///
    /// Call this, and ``keep(_:)``, while the lock is held under which the task's state has changed: messages keep the order
    /// in which they are sent, and so the order of effects is the order of states.
    private func send(_ message: @escaping @Sendable @NetworkActor (Transfer?) -> Void) {
        guard let session else { return }
        NetworkActor.post {
            if case .waiting(let source) = self.work {
                self.work = .running(Transfer(self, session: session, source: source))
            }
            message(self.transfer)
        }
    }

    // MARK: What users read and set

    /// Reads or changes what the program sees: of this task, or of the one in its place while the program cannot know of that.
    private func withShown<Result: Sendable>(_ body: (URLSessionTask, inout Values) -> Result) -> Result {
        values.withLock { values in
            guard case .unknown(let task) = values.replacement else { return body(self, &values) }
            return task.values.withLock { body(task, &$0) }
        }
    }

    /// Where the task stands.
    open var state: State { withShown { $1.state } }
    /// The current request: after a redirect, the one that was followed. Once it has been sent, its header
    /// fields are those that went over the wire, with what the session and the client added. What holds for that one
    /// sending alone is left out where the program did not set it itself, so that the request can be sent again: `Host`,
    /// cookies, credentials, ranges, conditions, and the length of the body. ``URLSessionTaskTransactionMetrics`` has them all.
    open var currentRequest: URLRequest? {
        request { $0.adoptFields(of: $1) }
    }
    /// The current request; once it has been sent, with all the fields that it was sent with.
    package var sentRequest: URLRequest? {
        request { $0.replaceFields(with: $1) }
    }

    private func request(sentWith setFields: (inout URLRequest, HeaderFields) -> Void) -> URLRequest? {
        let (request, sent) = withShown { ($1.currentRequest, $1.sentFields) }
        guard let sent, var request else { return request }
        setFields(&request, sent)
        return request
    }

    /// The response, once its head has arrived.
    open var response: URLResponse? { withShown { $1.response } }
    /// Why the task failed, once it has.
    open var error: (any Error)? { withShown { $1.error } }
    /// Bytes of the body received so far. For a resumed download, those of the earlier attempts are included.
    open var countOfBytesReceived: Int64 { withShown { $1.counts.received } }
    /// Bytes of the request's body sent so far.
    open var countOfBytesSent: Int64 { withShown { $1.counts.sent } }
    /// The length of the request's body, or ``NSURLSessionTransferSizeUnknown`` while a stream without a length is sent.
    open var countOfBytesExpectedToSend: Int64 { withShown { $1.counts.expectedToSend } }
    /// The length of the whole body, or ``NSURLSessionTransferSizeUnknown`` when the server has not sent it.
    open var countOfBytesExpectedToReceive: Int64 { withShown { $1.counts.expectedToReceive } }

    /// A text that the program sets for its own use.
    open var taskDescription: String? {
        get { withShown { $1.taskDescription } }
        set {
            withShown { task, values in
                values.taskDescription = newValue
                task.keep { $0.taskDescription = newValue }
            }
        }
    }

    /// How urgent the task is, from 0 to 1. Of the tasks that wait for a connection to a host the most urgent one is
    /// served first, among equals the one that has waited longest. It may change at any time; a transfer that has its
    /// connection is not slowed down for another.
    open var priority: Float {
        get { withShown { $1.priority } }
        set {
            let priority = RequestPriority.clamped(newValue)
            let hasChanged = withShown { task, values in
                defer { values.priority = priority }
                task.keep { $0.priority = priority }
                return values.priority != priority
            }
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
        get { withShown { $1.earliestBeginDate } }
        set {
            withShown { task, values in
                values.earliestBeginDate = newValue
                task.keep { $0.earliestBeginDate = newValue }
            }
            NetworkActor.post { self.transfer?.beginDateChanged() }
        }
    }

    /// How many bytes the program thinks that it will send at most, head and body. A hint to a scheduler, kept for the
    /// user, in a background session also for its next process; ``NSURLSessionTransferSizeUnknown`` by default.
    open var countOfBytesClientExpectsToSend: Int64 {
        get { withShown { $1.expectsToSend } }
        set {
            withShown { task, values in
                values.expectsToSend = newValue
                task.keep { $0.expectsToSend = newValue }
            }
        }
    }

    /// How many bytes the program thinks that it will receive at most, head and body. A hint to a scheduler, kept for the
    /// user, in a background session also for its next process; ``NSURLSessionTransferSizeUnknown`` by default.
    open var countOfBytesClientExpectsToReceive: Int64 {
        get { withShown { $1.expectsToReceive } }
        set {
            withShown { task, values in
                values.expectsToReceive = newValue
                task.keep { $0.expectsToReceive = newValue }
            }
        }
    }

    /// Whether a data task's delegate gets bytes as they come. `true` by default; `false` for a download task and for a task
    /// with a completion handler, an async method's included, which have the whole body at once.
    ///
    /// If `false` when the response comes, the delegate gets the bytes at the end of the body; of a body longer than
    /// ``URLSessionConfiguration/Limits/bufferedBytesPerTask`` it gets as many at a time.
    open var prefersIncrementalDelivery: Bool {
        get { withShown { $1.prefersIncrementalDelivery ?? $0.isConsumedInIncrements } }
        set { withShown { $1.prefersIncrementalDelivery = newValue } }
    }

    private var isConsumedInIncrements: Bool {
        switch consumer {
        case .delegate, .bytes: !(self is URLSessionDownloadTask)
        case .data, .file: false
        }
    }

    /// A delegate for this task alone, asked before the session's. Kept until the task is over; none is set afterwards.
    open var delegate: (any URLSessionTaskDelegate)? {
        get { withShown { $1.delegate.value } }
        set { releaseUnlocked { $0.delegate.replace(with: newValue) } }
    }

    /// The task's progress in bytes (for an upload, those sent and those received), indeterminate while the length is
    /// unknown. Cancelling it cancels the task; pausing it, or the one it is a part of, suspends the task until it is resumed.
    open var progress: Progress {
        withShown { task, values in
            if let progress = values.progress { return progress }
            let progress = Progress(totalUnitCount: -1)
            progress.kind = .file
            progress.isCancellable = true
            progress.isPausable = true
            values.progress = progress
            task.show(values.counts, in: progress)
            if values.state != .completed {
                task.control(by: progress)
            } else if values.error == nil {
                Self.finish(progress, at: task.completedBytes(values.counts))
            }
            return progress
        }
    }

    /// Changes what a background session keeps of the task. See ``send(_:)`` for the order of changes.
    private func keep(_ change: (inout JournaledTask) -> Void) {
        // What cannot be written now is written with the task's next change.
        try? session?.background?.update(taskIdentifier, change)
    }

    /// Records what happens to the task; that of the session's ``URLSessionConfiguration/trace`` from the start. A change
    /// after the task was first resumed, or cancelled, has no effect on what follows.
    public var trace: TransferTrace? {
        get { taskTrace?.trace.ofProgram }
        set { record(in: session?.settings.trace?.forTask(newValue) ?? newValue) }
    }

    private func record(in trace: TransferTrace?) {
        let taskTrace = trace.map { trace in
            TaskTrace(
                trace, of: taskIdentifier, clock: session?.settings.clock ?? .system, after: self.taskTrace)
        }
        taskTrace?.made(originalRequest)
        if let taskTrace, let limits = session?.settings.limits {
            trace?.show(.bufferLimit(limits.bufferedBytesPerTask), of: taskTrace.task)
        }
        values.withLock { $0.trace = taskTrace }
    }

    // MARK: For the session

    /// Whether the task is completed, or another has its place.
    var isOver: Bool { values.withLock { $0.state == .completed } }

    /// Whether calls for a delegate of the task's own may be in the delegate queue.
    var hasHadDelegate: Bool {
        withShown { _, values in
            if case .never = values.delegate { false } else { true }
        }
    }

    /// Writes the task's events into its trace.
    var taskTrace: TaskTrace? { values.withLock { $0.trace } }

    /// Receives what it takes to resume an upload, whenever that changes.
    var resumeDataObserver: (@Sendable (Data?) -> Void)? { values.withLock { $0.resumeDataObserver } }

    /// Sets the observer of an upload's resume data.
    func setResumeDataObserver(_ observer: @escaping @Sendable (Data?) -> Void) {
        releaseUnlocked { values in
            defer { values.resumeDataObserver = observer }
            return values.resumeDataObserver
        }
    }

    /// Receives the failures after which an upload resumes by itself.
    var interruptionObserver: (@Sendable (any Error) -> Void)? { values.withLock { $0.interruptionObserver } }

    /// Sets the observer of the failures after which an upload resumes by itself.
    func setInterruptionObserver(_ observer: @escaping @Sendable (any Error) -> Void) {
        releaseUnlocked { values in
            defer { values.interruptionObserver = observer }
            return values.interruptionObserver
        }
    }

    /// When the task was made.
    var created: MonotonicTime { values.withLock { $0.created } }

    /// Why the task fails as soon as it is resumed.
    var refusal: TransferFailure? { values.withLock { $0.refusal } }

    /// Lets the task fail as soon as it is resumed, if it does not already.
    func refuse(_ failure: TransferFailure) {
        values.withLock { $0.refusal = $0.refusal ?? failure }
    }

    /// Enters the task as it is into the journal of a background session. No change falls in between: it is in the entry,
    /// or finds the task kept.
    func enter(
        into journal: BackgroundStore, _ request: StoredRequest, _ resume: ResumeData?, uploading file: String?,
        resuming upload: UploadResumeData?
    ) throws(FileFailure) {
        try values.withLock { (values) throws(FileFailure) in
            let ending: JournaledTask.Ending? =
                switch values.state {
                case .canceling: values.isCancelled ? .cancelled : .stopped
                case .running, .suspended, .completed: nil
                }
            try journal.add(
                JournaledTask(
                    identifier: taskIdentifier, taskDescription: values.taskDescription, priority: values.priority,
                    originalRequest: request, isRunning: values.state == .running, ending: ending, resume: resume,
                    uploadedFile: file, upload: upload, earliestBeginDate: values.earliestBeginDate,
                    expectsToSend: values.expectsToSend, expectsToReceive: values.expectsToReceive))
        }
    }

    /// Sets what users read of the task to what an earlier process has left. One that ran is running; see ``beginAgain()``.
    func restore(_ journaled: JournaledTask) {
        values.withLock { values in
            if journaled.isRunning {
                values.state = .running
                values.suspensions = 0
            }
            values.taskDescription = journaled.taskDescription
            values.priority = journaled.priority
            values.earliestBeginDate = journaled.earliestBeginDate
            values.expectsToSend = journaled.expectsToSend ?? NSURLSessionTransferSizeUnknown
            values.expectsToReceive = journaled.expectsToReceive ?? NSURLSessionTransferSizeUnknown
            values.currentRequest = journaled.resume?.currentRequest.request ?? values.currentRequest
            values.counts.received = journaled.resume?.bytesReceived ?? 0
            values.counts.expectedToReceive = journaled.resume?.totalBytes ?? NSURLSessionTransferSizeUnknown
            guard let upload = journaled.upload else { return }
            values.counts.sent = upload.offset
            values.counts.expectedToSend = upload.length ?? NSURLSessionTransferSizeUnknown
        }
    }

    /// Begins the transfer of a task that ran in an earlier process, unless the program has suspended or cancelled it since.
    func beginAgain() {
        values.withLock { values in
            guard values.state == .running else { return }
            values.trace?.call(.resume)
            send { $0?.resume() }
        }
    }

    /// Shows a download whose whole body arrived in an earlier process: only the last calls remain.
    func restoreFinished(_ response: HTTPURLResponse?, length: Int64) {
        skipTransfer()
        values.withLock { values in
            values.state = .running
            values.response = response
            values.counts.received = length
            values.counts.expectedToReceive = length
        }
    }

    /// Shows a task that completes without another transfer: only the last calls remain.
    func restoreCancelled() {
        skipTransfer()
        values.withLock { $0.state = .canceling }
    }

    /// Lets the task have no transfer, before the program can send it any message.
    private func skipTransfer() {
        NetworkActor.post { self.work = .concluded }
    }

    // MARK: For the transfer

    @NetworkActor private var transfer: Transfer? {
        switch work {
        case .running(let transfer): transfer
        case .continued(let task): task.transfer
        case .waiting, .concluded: nil
        }
    }

    /// The transfer continues as the task's that has taken this one's place.
    @NetworkActor func handTransfer(to next: URLSessionTask) {
        next.work = work
        work = .continued(next)
    }

    /// The transfer is over.
    @NetworkActor func detachTransfer() {
        work = .concluded
    }

    /// Whether `cancel` was called, and so takes precedence over a success.
    var isCancelled: Bool { values.withLock { $0.isCancelled } }

    /// Sets the request that is loaded from now on.
    func setCurrentRequest(_ request: URLRequest) {
        values.withLock { values in
            values.currentRequest = request
            values.sentFields = nil
        }
    }

    /// Sets the fields that the request was sent with.
    func setSent(_ fields: HeaderFields) {
        values.withLock { $0.sentFields = fields }
    }

    /// The request was sent, and its body follows.
    ///
    /// - Parameters:
    ///   - bodyLength: The length of all of the body; `nil` where it is not known.
    ///   - offset: How many bytes of it earlier requests have sent.
    func setSent(_ fields: HeaderFields, bodyLength: Int64?, from offset: Int64) {
        update { values in
            values.sentFields = fields
            values.counts.sent = offset
            values.counts.expectedToSend = bodyLength ?? NSURLSessionTransferSizeUnknown
        }
    }

    /// A response was accepted.
    ///
    /// - Parameters:
    ///   - received: How many bytes of the resource are there already.
    ///   - expected: The length of the resource.
    func setResponse(_ response: URLResponse, received: Int64, expected: Int64) {
        update { values in
            values.response = response
            values.counts.received = received
            values.counts.expectedToReceive = expected
        }
    }

    /// The connection is a stream from now on: its bytes count from zero.
    func startCountingStream() {
        updateCounts { $0 = ByteCounts(expectedToSend: NSURLSessionTransferSizeUnknown) }
    }

    /// How many bytes of content have been received and sent.
    var movedBytes: Int64 { values.withLock { $0.counts.moved } }

    /// Changes the byte counts, and the progress that shows them.
    func updateCounts(_ change: (inout ByteCounts) -> Void) {
        update { change(&$0.counts) }
    }

    /// The delegate receives the task that has taken this one's place.
    func replacementBecomesKnown() {
        values.withLock { $0.replacementBecomesKnown() }
        // Messages that were sent before the transfer moved have arrived by then.
        NetworkActor.post { self.work = .concluded }
    }

    /// Changes what users see of the task, the byte counts among it.
    private func update(_ change: (inout Values) -> Void) {
        let shown: (Progress, ByteCounts)? = values.withLock { values in
            change(&values)
            return values.progress.map { ($0, values.counts) }
        }
        if let (progress, counts) = shown { show(counts, in: progress) }
    }

    private func control(by progress: Progress) {
        progress.cancellationHandler = { [weak self] in self?.cancel() }
        progress.pausingHandler = { [weak self] in self?.followProgress() }
        progress.resumingHandler = { [weak self] in self?.followProgress() }
    }

    /// The URL that the task's errors name.
    var failingURL: URL? { values.withLock { $0.currentRequest?.url } }

    /// Ends the task for its users; the completion is delivered right after. A `cancel` that came before this moment
    /// wins over a success: a caller that has cancelled does not receive one.
    func conclude(_ error: (any Error)?) -> (any Error)? {
        let url = failingURL
        let (final, progress, counts) = values.withLock { values in
            let cancelled = error == nil && values.isCancelled
            let final = cancelled ? TransferFailure.cancelled.urlError(for: url) : error
            values.state = .completed
            values.error = final
            return (final, values.progress, values.counts)
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

    /// Moves everything that users see to a task that takes this one's place and that no caller knows yet, and ends this one
    /// without a call.
    func moveValues(to next: URLSessionTask) {
        let progress = values.withLock { values in
            // Within the lock: a call that finds the successor finds it with these values.
            next.values.withLock { [identifier = next.taskIdentifier] next in
                let trace = values.trace?.replaced(by: identifier, after: next.trace)
                next = values
                next.trace = trace
            }
            let progress = values.progress
            values.state = .completed
            values.progress = nil
            values.replacement = .unknown(next)
            // The suspension by the progress moves with it.
            if values.isPaused {
                values.isPaused = false
                values.suspensions -= 1
            }
            return progress
        }
        guard let progress else { return }
        next.control(by: progress)
        // A handler that was called before has found a task without a progress.
        next.followProgress()
        if progress.isCancelled { next.cancel() }
    }

    /// Releases the delegate and the observers, after the task's last call.
    func release() {
        releaseUnlocked { values in
            defer {
                values.delegate = .released
                values.resumeDataObserver = nil
                values.interruptionObserver = nil
            }
            return (values.delegate.value, values.resumeDataObserver, values.interruptionObserver)
        }
    }

    /// Releases what `change` returns outside the lock: a deinitialiser may call the task.
    private func releaseUnlocked<Value: Sendable>(_ change: (inout Values) -> Value) {
        withExtendedLifetime(withShown { change(&$1) }) {}
    }

    /// Finishes a progress, also when no length was known or no byte arrived: zero of zero would count as indeterminate.
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
        return counts.expectedToSend.addingClamped(max(0, counts.expectedToReceive))
    }

    private func completedBytes(_ counts: ByteCounts) -> Int64 {
        self is URLSessionUploadTask ? counts.moved : counts.received
    }
}

/// The delegates that receive a task's calls: its own where that has the method's protocol, else the session's. Those about
/// the body of a task whose handler takes it go nowhere, unless an `async` method has made the task: then its own delegate
/// receives them, too.
extension URLSessionTask {
    var taskDelegate: (any URLSessionTaskDelegate)? {
        delegate ?? session?.delegate as? any URLSessionTaskDelegate
    }

    var dataDelegate: (any URLSessionDataDelegate)? {
        switch consumer {
        case .delegate: delegate as? any URLSessionDataDelegate ?? session?.delegate as? any URLSessionDataDelegate
        case .data(_, .inline), .bytes: delegate as? any URLSessionDataDelegate
        case .data(_, .queue), .file: nil
        }
    }

    var downloadDelegate: (any URLSessionDownloadDelegate)? {
        switch consumer {
        case .delegate:
            delegate as? any URLSessionDownloadDelegate ?? session?.delegate as? any URLSessionDownloadDelegate
        case .file(_, .inline): delegate as? any URLSessionDownloadDelegate
        case .file(_, .queue), .data, .bytes: nil
        }
    }
}

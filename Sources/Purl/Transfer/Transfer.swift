import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// What a transfer is made from.
enum TransferSource: Sendable {
    case request
    case sink(any BodySink)
    indirect case resume(ResumeData)
    /// The same after a relaunch: the journal alone has the resume data.
    indirect case restored(ResumeData)
    case unreadable(any Error)
    /// A body of the task's own, in place of the request's.
    case upload(RequestBody)
    /// The rest of a body, the beginning of which another task has sent.
    indirect case resumedUpload(UploadResumeData)
    case webSocket(WebSocketConversation)
    case stream(StreamConversation)

    /// The resume data that the transfer continues from.
    var resumeData: ResumeData? {
        switch self {
        case .resume(let resume), .restored(let resume): resume
        case .request, .sink, .unreadable, .upload, .resumedUpload, .webSocket, .stream: nil
        }
    }

    /// Whether a part of the body may be stored already.
    var needsStorage: Bool {
        switch self {
        case .sink, .resume, .restored: true
        case .request, .unreadable, .upload, .resumedUpload, .webSocket, .stream: false
        }
    }

    /// Whether the program has named the URL in a request that sends nothing but itself. Resume data is not trusted to name
    /// a file of this machine.
    var isPlainRequest: Bool {
        switch self {
        case .request, .sink: true
        case .resume, .restored, .unreadable, .upload, .resumedUpload, .webSocket, .stream: false
        }
    }

    /// A request as a task of this source sends it.
    func adapted(_ request: URLRequest) -> URLRequest {
        var request = request
        switch self {
        case .upload:
            request.httpBody = nil
        case .webSocket:
            // RFC 6455 §4.1: a handshake is a GET without content.
            request.httpMethod = "GET"
            request.httpBody = nil
        case .request, .sink, .resume, .restored, .unreadable, .resumedUpload, .stream: break
        }
        return request
    }

    /// Whether the task has a body of its own, so that its response is not one that a download could resume.
    var isUpload: Bool {
        switch self {
        case .upload, .resumedUpload: true
        case .request, .sink, .resume, .restored, .unreadable, .webSocket, .stream: false
        }
    }
}

/// What the connection of a transfer is for.
enum TransferPurpose {
    case response
    case webSocket(WebSocketConversation)
    case stream(StreamConversation)

    /// Whether a URL of this scheme can be loaded for the purpose.
    func accepts(_ origin: Origin) -> Bool {
        switch self {
        case .response: !origin.isWebSocket && !origin.isStream
        case .webSocket: origin.isWebSocket
        case .stream: origin.isStream
        }
    }
}

/// A task's work, from its first `resume` or `cancel` to its last call.
///
/// It lives on the network thread. The task's calls reach it as messages; what it reports goes through ``DelegateCalls`` to
/// the delegate queue. It owns what lasts as long as the task: the phase, the deadlines, the storage of the body, and the
/// holds that keep bytes from being read. A request and its response belong to a ``Transaction``, which is replaced when
/// another one follows. It ends in exactly one `conclude`.
@NetworkActor
final class Transfer {
    /// The connection of a stream, which goes to the delegate.
    private struct Capture {
        let connection: BlockingSocket
        /// What has arrived and was not read.
        let bytes: [UInt8]
        let isReadClosed: Bool
    }

    let session: URLSession
    let source: TransferSource
    let calls: DelegateCalls
    let deadlines: Deadlines
    private var phase = TransferPhase.created
    private var holds: ReadHolds = []
    /// What the connection is for; a data task's changes when it becomes a stream.
    private(set) var purpose: TransferPurpose
    /// Where the body is kept, if it is: from the start for a download or a sink.
    private(set) var storage: BodyStorage?
    /// The body that is on its way to its consumer, once a response was accepted.
    private(set) var receiver: BodyReceiver?
    /// The request that the delegate wanted in place of the task's, where it did.
    private(set) var newRequest: URLRequest?
    /// The upload across its requests, where it may be resumed; released at the end.
    private(set) var upload: ResumableUpload?
    private lazy var uploadRecorder = UploadRecorder(calls, in: session)
    /// The current transaction; released at the end.
    private var transaction: Transaction?

    init(_ task: URLSessionTask, session: URLSession, source: TransferSource) {
        self.session = session
        self.source = source
        calls = DelegateCalls(task, session)
        deadlines = Deadlines(session)
        var request = source.adapted(task.originalRequest ?? .unreadable)
        var history = TransactionHistory(upload: nil)
        purpose = .response
        switch source {
        case .upload(let body):
            history = TransactionHistory(upload: body)
            upload = ResumableUpload(of: body, request, in: session)
        case .resumedUpload(let resume):
            let resumed = ResumableUpload(resume, in: session)
            upload = resumed
            (request, history) = resumed.beginning
        case .webSocket(let conversation):
            purpose = .webSocket(conversation)
        case .stream(let conversation):
            purpose = .stream(conversation)
            request = conversation.request ?? .unreadable
        case .request, .sink, .resume, .restored, .unreadable: break
        }
        deadlines.attach(to: self)
        if source.needsStorage || task is URLSessionDownloadTask {
            storage = BodyStorage(of: self, resumeData: source.resumeData)
        }
        transaction = Transaction(request, of: self, history: history)
    }

    /// The current request.
    var request: URLRequest { transaction?.request ?? .unreadable }

    /// Takes a step of the table of transitions; false when the table refuses it.
    private func advance(_ event: TransferEvent) -> Bool {
        guard let next = phase.after(event) else { return false }
        phase = next
        return true
    }

    private var conversation: (any Conversation)? {
        switch purpose {
        case .response: nil
        case .webSocket(let conversation): conversation
        case .stream(let conversation): conversation
        }
    }

    // MARK: Messages from the task

    func resume() {
        calls.trace?.message(.resume)
        if holds.remove(.suspended) != nil { calls.trace?.release(.suspended) }
        conversation?.isPaused = isHeld
        deadlines.markProgress()
        switch phase {
        case .created, .delayed: begin()
        case .loading:
            updateFlow()
            transaction?.resume()
        case .asking, .opening, .finishing, .stopping, .concluded: break
        }
    }

    func suspend() {
        calls.trace?.message(.suspend)
        if holds.insert(.suspended).inserted { calls.trace?.hold(.suspended) }
        conversation?.isPaused = true
        deadlines.stopRedialling()
        guard case .loading = phase else { return }
        transaction?.suspend()
        updateFlow()
    }

    func priorityChanged() {
        transaction?.priorityChanged()
    }

    func beginDateChanged() {
        if deadlines.isDelayed { beginInTime() }
    }

    func cancel() {
        calls.trace?.message(.cancel)
        let deletion = loadingUpload?.deletion
        fail(.cancelled)
        if let deletion { AbandonedUpload(deletion, of: session).delete() }
    }

    /// The upload, while it is under way.
    private var loadingUpload: ResumableUpload? {
        if case .loading = phase { return upload }
        return nil
    }

    /// Cancels; the handler receives the resume data before the completion is delivered. A transfer that has the whole
    /// body already is not cancelled any more: its file is delivered.
    func cancelProducingResumeData(_ handler: @escaping @Sendable (Data?) -> Void) {
        calls.trace?.message(.cancelByProducingResumeData)
        if phase.after(.fail) == nil {
            calls.deliverResumeData(nil, to: handler)
        } else {
            fail(.cancelled, resumeHandler: handler)
        }
    }

    // MARK: Beginning

    private func begin() {
        if let refusal = calls.task.refusal { return fail(refusal) }
        beginInTime()
    }

    /// Begins now, or at the task's `earliestBeginDate`.
    private func beginInTime() {
        deadlines.stopWaiting()
        guard !isSuspended else { return }
        guard let date = calls.task.earliestBeginDate else { return load() }
        guard date.timeIntervalSince(.current) > 0 else { return askToBegin() }
        guard advance(.delay) else { return }
        deadlines.wait(for: date) { [weak self] in self?.beginInTime() }
    }

    /// The date has come: by now the delegate may want another request sent, or none.
    private func askToBegin() {
        guard calls.hasTaskDelegate else { return load() }
        guard advance(.ask) else { return }
        calls.askAboutDelayedRequest(request) { [weak self] disposition, new in
            guard let self, case .asking = self.phase else { return }
            switch disposition {
            case .cancel:
                return self.fail(.cancelled)
            case .continueLoading:
                break
            case .useNewRequest:
                // The rest of an upload goes where its beginning is.
                guard let new, upload?.isBegun != true else { break }
                self.replaceRequest(by: source.adapted(new))
            }
            self.load()
        }
    }

    /// The transfer begins with another request than the task's: what it brings, and what it takes to resume, are of that one.
    private func replaceRequest(by new: URLRequest) {
        newRequest = new
        if case .upload(let body) = source { upload = ResumableUpload(of: body, new, in: session) }
        transaction = transaction?.replaced(by: new)
        calls.task.setCurrentRequest(new)
    }

    /// Examines what there is of the body, then starts the first transaction.
    private func load() {
        deadlines.begin(request)
        switch source {
        case .request, .upload, .webSocket, .stream:
            startTransaction()
        case .resumedUpload:
            calls.task.setCurrentRequest(request)
            startTransaction()
        case .sink(let sink):
            guard advance(.open) else { return }
            storage?.examine(sink, for: request) { [weak self] in self?.examined($0) }
        case .resume(let resume), .restored(let resume):
            guard advance(.open) else { return }
            storage?.examine(resume) { [weak self] in self?.examined($0) }
        case .unreadable(let error):
            fail(.unreadableResumeData("\(error)"))
        }
    }

    private func examined(_ result: Result<BodyStorage.StoredContent, FileFailure>) {
        guard case .opening = phase else { return }
        switch result {
        case .failure(let failure):
            fail(.file(failure))
        case .success(.unusable), .success(.partial):
            startTransaction()
        case .success(.complete(let length)):
            calls.task.updateCounts { counts in
                counts.received = length
                counts.expectedToReceive = length
            }
            guard advance(.finish) else { return }
            storage?.stop { [weak self] _ in self?.conclude(nil) }
        }
    }

    private func startTransaction() {
        guard advance(.load) else { return }
        transaction?.proceed()
    }

    // MARK: Beginning again

    /// Sends the request again after its time-out, if it is one of an upload or a download in a background session. False
    /// when it cannot be repeated: the delegate has received a part of an upload's response, or the body is used up.
    func repeatsRequest() -> Bool {
        // An upload that can be resumed is not sent again as a whole.
        guard session.settings.isBackground, case .loading = phase, let transaction, canRepeatResponse,
            upload?.isBegun != true, let next = transaction.repeated()
        else { return false }
        calls.currentMetrics?.markEnd()
        calls.trace?.record(other: .retry(.timedOut))
        transaction.abandon()
        self.transaction = next
        if let storage, receiver != nil {
            receiver = nil
            reopen(storage)
        } else {
            next.proceed()
        }
        return true
    }

    /// Whether the bytes that have been received can be kept: they are in a download's storage.
    private var canRepeatResponse: Bool {
        calls.downloadTask != nil || (calls.task is URLSessionUploadTask && receiver == nil)
    }

    /// Continues from the bytes that the storage has received, or without them.
    private func reopen(_ storage: BodyStorage) {
        guard advance(.open) else { return }
        storage.stop { [weak self] resume in
            guard let self, case .opening = self.phase else { return }
            let next = BodyStorage(of: self, resumeData: resume)
            if let resume {
                self.storage = next
                return next.examine(resume) { [weak self] in self?.examined($0) }
            }
            // The storage stays until its file is gone: an end that comes first waits for that, too.
            Worker.shared.run(on: .files) { [partial = storage.partial] in
                partial?.remove()
            } then: { [weak self] in
                guard let self, case .opening = self.phase else { return }
                self.storage = next
                self.startTransaction()
            }
        }
    }

    // MARK: For the transaction

    /// Another transaction follows: a redirect, or the same request with something changed.
    ///
    /// - Parameter delay: How long it waits before it begins.
    func load(_ request: URLRequest, _ history: TransactionHistory, after delay: Duration? = nil) {
        guard advance(.load) else { return }
        calls.task.setCurrentRequest(request)
        receiver = nil
        let next = Transaction(request, of: self, history: history)
        transaction = next
        guard let delay else { return next.proceed() }
        deadlines.pause(for: delay) { [weak next] in next?.resume() }
    }

    /// The state of the storage that decides what a response means.
    var storageState: ResponseDecision.StorageState {
        guard let storage else { return .none }
        guard storage.isOpen, !storage.takesParts else { return .newFile }
        return .open(
            isDownload: calls.downloadTask != nil, point: storage.point, holdsResumeData: storage.resumeData != nil)
    }

    /// Whether the task may load a file of this machine: it uploads nothing, and neither resume data nor a journal has
    /// named the file.
    var mayLoadFiles: Bool { source.isPlainRequest && session.background == nil }

    /// A response was accepted: its body goes to this receiver.
    func receive(_ receiver: BodyReceiver) {
        self.receiver = receiver
        upload?.end()
    }

    /// The upload has changed: the journal of a background session and the task's observer follow.
    func journalUpload() {
        guard let upload else { return }
        uploadRecorder.record(upload.resumeData, sent: calls.task.countOfBytesSent)
    }

    /// A download task continues in place of the data task. False when either has been cancelled.
    func becomeDownload() -> Bool {
        let old = calls.task
        let new = session.makeDownloadTask(inPlaceOf: old)
        let isCancelled = calls.replaceTask(by: new)
        receiver = nil
        storage = BodyStorage(of: self)
        if !source.isUpload, let failure = session.enterIntoJournal(new, nil) { new.refuse(failure) }
        calls.reportReplacement(of: old, by: new) { $0.urlSession($1, dataTask: $2, didBecome: new) }
        return !isCancelled
    }

    /// A stream task continues in place of the data task. False when either has been cancelled.
    func becomeStream(_ stream: StreamConversation) -> Bool {
        let old = calls.task
        let new = session.makeStreamTask(inPlaceOf: old, stream)
        let isCancelled = calls.replaceTask(by: new)
        receiver = nil
        purpose = .stream(stream)
        calls.reportReplacement(of: old, by: new) { $0.urlSession($1, dataTask: $2, didBecome: new) }
        return !isCancelled
    }

    // MARK: Flow

    var isSuspended: Bool { holds.contains(.suspended) }

    /// Whether anything keeps bytes from being read.
    var isHeld: Bool { !holds.isEmpty }

    /// Whether a coded body may be decoded now. That of a suspended task may: it has arrived before.
    var mayDecode: Bool {
        guard case .loading = phase, transaction?.hasResponse == true else { return false }
        return holds.isDisjoint(with: [.full, .deciding, .decoding])
    }

    /// What is expected of the network.
    var expectation: Deadlines.Expectation {
        guard case .loading = phase, let transaction else { return .nothing }
        return transaction.expectation(isHeld: isHeld)
    }

    /// Reads no more until the hold is released.
    func hold(_ hold: ReadHolds) {
        if holds.insert(hold).inserted { calls.trace?.hold(hold) }
        updateFlow()
    }

    func release(_ hold: ReadHolds) {
        if holds.remove(hold) != nil { calls.trace?.release(hold) }
        updateFlow()
    }

    /// Gives other transfers their turn before more is decoded.
    func holdForOneTurn() {
        hold(.decoding)
        NetworkActor.post { [weak self] in self?.release(.decoding) }
    }

    /// The delegate has answered the question that kept bytes from being read.
    ///
    /// - Parameter effect: What follows from the answer; bytes are read again after it, unless it asks another question.
    func continueAfterDecision(_ effect: () -> Void) {
        if holds.remove(.deciding) != nil { calls.trace?.release(.deciding) }
        effect()
        updateFlow()
    }

    private func updateFlow() {
        deadlines.markProgress()
        receiver?.decode()
        transaction?.setPaused(isHeld)
    }

    // MARK: Ends

    /// All of the content has been delivered to its consumer or its storage.
    func bodyDidEnd() {
        if let receiver, let storage = receiver.storage,
            receiver.isOverlapping || storage.asksForRest(after: receiver.received)
        {
            return finishPart(from: receiver, in: storage)
        }
        finishBody()
    }

    /// - Parameter othersBringRest: Whether others bring what is missing in the storage.
    private func finishBody(othersBringRest: Bool = false) {
        guard advance(.finish) else { return }
        transaction?.bodyDidEnd(content: receiver?.wholeContent)
        guard let storage, storage.isOpen else { return conclude(nil) }
        if receiver?.storage != nil, !othersBringRest {
            complete(storage)
        } else {
            // The response was not the resource, so the sink stays as it was; or there is nothing to add to it.
            storage.stop { [weak self] _ in self?.conclude(nil) }
        }
    }

    /// A part of the resource has arrived: once it is compared and written, what follows is requested, if anything does.
    private func finishPart(from receiver: BodyReceiver, in storage: BodyStorage) {
        storage.whenPartIsWritten { [weak self] gap in
            guard let self, case .loading = self.phase, self.receiver === receiver else { return }
            guard storage.asksForRest(after: receiver.received) else { return self.finishBody() }
            switch gap {
            case .success(.rest), .success(.range):
                storage.movePoint(to: (try? gap.get()) ?? .rest)
                self.requestRest()
            case .success(.ofOthers): self.finishBody(othersBringRest: true)
            // What cannot be read is found out when the body is completed.
            case .success(.none), .failure: self.finishBody()
            }
        }
    }

    /// What has arrived does not continue what the storage holds: all of the resource is requested.
    func requestWhole(instead storage: BodyStorage) {
        guard case .loading = phase, self.storage === storage, receiver?.storage === storage else { return }
        receiver = nil
        transaction?.leaveForStorage()
        // What has been received of the response is dropped before the next one arrives.
        storage.whenWritten { [weak self] in
            guard let self, case .loading = self.phase, self.storage === storage, self.receiver == nil else { return }
            self.release(.full)
            storage.forgetPoint()
            self.transaction?.sendAgain(.wholeResource)
        }
    }

    /// The same request follows, for the part of the resource that has not arrived.
    private func requestRest() {
        guard let transaction else { return }
        calls.trace?.record(other: .retry(.nextPart))
        transaction.abandon()
        load(transaction.request, transaction.outgoing.history(before: transaction.request))
    }

    /// The storage has held all of the resource before, as the server confirms.
    func storageIsComplete() {
        guard let storage, advance(.finish) else { return }
        complete(storage)
    }

    private func complete(_ storage: BodyStorage) {
        storage.complete { [weak self] failure in
            guard let self else { return }
            guard let failure else { return self.conclude(nil) }
            if self.advance(.failToStore) { self.stop(failure) }
        }
    }

    /// A WebSocket or a stream has closed in order.
    func conversationDidEnd() {
        guard advance(.finish) else { return }
        calls.currentMetrics?.markEnd()
        conclude(nil)
    }

    /// Fails: gives up the connection, closes the storage, makes resume data where the rules allow, and concludes.
    ///
    /// - Parameter resumeHandler: Receives the resume data of a download that is being stopped.
    func fail(_ failure: TransferFailure, resumeHandler: (@Sendable (Data?) -> Void)? = nil) {
        if case .loading = phase, let transaction,
            transaction.recovers(from: failure)
                || (receiver == nil && transaction.upload?.continues(after: failure) == true)
        {
            return
        }
        guard advance(.fail) else { return }
        transaction?.abandon()
        if case .cancelled = failure { receiver?.discard() }
        stop(failure, resumeHandler: resumeHandler)
    }

    private func stop(_ failure: TransferFailure, resumeHandler: (@Sendable (Data?) -> Void)? = nil) {
        calls.currentMetrics?.markEnd()
        let keepsPartial = resumeHandler != nil || !failure.isCancellation
        if keepsPartial, let resume = upload?.resumeData { return finishStopping(failure, resume, resumeHandler) }
        let original = keepsPartial ? storage?.resumeData : nil
        guard let storage, storage.isOpen else { return finishStopping(failure, original, resumeHandler) }
        storage.stop { [weak self] resume in
            self?.finishStopping(failure, keepsPartial ? resume ?? original : nil, resumeHandler)
        }
    }

    /// Makes the resume data of an upload, and concludes.
    private func finishStopping(
        _ failure: TransferFailure, _ resume: UploadResumeData, _ resumeHandler: (@Sendable (Data?) -> Void)?
    ) {
        Worker.shared.run(on: .files) { [sent = calls.task.countOfBytesSent] in
            try? resume.digested(upTo: sent).encoded()
        } then: { [self] blob in
            if let resumeHandler { calls.deliverResumeData(blob, to: resumeHandler) }
            conclude(failure.error(for: request.url, resumeData: blob.map { .upload($0) }))
        }
    }

    private func finishStopping(
        _ failure: TransferFailure, _ resume: ResumeData?, _ resumeHandler: (@Sendable (Data?) -> Void)?
    ) {
        // A sink's bytes stay where they are; resume data is for downloads, whose file the caller cannot name.
        let blob = calls.downloadTask == nil || !failure.canCarryResumeData ? nil : try? resume?.encoded()
        let error = failure.error(for: request.url, resumeData: blob.map { .download($0) })
        let conclude = { @Sendable @NetworkActor [self] in
            if let resumeHandler { calls.deliverResumeData(blob, to: resumeHandler) }
            self.conclude(error)
        }
        guard blob == nil, let file = storage?.unwantedFile else { return conclude() }
        // The disk may take a while to remove a large file.
        Worker.shared.run(on: .files) {
            file.remove()
        } then: {
            conclude()
        }
    }

    /// Concludes a stream whose connection belongs to its delegate from now on.
    ///
    /// - Parameter bytes: What has arrived and was not read.
    func conclude(capturing connection: BlockingSocket, after bytes: [UInt8], isReadClosed: Bool) {
        guard advance(.finish) else { return }
        calls.currentMetrics?.markEnd()
        conclude(nil, capture: Capture(connection: connection, bytes: bytes, isReadClosed: isReadClosed))
    }

    /// The one end of every transfer. What it takes to resume an upload reaches its readers before that.
    private func conclude(_ failure: (any Error)?, capture: Capture? = nil) {
        guard upload != nil else { return deliverEnd(failure, capture) }
        uploadRecorder.end { [self] in deliverEnd(failure, capture) }
    }

    private func deliverEnd(_ failure: (any Error)?, _ capture: Capture?) {
        guard advance(.conclude) else { return }
        calls.trace?.completed(failure)
        receiver?.conclude()
        deadlines.stop()
        calls.task.detachTransfer()
        conversation?.conclude(failure)
        let lastCalls = calls.makeLastCalls()
        if let capture {
            lastCalls.deliver(capture.connection, after: capture.bytes, isReadClosed: capture.isReadClosed)
        } else {
            lastCalls.deliver(failure, content: receiver?.content ?? Data(), file: storage?.partial)
        }
        releaseParts()
    }

    /// Releases the parts of the transfer, which refer to it.
    private func releaseParts() {
        transaction = nil
        receiver = nil
        storage = nil
        upload = nil
    }
}

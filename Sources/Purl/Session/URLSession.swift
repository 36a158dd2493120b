import Foundation
internal import PurlConnections
internal import PurlIO
import Synchronization

/// A group of transfers that share a configuration, connections, a delegate and the queue on which it is called.
///
/// A session keeps its delegate until it is invalidated, and itself alive until its tasks are over.
/// `@unchecked Sendable` because the class is open; its own mutable state is `values`, behind a `Mutex`.
open class URLSession: NSObject, @unchecked Sendable {
    /// What a delegate may answer to a response.
    public enum ResponseDisposition: Int, Sendable {
        /// End the task with `URLError.cancelled`.
        case cancel = 0
        /// Load the body.
        case allow = 1
        /// Continue as a download task.
        case becomeDownload = 2
        /// Continue as a stream task, which has the connection for itself: see <doc:StreamTasks>.
        case becomeStream = 3
    }

    /// What a delegate may answer to a challenge.
    public enum AuthChallengeDisposition: Int, Sendable {
        /// Send the request again with the credential of the answer; without one, the response that asked is the
        /// result.
        case useCredential = 0
        /// Do what happens without a delegate: the response that asked is the result.
        case performDefaultHandling = 1
        /// End the task with `URLError.cancelled`.
        case cancelAuthenticationChallenge = 2
        /// Ask again about the next protection space the response offers; after the last, it is the result.
        case rejectProtectionSpace = 3
    }

    /// What a delegate may answer when a task's ``URLSessionTask/earliestBeginDate`` has come.
    public enum DelayedRequestDisposition: Int, Sendable {
        /// Send the request the task was made with.
        case continueLoading = 0
        /// Send the request of the answer.
        case useNewRequest = 1
        /// End the task with `URLError.cancelled`.
        case cancel = 2
    }

    private struct Values {
        var delegate: (any URLSessionDelegate)?
        var sessionDescription: String?
    }

    /// The configuration's values, fixed when the session was made.
    let settings: URLSessionConfiguration.Values
    /// The journal and the files of a background session; `nil` for any other session.
    let background: BackgroundStore?
    let queue: DelegateQueue
    let pool: ConnectionPool
    let proxies: ProxyRules
    let logins = LoginCache()
    let secureHosts: SecureHosts
    private let security: SessionTLS
    private let registry = TaskRegistry()
    private let restored = RestoredTasks()
    private let values: Mutex<Values>

    private static let ofProgram = ProcessLocal { URLSession(configuration: .default) }

    private static var standard: URLSession { ofProgram.current }

    /// A session with the default configuration and no delegate, for simple requests. It cannot be invalidated.
    open class var shared: URLSession { standard }

    /// Makes a session without a delegate.
    ///
    /// - Parameter configuration: Copied: later changes to it do not reach the session.
    public init(configuration: URLSessionConfiguration) {
        settings = Self.settings(of: configuration)
        queue = DelegateQueue(nil)
        pool = ConnectionPool(settings.pool)
        security = SessionTLS(settings)
        secureHosts = SecureHosts(settings.clock)
        proxies = settings.proxies
        values = Mutex(Values())
        let store = settings.background.map(BackgroundStore.open)
        background = try? store?.get()
        super.init()
        restoreTasks(from: store)
    }

    /// Makes a session.
    ///
    /// - Parameters:
    ///   - configuration: Copied: later changes to it do not reach the session.
    ///   - delegate: Kept until the session is invalidated.
    ///   - queue: Where the delegate and completion handlers are called. They are called one at a time and in order
    ///     even if the queue is concurrent. `nil` makes a serial queue of the session's own.
    public init(
        configuration: URLSessionConfiguration,
        delegate: (any URLSessionDelegate)?,
        delegateQueue queue: OperationQueue?
    ) {
        settings = Self.settings(of: configuration)
        self.queue = DelegateQueue(queue)
        pool = ConnectionPool(settings.pool)
        security = SessionTLS(settings)
        secureHosts = SecureHosts(settings.clock)
        proxies = settings.proxies
        values = Mutex(Values(delegate: delegate))
        let store = settings.background.map(BackgroundStore.open)
        background = try? store?.get()
        super.init()
        restoreTasks(from: store)
    }

    private static func settings(of configuration: URLSessionConfiguration) -> URLSessionConfiguration.Values {
        var settings = configuration.snapshot
        settings.trace = ProcessTraces.makeTrace(copiedTo: settings.trace)
        settings.trace?.use(settings.clock)
        return settings
    }

    /// Takes over the tasks of a background session, or refuses all new ones where its folder cannot be used.
    private func restoreTasks(from store: Result<BackgroundStore, SessionRefusal>?) {
        switch store {
        case nil: break
        case .success(let store):
            registry.addRestored(restored.restore(from: store, to: self), lastIdentifier: store.lastIdentifier)
        case .failure(let refusal):
            let failure = TransferFailure.sessionRefused(refusal)
            registry.refuseAll(failure)
            // The delegate is released with its last call: tasks that the program makes at once have theirs before.
            RestoredTasks.afterGrace(by: settings.graceClock) { self.finishInvalidation(failure.urlError(for: nil)) }
        }
    }

    deinit {
        let pool = pool
        NetworkActor.post { pool.close() }
        background?.close()
    }

    /// How connections are made secure from now on; `nil` where that is not possible.
    @NetworkActor
    var tls: TLSSettings? { security.settings(retireConnections: pool.retireConnections) }

    /// The classes that are asked, in this order, whether they load a request.
    var protocolClasses: [URLProtocol.Type] {
        guard settings.identifier == nil else { return [] }
        return self === Self.standard ? URLProtocol.registered : settings.protocolClasses
    }

    /// Where the delegate and completion handlers are called.
    open var delegateQueue: OperationQueue { queue.operations }

    /// The delegate, until the session is invalid.
    open var delegate: (any URLSessionDelegate)? { values.withLock { $0.delegate } }

    /// A copy of the configuration the session was made with.
    open var configuration: URLSessionConfiguration {
        var values = settings
        values.trace = settings.trace?.ofProgram
        return URLSessionConfiguration(values)
    }

    /// A text that the program sets for its own use.
    open var sessionDescription: String? {
        get { values.withLock { $0.sessionDescription } }
        set { values.withLock { $0.sessionDescription = newValue } }
    }

    // MARK: Ending

    /// Takes no new tasks, lets the existing ones finish, then calls the delegate's
    /// `urlSession(_:didBecomeInvalidWithError:)` and releases it.
    open func finishTasksAndInvalidate() {
        guard self !== Self.standard else { return }
        registry.close()
        becomeInvalidIfDone()
    }

    /// Takes no new tasks, cancels the existing ones, then calls the delegate's
    /// `urlSession(_:didBecomeInvalidWithError:)` and releases it.
    open func invalidateAndCancel() {
        guard self !== Self.standard else { return }
        // A connection that comes free while tasks are cancelled must not serve one whose turn has not come.
        NetworkActor.post { self.pool.close() }
        registry.cancelAll()
        becomeInvalidIfDone()
    }

    /// Removes all cookies, credentials, cached responses and what is known of hosts that want secure connections, and
    /// makes later requests use new connections; then calls the handler on the delegate queue.
    open func reset(completionHandler: @escaping @Sendable () -> Void) {
        settings.httpCookieStorage?.removeCookies(since: .distantPast)
        settings.urlCredentialStorage?.removeAll()
        settings.urlCache?.removeAllCachedResponses()
        NetworkActor.post {
            self.logins.removeAll()
            self.secureHosts.removeAll()
        }
        flush(completionHandler: completionHandler)
    }

    /// Writes cookies and cached responses to disk, and makes later requests use new connections; then calls the
    /// handler on the delegate queue.
    open func flush(completionHandler: @escaping @Sendable () -> Void) {
        NetworkActor.post {
            self.pool.retireConnections()
            self.flushCookies { self.flushCache { self.queue.enqueue(completionHandler) } }
        }
    }

    private func flushCookies(_ completion: @escaping @Sendable () -> Void) {
        guard let cookies = settings.httpCookieStorage else { return completion() }
        cookies.flush(completion)
    }

    private func flushCache(_ completion: @escaping @Sendable () -> Void) {
        guard let cache = settings.urlCache else { return completion() }
        cache.store.flush(completion)
    }

    // MARK: Finding tasks

    /// Calls the handler, on the delegate queue, with the data, upload and download tasks that are not over; with none once
    /// ``invalidateAndCancel()`` has been called.
    open func getTasksWithCompletionHandler(
        _ completionHandler:
            @escaping @Sendable ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) -> Void
    ) {
        getAllTasks { tasks in
            let uploads = tasks.compactMap { $0 as? URLSessionUploadTask }
            let data = tasks.compactMap { $0 is URLSessionUploadTask ? nil : $0 as? URLSessionDataTask }
            completionHandler(data, uploads, tasks.compactMap { $0 as? URLSessionDownloadTask })
        }
    }

    /// Calls the handler, on the delegate queue, with the tasks that are not over, oldest first; with none once
    /// ``invalidateAndCancel()`` has been called.
    open func getAllTasks(completionHandler: @escaping @Sendable ([URLSessionTask]) -> Void) {
        queue.enqueue {
            completionHandler(self.registry.unfinishedTasks)
        }
        restored.deliver(on: queue)
    }

    // MARK: Data tasks (made suspended, as all tasks are)

    /// A task that reports to its delegate.
    open func dataTask(with request: URLRequest) -> URLSessionDataTask {
        makeDataTask(request, .request, .delegate)
    }

    /// A task that reports to its delegate.
    ///
    /// - Parameter url: The URL to load.
    open func dataTask(with url: URL) -> URLSessionDataTask {
        dataTask(with: makeRequest(url))
    }

    /// A task that collects the body in memory and calls the handler once, on the delegate queue.
    open func dataTask(
        with request: URLRequest,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        makeDataTask(request, .request, .data(completionHandler, delivery: .queue))
    }

    /// A task that collects the body in memory and calls the handler once, on the delegate queue.
    ///
    /// - Parameter url: The URL to load.
    open func dataTask(
        with url: URL,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        dataTask(with: makeRequest(url), completionHandler: completionHandler)
    }

    /// A task that appends the body to `sink`, resuming where an earlier task stopped.
    ///
    /// What the sink holds already is not loaded again: the request carries `Range` and `If-Range` (a `Range` of its
    /// own is replaced). If the resource changed, the sink is emptied before the first byte is written; if the sink
    /// holds all of it, no request is sent and the task completes without a response. The delegate receives the
    /// response and the completion (the completion alone when a 416 shows that nothing is missing). It receives bytes
    /// only when the response is not the resource (a 404 page, for instance), and then the sink is left as it was.
    ///
    /// - Parameter sink: Receives the body.
    open func dataTask(with request: URLRequest, writingTo sink: any BodySink) -> URLSessionDataTask {
        makeDataTask(request, .sink(sink), .delegate)
    }

    /// A task that appends the body to `sink`; see ``dataTask(with:writingTo:)-(URLRequest,_)``.
    ///
    /// - Parameters:
    ///   - url: The URL to load.
    ///   - sink: Receives the body.
    open func dataTask(with url: URL, writingTo sink: any BodySink) -> URLSessionDataTask {
        dataTask(with: makeRequest(url), writingTo: sink)
    }

    // MARK: Upload tasks

    /// A task that sends a file as the request's body, in place of any the request has, and reports to its delegate.
    ///
    /// The file is read while it is sent. If it cannot be read the task fails with `URLError.fileDoesNotExist`,
    /// `.fileIsDirectory`, `.noPermissionsToReadFile` or `.cannotOpenFile`; if its length changes meanwhile, with
    /// `.requestBodyStreamExhausted`. In a background session it outlives the process; see <doc:BackgroundSessions>.
    open func uploadTask(with request: URLRequest, fromFile fileURL: URL) -> URLSessionUploadTask {
        makeUploadTask(request, .file(fileURL), .delegate)
    }

    /// A task that sends data as the request's body, in place of any the request has, and reports to its delegate.
    open func uploadTask(with request: URLRequest, from bodyData: Data) -> URLSessionUploadTask {
        makeUploadTask(request, .data(bodyData), .delegate)
    }

    /// A task whose delegate gives the stream from which the body is read, in
    /// `urlSession(_:task:needNewBodyStream:)`. See ``URLRequest/httpBodyStream`` for how it is sent.
    open func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask {
        makeUploadTask(request, .streamFromDelegate, .delegate)
    }

    /// A task that sends a file as the request's body, collects the response's in memory and calls the handler once, on
    /// the delegate queue. See ``uploadTask(with:fromFile:)``.
    open func uploadTask(
        with request: URLRequest,
        fromFile fileURL: URL,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        makeUploadTask(request, .file(fileURL), .data(completionHandler, delivery: .queue))
    }

    /// A task that sends data as the request's body, collects the response's in memory and calls the handler once, on
    /// the delegate queue.
    open func uploadTask(
        with request: URLRequest,
        from bodyData: Data?,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        makeUploadTask(request, bodyData.map { .data($0) } ?? .none, .data(completionHandler, delivery: .queue))
    }

    /// A task that sends the data of an asynchronous sequence as the request's body, in place of any the request has,
    /// and reports to its delegate. An addition of Purl's.
    ///
    /// The sequence is iterated while the body is sent, no faster than the server takes it: one element, and two pieces
    /// of 256 KiB at most, are in memory. A `Content-Length` of the request's own is taken for its length; without one
    /// the body is sent in chunks. An error of the sequence fails the task with `URLError.requestBodyStreamExhausted`,
    /// and is its underlying error. When the task ends before the sequence, the iteration is cancelled.
    ///
    /// It is iterated once: where the body has to be sent again, after a redirect for instance, the delegate is asked
    /// for a stream with `urlSession(_:task:needNewBodyStream:)`.
    ///
    /// - Parameter body: The sequence.
    public func uploadTask<Body: AsyncSequence & Sendable>(
        with request: URLRequest, from body: Body
    ) -> URLSessionUploadTask where Body.Element == Data {
        makeUploadTask(request, .sequence(BodySequence(body)), .delegate)
    }

    /// A task that sends the data of an asynchronous sequence as the request's body, collects the response's in memory
    /// and calls the handler once, on the delegate queue. See ``uploadTask(with:from:)-(_,Body)``. An addition of
    /// Purl's.
    ///
    /// - Parameter body: The sequence.
    public func uploadTask<Body: AsyncSequence & Sendable>(
        with request: URLRequest, from body: Body,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask where Body.Element == Data {
        makeUploadTask(request, .sequence(BodySequence(body)), .data(completionHandler, delivery: .queue))
    }

    /// A task that resumes an upload where the one that produced `resumeData` stopped.
    ///
    /// It asks the server how much it has, and sends the rest: of the same file, which must not have changed, of the data, which
    /// is in the resume data, or of a stream that the delegate gives in
    /// `urlSession(_:task:needNewBodyStreamFrom:completionHandler:)`. A file whose length, modification time or last bytes are
    /// others is uploaded anew, after a call of `urlSession(_:task:willRestartUploadBecause:)`. Resume data that cannot be read
    /// fails with `URLError.cannotDecodeRawData`.
    ///
    /// - Parameter resumeData: The resume data of the upload that stopped.
    open func uploadTask(withResumeData resumeData: Data) -> URLSessionUploadTask {
        makeUploadTask(resuming: resumeData, .delegate)
    }

    /// A task that resumes an upload, collects the response's body in memory and calls the handler once, on the delegate
    /// queue. See ``uploadTask(withResumeData:)``.
    ///
    /// - Parameter resumeData: The resume data of the upload that stopped.
    open func uploadTask(
        withResumeData resumeData: Data,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        makeUploadTask(resuming: resumeData, .data(completionHandler, delivery: .queue))
    }

    // MARK: Download tasks

    /// A task that writes the body to a file and reports to its delegate.
    open func downloadTask(with request: URLRequest) -> URLSessionDownloadTask {
        makeDownloadTask(request, .request, .delegate)
    }

    /// A task that writes the body to a file and reports to its delegate.
    ///
    /// - Parameter url: The URL to load.
    open func downloadTask(with url: URL) -> URLSessionDownloadTask {
        downloadTask(with: makeRequest(url))
    }

    /// A task that resumes a download where the one that produced `resumeData` stopped.
    ///
    /// Resume data that cannot be read fails with `URLError.cannotDecodeRawData`. If the partial file is gone or
    /// altered, or the resource changed, the download starts over. Only one task at a time may resume from the
    /// same resume data.
    ///
    /// - Parameter resumeData: The resume data of the download that stopped.
    open func downloadTask(withResumeData resumeData: Data) -> URLSessionDownloadTask {
        makeDownloadTask(resuming: resumeData, .delegate)
    }

    /// A task that writes the body to a file and calls the handler once, on the delegate queue. The file is removed
    /// when the handler returns, unless it was moved.
    open func downloadTask(
        with request: URLRequest,
        completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        makeDownloadTask(request, .request, .file(completionHandler, delivery: .queue))
    }

    /// A task that writes the body to a file and calls the handler once, on the delegate queue. The file is removed
    /// when the handler returns, unless it was moved.
    ///
    /// - Parameter url: The URL to load.
    open func downloadTask(
        with url: URL,
        completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        downloadTask(with: makeRequest(url), completionHandler: completionHandler)
    }

    /// A task that resumes a download; see ``downloadTask(withResumeData:)``.
    ///
    /// - Parameter resumeData: The resume data of the download that stopped.
    open func downloadTask(
        withResumeData resumeData: Data,
        completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        makeDownloadTask(resuming: resumeData, .file(completionHandler, delivery: .queue))
    }

    // MARK: Stream tasks

    /// A task that opens a connection for bytes in both directions; see <doc:StreamTasks>.
    ///
    /// - Parameters:
    ///   - hostname: A name, or an address in digits; an IPv6 address with or without brackets.
    ///   - port: 1 to 65535. With another one, or a text that names no host, the task fails with `URLError.badURL`.
    open func streamTask(withHostName hostname: String, port: Int) -> URLSessionStreamTask {
        makeStreamTask(hostname, port)
    }

    // MARK: WebSocket tasks

    /// A task that opens a WebSocket connection; see <doc:WebSockets>.
    ///
    /// - Parameter url: A `ws:` URL, or an `http:` one, which counts as `ws:`.
    open func webSocketTask(with url: URL) -> URLSessionWebSocketTask {
        makeWebSocketTask(makeRequest(url))
    }

    /// A task that opens a WebSocket connection, and lets the server choose among subprotocols.
    ///
    /// - Parameter protocols: The subprotocols, the best first.
    open func webSocketTask(with url: URL, protocols: [String]) -> URLSessionWebSocketTask {
        var request = makeRequest(url)
        if !protocols.isEmpty {
            request.setValue(protocols.joined(separator: ", "), forHTTPHeaderField: "Sec-WebSocket-Protocol")
        }
        return makeWebSocketTask(request)
    }

    /// A task that opens a WebSocket connection with header fields of your own. Its method is GET, without a body,
    /// whatever the request has.
    ///
    /// `Sec-WebSocket-Protocol` offers subprotocols. `Sec-WebSocket-Extensions` replaces what is offered by default,
    /// compression (`permessage-deflate`); an empty one offers nothing.
    open func webSocketTask(with request: URLRequest) -> URLSessionWebSocketTask {
        makeWebSocketTask(request)
    }

    // MARK: Making tasks

    /// The request the session makes from a URL alone.
    func makeRequest(_ url: URL) -> URLRequest {
        var request = URLRequest(url: url, cachePolicy: settings.requestCachePolicy)
        // Setting what is so already would cost the request a copy of its values.
        if settings.networkServiceType != .default { request.networkServiceType = settings.networkServiceType }
        if !settings.allowsCellularAccess { request.allowsCellularAccess = false }
        if settings.requestHints != RequestHints() { request.hints = settings.requestHints }
        return request
    }

    func makeDataTask(
        _ request: URLRequest, _ source: TransferSource, _ consumer: BodyConsumer,
        _ delegate: (any URLSessionTaskDelegate)? = nil
    ) -> URLSessionDataTask {
        addTask(delegate) { identifier in
            URLSessionDataTask(
                session: self, identifier: identifier, request: request, source: source, consumer: consumer)
        }
    }

    func makeUploadTask(
        _ request: URLRequest, _ body: RequestBody, _ consumer: BodyConsumer,
        _ delegate: (any URLSessionTaskDelegate)? = nil
    ) -> URLSessionUploadTask {
        makeUploadTask(request, .upload(body), consumer, delegate) { task in
            guard case .file(let url) = body, url.isFileURL else { return nil }
            return self.enterIntoJournal(task, nil, uploading: url)
        }
    }

    /// See ``makeDownloadTask(resuming:_:_:)``.
    func makeUploadTask(
        resuming blob: Data, _ consumer: BodyConsumer, _ delegate: (any URLSessionTaskDelegate)? = nil
    ) -> URLSessionUploadTask {
        do {
            let resume = try UploadResumeData(decoding: blob)
            return makeUploadTask(
                resume.originalRequest.request, .resumedUpload(resume), consumer, delegate
            ) { task in
                guard let path = resume.path else { return nil }
                return self.enterIntoJournal(
                    task, nil, uploading: URL(fileURLWithPath: path), resuming: resume)
            }
        } catch {
            return makeUploadTask(nil, .unreadable(error), consumer, delegate) { _ in nil }
        }
    }

    private func makeUploadTask(
        _ request: URLRequest?, _ source: TransferSource, _ consumer: BodyConsumer,
        _ delegate: (any URLSessionTaskDelegate)?, prepare: (URLSessionUploadTask) -> TransferFailure?
    ) -> URLSessionUploadTask {
        addTask(delegate) { identifier in
            URLSessionUploadTask(
                session: self, identifier: identifier, request: request, source: source, consumer: consumer)
        } prepare: {
            prepare($0)
        }
    }

    func makeDownloadTask(
        _ request: URLRequest?, _ source: TransferSource, _ consumer: BodyConsumer,
        _ delegate: (any URLSessionTaskDelegate)? = nil
    ) -> URLSessionDownloadTask {
        addTask(delegate) { identifier in
            URLSessionDownloadTask(
                session: self, identifier: identifier, request: request, source: source, consumer: consumer)
        } prepare: { task in
            self.enterIntoJournal(task, source.resumeData)
        }
    }

    /// The resume data is read here, so that the task shows its request at once, as any other task does. What is wrong
    /// with it becomes the task's failure when the task is resumed.
    func makeDownloadTask(
        resuming blob: Data, _ consumer: BodyConsumer, _ delegate: (any URLSessionTaskDelegate)? = nil
    ) -> URLSessionDownloadTask {
        do {
            let resume = try ResumeData(decoding: blob)
            guard PartialFile.isName(resume.partialName) else { throw ResumeData.Refusal.strangeName }
            return makeDownloadTask(resume.originalRequest.request, .resume(resume), consumer, delegate)
        } catch {
            return makeDownloadTask(nil, .unreadable(error), consumer, delegate)
        }
    }

    private func makeWebSocketTask(_ request: URLRequest) -> URLSessionWebSocketTask {
        addTask(nil) { URLSessionWebSocketTask(session: self, identifier: $0, request: request) }
    }

    private func makeStreamTask(_ host: String, _ port: Int) -> URLSessionStreamTask {
        let request = StreamAddress.url(host: host, port: port).map { makeRequest($0) }
        let conversation = StreamConversation(request, settings)
        let task = addTask(nil) { identifier in
            URLSessionStreamTask(session: self, identifier: identifier, request: nil, conversation)
        }
        if request == nil { task.refuse(.stream(.badAddress(host: host, port: port))) }
        return task
    }

    /// The download that takes the place of `task`, with all that users see of it.
    func makeDownloadTask(inPlaceOf task: URLSessionTask) -> URLSessionDownloadTask {
        registry.addSuccessor { identifier in
            let next = URLSessionDownloadTask(
                session: self, identifier: identifier, request: task.originalRequest, source: .request,
                consumer: task.consumer)
            task.moveValues(to: next)
            return next
        }
    }

    /// The stream that takes the place of `task`, with all that users see of it.
    func makeStreamTask(inPlaceOf task: URLSessionTask, _ conversation: StreamConversation) -> URLSessionStreamTask {
        registry.addSuccessor { identifier in
            let next = URLSessionStreamTask(
                session: self, identifier: identifier, request: task.originalRequest, conversation)
            task.moveValues(to: next)
            return next
        }
    }

    private func addTask<Kind: URLSessionTask>(
        _ delegate: (any URLSessionTaskDelegate)?, _ make: (_ identifier: Int) -> Kind,
        prepare: (Kind) -> TransferFailure? = { _ in nil }
    ) -> Kind {
        let task = registry.addTask(
            { identifier in
                let task = make(identifier)
                if let delegate { task.delegate = delegate }
                return task
            }, prepare: prepare)
        task.taskDelegate?.urlSession(self, didCreateTask: task)
        return task
    }

    // MARK: Background sessions

    /// Where the session's unfinished downloads lie.
    var partials: PartialsFolder {
        background?.partials ?? PartialsFolder(settings.partialDownloadsDirectory, files: settings.files)
    }

    /// Lets a background session's task outlive the process. Only a download or an upload from a file that reports to a
    /// delegate does: a data task's bytes are its delegate's, and no other process can call a completion handler.
    ///
    /// - Parameters:
    ///   - resume: What it continues from.
    ///   - file: What it uploads.
    ///   - upload: What the upload continues from.
    /// - Returns: Why it could not be kept.
    func enterIntoJournal(
        _ task: URLSessionTask, _ resume: ResumeData?, uploading file: URL? = nil,
        resuming upload: UploadResumeData? = nil
    ) -> TransferFailure? {
        guard let background, case .delegate = task.consumer, let request = task.originalRequest,
            file != nil || request.httpBodyStream == nil
        else { return nil }
        do throws(FileFailure) {
            try task.enter(
                into: background, StoredRequest(request), resume, uploading: file?.absoluteURL.path, resuming: upload)
            return nil
        } catch {
            return .file(error)
        }
    }

    // MARK: After the last call

    /// Forgets a task whose last call has been delivered. On the delegate queue.
    func forget(_ task: URLSessionTask) {
        background?.remove(task.taskIdentifier)
        registry.remove(task)
        if restored.remove(task) { queue.enqueue { self.reportFinishedEvents() } }
        becomeInvalidIfDone()
    }

    /// Reports that the tasks which an earlier process left running are over. On the delegate queue.
    func reportFinishedEvents() {
        delegate?.urlSessionDidFinishEvents(forBackgroundURLSession: self)
    }

    private func becomeInvalidIfDone() {
        if registry.becomesInvalid() { finishInvalidation(nil) }
    }

    /// Closes what the session holds, and calls the delegate for the last time.
    private func finishInvalidation(_ error: URLError?) {
        background?.close()
        NetworkActor.post { self.pool.close() }
        queue.enqueue {
            self.delegate?.urlSession(self, didBecomeInvalidWithError: error)
            // Released outside the lock: its deinitialiser may call the session.
            let released = self.values.withLock { values in
                defer { values.delegate = nil }
                return values.delegate
            }
            withExtendedLifetime(released) {}
        }
    }
}

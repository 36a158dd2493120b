import Foundation
internal import PurlIO
import Synchronization

/// A group of transfers that share a configuration, connections, a delegate and the queue on which it is called.
///
/// A session keeps its delegate until it is invalidated, and itself alive until its tasks are over.
/// `@unchecked Sendable` because the class is open; its mutable state is `shared`, behind a `Mutex`, and `pool`,
/// which belongs to `NetworkActor`.
open class URLSession: NSObject, @unchecked Sendable {
    /// What a delegate may answer to a response.
    public enum ResponseDisposition: Int, Sendable {
        /// End the task with `URLError.cancelled`.
        case cancel = 0
        /// Go on.
        case allow = 1
        /// Go on as a download task.
        case becomeDownload = 2
        /// Go on as a stream task, which has the connection for itself: see <doc:StreamTasks>.
        case becomeStream = 3
    }

    /// What a delegate may answer to a challenge.
    public enum AuthChallengeDisposition: Int, Sendable {
        /// Go on with the credential that comes with the answer; without one, the response that asked is the result.
        case useCredential = 0
        /// Do what happens without a delegate: the response that asked is the result.
        case performDefaultHandling = 1
        /// End the task with `URLError.cancelled`.
        case cancelAuthenticationChallenge = 2
        /// Ask again about the next protection space the response offers; after the last, it is the result.
        case rejectProtectionSpace = 3
    }

    /// What a delegate may answer when a task's date to begin at has come.
    public enum DelayedRequestDisposition: Int, Sendable {
        /// Send the request the task was made with.
        case continueLoading = 0
        /// Send the request that comes with the answer.
        case useNewRequest = 1
        /// End the task with `URLError.cancelled`.
        case cancel = 2
    }

    /// From its making to its last call.
    enum Life {
        case valid
        /// Invalidated: waits for its tasks.
        case finishing
        /// Invalidated: its tasks have been cancelled.
        case cancelling
        /// The delegate has been told, or is about to be.
        case invalid
    }

    struct Shared {
        var delegate: (any URLSessionDelegate)?
        var sessionDescription: String?
        var tasks: [Int: URLSessionTask] = [:]
        var lastIdentifier = 0
        var life = Life.valid
        /// Why the session was invalid from the start.
        var refusal: TransferFailure?
        /// The tasks of an earlier process that are still to have their last call.
        var awaited: Set<Int> = []
        /// Calls about them that wait for ``URLSession/deliverRestored()``.
        var restoredCalls: [DelegateQueue.Call] = []
    }

    /// The configuration's values, fixed when the session was made.
    let settings: URLSessionConfiguration.Values
    /// What a background session keeps on disk.
    let background: BackgroundStore?
    let queue: DelegateQueue
    let pool: ConnectionPool
    let proxies: ProxyRules
    let logins = Logins()
    let shared: Mutex<Shared>

    private static let standard = URLSession(configuration: .default)

    /// A session with the default configuration and no delegate, for simple requests. It cannot be invalidated.
    open class var shared: URLSession { standard }

    /// Makes a session without a delegate.
    public convenience init(configuration: URLSessionConfiguration) {
        self.init(configuration: configuration, delegate: nil, delegateQueue: nil)
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
        settings = configuration.snapshot
        self.queue = DelegateQueue(queue)
        pool = ConnectionPool(settings)
        proxies = ProxyRules(settings, environment: ProxyRules.environment)
        shared = Mutex(Shared(delegate: delegate))
        let store = Self.openStore(settings)
        background = try? store?.get()
        super.init()
        switch store {
        case nil: break
        case .success(let store): restoreTasks(from: store)
        case .failure(let refusal): refuse(.sessionRefused(refusal))
        }
    }

    deinit {
        let pool = pool
        NetworkActor.post { pool.close() }
    }

    /// Who is asked, in this order, whether it loads a request.
    var protocolClasses: [URLProtocol.Type] {
        guard settings.identifier == nil else { return [] }
        return self === Self.standard ? URLProtocol.registered : settings.protocolClasses
    }

    /// Where the delegate and completion handlers are called.
    open var delegateQueue: OperationQueue { queue.operations }

    /// The delegate, until the session is invalid.
    open var delegate: (any URLSessionDelegate)? { shared.withLock { $0.delegate } }

    /// A copy of the configuration the session was made with.
    open var configuration: URLSessionConfiguration { URLSessionConfiguration(settings) }

    /// A text of the user's own.
    open var sessionDescription: String? {
        get { shared.withLock { $0.sessionDescription } }
        set { shared.withLock { $0.sessionDescription = newValue } }
    }

    // MARK: Ending

    /// Takes no new tasks, lets the ones there are finish, then tells the delegate with
    /// `urlSession(_:didBecomeInvalidWithError:)` and releases it.
    open func finishTasksAndInvalidate() {
        guard self !== Self.standard else { return }
        shared.withLock { if $0.life == .valid { $0.life = .finishing } }
        becomeInvalidIfDone()
    }

    /// Takes no new tasks, cancels the ones there are, then tells the delegate with
    /// `urlSession(_:didBecomeInvalidWithError:)` and releases it.
    open func invalidateAndCancel() {
        guard self !== Self.standard else { return }
        let tasks = shared.withLock { shared in
            if shared.life != .invalid { shared.life = .cancelling }
            return Array(shared.tasks.values)
        }
        for task in tasks { task.cancel() }
        becomeInvalidIfDone()
    }

    /// Removes all cookies, credentials and cached responses, and makes later requests use new connections; then calls
    /// the handler on the delegate queue.
    open func reset(completionHandler: @escaping @Sendable () -> Void) {
        settings.httpCookieStorage?.removeCookies(since: .distantPast)
        settings.urlCredentialStorage?.removeAll()
        settings.urlCache?.removeAllCachedResponses()
        NetworkActor.post { self.logins.forgetAll() }
        flush(completionHandler: completionHandler)
    }

    /// Writes what is kept in memory to disk, and makes later requests use new connections; then calls the handler on
    /// the delegate queue.
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

    /// Calls the handler, on the delegate queue, with the data, upload and download tasks that are not over.
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

    /// Calls the handler, on the delegate queue, with the tasks that are not over, oldest first.
    open func getAllTasks(completionHandler: @escaping @Sendable ([URLSessionTask]) -> Void) {
        queue.enqueue {
            completionHandler(self.unfinishedTasks)
        }
        deliverRestored()
    }

    // MARK: Data tasks (made suspended, as all tasks are)

    /// A task that reports to its delegate.
    open func dataTask(with request: URLRequest) -> URLSessionDataTask {
        makeDataTask(request, .request, .delegate)
    }

    /// A task that reports to its delegate.
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
    open func dataTask(
        with url: URL,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        dataTask(with: makeRequest(url), completionHandler: completionHandler)
    }

    /// A task that appends the body to `sink`, going on where an earlier task stopped.
    ///
    /// What the sink holds already is asked for no more: the request carries `Range` and `If-Range` (a `Range` of the
    /// user's own is replaced). If the resource changed, the sink is emptied before the first byte is written; if the
    /// sink holds all of it, no request is made and the task completes with no response. The delegate hears of the
    /// response and the completion (of the completion alone when the server says, with a 416, that there is no rest);
    /// bytes go to it only when the response is not the resource (a 404 page, say), and then the sink is left as it
    /// was.
    open func dataTask(with request: URLRequest, writingTo sink: any BodySink) -> URLSessionDataTask {
        makeDataTask(request, .sink(sink), .delegate)
    }

    /// A task that appends the body to `sink`; see ``dataTask(with:writingTo:)-(URLRequest,_)``.
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

    // MARK: Download tasks

    /// A task that writes the body to a file and reports to its delegate.
    open func downloadTask(with request: URLRequest) -> URLSessionDownloadTask {
        makeDownloadTask(request, .request, .delegate)
    }

    /// A task that writes the body to a file and reports to its delegate.
    open func downloadTask(with url: URL) -> URLSessionDownloadTask {
        downloadTask(with: makeRequest(url))
    }

    /// A task that goes on with a download where the one that produced `resumeData` stopped.
    ///
    /// Resume data that cannot be read fails with `URLError.cannotDecodeRawData`. If the partial file is gone or
    /// altered, or the resource changed, the download starts over. Only one task may go on from a resume data at a
    /// time.
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
    open func downloadTask(
        with url: URL,
        completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        downloadTask(with: makeRequest(url), completionHandler: completionHandler)
    }

    /// A task that goes on with a download; see ``downloadTask(withResumeData:)``.
    open func downloadTask(
        withResumeData resumeData: Data,
        completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        makeDownloadTask(resuming: resumeData, .file(completionHandler, delivery: .queue))
    }

    // MARK: Stream tasks

    /// A task that opens a connection over which bytes go both ways; see <doc:StreamTasks>.
    ///
    /// - Parameters:
    ///   - hostname: A name, or an address in digits; an IPv6 address with or without brackets.
    ///   - port: 1 to 65535. With another one, or something that names no host, the task fails with `URLError.badURL`.
    open func streamTask(withHostName hostname: String, port: Int) -> URLSessionStreamTask {
        makeStreamTask(hostname, port)
    }

    // MARK: WebSocket tasks

    /// A task that opens a WebSocket connection to a `ws:` URL; see <doc:WebSockets>.
    open func webSocketTask(with url: URL) -> URLSessionWebSocketTask {
        makeWebSocketTask(makeRequest(url))
    }

    /// A task that opens a WebSocket connection, and lets the server choose among subprotocols, the best first.
    open func webSocketTask(with url: URL, protocols: [String]) -> URLSessionWebSocketTask {
        var request = makeRequest(url)
        if !protocols.isEmpty {
            request.setValue(protocols.joined(separator: ", "), forHTTPHeaderField: "Sec-WebSocket-Protocol")
        }
        return makeWebSocketTask(request)
    }

    /// A task that opens a WebSocket connection with header fields of your own. It is a GET without a body, whatever the
    /// request says.
    ///
    /// `Sec-WebSocket-Protocol` offers subprotocols. `Sec-WebSocket-Extensions` goes in place of what is offered otherwise,
    /// compression (`permessage-deflate`); an empty one offers nothing.
    open func webSocketTask(with request: URLRequest) -> URLSessionWebSocketTask {
        makeWebSocketTask(request)
    }
}

import Foundation
internal import PurlHTTP
internal import PurlIO
import Synchronization

/// Lets a session's `URLProtocol` classes load a transaction's request.
@NetworkActor
struct ProtocolLoader: TransactionLoader {
    let classes: [URLProtocol.Type]

    func loads(_ transaction: Transaction) -> Bool {
        guard !classes.isEmpty else { return false }
        // They receive the request with its body; while that is prepared, they wait.
        if let body = transaction.preparedBody() { ProtocolHost.ask(classes, about: body, of: transaction) }
        return true
    }
}

/// Runs one `URLProtocol` of the user's. All of its methods are called on the queue of this actor, where they may block.
actor ProtocolHost {
    /// The class that loads a request, and the request as that class wants it.
    private struct Choice: Sendable {
        let type: URLProtocol.Type
        let request: URLRequest
    }

    private nonisolated let executor = QueueExecutor()
    private let task: URLSessionTask
    private var loader: URLProtocol?
    private var hasStopped = false

    private init(_ task: URLSessionTask) {
        self.task = task
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Asks the classes in order which of them loads a transaction's request, and lets that one load it. If none does, the
    /// transaction continues.
    @NetworkActor
    fileprivate static func ask(_ classes: [URLProtocol.Type], about body: OutgoingBody, of transaction: Transaction) {
        let task = transaction.task
        let request = transaction.outgoing.requestForProtocols(with: body)
        task.setCurrentRequest(request)
        let loader = ProtocolHost(task)
        loader.perform { loader in
            let choice = loader.choose(from: classes, request)
            NetworkActor.post { [weak transaction] in
                guard let transaction, transaction.awaitsLoader else { return }
                guard let choice else { return transaction.protocolsDeclined() }
                loader.begin(choice, body, for: transaction)
            }
        }
    }

    @NetworkActor
    private func begin(_ choice: Choice, _ body: OutgoingBody, for transaction: Transaction) {
        guard transaction.protocolAccepted() else { return }
        let exchange = LocalExchange(for: transaction)
        let client = ProtocolClient(exchange, self, choice.request)
        exchange.onAbandon { client.close() }
        transaction.begin(exchange)
        switch body {
        case .stream(let stream, _): stream.take()
        case .sequence(let sequence, _): sequence.take()
        case .none, .data, .file: break
        }
        task.setCurrentRequest(choice.request)
        let cache = transaction.session.settings.urlCache
        perform { loader in
            loader.start(choice.type, cachedResponse: cache?.cachedResponse(for: choice.request), client: client)
        }
    }

    /// Runs `work` on the queue, in the order of the calls.
    fileprivate nonisolated func perform(_ work: @escaping @Sendable (isolated ProtocolHost) -> Void) {
        executor.queue.async {
            self.assumeIsolated { work($0) }
        }
    }

    private func choose(from classes: [URLProtocol.Type], _ request: URLRequest) -> Choice? {
        classes.first { $0.canInit(with: task) }.map { Choice(type: $0, request: $0.canonicalRequest(for: request)) }
    }

    /// Begins, unless the task has ended already.
    private func start(_ type: URLProtocol.Type, cachedResponse: CachedURLResponse?, client: ProtocolClient) {
        guard !hasStopped else { return }
        let loader = type.init(task: task, cachedResponse: cachedResponse, client: client)
        loader.task = task
        self.loader = loader
        loader.startLoading()
    }

    /// Ends the load, once, for whatever reason.
    fileprivate func stop() {
        hasStopped = true
        let loader = loader
        self.loader = nil
        loader?.stopLoading()
    }
}

/// Runs an actor on a serial queue of its own, where code of the user's may block.
private final class QueueExecutor: SerialExecutor {
    let queue = WorkQueue(on: .protocols)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    func checkIsolated() {
        precondition(queue.isCurrent, "not on the queue of the protocol")
    }
}

/// Passes what a protocol delivers, from any thread, to the transaction that it loads. Calls after the end are ignored.
private final class ProtocolClient: NSObject, URLProtocolClient, Sendable {
    private enum State {
        case begun
        /// A response has been delivered.
        case responded
        case over
    }

    private let state = Mutex(State.begun)
    private let exchange: LocalExchange
    private let load: ProtocolHost
    private let request: URLRequest

    init(_ exchange: LocalExchange, _ load: ProtocolHost, _ request: URLRequest) {
        self.exchange = exchange
        self.load = load
        self.request = request
    }

    /// The transaction wants no more.
    func close() {
        state.withLock { $0 = .over }
        load.perform { $0.stop() }
    }

    // MARK: URLProtocolClient

    func urlProtocol(
        _ protocol: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy
    ) {
        pass { state in
            guard case .begun = state else { return }
            state = .responded
            push(makeResponse(response, storing: policy))
        }
    }

    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
        let (response, data) = (cachedResponse.response, cachedResponse.data)
        pass { state in
            guard case .begun = state else { return }
            state = .responded
            push(makeResponse(response, storing: .notAllowed))
            if !data.isEmpty { push(.content(data)) }
        }
    }

    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data) {
        guard !data.isEmpty else { return }
        pass { state in
            respondIfNeeded(&state)
            push(.content(data))
        }
    }

    func urlProtocolDidFinishLoading(_ protocol: URLProtocol) {
        end { state in
            respondIfNeeded(&state)
            push(.end)
        }
    }

    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error) {
        end { _ in push(.failure(.ofProtocol(error))) }
    }

    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse) {
        end { state in
            guard case .begun = state else { return push(.end) }
            let next = Redirect.withoutCredentials(request, copiedFrom: self.request)
            push(.redirect(redirectResponse, ResponseHead(of: redirectResponse), next))
            // If it is not followed, the redirect is the result.
            push(.end)
        }
    }

    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
        let load = load
        pass { _ in
            push(
                .challenge(challenge) { disposition, credential in
                    load.perform { _ in challenge.answer(disposition, credential) }
                })
        }
    }

    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
        // Its sender receives the delegate's answer all the same, and can ignore it.
    }

    // MARK: Passing on

    /// Calls from several threads stay in the order in which they take the lock.
    private func pass(_ call: (inout State) -> Void) {
        state.withLock { state in
            if case .over = state { return }
            call(&state)
        }
    }

    private func end(_ call: (inout State) -> Void) {
        pass { state in
            call(&state)
            state = .over
            load.perform { $0.stop() }
        }
    }

    private func push(_ piece: LocalExchange.Piece) {
        NetworkActor.post { [exchange] in exchange.push(piece) }
    }

    /// Content without a response gets one without fields.
    private func respondIfNeeded(_ state: inout State) {
        guard case .begun = state else { return }
        state = .responded
        let url = request.url ?? URL(fileURLWithPath: "/")
        let response = URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
        push(makeResponse(response, storing: .notAllowed))
    }

    private func makeResponse(
        _ response: URLResponse, storing policy: URLCache.StoragePolicy
    ) -> LocalExchange.Piece {
        let head = ResponseHead(of: response)
        let framing = BodyFraming.ofLocal(head, to: request.method)
        return .response(response, head, framing, .userProtocol(policy))
    }
}

extension URLAuthenticationChallenge {
    /// Passes a delegate's answer on to the challenge's sender.
    fileprivate func answer(_ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential?) {
        switch (disposition, credential) {
        case (.useCredential, let credential?): sender?.use(credential, for: self)
        case (.useCredential, nil): sender?.continueWithoutCredential(for: self)
        case (.performDefaultHandling, _): sender?.performDefaultHandling(for: self)
        case (.cancelAuthenticationChallenge, _): sender?.cancel(self)
        case (.rejectProtectionSpace, _): sender?.rejectProtectionSpaceAndContinue(with: self)
        }
    }
}

import Foundation

/// One load by a protocol of the user's own, which lives here: all of its methods are called on the queue of this actor.
actor ProtocolLoad {
    /// Who loads a request, and what it makes of it.
    struct Choice: Sendable {
        let type: URLProtocol.Type
        let request: URLRequest
    }

    private nonisolated let executor = QueueExecutor("purl.protocol")
    private let task: URLSessionTask
    private var loader: URLProtocol?
    private var hasStopped = false

    init(_ task: URLSessionTask) {
        self.task = task
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Does something on the queue, in the order of the calls.
    nonisolated func perform(_ work: @escaping @Sendable (isolated ProtocolLoad) -> Void) {
        executor.queue.async {
            self.assumeIsolated { work($0) }
        }
    }

    /// The first class that wants the task's request.
    func choose(from classes: [URLProtocol.Type], _ request: URLRequest) -> Choice? {
        classes.first { $0.canInit(with: task) }.map { Choice(type: $0, request: $0.canonicalRequest(for: request)) }
    }

    /// Begins, unless the task has ended already.
    func start(_ type: URLProtocol.Type, cachedResponse: CachedURLResponse?, client: ProtocolClient) {
        guard !hasStopped else { return }
        let loader = type.init(task: task, cachedResponse: cachedResponse, client: client)
        loader.task = task
        self.loader = loader
        loader.startLoading()
    }

    /// Ends the load, once, however it came to its end.
    func stop() {
        hasStopped = true
        let loader = loader
        self.loader = nil
        loader?.stopLoading()
    }
}

/// The names to look up, who waits for each, and how many threads work on them.
struct LookupQueue: Sendable {
    typealias Answer = @Sendable (Result<[SocketAddress], ResolveError>) -> Void

    private static let maximumWorkers = 8

    private var waiting: [String] = []
    private var answers: [String: [Answer]] = [:]
    private var workers = 0

    /// Adds one who waits for `host`. True when the caller has to start a worker.
    mutating func add(_ host: String, _ answer: @escaping Answer) -> Bool {
        if answers[host] != nil {
            answers[host]?.append(answer)
            return false
        }
        answers[host] = [answer]
        waiting.append(host)
        guard workers < Self.maximumWorkers else { return false }
        workers += 1
        return true
    }

    /// The name for a worker to look up; nil ends the worker.
    mutating func next() -> String? {
        if waiting.isEmpty {
            workers -= 1
            return nil
        }
        return waiting.removeFirst()
    }

    /// The look-up of `host` is over: those who waited for it. Whoever asks from now on starts another.
    mutating func finish(_ host: String) -> [Answer] {
        answers.removeValue(forKey: host) ?? []
    }

    /// A worker that was promised does not exist. Returns those whom nobody will serve.
    mutating func workerDidNotStart() -> [(host: String, then: Answer)] {
        workers -= 1
        guard workers == 0 else { return [] }
        let hosts = waiting
        waiting = []
        return hosts.flatMap { host in finish(host).map { (host, $0) } }
    }
}

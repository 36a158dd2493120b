import Synchronization

@testable import PurlIO

/// Completes every look-up with the same result, and records the names.
final class ScriptedResolver: Resolver {
    private let answer: Result<[SocketAddress], ResolveError>
    private let questions = Mutex<[String]>([])

    init(_ answer: Result<[SocketAddress], ResolveError>) {
        self.answer = answer
    }

    var asked: [String] { questions.withLock { $0 } }

    func resolve(
        _ host: String, port: UInt16, then: @escaping @Sendable (Result<[SocketAddress], ResolveError>) -> Void
    ) -> Task<Void, Never>? {
        questions.withLock { $0.append(host) }
        then(answer)
        return nil
    }
}

/// Completes a look-up when the test does.
final class SilentResolver: Resolver {
    private typealias Completion = @Sendable (Result<[SocketAddress], ResolveError>) -> Void

    private let state = Mutex<(task: Task<Void, Never>?, completion: Completion?)>((nil, nil))

    var isCancelled: Bool { state.withLock { $0.task?.isCancelled == true } }

    func answer(_ result: Result<[SocketAddress], ResolveError>) {
        state.withLock { $0.completion }?(result)
    }

    func resolve(
        _ host: String, port: UInt16, then: @escaping @Sendable (Result<[SocketAddress], ResolveError>) -> Void
    ) -> Task<Void, Never>? {
        let task = Task {
            // Ends when it is cancelled.
            for await _ in AsyncStream<Void>.makeStream().stream {}
        }
        state.withLock { $0 = (task, then) }
        return task
    }
}

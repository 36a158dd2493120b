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

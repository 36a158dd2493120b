internal import PurlIO
import Synchronization

/// A resolver that knows one host, and says about it what its cell wants.
final class ScriptedNames: Resolver {
    typealias Answer = @Sendable (Result<[SocketAddress], ResolveError>) -> Void

    private let honest: [SocketAddress]
    private let script: Mutex<@Sendable (String, @escaping Answer) -> Void>

    /// - Parameter port: The server's, which listens on 127.0.0.1.
    init(port: UInt16) {
        let address = SocketAddress.loopback(port: port)
        honest = [address]
        script = Mutex { _, answer in answer(.success([address])) }
    }

    /// From now on the resolver does this with each question.
    func answer(by act: @escaping @Sendable (_ host: String, _ answer: @escaping Answer) -> Void) {
        script.withLock { $0 = act }
    }

    /// From now on it tells the truth.
    func behave() {
        let honest = honest
        answer { _, answer in answer(.success(honest)) }
    }

    func resolve(_ host: String, port: UInt16, then: @escaping Answer) {
        let act = script.withLock { $0 }
        act(host, then)
    }
}

public import Foundation
internal import PurlIO

/// A conversation in the making. Any thread.
public final class Recording: Sendable {
    private let upstream: Endpoint
    private let said = Watched<[Conversation.Exchange]>([])

    init(_ upstream: Endpoint) {
        self.upstream = upstream
    }

    /// What has been said so far: exchanges in the order in which they ended.
    public var conversation: Conversation { Conversation(said.value) }

    /// Returns when so many exchanges have been recorded.
    public func waitForExchanges(_ count: Int) async {
        await said.wait { $0.count >= count }
    }

    /// Asks the server behind this one, and takes down what it says.
    func forward(_ request: ReceivedRequest) async throws -> Reply {
        let message = ForwardedRequest(request, to: upstream)
        let (answer, ending) = try await Upstream.answer(to: message, from: upstream)
        said.update { said in
            said.append(Conversation.Exchange(request: message.recorded, answer: answer, ending: ending))
        }
        return .raw([answer], then: ending)
    }
}

extension LoopbackServer {
    /// Passes on, where no route is for a request, to another server, and records what both say.
    ///
    /// ```swift
    /// let recording = server.record(forwardingTo: URL(string: "http://staging.example")!)
    /// // … run the code under test against server.url …
    /// try recording.conversation.write(to: fixture)
    /// ```
    ///
    /// Each request gets a connection of its own, which ends after it. Passwords and cookies are recorded like everything
    /// else: look at the text before you share it.
    ///
    /// - Parameter url: The other server: `http`, its name or address, and its port. A path is not looked at.
    public func record(forwardingTo url: URL) -> Recording {
        let port = url.port.flatMap { UInt16(exactly: $0) } ?? 80
        let recording = Recording(.host(url.host(percentEncoded: false) ?? "", port: port))
        fallback(.computed { try await recording.forward($0) })
        return recording
    }
}

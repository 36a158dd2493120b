import Foundation
import Purl

/// Says when a connection opens and closes, and knows when it is over.
final class TalkDelegate: NSObject, URLSessionWebSocketDelegate, Sendable {
    private let console: Console
    private let isVerbose: Bool
    private let end: AsyncStream<(any Error)?>
    private let toEnd: AsyncStream<(any Error)?>.Continuation

    init(_ console: Console, isVerbose: Bool) {
        self.console = console
        self.isVerbose = isVerbose
        (end, toEnd) = AsyncStream.makeStream()
    }

    /// Returns when the task is over: why it failed, if it did.
    func completion() async -> (any Error)? {
        for await error in end { return error }
        return nil
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        if isVerbose { console.say("* open" + (`protocol`.map { ", speaking \($0)" } ?? "")) }
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        guard isVerbose else { return }
        let words = reason.map { ": " + String(decoding: $0, as: UTF8.self) } ?? ""
        console.say("* closed with \(webSocketTask.closeStatus ?? 0)\(words)")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        toEnd.yield(error)
        toEnd.finish()
    }
}

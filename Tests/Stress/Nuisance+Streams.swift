import Foundation
import Purl

extension Nuisance: URLSessionStreamDelegate {
    func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) {
        inside("readClosed", session, streamTask)
    }

    func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) {
        inside("writeClosed", session, streamTask)
    }

    /// The task ends with this call: nothing else about it may follow.
    func urlSession(
        _ session: URLSession, streamTask: URLSessionStreamTask, didBecome inputStream: InputStream,
        outputStream: OutputStream
    ) {
        inside("didBecomeStreams", session, streamTask) { session, dice in
            arena.ledger.check(streamTask.state == .completed, "captured in the state \(streamTask.state)")
            arena.ledger.check(streamTask.error == nil, "captured with an error")
            arena.ledger.end(session.key(streamTask), "captured")
            arena.captures.take(inputStream, outputStream, &dice)
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask) {
        inside("didBecomeStream", session, dataTask) { session, dice in
            let ticket = arena.ledger.begin("stream, once data")
            arena.ledger.end(session.key(dataTask), "became a stream")
            arena.ledger.bind(ticket, to: streamTask, session.key(streamTask))
            arena.share(streamTask, &dice)
        }
    }
}

import Foundation
import Synchronization

@testable import Purl

/// A delegate that implements `didComplete` alone, and checks the order of its calls.
class Witness: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
    /// What is known of a task.
    struct Account: Sendable {
        /// Kept, so that no other takes its place in the books.
        var task: URLSessionTask?
        var hasMetrics = false
        var isComplete = false
        var error: (any Error)?
        var isOpen = false
        var close: (code: URLSessionWebSocketTask.CloseCode, reason: Data?)?
        var isReadClosed = false
        var isWriteClosed = false
        /// What came out of the stream that was captured, and whether to its end.
        var captured: [UInt8]?
        var capturedAll = false
        var writtenToCaptured: [UInt8] = []
        var hasResponse = false
        var content = Data()
        var successor: URLSessionStreamTask?

        /// No more calls may come.
        var isOver: Bool { isComplete || captured != nil || successor != nil }
    }

    let bell: Bell
    // Guarded by being locks and constants, as everything that subclasses add.
    private let accounts = Mutex<[ObjectIdentifier: Account]>([:])
    private let invalid = Mutex(false)

    init(_ bell: Bell) { self.bell = bell }

    var isInvalid: Bool { invalid.withLock { $0 } }

    func account(of task: URLSessionTask) -> Account {
        accounts.withLock { $0[ObjectIdentifier(task)] ?? Account() }
    }

    func note(_ task: URLSessionTask, _ change: (inout Account) -> Void) {
        accounts.withLock { accounts in
            var account = accounts[ObjectIdentifier(task)] ?? Account(task: task)
            require(!account.isOver, "no call comes after the end")
            change(&account)
            accounts[ObjectIdentifier(task)] = account
        }
        bell.ring()
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        note(task) { account in
            require(!account.hasMetrics, "metrics come once")
            account.hasMetrics = true
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        note(task) { account in
            require(task.state == .completed, "a task that is reported complete is")
            account.isComplete = true
            account.error = error
        }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        invalid.withLock { invalid in
            require(!invalid, "a session ends once")
            invalid = true
        }
        bell.ring()
    }
}

/// A delegate that knows of WebSockets, streams, and responses that become streams.
final class ExpertWitness: Witness, URLSessionWebSocketDelegate, URLSessionStreamDelegate, URLSessionDataDelegate,
    @unchecked Sendable
{
    private let decision = Mutex((disposition: URLSession.ResponseDisposition.becomeStream, isLate: false))
    private let server: ScriptedServer

    init(_ bell: Bell, _ server: ScriptedServer) {
        self.server = server
        super.init(bell)
    }

    /// The disposition of the next response.
    func decide(_ disposition: URLSession.ResponseDisposition, isLate: Bool) {
        decision.withLock { $0 = (disposition, isLate) }
    }

    // MARK: WebSockets

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        note(webSocketTask) { account in
            require(!account.isOpen && account.close == nil, "a WebSocket opens once, and first")
            account.isOpen = true
        }
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        note(webSocketTask) { account in
            require(account.isOpen && account.close == nil, "a WebSocket closes once, after it has opened")
            account.close = (closeCode, reason)
        }
    }

    // MARK: Streams

    func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) {
        note(streamTask) { account in
            require(!account.isReadClosed, "reading is closed once")
            account.isReadClosed = true
        }
    }

    func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) {
        note(streamTask) { account in
            require(!account.isWriteClosed, "writing is closed once")
            account.isWriteClosed = true
        }
    }

    func urlSession(
        _ session: URLSession, streamTask: URLSessionStreamTask, didBecome inputStream: InputStream,
        outputStream: OutputStream
    ) {
        require(streamTask.state == .completed, "a task whose streams are captured is complete")
        inputStream.open()
        outputStream.open()
        var captured: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        var count = 1
        while count > 0 {
            count = inputStream.read(&buffer, maxLength: buffer.count)
            captured += buffer.prefix(max(0, count))
        }
        let farewell = Array("farewell".utf8)
        let written = outputStream.write(farewell, maxLength: farewell.count)
        inputStream.close()
        outputStream.close()
        note(streamTask) { account in
            require(account.error == nil, "capturing is no failure")
            account.captured = captured
            account.capturedAll = count == 0
            account.writtenToCaptured = Array(farewell.prefix(max(0, written)))
        }
    }

    // MARK: Responses

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        note(dataTask) { account in
            require(account.content.isEmpty && !account.hasResponse, "a response comes once, before its content")
            account.hasResponse = true
        }
        let (disposition, isLate) = decision.withLock { $0 }
        if disposition == .becomeStream { server.becomesStream.store(true, ordering: .releasing) }
        guard isLate else { return completionHandler(disposition) }
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { completionHandler(disposition) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask) {
        note(dataTask) { account in
            require(account.content.isEmpty && account.hasResponse, "content goes to one place")
            account.successor = streamTask
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note(dataTask) { account in
            require(account.hasResponse, "content comes after its response")
            account.content.append(data)
        }
    }
}

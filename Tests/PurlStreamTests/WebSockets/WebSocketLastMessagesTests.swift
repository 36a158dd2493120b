import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

/// Five messages and the end of the connection arrive together, before the program can have asked for them all.
@Suite("The last messages of a WebSocket", .timeLimit(.minutes(5)))
struct WebSocketLastMessagesTests {
    /// A program that receives messages, and how it asks for them.
    enum Receiver: CaseIterable, Sendable {
        /// Handlers that ask for the next message: the first from `didOpen`, or right after `resume`.
        case handlers, handlersFromOpening
        /// Handlers that leave the next call to another thread.
        case handlersElsewhere
        /// A Swift task in a loop, from `didOpen`, or right after `resume`.
        case loop, loopFromOpening

        var beginsWhenOpen: Bool { self == .handlersFromOpening || self == .loopFromOpening }

        /// Receives all messages, and writes them and the last error to the log.
        func receive(from task: URLSessionWebSocketTask, _ log: EventLog<String>) {
            switch self {
            case .handlers, .handlersFromOpening: receiveNext(from: task, log) { $0() }
            case .handlersElsewhere: receiveNext(from: task, log) { next in DispatchQueue.global().async { next() } }
            case .loop, .loopFromOpening:
                Task {
                    do {
                        while true { log.append(try await task.receive().text ?? "no text") }
                    } catch {
                        log.append(Self.failure(error))
                    }
                }
            }
        }

        private func receiveNext(
            from task: URLSessionWebSocketTask, _ log: EventLog<String>,
            via thread: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
        ) {
            task.receive { result in
                switch result {
                case .success(let message):
                    log.append(message.text ?? "no text")
                    thread { receiveNext(from: task, log, via: thread) }
                case .failure(let error): log.append(Self.failure(error))
                }
            }
        }

        static func failure(_ error: any Error) -> String { "failed \((error as? URLError)?.code.rawValue ?? 0)" }
    }

    /// A delegate that writes its calls to the log of the messages.
    private final class Delegate: NSObject, URLSessionWebSocketDelegate, Sendable {
        let log: EventLog<String>
        private let receiver: Receiver?

        init(_ log: EventLog<String>, _ receiver: Receiver? = nil) {
            self.log = log
            self.receiver = receiver
        }

        func urlSession(
            _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
        ) {
            log.append("open")
            receiver?.receive(from: webSocketTask, log)
        }

        func urlSession(
            _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
            didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
        ) {
            log.append("closed \(closeCode.rawValue)")
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            log.append(error.map { Receiver.failure($0).replacing("failed", with: "completed") } ?? "completed")
        }

        func completion() async {
            await log.wait { events in events.contains { $0.hasPrefix("completed") } }
        }
    }

    /// Five messages.
    private static let messages = (1...5).reduce(Data()) { $0 + [0x81, 1] + Data("\($1)".utf8) }
    /// A close frame with the code 1000.
    private static let close = Data([0x88, 2, 0x03, 0xE8])
    private static let lost = URLError.networkConnectionLost.rawValue

    private let server: LoopbackServer
    private let sandbox = Sandbox()

    init() async throws {
        server = try await LoopbackServer.started()
        server.route("/closing", .webSocket(.listening.bytes(Self.messages + Self.close)))
        server.route("/lost", .webSocket(.listening.bytes(Self.messages).cut()))
    }

    /// A session whose clock stands until it is advanced, so that no wait for the program ends by itself.
    private func session(_ delegate: Delegate, _ clock: ManualClock) -> URLSession {
        sandbox.session(delegate) { configuration in
            configuration.clock = clock
            configuration.timeoutIntervalForRequest = 0
            configuration.timeoutIntervalForResource = 0
        }
    }

    @Test(
        "Messages before a close frame are received before didCloseWith and the completion, in a hundred runs of a hundred",
        arguments: Receiver.allCases)
    func closing(receiver: Receiver) async throws {
        let end = try await ends(of: "/closing", received: receiver)
        #expect(end == [["1", "2", "3", "4", "5", "closed 1000", "completed"]: 100])
    }

    @Test(
        "Messages before the loss of the connection are received before the completion, in a hundred runs of a hundred",
        arguments: Receiver.allCases)
    func losing(receiver: Receiver) async throws {
        let end = try await ends(of: "/lost", received: receiver)
        #expect(end == [["1", "2", "3", "4", "5", "completed \(Self.lost)"]: 100])
    }

    /// What a hundred tasks deliver, and how often. The opening and the error of the last call have no place in the order of
    /// what a Swift task receives.
    private func ends(of path: String, received receiver: Receiver) async throws -> [[String]: Int] {
        var ends: [[String]: Int] = [:]
        for _ in 0..<100 {
            let delegate = Delegate(EventLog(), receiver.beginsWhenOpen ? receiver : nil)
            let session = session(delegate, ManualClock())
            let task = session.webSocketTask(with: try server.webSocketURL(path)).resumed()
            if !receiver.beginsWhenOpen { receiver.receive(from: task, delegate.log) }
            await delegate.completion()
            let error = "failed \(Self.lost)"
            await delegate.log.wait { $0.contains(error) }
            ends[delegate.log.events.filter { $0 != error && $0 != "open" }, default: 0] += 1
            session.invalidateAndCancel()
        }
        return ends
    }

    @Test("A program that asks after the completion receives the messages, and then an error")
    func late() async throws {
        let clock = ManualClock()
        let delegate = Delegate(EventLog())
        let session = session(delegate, clock)
        let task = session.webSocketTask(with: try server.webSocketURL("/closing")).resumed()
        await NetworkThread.settle {
            clock.advance(by: .seconds(5))
            return task.state == .completed
        }
        await delegate.completion()
        for number in 1...5 { #expect(try await task.receive().text == "\(number)") }
        await #expect(errorCode { _ = try await task.receive() } == .networkConnectionLost)
        #expect(delegate.log.events == ["open", "closed 1000", "completed"])
    }

    @Test("A program that has received all messages is not waited for")
    func handlers() async throws {
        let delegate = Delegate(EventLog())
        let session = session(delegate, ManualClock())
        let task = session.webSocketTask(with: try server.webSocketURL("/closing"))
        for _ in 1...5 { task.receive { delegate.log.append((try? $0.get().text) ?? "nothing") } }
        task.resume()
        await delegate.completion()
        #expect(delegate.log.events == ["open", "1", "2", "3", "4", "5", "closed 1000", "completed"])
    }

    /// What a program may do instead of receiving the messages that are there.
    enum Farewell: CaseIterable, Sendable {
        case closing, cancelling

        var completion: [String] {
            switch self {
            case .closing: ["closed 1000", "completed"]
            case .cancelling: ["completed \(URLError.cancelled.rawValue)"]
            }
        }
    }

    @Test("A program that closes or cancels is not waited for", arguments: Farewell.allCases)
    func farewell(_ farewell: Farewell) async throws {
        let delegate = Delegate(EventLog())
        let session = session(delegate, ManualClock())
        let task = session.webSocketTask(with: try server.webSocketURL("/closing")).resumed()
        _ = await server.waitForWebSocket { $0.hasReceivedClose }
        switch farewell {
        case .closing: task.cancel(with: .goingAway, reason: nil)
        case .cancelling: task.cancel()
        }
        await delegate.completion()
        #expect(delegate.log.events == ["open"] + farewell.completion)
    }

    @Test("Sends and pings that wait when the connection ends fail at once")
    func sends() async throws {
        let delegate = Delegate(EventLog())
        let session = session(delegate, ManualClock())
        let task = session.webSocketTask(with: try server.webSocketURL("/closing")).resumed()
        _ = await server.waitForWebSocket { $0.hasReceivedClose }
        await #expect(errorCode { try await task.send(.string("late")) } == .networkConnectionLost)
        await #expect(errorCode { try await task.sendPing() } == .networkConnectionLost)
        #expect(task.state == .running)
        // The results of `async` calls do not wait for the delegate queue.
        await delegate.log.wait { !$0.isEmpty }
        #expect(delegate.log.events == ["open"])
    }
}

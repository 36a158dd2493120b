import Foundation
import Purl
import Synchronization

/// `purl ws`: sends each line of standard input as a message, and prints each message received.
struct WebSocketClient {
    private let options: WebSocketOptions
    private let output: Console
    private let errors: Console
    private let trace: RequestedTrace
    private let messages: MessagePrinter
    private let makeConfiguration: @Sendable () -> URLSessionConfiguration

    init(
        _ options: WebSocketOptions, output: Console, errors: Console, events: EventLog? = nil,
        configuration: @escaping @Sendable () -> URLSessionConfiguration = { .default }
    ) {
        makeConfiguration = configuration
        self.options = options
        self.output = output
        self.errors = errors
        trace = RequestedTrace(options.trace, besides: options.tls.inputs.map { URL(fileURLWithPath: $0) })
        messages = MessagePrinter(
            console: errors, isQuiet: options.verbosity == .quiet, subject: nil, events: events)
    }

    func run() async -> ExitCode {
        return await trace.record(messages) {
            do throws(CommandFailure) {
                return await converse(with: try sessionConfiguration())
            } catch {
                messages.error(error.sentence)
                return .failure
            }
        }
    }

    private func converse(with configuration: URLSessionConfiguration) async -> ExitCode {
        let delegate = WebSocketClientDelegate(errors, messages, isVerbose: options.verbosity == .verbose)
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        let task = session.webSocketTask(with: request)
        if let size = options.maximumMessageSize { task.maximumMessageSize = size }
        let interrupts = Interrupts(errors)
        interrupts.onInterrupt { task.cancel(with: .normalClosure, reason: nil) }
        task.resume()
        let sender = Task { await send(StandardInput.lines(), through: task) }
        // The delegate is called on the session's queue: what it prints comes before the messages, or after them.
        await delegate.opening()
        await printMessages(of: task)
        let error = await delegate.completion()
        delegate.printClose(of: task)
        sender.cancel()
        session.finishTasksAndInvalidate()
        return interrupts.isInterrupted ? .interrupted : exitCode(task, error)
    }

    private func sessionConfiguration() throws(CommandFailure) -> URLSessionConfiguration {
        try options.tls.checkPins(for: [options.url])
        let configuration = makeConfiguration()
        options.proxy.apply(to: configuration)
        try options.tls.apply(to: configuration, messages, isVerbose: options.verbosity == .verbose)
        configuration.trace = trace.trace
        return configuration
    }

    private var request: URLRequest {
        var request = URLRequest(url: options.url)
        request.add(options.headers)
        if !options.protocols.isEmpty {
            request.setValue(options.protocols.joined(separator: ", "), forHTTPHeaderField: "Sec-WebSocket-Protocol")
        }
        return request
    }

    // MARK: Messages

    /// Sends the lines; at the end of the input closes the connection, after the messages that the server has sent by then.
    private func send(_ lines: AsyncStream<String>, through task: URLSessionWebSocketTask) async {
        for await line in lines {
            do { try await task.send(.string(line)) } catch { return }
        }
        // Waits for the connection to open; closing it earlier would cancel it. The pong follows the messages sent before it.
        try? await task.sendPing()
        task.cancel(with: .normalClosure, reason: nil)
    }

    private func printMessages(of task: URLSessionWebSocketTask) async {
        while let message = try? await task.receive() {
            if let events = messages.events {
                events.write(Self.event(message))
                continue
            }
            switch message {
            case .string(let text): print(text)
            case .data(let data): print("(\(data.count) bytes)")
            }
        }
    }

    private static func event(_ message: URLSessionWebSocketTask.Message) -> CommandEvent {
        CommandEvent(.message).with {
            switch message {
            case .string(let text): $0.text = text
            case .data(let data): $0.base64 = data.base64EncodedString()
            }
        }
    }

    /// Prints a message: on a terminal without control characters, elsewhere unchanged.
    private func print(_ text: String) {
        guard !output.isTerminal else { return output.print(text) }
        try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
    }

    // MARK: End

    private func exitCode(_ task: URLSessionWebSocketTask, _ error: (any Error)?) -> ExitCode {
        if let error {
            let status = (task.response as? HTTPURLResponse)?.statusCode
            messages.error(
                (error as? URLError)?.sentenceWithAdvice ?? "\(error)",
                CommandEvent(.failed, url: options.url).with { $0.status = status })
            return status ?? 0 >= 400 ? .httpError : .failure
        }
        switch task.closeStatus {
        case 1000, 1001, 1005, nil: return .success
        case let status?:
            if options.verbosity != .quiet, messages.events == nil {
                let reason = task.closeReason.map { ": " + DisplayText.line(String(decoding: $0, as: UTF8.self)) } ?? ""
                errors.print("purl: The server closed the connection with \(status)\(reason)")
            }
            return .failure
        }
    }
}

/// Prints when the connection opens and closes, and waits for the task's end.
final class WebSocketClientDelegate: NSObject, URLSessionWebSocketDelegate, Sendable {
    private let console: Console
    private let isVerbose: Bool
    private let messages: MessagePrinter
    private let log: VerboseLog
    private let openings: AsyncStream<Void>
    private let toOpenings: AsyncStream<Void>.Continuation
    /// The reason with which the connection was closed.
    private let close = Mutex<Close?>(nil)
    private let end: AsyncStream<(any Error)?>
    private let toEnd: AsyncStream<(any Error)?>.Continuation

    private struct Close {
        let reason: String?
    }

    /// - Parameter messages: Where it is printed that a redirect leaves TLS, and is not followed.
    init(_ console: Console, _ messages: MessagePrinter, isVerbose: Bool) {
        self.console = console
        self.isVerbose = isVerbose
        self.messages = messages
        log = VerboseLog(console: isVerbose ? console : nil, name: "", messages: messages)
        (openings, toOpenings) = AsyncStream.makeStream()
        (end, toEnd) = AsyncStream.makeStream()
    }

    /// Returns when it is printed that the connection is open, or the task has ended.
    func opening() async {
        for await _ in openings {}
    }

    /// Returns when the task has ended, with its error if it failed.
    func completion() async -> (any Error)? {
        for await error in end { return error }
        return nil
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        guard !response.leavesTLS(for: request) else {
            messages.error(CommandFailure.leavesTLS(to: request).sentence)
            return completionHandler(nil)
        }
        log.redirect(response, of: task, to: request)
        completionHandler(request)
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        messages.events?.write(
            CommandEvent(.opened, url: webSocketTask.originalRequest?.url).with { $0.subprotocol = `protocol` })
        if isVerbose { console.print("* open" + (`protocol`.map { ", subprotocol \($0)" } ?? "")) }
        toOpenings.finish()
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        close.withLock { $0 = Close(reason: reason.map { String(decoding: $0, as: UTF8.self) }) }
    }

    /// Prints how the connection was closed, if it was, after the last message.
    func printClose(of task: URLSessionWebSocketTask) {
        guard let close = close.withLock({ $0 }) else { return }
        messages.events?.write(
            CommandEvent(.closed).with { ($0.status, $0.reason) = (task.closeStatus, close.reason) })
        guard isVerbose else { return }
        console.print("* closed with \(task.closeStatus ?? 0)\(close.reason.map { ": " + DisplayText.line($0) } ?? "")")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        toOpenings.finish()
        toEnd.yield(error)
        toEnd.finish()
    }
}

/// The process's standard input.
enum StandardInput {
    /// The lines as they arrive. A thread of its own waits for them.
    static func lines() -> AsyncStream<String> {
        let (lines, toLines) = AsyncStream<String>.makeStream()
        Thread.detachNewThread {
            while let line = readLine() { toLines.yield(line) }
            toLines.finish()
        }
        return lines
    }
}

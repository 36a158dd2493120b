import Foundation
import Purl

/// `purl ws`: sends each line of standard input as a message, and prints each message received.
struct WebSocketClient {
    private let options: WebSocketOptions
    private let output: Console
    private let errors: Console
    private let trace: RequestedTrace
    private let messages: MessagePrinter
    private let makeConfiguration: @Sendable () -> URLSessionConfiguration

    init(
        _ options: WebSocketOptions, output: Console, errors: Console,
        configuration: @escaping @Sendable () -> URLSessionConfiguration = { .default }
    ) {
        makeConfiguration = configuration
        self.options = options
        self.output = output
        self.errors = errors
        trace = RequestedTrace(options.trace)
        messages = MessagePrinter(console: errors, isQuiet: options.verbosity == .quiet, subject: nil)
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
        await printMessages(of: task)
        let error = await delegate.completion()
        sender.cancel()
        session.finishTasksAndInvalidate()
        return interrupts.isInterrupted ? .interrupted : exitCode(task, error)
    }

    private func sessionConfiguration() throws(CommandFailure) -> URLSessionConfiguration {
        try options.tls.checkPins(for: [options.url])
        let configuration = makeConfiguration()
        options.proxy.apply(to: configuration)
        try options.tls.apply(to: configuration, errors, isVerbose: options.verbosity == .verbose)
        configuration.trace = trace.trace
        return configuration
    }

    private var request: URLRequest {
        var request = URLRequest(url: options.url)
        for header in options.headers { request.addValue(header.value, forHTTPHeaderField: header.name) }
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
            switch message {
            case .string(let text): print(text)
            case .data(let data): print("(\(data.count) bytes)")
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
            errors.print("purl: \((error as? URLError)?.sentenceWithAdvice ?? "\(error)")")
            let status = (task.response as? HTTPURLResponse)?.statusCode ?? 0
            return status >= 400 ? .httpError : .failure
        }
        switch task.closeStatus {
        case 1000, 1001, 1005, nil: return .success
        case let status?:
            if options.verbosity != .quiet {
                let reason = task.closeReason.map { ": " + String(decoding: $0, as: UTF8.self) } ?? ""
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
    private let end: AsyncStream<(any Error)?>
    private let toEnd: AsyncStream<(any Error)?>.Continuation

    /// - Parameter messages: Where it is printed that a redirect leaves TLS, and is not followed.
    init(_ console: Console, _ messages: MessagePrinter, isVerbose: Bool) {
        self.console = console
        self.isVerbose = isVerbose
        self.messages = messages
        log = VerboseLog(console: isVerbose ? console : nil, name: "", messages: messages)
        (end, toEnd) = AsyncStream.makeStream()
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
        if isVerbose { console.print("* open" + (`protocol`.map { ", subprotocol \($0)" } ?? "")) }
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        guard isVerbose else { return }
        let words = reason.map { ": " + String(decoding: $0, as: UTF8.self) } ?? ""
        console.print("* closed with \(webSocketTask.closeStatus ?? 0)\(words)")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
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

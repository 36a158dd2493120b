import Foundation
import Purl

/// `purl ws`: each line of standard input is a message, and each message that comes is printed.
struct Talk {
    private let options: WebSocketOptions
    private let output: Console
    private let errors: Console

    init(_ options: WebSocketOptions, output: Console, errors: Console) {
        self.options = options
        self.output = output
        self.errors = errors
    }

    func run() async -> ExitCode {
        let delegate = TalkDelegate(errors, isVerbose: options.verbosity == .verbose)
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        let task = session.webSocketTask(with: request)
        if let size = options.maximumMessageSize { task.maximumMessageSize = size }
        let interrupts = Interrupts(errors)
        interrupts.onInterrupt { task.cancel(with: .normalClosure, reason: nil) }
        task.resume()
        let sender = Task { await send(InputLines.all(), through: task) }
        await printMessages(of: task)
        let error = await delegate.completion()
        sender.cancel()
        session.finishTasksAndInvalidate()
        return interrupts.isInterrupted ? .interrupted : judge(task, error)
    }

    private var configuration: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.default
        options.proxy.apply(to: configuration)
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

    // MARK: Both ways

    /// The end of the input closes the connection: what the server has said by then is still printed.
    private func send(_ lines: AsyncStream<String>, through task: URLSessionWebSocketTask) async {
        for await line in lines {
            do { try await task.send(.string(line)) } catch { return }
        }
        // Before the connection is open that would cancel it.
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

    /// On a terminal without what could do something to it, elsewhere as it is.
    private func print(_ text: String) {
        guard !output.isTerminal else { return output.say(text) }
        try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
    }

    // MARK: The end

    private func judge(_ task: URLSessionWebSocketTask, _ error: (any Error)?) -> ExitCode {
        if let error {
            errors.say("purl: \((error as? URLError)?.localizedDescription ?? "\(error)")")
            let status = (task.response as? HTTPURLResponse)?.statusCode ?? 0
            return status >= 400 ? .httpError : .failure
        }
        switch task.closeStatus {
        case 1000, 1001, 1005, nil: return .success
        case let status?:
            if options.verbosity != .quiet {
                let reason = task.closeReason.map { ": " + String(decoding: $0, as: UTF8.self) } ?? ""
                errors.say("purl: The server closed the connection with \(status)\(reason)")
            }
            return .failure
        }
    }
}

import Foundation
import Purl
import PurlDownloads
import PurlHTTP

/// Prints the messages about one download, or about all; with `--json`, events in place of them.
struct MessagePrinter: Sendable {
    let console: Console
    let isQuiet: Bool
    /// The download's name before its file has one; `nil` when there is only one, and for messages about all.
    let subject: String?
    /// Where events are written in place of messages.
    var events: EventLog?

    /// Prints a message, unless `-q` was given.
    ///
    /// - Parameter event: The same for other programs; by default, a note with this text.
    func info(_ message: String, _ event: CommandEvent? = nil) {
        if let events { return events.write(event ?? .text(.note, message)) }
        if !isQuiet { console.print(message) }
    }

    /// Prints an error.
    ///
    /// - Parameters:
    ///   - url: What it is about, where there is no subject.
    ///   - event: What has failed, for other programs. Its text is the sentence.
    func error(_ sentence: String, of url: URL? = nil, _ event: CommandEvent = CommandEvent(.error)) {
        if let events {
            return events.write(
                event.with {
                    $0.text = sentence
                    $0.url = $0.url ?? url?.shownOrigin
                })
        }
        console.print("purl: " + ((subject ?? url?.shownOrigin).map { "\($0): " } ?? "") + sentence)
    }

    /// Prints what a user should know in any case.
    func warning(_ sentence: String) {
        error(sentence, CommandEvent(.warning))
    }
}

/// Prints what `-v` shows: requests (`>`), responses (`<`) and delegate calls (`*`). What the connections besides the first one
/// of a file do has their number before it.
struct VerboseLog: Sendable {
    /// `nil` prints nothing.
    let console: Console?
    /// The download's name when there are several; otherwise empty.
    let name: String
    /// Prints a redirect that leaves TLS, with `-v` or without.
    var messages: MessagePrinter?
    /// The number of the connection, where several fetch one file and it is not the first.
    private var connection: Int?

    init(console: Console?, name: String, messages: MessagePrinter? = nil) {
        self.console = console
        self.name = name
        self.messages = messages
    }

    /// The same for another connection of the same file.
    ///
    /// - Parameter number: The connection's; 1 is the first.
    func over(connection number: Int) -> VerboseLog {
        var log = self
        log.connection = number > 1 ? number : nil
        return log
    }

    /// Prints a request. After the response its fields are those that were sent.
    func request(_ request: URLRequest?) {
        guard let request else { return }
        print(">", "\(request.httpMethod ?? "GET") \(request.url?.shownOrigin ?? "")")
        printFields(">", request.allHTTPHeaderFields ?? [:])
    }

    func response(_ response: HTTPURLResponse) {
        let reason = HTTPURLResponse.localizedString(forStatusCode: response.statusCode)
        print("<", "\(response.statusCode) \(reason)")
        let pairs = response.allHeaderFields.map { ("\($0.key.base)", "\($0.value)") }
        printFields("<", Dictionary(pairs, uniquingKeysWith: { $1 }))
    }

    /// Prints a redirect that the delegate does not follow yet: the request is sent again, with a record that says that what
    /// arrives is not checked.
    func redirectToMark(_ response: HTTPURLResponse, of task: URLSessionTask) {
        request(task.sentRequest)
        self.response(response)
        call(
            "willPerformHTTPRedirection",
            "asked again first, since the record has to say that the bytes are not checked")
    }

    /// Prints a redirect that the delegate follows to `next`.
    func redirect(_ response: HTTPURLResponse, of task: URLSessionTask, to next: URLRequest) {
        request(task.sentRequest)
        self.response(response)
        call("willPerformHTTPRedirection", "followed")
        guard response.leavesTLS(for: next), let url = next.url else { return }
        messages?.warning("redirected to \(url.shownOrigin), which is neither encrypted nor checked.")
    }

    /// Prints the end of a task, and the request if there was no response to print it with.
    ///
    /// - Parameter metrics: The task's, which tell whether the request was sent.
    func completion(of task: URLSessionTask, _ error: (any Error)?, _ metrics: URLSessionTaskMetrics?) {
        if task.response == nil, error != nil {
            if metrics?.transactionMetrics.last?.requestStartDate != nil {
                request(task.sentRequest)
            } else if let request = task.sentRequest {
                note("not sent: \(request.httpMethod ?? "GET") \(request.url?.shownOrigin ?? "")")
            }
        }
        call("didCompleteWithError", error?.failureSentence ?? "nil")
    }

    /// Prints what a connection besides the first one has done.
    func event(_ event: RangeRequestEvent, of task: URLSessionTask) {
        switch event {
        case .response(let response, let isAccepted):
            request(task.sentRequest)
            self.response(response)
            call("didReceive response", isAccepted ? "allow" : "cancel")
        case .completion(let error, let metrics): completion(of: task, error, metrics)
        }
    }

    /// Prints that a request goes over TLS although its URL does not say so.
    ///
    /// - Parameter planned: The URL of the command or of a redirect.
    func upgrade(from planned: URL?, of task: URLSessionTask) {
        guard let planned, !planned.isLoadedOverTLS, let url = task.currentRequest?.url, url.isLoadedOverTLS else {
            return
        }
        note("\(planned.shownOrigin) is loaded over TLS, as its host has asked for (Strict-Transport-Security)")
    }

    /// Prints a call of the delegate, and the delegate's decision.
    func call(_ name: String, _ details: String) {
        note("\(name): \(details)")
    }

    /// Prints what is done besides.
    func note(_ text: String) {
        print("*", (name.isEmpty ? "" : name + ": ") + text)
    }

    private func printFields(_ mark: String, _ fields: [String: String]) {
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            print(mark, "\(name): \(shown(value, of: name))")
        }
    }

    /// A field's value without passwords: Basic credentials are one in another spelling.
    private func shown(_ value: String, of name: String) -> String {
        guard ["authorization", "proxy-authorization"].contains(name.lowercased()) else {
            return URLPassword.hidden(in: value)
        }
        return value.prefix { $0 != " " } + " " + URLPassword.placeholder
    }

    private func print(_ mark: String, _ text: String) {
        console?.print("\(mark) " + (connection.map { "[\($0)] " } ?? "") + text)
    }
}

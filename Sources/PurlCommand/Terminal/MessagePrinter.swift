import Foundation
import Purl
import PurlHTTP

/// Prints the messages about one download, or about all.
struct MessagePrinter: Sendable {
    let console: Console
    let isQuiet: Bool
    /// The download's name before its file has one; `nil` when there is only one, and for messages about all.
    let subject: String?

    /// Prints a message, unless `-q` was given.
    func info(_ message: String) {
        if !isQuiet { console.print(message) }
    }

    /// Prints an error.
    ///
    /// - Parameter url: What it is about, where there is no subject.
    func error(_ sentence: String, of url: URL? = nil) {
        console.print("purl: " + ((subject ?? url?.shownOrigin).map { "\($0): " } ?? "") + sentence)
    }
}

/// Prints what `-v` shows: requests (`>`), responses (`<`) and delegate calls (`*`).
struct VerboseLog: Sendable {
    /// `nil` prints nothing.
    let console: Console?
    /// The download's name when there are several; otherwise empty.
    let name: String
    /// Prints a redirect that leaves TLS, which is no matter of `-v`.
    var messages: MessagePrinter?

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

    /// Prints a redirect that the delegate follows to `next`.
    func redirect(_ response: HTTPURLResponse, of task: URLSessionTask, to next: URLRequest) {
        request(task.currentRequest)
        self.response(response)
        call("willPerformHTTPRedirection", "followed")
        guard response.leavesTLS(for: next), let url = next.url else { return }
        messages?.error("redirected to \(url.shownOrigin), which is neither encrypted nor checked.")
    }

    /// Prints the end of a task, and the request if there was no response to print it with.
    func completion(of task: URLSessionTask, _ error: (any Error)?) {
        if task.response == nil, error != nil { request(task.currentRequest) }
        call("didCompleteWithError", error?.failureSentence ?? "nil")
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
        console?.print("\(mark) \(text)")
    }
}

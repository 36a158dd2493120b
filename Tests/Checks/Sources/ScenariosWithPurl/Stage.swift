import Foundation
import PurlTesting

/// What a scenario uses: a server, and the lines of its output.
struct Stage: Sendable {
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    /// Writes a line. The server's address is different every time and left out.
    func note(_ label: String, _ value: Any?) {
        let text = value.map { "\($0)" } ?? "nil"
        let line = "\(label): \(text)"
            .replacingOccurrences(of: "127.0.0.1:\(server.port)", with: "SERVER")
            .replacingOccurrences(of: "localhost:\(server.port)", with: "LOCALHOST")
            .replacingOccurrences(of: "\n", with: "\\n")
            .replacingOccurrences(of: "\r", with: "\\r")
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    /// The description of an object, without its address.
    func noteDescription(_ object: NSObject) {
        let text = object.description
        note("description", text.replacing(/0x[0-9a-f]+/, with: "ADDRESS"))
    }

    /// A session without stored cookies, credentials and responses.
    func session(
        _ delegate: Recorder? = nil, _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 5
        change(configuration)
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    /// Loads with a data task and a delegate, and writes the calls, the body and the error.
    @discardableResult
    func load(
        _ request: URLRequest, _ recorder: Recorder = Recorder(), in given: URLSession? = nil
    ) async -> URLSessionTask {
        let session = given ?? session(recorder)
        let task = session.dataTask(with: request)
        await run(task, recorder)
        return task
    }

    @discardableResult
    func load(_ url: URL, _ recorder: Recorder = Recorder()) async -> URLSessionTask {
        await load(URLRequest(url: url), recorder)
    }

    /// Resumes the task, waits for its end and writes what happened.
    func run(_ task: URLSessionTask, _ recorder: Recorder) async {
        task.resume()
        await recorder.completion()
        note("calls", recorder.calls.joined(separator: ", "))
        note("body", recorder.text)
        if let error = recorder.error { noteError(error) }
        noteResponse(task.response)
    }

    /// Status and URL.
    func noteResponse(_ response: URLResponse?) {
        guard let response else { return note("response", nil) }
        let status = (response as? HTTPURLResponse).map { "\($0.statusCode)" } ?? "not HTTP"
        note("response", "\(status) \(response.url?.absoluteString ?? "no URL")")
    }

    func noteError(_ error: any Error) {
        let error = error as NSError
        note("error", "\(error.domain) \(error.code)")
        let url = (error as? URLError)?.failingURL ?? error.userInfo[NSURLErrorFailingURLErrorKey] as? URL
        note("failing URL", url?.absoluteString)
        note("says something", !error.localizedDescription.isEmpty)
    }

    /// Methods and targets of what arrived at the server.
    func noteRequests() {
        note("requests", server.requests.map { "\($0.method) \($0.target)" }.joined(separator: ", "))
    }

    /// These fields of each request that arrived.
    func noteFields(_ names: String...) {
        for name in names { note(name, server.requests.map { $0.fields[name] ?? "none" }) }
    }

    func noteBodies() {
        note("bodies", server.requests.map { String(decoding: $0.body, as: UTF8.self) })
    }

    /// A request with a method and a body.
    func request(_ url: URL, _ method: String = "GET", body: String? = nil) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        return request
    }
}

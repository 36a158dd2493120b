import Foundation
import Purl
import PurlTesting
import Synchronization

/// Logs one task, as its delegate. It implements what it logs and nothing else: challenges and redirects remain the business
/// of the session's delegate.
private final class TaskLogger: NSObject, URLSessionTaskDelegate, Sendable {
    private let lines = Mutex<[String]>([])
    let label: String

    init(_ label: String) {
        self.label = label
    }

    var log: [String] { lines.withLock { $0 } }

    private func note(_ line: String) {
        lines.withLock { $0.append("\(label): \(line)") }
    }

    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        task.taskDescription = label
        note("\(task.originalRequest?.httpMethod ?? "?") \(task.originalRequest?.url?.path ?? "?")")
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        if totalBytesSent == totalBytesExpectedToSend { note("sent \(totalBytesSent)") }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        for transaction in metrics.transactionMetrics {
            let status = (transaction.response as? HTTPURLResponse).map { String($0.statusCode) } ?? "no response"
            note("\(transaction.request.url?.path ?? "?") \(status)")
        }
        note("\(task.taskDescription ?? "?") done, \(metrics.redirectCount) redirects")
    }
}

/// What all tasks of the session have in common: the password, and that they stay below `/library`.
private final class LibraryDelegate: NSObject, URLSessionTaskDelegate, Sendable {
    private let credential = URLCredential(user: "reader", password: "books", persistence: .none)

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        guard challenge.protectionSpace.realm == "library", challenge.previousFailureCount == 0 else {
            return (.cancelAuthenticationChallenge, nil)
        }
        return (.useCredential, credential)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? {
        request.url?.path.hasPrefix("/library/") == true ? request : nil
    }
}

@Sendable func taskLogger() async throws -> String {
    let server = try LoopbackServer()
    let password = "Basic \(Data("reader:books".utf8).base64EncodedString())"
    server.fallback(
        .computed { request in
            guard request.fields["Authorization"] == password else {
                return .status(401).field("WWW-Authenticate", #"Basic realm="library""#)
            }
            return .text(String(repeating: "page ", count: 100))
        })
    let old = server.route("/library/old", .redirect(301, to: "/library/new"))
    let away = server.route("/library/away", .redirect(302, to: "/elsewhere"))
    let session = URLSession(configuration: .ephemeral, delegate: LibraryDelegate(), delegateQueue: nil)
    defer { session.invalidateAndCancel() }

    // The session's delegate redirects and answers, although the task has a delegate of its own.
    let reading = TaskLogger("reading")
    let (page, response) = try await session.data(from: old, delegate: reading)
    try expect(page.count, 500, "the page's length")
    try expect((response as? HTTPURLResponse)?.statusCode, 200, "the page's status")
    try expect(
        reading.log,
        [
            "reading: GET /library/old", "reading: /library/old 301", "reading: /library/new 401",
            "reading: /library/new 200", "reading: reading done, 1 redirects",
        ], "the log of a page")

    // It refuses a redirect, too.
    let leaving = TaskLogger("leaving")
    let (_, refused) = try await session.data(from: away, delegate: leaving)
    try expect((refused as? HTTPURLResponse)?.statusCode, 302, "the status of a redirect that was refused")
    try expect(leaving.log.last, "leaving: leaving done, 0 redirects", "the log of a redirect that was refused")

    // Uploads and downloads side by side, each with a log of its own.
    let sending = TaskLogger("sending")
    let saving = TaskLogger("saving")
    var note = URLRequest(url: server.url("/library/notes"))
    note.httpMethod = "PUT"
    async let sent = session.upload(for: note, from: Data(repeating: 0x2E, count: 100_000), delegate: sending)
    async let saved = session.download(from: server.url("/library/book"), delegate: saving)
    let (_, file) = (try await sent, try await saved.0)
    try expect(try Data(contentsOf: file).count, 500, "the book's length")
    try FileManager.default.removeItem(at: file)
    try expect(sending.log.first, "sending: PUT /library/notes", "what the upload logs first")
    try expect(sending.log.contains("sending: sent 100000"), true, "the upload's progress is in the log")
    try expect(sending.log.contains("sending: /library/notes 200"), true, "the upload's status is in the log")
    try expect(saving.log.contains { $0.hasPrefix("sending") }, false, "logs are mixed")

    // A failure is logged, and thrown.
    server.stop()
    let failing = TaskLogger("failing")
    do {
        _ = try await session.data(from: server.url("/library/late"), delegate: failing)
        throw Unexpected(description: "a server that is gone has answered")
    } catch let error as URLError {
        try expect(error.code, .cannotConnectToHost, "the error without a server")
    }
    try expect(failing.log.first, "failing: GET /library/late", "what a failure logs first")
    try expect(failing.log.last, "failing: failing done, 0 redirects", "what a failure logs last")
    return (reading.log + [failing.log.joined(separator: ", ")]).joined(separator: "\n")
}

import Foundation
import Purl
import PurlTesting
import Testing

/// The ways to send a body.
enum UploadForm: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case body = "data task, httpBody"
    case stream = "data task, httpBodyStream"
    case measuredStream = "data task, httpBodyStream with Content-Length"
    case data = "upload task, data"
    case file = "upload task, file"
    case streamed = "upload task, streamed request"
    case dataHandler = "upload task, data and handler"
    case fileHandler = "upload task, file and handler"
    case dataAsync = "upload, data, async"
    case fileAsync = "upload, file, async"

    var testDescription: String { rawValue }

    /// Whether the length is unknown.
    var isChunked: Bool { self == .stream || self == .streamed }

    /// Whether the task calls the session's delegate.
    var hasDelegate: Bool {
        switch self {
        case .body, .stream, .measuredStream, .data, .file, .streamed: true
        case .dataHandler, .fileHandler, .dataAsync, .fileAsync: false
        }
    }
}

/// One upload in one of these forms, with its server-independent parts.
struct Upload: Sendable {
    /// More bytes than sockets hold until the peer reads, and the client reads ahead.
    static let blockedSize = SocketRoom.unreadBytes + (2 << 20)

    let form: UploadForm
    let content: GeneratedContent
    let sandbox: Sandbox
    let file: URL
    /// The delegate, which supplies a stream for each `needNewBodyStream`.
    let witness: Witness

    init(_ form: UploadForm, _ content: GeneratedContent, redirect: @escaping Witness.RedirectAnswer = { $0 }) throws {
        self.form = form
        self.content = content
        sandbox = Sandbox()
        file = sandbox.file("upload")
        try content.data.write(to: file)
        witness = Witness(redirect: redirect, stream: { ScriptedStream(content) })
    }

    static func request(_ url: URL, _ method: String = "POST") -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        return request
    }

    /// The task, if the form makes one for the delegate.
    func makeTask(_ request: URLRequest, in session: URLSession) -> URLSessionTask? {
        var request = request
        switch form {
        case .body:
            request.httpBody = content.data
            return session.dataTask(with: request)
        case .stream, .measuredStream:
            request.httpBodyStream = ScriptedStream(content, inPiecesOf: 100_000)
            if form == .measuredStream { request.setValue("\(content.size)", forHTTPHeaderField: "Content-Length") }
            return session.dataTask(with: request)
        case .data: return session.uploadTask(with: request, from: content.data)
        case .file: return session.uploadTask(with: request, fromFile: file)
        case .streamed: return session.uploadTask(withStreamedRequest: request)
        case .dataHandler, .fileHandler, .dataAsync, .fileAsync: return nil
        }
    }

    /// Sends the content, and waits until its session is invalid, so that no call can follow.
    func load(_ request: URLRequest, _ change: (URLSessionConfiguration) -> Void = { _ in }) async -> Outcome {
        let session = sandbox.session(witness, change)
        var outcome = await load(request, in: session)
        session.finishTasksAndInvalidate()
        await witness.wait { $0.last == .invalid }
        outcome.events = witness.events
        outcome.completions += witness.completions
        return outcome
    }

    private func load(_ request: URLRequest, in session: URLSession) async -> Outcome {
        if let task = makeTask(request, in: session) {
            task.resume()
            await witness.completion()
            return Outcome(
                error: task.error as? URLError, body: witness.data(of: task),
                response: task.response as? HTTPURLResponse)
        }
        do {
            let (body, response) = try await response(to: request, in: session)
            return Outcome(body: body, response: response as? HTTPURLResponse, completions: 1)
        } catch {
            return Outcome(error: error as? URLError, completions: 1)
        }
    }

    private func response(to request: URLRequest, in session: URLSession) async throws -> (Data, URLResponse) {
        if form == .dataAsync { return try await session.upload(for: request, from: content.data) }
        if form == .fileAsync { return try await session.upload(for: request, fromFile: file) }
        return try await withCheckedThrowingContinuation { continuation in
            let finish: @Sendable (Data?, URLResponse?, (any Error)?) -> Void = { body, response, error in
                if let body, let response {
                    continuation.resume(returning: (body, response))
                } else {
                    continuation.resume(throwing: error ?? URLError(.unknown))
                }
            }
            let task =
                form == .dataHandler
                ? session.uploadTask(with: request, from: content.data, completionHandler: finish)
                : session.uploadTask(with: request, fromFile: file, completionHandler: finish)
            task.resume()
        }
    }
}

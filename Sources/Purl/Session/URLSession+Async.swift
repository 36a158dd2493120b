import Foundation
import Synchronization

/// Loading with `async`. Cancelling the surrounding `Task` cancels the transfer, which then throws
/// `URLError.cancelled`.
extension URLSession {
    /// Loads the body into memory.
    ///
    /// - Parameter delegate: The delegate of this task alone.
    public func data(
        for request: URLRequest,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await perform { finish in
            makeDataTask(request, .request, .data(finish, delivery: .inline), delegate)
        }
    }

    /// Loads the body into memory.
    ///
    /// - Parameters:
    ///   - url: The URL to load.
    ///   - delegate: The delegate of this task alone.
    public func data(
        from url: URL,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await data(for: makeRequest(url), delegate: delegate)
    }

    /// Sends a file as the request's body, in place of any the request has, and loads the response's into memory.
    ///
    /// - Parameter delegate: The delegate of this task alone.
    public func upload(
        for request: URLRequest,
        fromFile fileURL: URL,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await perform { finish in
            makeUploadTask(request, .file(fileURL), .data(finish, delivery: .inline), delegate)
        }
    }

    /// Sends data as the request's body, in place of any the request has, and loads the response's into memory.
    ///
    /// - Parameter delegate: The delegate of this task alone.
    public func upload(
        for request: URLRequest,
        from bodyData: Data,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await perform { finish in
            makeUploadTask(request, .data(bodyData), .data(finish, delivery: .inline), delegate)
        }
    }

    /// Resumes an upload, and loads the response's body into memory. See ``uploadTask(withResumeData:)``.
    ///
    /// - Parameters:
    ///   - resumeData: The resume data of the upload that stopped.
    ///   - delegate: The delegate of this task alone.
    public func upload(
        resumeFrom resumeData: Data,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await perform { finish in
            makeUploadTask(resuming: resumeData, .data(finish, delivery: .inline), delegate)
        }
    }

    /// Loads the body into a file, which belongs to the caller: move it or remove it.
    ///
    /// - Parameter delegate: The delegate of this task alone.
    public func download(
        for request: URLRequest,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await perform { finish in
            makeDownloadTask(request, .request, .file(finish, delivery: .inline), delegate)
        }
    }

    /// Loads the body into a file, which belongs to the caller: move it or remove it.
    ///
    /// - Parameters:
    ///   - url: The URL to load.
    ///   - delegate: The delegate of this task alone.
    public func download(
        from url: URL,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await download(for: makeRequest(url), delegate: delegate)
    }

    /// Resumes a download; the file belongs to the caller. See ``downloadTask(withResumeData:)``.
    ///
    /// - Parameters:
    ///   - resumeData: The resume data of the download that stopped.
    ///   - delegate: The delegate of this task alone.
    public func download(
        resumeFrom resumeData: Data,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await perform { finish in
            makeDownloadTask(resuming: resumeData, .file(finish, delivery: .inline), delegate)
        }
    }

    /// Sends the data of an asynchronous sequence as the request's body, in place of any the request has, and loads the
    /// response's into memory. See ``uploadTask(with:from:)-(_,Body)``. An addition of Purl's.
    ///
    /// - Parameters:
    ///   - body: The sequence.
    ///   - delegate: The delegate of this task alone.
    public func upload<Body: AsyncSequence & Sendable>(
        for request: URLRequest,
        from body: Body,
        delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) where Body.Element == Data {
        try await perform { finish in
            makeUploadTask(request, .sequence(BodySequence(body)), .data(finish, delivery: .inline), delegate)
        }
    }

    /// The tasks that are not over, oldest first.
    ///
    /// The last calls of a background session's restored tasks may come while the awaiting code is about to run; where
    /// they must not, use ``getAllTasks(completionHandler:)``, whose handler is called before.
    public var allTasks: [URLSessionTask] {
        get async {
            await handlerResult { getAllTasks(completionHandler: $0) }
        }
    }

    /// The data, upload and download tasks that are not over.
    public var tasks: ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) {
        get async {
            await handlerResult { handler in getTasksWithCompletionHandler { handler(($0, $1, $2)) } }
        }
    }

    /// Removes all cookies, credentials and cached responses, and makes later requests use new connections.
    public func reset() async {
        await handlerResult { handler in reset { handler(()) } }
    }

    /// Writes cookies and cached responses to disk, and makes later requests use new connections.
    public func flush() async {
        await handlerResult { handler in flush { handler(()) } }
    }

    /// Runs a task that ends in a continuation and is cancelled with the surrounding `Task`.
    private func perform<Body: Sendable>(
        _ make: (@escaping @Sendable (Body?, URLResponse?, (any Error)?) -> Void) -> URLSessionTask
    ) async throws -> (Body, URLResponse) {
        let cancellation = Cancellation()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let task = make { body, response, error in
                    if let body, let response {
                        continuation.resume(returning: (body, response))
                    } else {
                        continuation.resume(throwing: error ?? URLError(.unknown))
                    }
                }
                // First, so that a call that was cancelled before it began sends nothing.
                cancellation.attach(task)
                task.resume()
            }
        } onCancel: {
            cancellation.cancel()
        }
    }

    /// Passes a `Task`'s cancellation, which may come at any time, on to the session task.
    private final class Cancellation: Sendable {
        private let state = Mutex<(task: URLSessionTask?, isCancelled: Bool)>((nil, false))

        func attach(_ task: URLSessionTask) {
            let isCancelled = state.withLock { state in
                state.task = task
                return state.isCancelled
            }
            if isCancelled { task.cancel() }
        }

        func cancel() {
            let task = state.withLock { state in
                state.isCancelled = true
                return state.task
            }
            task?.cancel()
        }
    }
}

internal import Foundation
internal import Purl
internal import PurlTesting
import Synchronization

/// One load by a task of some kind, and a handle on it for the meddler.
final class Loading: Sendable {
    private struct State {
        var task: URLSessionTask?
        var work: Task<Void, Never>?
        /// The user has cancelled; the task may by then have been replaced by one that the user does not know yet.
        var isCancelled = false
    }

    let kind: TaskKind
    let stage: Stage
    let session: URLSession
    let observer: Observer
    private let state = Mutex(State())

    init(_ kind: TaskKind, on stage: Stage, in session: URLSession, _ observer: Observer) {
        self.kind = kind
        self.stage = stage
        self.session = session
        self.observer = observer
    }

    /// Makes the task, of which the caller resumes what is not resumed by itself.
    ///
    /// - Parameters:
    ///   - resumeData: What a resumed download resumes from.
    ///   - sink: Where a data task with a sink writes.
    func prepare(_ request: URLRequest, _ resumeData: Data?, sink: any BodySink) {
        let data = resumeData ?? Data()
        let task: URLSessionTask? =
            switch kind {
            case .data, .becomingDownload: session.dataTask(with: request)
            case .dataHandler: session.dataTask(with: request, completionHandler: handler)
            case .dataToFile: session.dataTask(with: request, writingTo: sink)
            case .upload: session.uploadTask(with: request, from: body)
            case .uploadHandler: session.uploadTask(with: request, from: body, completionHandler: handler)
            case .uploadFile, .resumableUpload, .backgroundUpload:
                session.uploadTask(with: request, fromFile: stage.uploadFile)
            case .uploadStream: session.uploadTask(withStreamedRequest: request)
            case .download, .background: session.downloadTask(with: request)
            case .downloadHandler: session.downloadTask(with: request, completionHandler: fileHandler)
            case .resumed: session.downloadTask(withResumeData: data)
            case .resumedHandler: session.downloadTask(withResumeData: data, completionHandler: fileHandler)
            case .stream, .streamAsync, .captured:
                session.streamTask(withHostName: request.url?.host() ?? "", port: request.url?.port ?? 0)
            case .becomingStream: session.dataTask(with: request)
            case .dataAsync, .bytesAsync, .uploadAsync, .downloadAsync, .resumedAsync: nil
            }
        state.withLock { $0.task = task }
        // What is asked for waits until the task begins.
        guard let stream = task as? URLSessionStreamTask else { return }
        if stage.medium.isSecure { stream.startSecureConnection() }
        talk(over: stream)
    }

    /// The task, where there is one to hold.
    var task: URLSessionTask? { state.withLock { $0.task } }

    /// Starts it.
    func begin(_ request: URLRequest, _ resumeData: Data?) {
        if let task { return task.resume() }
        let data = resumeData ?? Data()
        switch kind {
        case .dataAsync: start { try await $0.session.data(for: request) }
        case .bytesAsync: start { try await $0.bytes(of: request) }
        case .uploadAsync: start { try await $0.session.upload(for: request, from: $0.body) }
        case .downloadAsync: start { try await $0.contents(of: $0.session.download(for: request)) }
        case .resumedAsync: start { try await $0.contents(of: $0.session.download(resumeFrom: data)) }
        default: break
        }
    }

    /// Acts as a user.
    ///
    /// - Parameter task: The task in the report to the user, if there is one.
    func perform(_ act: Meddling.Act, on task: URLSessionTask? = nil) {
        let (own, work) = state.withLock { state in
            if act == .cancel { state.isCancelled = true }
            return (state.task, state.work)
        }
        let task = task ?? own
        switch act {
        case .cancel:
            task?.cancel()
            if task == nil { work?.cancel() }
        case .cancelForResumeData:
            (task as? URLSessionDownloadTask)?.cancel { _ in }
        case .suspendAndResume:
            task?.suspend()
            task?.suspend()
            task?.resume()
            task?.resume()
        case .invalidateAndCancel:
            session.invalidateAndCancel()
        case .finishTasksAndInvalidate:
            session.finishTasksAndInvalidate()
        }
    }

    /// Another task continues what the first began.
    func replaceTask(by task: URLSessionTask?) {
        let isCancelled = state.withLock { state in
            state.task = task
            return state.isCancelled
        }
        if let stream = task as? URLSessionStreamTask { talk(over: stream) }
        if isCancelled { task?.cancel() }
    }

    /// Only the session holds it from now on.
    func letGo() {
        state.withLock { $0 = State() }
    }

    /// What an upload sends.
    private var body: Data { stage.content.bytes(0..<12_000) }

    /// A stream for an upload that asks for one.
    static func stream(of stage: Stage) -> InputStream { InputStream(data: stage.content.bytes(0..<12_000)) }

    // MARK: Handlers

    private var handler: @Sendable (Data?, URLResponse?, (any Error)?) -> Void {
        { [observer] in observer.finish($0, $1, $2) }
    }

    private var fileHandler: @Sendable (URL?, URLResponse?, (any Error)?) -> Void {
        { [observer] file, response, error in
            observer.finish(file.flatMap { try? Data(contentsOf: $0) }, response, error)
        }
    }

    // MARK: Awaiting

    private func start(_ load: @escaping @Sendable (Loading) async throws -> (Data, URLResponse)) {
        let work = Task {
            do {
                let (body, response) = try await load(self)
                observer.finish(body, response, nil)
            } catch {
                observer.finish(nil, nil, error)
            }
        }
        state.withLock { $0.work = work }
    }

    private func contents(of file: (URL, URLResponse)) throws -> (Data, URLResponse) {
        defer { try? FileManager.default.removeItem(at: file.0) }
        return (try Data(contentsOf: file.0), file.1)
    }

    private func bytes(of request: URLRequest) async throws -> (Data, URLResponse) {
        let (bytes, response) = try await session.bytes(for: request)
        var data = Data()
        for try await byte in bytes { data.append(byte) }
        return (data, response)
    }
}

extension Loading {
    /// Asks for the resource over a stream, and reads all of it.
    func talk(over task: URLSessionStreamTask) {
        switch kind {
        case .captured:
            write(over: task)
            task.captureStreams()
        case .streamAsync:
            observer.sight.update { $0.waiting += 1 }
            Task {
                do {
                    try await task.write(Data(Stage.question.utf8), timeout: 0)
                    task.closeWrite()
                    while true {
                        let (bytes, isLast) = try await task.readData(ofMinLength: 1, maxLength: 10_000, timeout: 0)
                        observer.sight.update { if let bytes { $0.body.append(bytes) } }
                        if isLast { break }
                    }
                    observer.sight.update { $0.waiting -= 1 }
                } catch {
                    observer.sight.update { sight in
                        sight.waiting -= 1
                        sight.readError = error
                    }
                }
            }
        default:
            write(over: task)
            task.closeWrite()
            readOn(over: task)
        }
    }

    private func write(over task: URLSessionStreamTask) {
        observer.sight.update { $0.waiting += 1 }
        task.write(Data(Stage.question.utf8), timeout: 0) { [observer] _ in
            observer.note(.didWrite, task) { $0.waiting -= 1 }
        }
    }

    private func readOn(over task: URLSessionStreamTask) {
        observer.sight.update { $0.waiting += 1 }
        task.readData(ofMinLength: 1, maxLength: 10_000, timeout: 0) { [self] bytes, isLast, error in
            if !isLast, error == nil { readOn(over: task) }
            observer.note(.didRead, task) { sight in
                sight.waiting -= 1
                if let bytes { sight.body.append(bytes) }
                sight.readError = error
            }
        }
    }
}

import Foundation
import Purl
import Synchronization

/// Attempts to download one URL, each of which resumes the one before.
protocol Attempts: Sendable {
    /// Where the file is, once all of it has arrived.
    func next() async throws -> URL
    /// How many bytes the resume data, or the record, of the last attempt has; `nil` when there is none.
    var bytesRecorded: Int64? { get }
}

/// What keeps the bytes of a download.
enum StorageKind: String {
    /// A download task's partial file.
    case task
    /// A background session's partial file and its journal.
    case session
    /// A data task's `FileHandleSink`.
    case sink
    /// A download manager.
    case manager

    func attempts(at url: URL, in folder: URL) -> any Attempts {
        switch self {
        case .task: DownloadAttempts(at: url, in: folder, isBackground: false)
        case .session: DownloadAttempts(at: url, in: folder, isBackground: true)
        case .sink: SinkAttempts(at: url, in: folder)
        case .manager: ManagerAttempts(at: url, in: folder)
        }
    }
}

/// How an attempt failed, as a line for a script.
struct Failure {
    private let error: NSError
    private let bytesRecorded: Int64?

    init(_ error: any Error, recorded: Int64?) {
        self.error = error as NSError
        bytesRecorded = recorded
    }

    /// `failed CODE POSIX-CODE BYTES-RECORDED`, 0 for missing values.
    var line: String { "failed \(error.code) \(posixCode ?? 0) \(bytesRecorded ?? 0)" }

    private var posixCode: Int? {
        var next: NSError? = error
        while let error = next {
            if error.domain == NSPOSIXErrorDomain { return error.code }
            next = error.userInfo[NSUnderlyingErrorKey] as? NSError
        }
        return nil
    }
}

/// Download tasks that resume from resume data, in an ordinary or a background session whose files all lie in one
/// folder.
final class DownloadAttempts: NSObject, Attempts, URLSessionDownloadDelegate {
    private struct State {
        var session: URLSession?
        var resumeData: Data?
        var moveFailure: (any Error)?
        var end: CheckedContinuation<Void, any Error>?
    }

    private let url: URL
    private let file: URL
    private let configuration: URLSessionConfiguration
    private let state = Mutex(State())

    init(at url: URL, in folder: URL, isBackground: Bool) {
        self.url = url
        file = folder.appendingPathComponent("file")
        if isBackground {
            configuration = .background(withIdentifier: "full disk")
            configuration.backgroundSessionsDirectory = folder
        } else {
            configuration = .default
            configuration.partialDownloadsDirectory = folder.appendingPathComponent("partials", isDirectory: true)
        }
    }

    var bytesRecorded: Int64? {
        state.withLock(\.resumeData).flatMap(ResumeRecord.init)?.bytesReceived
    }

    func next() async throws -> URL {
        let task = nextTask()
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0.end = continuation }
            task.resume()
        }
        return file
    }

    private func nextTask() -> URLSessionDownloadTask {
        let session =
            state.withLock(\.session) ?? URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        state.withLock { $0.session = session }
        guard let resumeData = state.withLock(\.resumeData) else { return session.downloadTask(with: url) }
        return session.downloadTask(withResumeData: resumeData)
    }

    // MARK: Delegate calls

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        do {
            try FileManager.default.moveItem(at: location, to: file)
        } catch {
            state.withLock { $0.moveFailure = error }
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let (end, failure) = state.withLock { state in
            // An attempt that could not begin has no resume data: the older one is still valid.
            state.resumeData = (error as? URLError)?.downloadTaskResumeData ?? state.resumeData
            defer { state.end = nil }
            return (state.end, error ?? state.moveFailure)
        }
        if let failure { end?.resume(throwing: failure) } else { end?.resume() }
    }
}

/// Data tasks that append to a file and keep a record beside it.
final class SinkAttempts: NSObject, Attempts, URLSessionDataDelegate {
    private let url: URL
    private let file: URL
    private let end = Mutex<CheckedContinuation<Void, any Error>?>(nil)

    init(at url: URL, in folder: URL) {
        self.url = url
        file = folder.appendingPathComponent("file")
    }

    var bytesRecorded: Int64? {
        ResumeRecord(contentsOf: file.appendingPathExtension("resume"))?.bytesReceived
    }

    func next() async throws -> URL {
        let session = URLSession(configuration: .default, delegate: self, delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }
        let task = session.dataTask(with: url, writingTo: FileHandleSink(fileAt: file))
        try await withCheckedThrowingContinuation { continuation in
            end.withLock { $0 = continuation }
            task.resume()
        }
        return file
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let end = end.withLock { end in
            defer { end = nil }
            return end
        }
        if let error { end?.resume(throwing: error) } else { end?.resume() }
    }
}

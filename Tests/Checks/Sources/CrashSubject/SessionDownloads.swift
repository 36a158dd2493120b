import Foundation
import Purl
import Synchronization

/// Downloads files in a background session, as a program does that may be killed at any moment: it asks for the
/// running tasks, and starts what is neither running nor done.
final class SessionDownloads: NSObject, URLSessionDownloadDelegate {
    /// How the downloads of an earlier process continue.
    enum Relaunch: String {
        /// They resume by themselves.
        case resumes = "continue"
        /// They end with resume data, from which the delegate makes new ones.
        case usesResumeData = "resume-data"
    }

    /// A violation of what a background session promises.
    private enum Surprise: Error {
        case finishedWithoutFile(URL)
        case ended(URL, any Error)
    }

    private struct State {
        /// How many tasks each URL has.
        var tasks: [URL: Int] = [:]
        var surprise: (any Error)?
        var end: CheckedContinuation<Void, any Error>?
    }

    private let urls: [URL]
    private let home: URL
    private let done: DoneFolder
    private let relaunch: Relaunch
    private let state = Mutex(State())

    init(_ urls: [URL], in home: URL, _ relaunch: Relaunch) throws {
        self.urls = urls
        self.home = home
        self.relaunch = relaunch
        done = try DoneFolder(in: home)
    }

    /// Returns where the files are once all are there.
    func run() async throws -> [URL] {
        let configuration = URLSessionConfiguration.background(withIdentifier: "crash subject")
        configuration.backgroundSessionsDirectory = home.appendingPathComponent("sessions", isDirectory: true)
        configuration.continuesDownloadsAfterRelaunch = relaunch == .resumes
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { $0.end = continuation }
            // The handler is called before any delegate call for these tasks.
            session.getAllTasks { self.begin(with: $0, in: session) }
        }
        return urls.map(done.place)
    }

    private func begin(with tasks: [URLSessionTask], in session: URLSession) {
        for task in tasks {
            count(task, +1)
            // Killed after a task was made and before it was resumed.
            if relaunch == .resumes { task.resume() }
        }
        for url in urls where !done.has(url) && !isUnderWay(url) { begin(session.downloadTask(with: url)) }
        endIfDone(session)
    }

    private func begin(_ task: URLSessionDownloadTask) {
        count(task, +1)
        task.resume()
    }

    private func count(_ task: URLSessionTask, _ change: Int) {
        guard let url = task.originalRequest?.url else { return }
        state.withLock { $0.tasks[url, default: 0] += change }
    }

    private func isUnderWay(_ url: URL) -> Bool { state.withLock { $0.tasks[url, default: 0] > 0 } }

    private func endIfDone(_ session: URLSession) {
        let isOver = state.withLock { state in
            state.surprise != nil || state.tasks.values.allSatisfy { $0 == 0 }
        }
        if isOver { session.finishTasksAndInvalidate() }
    }

    private func fail(_ error: any Error) {
        state.withLock { $0.surprise = $0.surprise ?? error }
    }

    // MARK: Delegate calls

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        guard let url = downloadTask.originalRequest?.url else { return }
        do {
            try done.take(location, of: url)
        } catch {
            fail(error)
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let url = task.originalRequest?.url else { return }
        count(task, -1)
        if let error {
            guard relaunch == .usesResumeData, let error = error as? URLError,
                error.backgroundTaskCancelledReason == .userForceQuitApplication
            else { return stop(session, .ended(url, error)) }
            if let resumeData = error.downloadTaskResumeData {
                begin(session.downloadTask(withResumeData: resumeData))
            } else if !done.has(url), !isUnderWay(url) {
                begin(session.downloadTask(with: url))
            }
        } else if !done.has(url) {
            return stop(session, .finishedWithoutFile(url))
        }
        endIfDone(session)
    }

    private func stop(_ session: URLSession, _ surprise: Surprise) {
        fail(surprise)
        session.invalidateAndCancel()
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        let (end, surprise) = state.withLock { state in
            defer { state.end = nil }
            return (state.end, state.surprise ?? error)
        }
        if let surprise { end?.resume(throwing: surprise) } else { end?.resume() }
    }
}

/// Where finished files are kept under the last part of their URLs.
struct DoneFolder {
    private let folder: URL

    init(in home: URL) throws {
        folder = home.appendingPathComponent("done", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    func place(of url: URL) -> URL { folder.appendingPathComponent(url.lastPathComponent) }

    func has(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: place(of: url).path) }

    /// Moves a file into the folder, in one step.
    func take(_ file: URL, of url: URL) throws {
        guard rename(file.path, place(of: url).path) == 0 else {
            throw NSError(domain: NSPOSIXErrorDomain, code: Int(errno), userInfo: [NSFilePathErrorKey: file.path])
        }
    }
}

import Foundation
import Purl
import Synchronization

/// One attempt at a download: looks for the finished file, transfers the missing bytes, checks the whole and moves it to
/// the finished folder.
///
/// File work runs on the attempt's own queue. An attempt ends with exactly one outcome.
final class FileAcquisition: NSObject, URLSessionDataDelegate {
    /// How an attempt ends.
    enum Outcome: Sendable {
        /// The scheduler stopped it, or the download is over.
        case over
        /// - Parameter response: The response that is the failure, if it is one.
        case failed(any Error, HTTPURLResponse?)
        /// Every byte was there, and they were deleted: another server may have the file that is expected.
        ///
        /// - Parameters:
        ///   - found: The digest of the file.
        ///   - isJoined: The bytes may have been those of several servers.
        case mistaken(found: String, isJoined: Bool)
    }

    /// What an attempt transfers.
    struct Resource: Sendable {
        /// What is requested; with the mark of ``JoinedBytes`` where there are mirrors.
        let url: URL
        /// Other servers of the same file, where a digest tells whether the whole is right.
        let mirrors: [URL]
        /// The length of the version on disk, if it is known.
        let totalBytes: Int64?
        /// The digests that callers expect.
        let sha256: [String]
        /// The digest that the server has sent for the version on disk.
        let serverSHA256: String?
    }

    private struct State: Sendable {
        var isStopped = false
        var task: URLSessionTask?
        /// What is wrong with the response, when it is not the resource.
        var refusal: DownloadFailure?
        /// The server still has the version that is complete on disk: the transfer was cancelled.
        var isComplete = false
        /// The connections of the present task and those beside it.
        var connections: ParallelTransfer?
        /// How many bytes there were when the task's response came; `nil` before. Where all are there, none comes.
        var presentCount: Int64?
        /// The most bytes that a task has left: one that starts over and ends at the same byte makes no progress.
        var furthest: Int64 = 0
    }

    let download: Download
    private let session: URLSession
    private let validity: SchedulerValidity
    private let paths: DownloadPaths
    private let resource: Resource
    private let sink: DownloadSink
    private let completion: @Sendable (FileAcquisition, Outcome) -> Void
    private let queue = SerialCalls("PurlDownloads.FileAcquisition")
    private let connections: ConnectionCount
    private let state = Mutex(State())

    /// - Parameter completion: Called once, on the attempt's queue.
    init(
        _ download: Download, session: URLSession, paths: DownloadPaths, validity: SchedulerValidity,
        connections: ConnectionCount, completion: @escaping @Sendable (FileAcquisition, Outcome) -> Void
    ) {
        self.download = download
        self.session = session
        self.validity = validity
        self.paths = paths
        self.connections = connections
        self.completion = completion
        let resource = download.resource
        self.resource = resource
        sink = DownloadSink(download.unfinished, resource, connections: connections) {
            [weak download] count in
            download?.setReceived(count)
        }
    }

    func start() {
        PartialFileOwners.acquire(partialPath, for: validity, of: ObjectIdentifier(download)) { [self] in
            queue.async { self.begin() }
        }
    }

    /// Ends the attempt soon, unless the file is being moved.
    func stop() {
        let (task, connections) = state.withLock { state in
            state.isStopped = true
            return (state.task, state.connections)
        }
        task?.cancel()
        connections?.stop()
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } || !validity.isValid }

    private var partialPath: String { download.unfinished.partial.path }

    // MARK: Start

    private func begin() {
        guard !isStopped else { return end(.over) }
        do throws(DownloadFailure) {
            try paths.prepare()
            guard try transferIsNeeded() else { return end(.over) }
            try removeLink()
        } catch {
            return end(error)
        }
        startTransfer()
    }

    private func startTransfer() {
        let transfer = ParallelTransfer(
            sink.file, connections, session: session, download.experience,
            mirrors: resource.mirrors.map { ParallelTransfer.Mirror(URLRequest(url: $0), refuses: { _, _ in false }) },
            onProgress: { [sink] in sink.reportCount() },
            onEvent: { [download] event in
                if case .dropped(let mirror?, let reason) = event { download.drop(mirror, because: reason) }
            })
        var request = URLRequest(url: resource.url)
        request.askForDigest(in: session)
        let task = session.dataTask(with: request, writingTo: sink)
        task.delegate = self
        let isStopped = state.withLock { state in
            state.task = task
            state.connections = transfer
            state.presentCount = nil
            // What the last task's response was says nothing of this one's.
            state.refusal = nil
            state.isComplete = false
            return state.isStopped
        }
        if isStopped { task.cancel() } else { task.resume() }
    }

    /// Looks for the finished file. False when the download is over: it exists and has a digest that a caller expects, or the
    /// attempt was stopped. One with another digest is replaced at the end.
    private func transferIsNeeded() throws(DownloadFailure) -> Bool {
        let location = paths.finished(download.url)
        guard let size = paths.files.fileSize(location) else { return true }
        var sha256: String?
        while true {
            switch download.judgeFinishedFile(sha256) {
            case .needsDigest:
                sha256 = try digest(ofFinishedFile: location, isStopped: { isStopped })
                if sha256 == nil { return false }
            case .rejected, .mistaken:
                return true
            case .stopped:
                return false
            case .accepted:
                DownloadSink.remove(download.unfinished)
                try finish(location, size: size, sha256: sha256)
                return false
            }
        }
    }

    /// `nil` when the attempt was stopped meanwhile.
    private func digest(ofFinishedFile location: URL, isStopped: () -> Bool) throws(DownloadFailure) -> String? {
        do {
            return try FileDigest.sha256(fileAt: location, isStopped: isStopped)
        } catch {
            throw DownloadFailure(.cannotOpenFile, "The finished file \(location.path) could not be read.", error)
        }
    }

    /// Removes a link at the partial file's path: it could lead out of the folder.
    private func removeLink() throws(DownloadFailure) {
        switch paths.files.entry(partialPath) {
        case .missing, .regular: break
        case .link: paths.files.remove(partialPath)
        case .folder, .device, .pipe, .socket: throw DownloadFailure(.cannotOpenFile, "\(partialPath) is not a file.")
        }
    }

    // MARK: URLSessionDataDelegate

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        guard let response = response as? HTTPURLResponse, [200, 206].contains(response.statusCode) else {
            let refusal = (response as? HTTPURLResponse).map { DownloadFailure(response: $0) } ?? .notOfHTTP
            state.withLock { $0.refusal = refusal }
            return completionHandler(.cancel)
        }
        let total = dataTask.countOfBytesExpectedToReceive
        let received = dataTask.countOfBytesReceived
        queue.async { [self] in
            let isWhole = response.statusCode == 200
            let digest = response.fileSHA256()
            if isWhole, sink.hasUnexpectedFile, digest == resource.serverSHA256 {
                state.withLock { $0.isComplete = true }
                return completionHandler(.cancel)
            }
            // The item describes the version before its bytes reach the disk.
            let present = isWhole ? received : max(received, sink.presentCount)
            download.beginVersion(
                total: total >= 0 ? total : nil, received: present, digest: digest, isStartingOver: isWhole)
            let connections = state.withLock { state in
                state.presentCount = present
                return state.connections
            }
            connections?.begin(dataTask, response)
            completionHandler(.allow)
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        // After what the response has given to do: that would begin again what has ended.
        queue.async { [self] in
            guard let connections = state.withLock({ $0.connections }) else { return }
            connections.leaderEnded(error) { end in
                self.queue.async { self.transferEnded(end) }
            }
        }
    }

    // MARK: End

    private func transferEnded(_ end: ParallelTransfer.End) {
        switch end {
        case .leader(let error): transferEnded(error)
        case .complete: transferEnded(nil)
        case .failed(_, let response?) where !isStopped: self.end(DownloadFailure(response: response))
        case .failed(let error, _): transferEnded(error)
        case .again(let error, let response):
            if isStopped { return self.end(.over) }
            if let refusal = state.withLock({ $0.refusal }) { return self.end(refusal) }
            let hasProgress = state.withLock { state in
                let present = sink.presentCount
                defer { state.furthest = max(state.furthest, present) }
                return present > max(state.presentCount ?? 0, state.furthest)
            }
            if download.experience.allowsLeader(hasProgress: hasProgress) { return startTransfer() }
            if let response { return self.end(DownloadFailure(response: response)) }
            transferEnded(error ?? URLError(.networkConnectionLost))
        }
    }

    private func transferEnded(_ error: (any Error)?) {
        let (refusal, isComplete) = state.withLock { ($0.refusal, $0.isComplete) }
        if isStopped { return end(.over) }
        if let refusal { return end(refusal) }
        if let error, !isComplete { return end(.failed(error, nil)) }
        do throws(DownloadFailure) {
            end(try deliver())
        } catch {
            end(error)
        }
    }

    /// Checks the file and moves it into the finished folder, unless the attempt is stopped or the file is not accepted.
    private func deliver() throws(DownloadFailure) -> Outcome {
        let size: Int64
        var sha256: String?
        do {
            size = try sink.length
            if let outcome = try verify(size, &sha256, isReady: false) { return outcome }
            try sink.synchronize()
        } catch {
            throw unreadable(error)
        }
        let mover = FileMover(paths, of: download.url)
        var copy: FileCopy?
        if mover.crossesFileSystems {
            copy = try mover.copy(size, from: sink, isStopped: { isStopped })
            if copy == nil { return .over }
        }
        do {
            // Callers may have asked for other digests meanwhile.
            if let outcome = try verify(size, &sha256, isReady: true) {
                copy?.discard()
                return outcome
            }
        } catch {
            copy?.discard()
            throw unreadable(error)
        }
        try mover.move(size, from: sink, via: copy)
        sink.removeRecord()
        try finish(mover.destination, size: size, sha256: sha256)
        return .over
    }

    private func unreadable(_ error: any Error) -> DownloadFailure {
        DownloadFailure(.cannotOpenFile, "\(partialPath) could not be read.", error)
    }

    private func unwritable(_ error: any Error) -> DownloadFailure {
        DownloadFailure(.cannotWriteToFile, "\(partialPath) could not be written.", error.asUnderlying)
    }

    /// Compares the digest of the file that has been received, if it is needed, with the expected ones.
    ///
    /// - Parameters:
    ///   - sha256: The file's digest, when it is known.
    ///   - isReady: The file is about to be moved.
    /// - Returns: How the attempt ends; `nil` when the file is accepted.
    private func verify(_ size: Int64, _ sha256: inout String?, isReady: Bool) throws -> Outcome? {
        while true {
            // What cannot be deleted is checked again by the next attempt.
            switch download.judgeReceivedFile(sha256, isReady: isReady, deleteBytes: { try? sink.discard() }) {
            case .accepted:
                return nil
            case .stopped, .rejected:
                return .over
            case .needsDigest:
                sha256 = try FileDigest.sha256(length: size, isStopped: { isStopped }, read: sink.bytes)
                if sha256 == nil { return .over }
            case .mistaken(let found):
                let isJoined = state.withLock { $0.presentCount != 0 || $0.connections?.isMixed == true }
                try sink.saveRecord(nil)
                try sink.truncate(to: 0)
                return .mistaken(found: found, isJoined: isJoined)
            }
        }
    }

    /// Ends the download with the file in its place.
    private func finish(_ location: URL, size: Int64, sha256: String?) throws(DownloadFailure) {
        var sha256 = sha256
        while !download.finish(location, size: size, sha256: sha256) {
            // A caller has asked for a digest since the check.
            sha256 = try digest(ofFinishedFile: location, isStopped: { false })
        }
    }

    /// Of the connections beside the first one a failure of the file comes as it is, and one of the bytes without an address.
    private func failure(_ error: any Error) -> URLError {
        guard let error = error as? URLError else { return unwritable(error).urlError(for: resource.url) }
        return error.failingURL == nil
            ? DownloadFailure(error.code, error.reason).urlError(for: resource.url) : error
    }

    private func end(_ failure: DownloadFailure) {
        end(.failed(failure.urlError(for: resource.url), failure.response))
    }

    private func end(_ outcome: Outcome) {
        var outcome = outcome
        if case .failed(let error, let response) = outcome {
            outcome = .failed(failure(error).withoutMark(), response)
        }
        state.withLock { state in
            state.task = nil
            state.connections = nil
        }
        sink.release()
        PartialFileOwners.release(partialPath, for: validity)
        completion(self, outcome)
    }
}

extension URLError {
    /// The error as one of the URL that was asked for.
    fileprivate func withoutMark() -> URLError {
        guard let url = failingURL, case let origin = JoinedBytes.origin(of: url), origin != url else { return self }
        var userInfo = userInfo
        userInfo[NSURLErrorFailingURLErrorKey] = origin
        userInfo["NSErrorFailingURLStringKey"] = origin.shownText
        return URLError(code, userInfo: userInfo)
    }
}

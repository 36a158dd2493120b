import Foundation
import Purl
import Synchronization

/// One attempt at a download: looks for the finished file, transfers the missing bytes, checks the whole and moves it to
/// the finished folder.
///
/// File work runs on the attempt's own queue. An attempt ends with exactly one outcome.
final class DownloadAttempt: NSObject, URLSessionDataDelegate {
    /// How an attempt ends.
    enum Outcome: Sendable {
        /// The scheduler stopped it.
        case stopped
        case finished(URL, size: Int64)
        /// - Parameter response: The response that is the failure, if it is one.
        case failed(any Error, HTTPURLResponse?)
    }

    /// What an attempt transfers.
    struct Resource: Sendable {
        let url: URL
        /// The digest that the user expects.
        let sha256: String?
        /// The length of the version on disk, if it is known.
        let totalBytes: Int64?
    }

    private struct State: Sendable {
        var isStopped = false
        var task: URLSessionTask?
        /// The response, when it is not the resource.
        var refusal: HTTPURLResponse?
        /// The server's digest of the bytes of this response, when they are the whole file.
        var contentDigest: String?
    }

    let downloader: Downloader
    private let session: URLSession
    private let validity: SchedulerValidity
    private let paths: DownloadPaths
    private let resource: Resource
    private let sink: DownloadSink
    private let completion: @Sendable (DownloadAttempt, Outcome) -> Void
    private let queue = DispatchQueue(label: "PurlDownloads.DownloadAttempt")
    private let state = Mutex(State())

    /// - Parameter completion: Called once, on the attempt's queue.
    init(
        _ downloader: Downloader, session: URLSession, paths: DownloadPaths, validity: SchedulerValidity,
        completion: @escaping @Sendable (DownloadAttempt, Outcome) -> Void
    ) {
        self.downloader = downloader
        self.session = session
        self.validity = validity
        self.paths = paths
        self.completion = completion
        let resource = downloader.resource
        self.resource = resource
        sink = DownloadSink(
            paths, of: downloader.url, at: resource.url, knownTotal: resource.totalBytes
        ) { [weak downloader] count in
            downloader?.setReceived(count)
        }
    }

    func start() {
        PartialFileOwners.acquire(partialPath, for: validity) { [self] in
            queue.async { self.begin() }
        }
    }

    /// Ends the attempt soon, unless the file is being moved.
    func stop() {
        let task = state.withLock { state in
            state.isStopped = true
            return state.task
        }
        task?.cancel()
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } || !validity.isValid }

    private var partialPath: String { paths.partial(downloader.url).path }

    // MARK: Start

    private func begin() {
        guard !isStopped else { return end(.stopped) }
        do throws(DownloadFailure) {
            if let sha256 = resource.sha256, !FileDigest.isHexadecimal(sha256) {
                throw DownloadFailure(
                    .cannotDecodeContentData, "“\(sha256)” is not a SHA-256, which has 64 hexadecimal digits.")
            }
            try paths.prepare()
            if let found = try existingFile() {
                guard downloader.apply(.move) else { return end(.stopped) }
                DownloadSink.remove(paths, of: downloader.url)
                return end(found)
            }
            try removeLink()
        } catch {
            return end(error)
        }
        let task = session.dataTask(with: resource.url, writingTo: sink)
        task.delegate = self
        let isStopped = state.withLock { state in
            state.task = task
            return state.isStopped
        }
        if isStopped { task.cancel() } else { task.resume() }
    }

    /// The finished file, if it exists and has the digest that the user expects. One with another digest is replaced at
    /// the end.
    private func existingFile() throws(DownloadFailure) -> Outcome? {
        let location = paths.finished(downloader.url)
        guard let size = FileKind(at: location).fileSize else { return nil }
        guard let expected = resource.sha256 else { return .finished(location, size: size) }
        do {
            let actual = try FileDigest.sha256(fileAt: location) { isStopped }
            return actual == expected.lowercased() ? .finished(location, size: size) : nil
        } catch {
            throw DownloadFailure(.cannotOpenFile, "The finished file \(location.path) could not be read.", error)
        }
    }

    /// Removes a link at the partial file's path: it could lead out of the folder.
    private func removeLink() throws(DownloadFailure) {
        switch FileKind(at: paths.partial(downloader.url)) {
        case .nothing, .file: break
        case .link: unlink(partialPath)
        case .other: throw DownloadFailure(.cannotOpenFile, "\(partialPath) is not a file.")
        }
    }

    // MARK: URLSessionDataDelegate

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        guard let response = response as? HTTPURLResponse, [200, 206].contains(response.statusCode) else {
            state.withLock { $0.refusal = response as? HTTPURLResponse }
            return completionHandler(.cancel)
        }
        let total = dataTask.countOfBytesExpectedToReceive
        let received = dataTask.countOfBytesReceived
        queue.async { [self] in
            let digests = ResponseDigests(response)
            let isWhole = response.statusCode == 200
            state.withLock { $0.contentDigest = isWhole ? digests.content : nil }
            // The item describes the version before its bytes reach the disk.
            downloader.beginVersion(
                total: total >= 0 ? total : nil, received: received, digest: digests.representation,
                isStartingOver: isWhole)
            completionHandler(.allow)
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        queue.async { self.transferEnded(error) }
    }

    // MARK: End

    private func transferEnded(_ error: (any Error)?) {
        let refusal = state.withLock { $0.refusal }
        if isStopped { return end(.stopped) }
        if let refusal { return end(DownloadFailure(response: refusal)) }
        if let error { return end(.failed(error, nil)) }
        do throws(DownloadFailure) {
            try deliver()
        } catch {
            end(error)
        }
    }

    /// Checks the file and moves it into the finished folder.
    private func deliver() throws(DownloadFailure) {
        let size: Int64
        do {
            size = try sink.length
            guard try check(size) else { return end(.stopped) }
            try sink.synchronize()
        } catch let failure as DownloadFailure {
            throw failure
        } catch {
            throw DownloadFailure(.cannotOpenFile, "\(partialPath) could not be read.", error)
        }
        let mover = FileMover(from: paths.partial(downloader.url), to: paths.finished(downloader.url))
        let copy = paths.copy(downloader.url)
        let isCopied = mover.crossesFileSystems
        if isCopied {
            guard try mover.copy(size, from: sink, to: copy, isStopped: { isStopped }) else { return end(.stopped) }
        }
        guard downloader.apply(.move) else {
            if isCopied { unlink(copy.path) }
            return end(.stopped)
        }
        try mover.move(size, from: sink, viaCopy: isCopied ? copy : nil, fallback: copy)
        try? sink.saveRecord(nil)
        end(.finished(mover.destination, size: size))
    }

    /// Compares the file's digest with the expected one; deletes a file that differs. False when the attempt was stopped
    /// meanwhile.
    private func check(_ size: Int64) throws -> Bool {
        let content = state.withLock { $0.contentDigest }
        guard let expected = downloader.expectedDigest ?? content else { return true }
        guard let actual = try FileDigest.sha256(length: size, isStopped: { isStopped }, read: sink.bytes) else {
            return false
        }
        guard actual == expected.lowercased() else {
            try sink.discard()
            downloader.discardVersion()
            throw DownloadFailure(
                .cannotDecodeContentData,
                "The file's SHA-256 is \(actual), but \(expected) was expected; the received bytes were deleted.")
        }
        return true
    }

    private func end(_ failure: DownloadFailure) {
        end(.failed(failure.urlError(for: resource.url), failure.response))
    }

    private func end(_ outcome: Outcome) {
        state.withLock { $0.task = nil }
        sink.release()
        PartialFileOwners.release(partialPath, for: validity)
        completion(self, outcome)
    }
}

import Foundation
import Purl
import Synchronization

/// One try to get a file: looks for what is there, transfers the rest, checks the whole and moves it to its place.
///
/// File work runs on a queue of its own; it ends with exactly one outcome.
final class Attempt: NSObject, URLSessionDataDelegate {
    /// How an attempt ends.
    enum Outcome: Sendable {
        /// It was told to stop; whoever told it knows why.
        case stopped
        case finished(URL, size: Int64)
        /// - Parameter response: What the server answered, when that is the failure.
        case failed(any Error, HTTPURLResponse?)
    }

    private struct State: Sendable {
        var isStopped = false
        var task: URLSessionTask?
        /// The response that is not the resource.
        var refusal: HTTPURLResponse?
        /// The digest of the bytes that this attempt alone has brought.
        var contentDigest: String?
    }

    let downloader: Downloader
    private let session: URLSession
    private let life: EngineLife
    private let places: DownloadPlaces
    private let assignment: Downloader.Assignment
    private let sink: DownloadSink
    private let completion: @Sendable (Attempt, Outcome) -> Void
    private let queue = DispatchQueue(label: "PurlDownloads.Attempt")
    private let state = Mutex(State())

    /// - Parameter completion: Called once, on the attempt's queue.
    init(
        _ downloader: Downloader, session: URLSession, places: DownloadPlaces, life: EngineLife,
        completion: @escaping @Sendable (Attempt, Outcome) -> Void
    ) {
        self.downloader = downloader
        self.session = session
        self.life = life
        self.places = places
        self.completion = completion
        let assignment = downloader.assignment
        self.assignment = assignment
        sink = DownloadSink(
            places, of: downloader.url, at: assignment.url, knownTotal: assignment.totalBytes
        ) { [weak downloader] count in
            downloader?.received(count)
        }
    }

    func start() {
        Occupancy.enter(partialPath, life: life) { [self] in
            queue.async { self.begin() }
        }
    }

    /// Ends the attempt soon, unless the file is on its way to its place.
    func stop() {
        let task = state.withLock { state in
            state.isStopped = true
            return state.task
        }
        task?.cancel()
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } || !life.isValid }

    private var partialPath: String { places.partial(downloader.url).path }

    // MARK: Beginning

    private func begin() {
        guard !isStopped else { return end(.stopped) }
        do throws(DownloadFailure) {
            if let sha256 = assignment.sha256, !FileDigest.isHexadecimal(sha256) {
                throw DownloadFailure(
                    .cannotDecodeContentData, "“\(sha256)” is no SHA-256, which has 64 hexadecimal digits.")
            }
            try places.prepare()
            if let found = try findFinished() {
                guard downloader.apply(.place) else { return end(.stopped) }
                DownloadSink.remove(places, of: downloader.url)
                return end(found)
            }
            try makeWay()
        } catch {
            return end(error)
        }
        let task = session.dataTask(with: assignment.url, writingTo: sink)
        task.delegate = self
        let isStopped = state.withLock { state in
            state.task = task
            return state.isStopped
        }
        if isStopped { task.cancel() } else { task.resume() }
    }

    /// The finished file, if it is there and, should the user expect a certain one, the right one. A wrong one is
    /// replaced in the end.
    private func findFinished() throws(DownloadFailure) -> Outcome? {
        let location = places.finished(downloader.url)
        guard let size = FileKind(at: location).fileSize else { return nil }
        guard let expected = assignment.sha256 else { return .finished(location, size: size) }
        do {
            let actual = try FileDigest.sha256(fileAt: location) { isStopped }
            return actual == expected.lowercased() ? .finished(location, size: size) : nil
        } catch {
            throw DownloadFailure(.cannotOpenFile, "The finished file \(location.path) could not be read.", error)
        }
    }

    /// A link at the partial file's place could lead out of the folder.
    private func makeWay() throws(DownloadFailure) {
        switch FileKind(at: places.partial(downloader.url)) {
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
            let digests = ServerDigests(response)
            let isWhole = response.statusCode == 200
            state.withLock { $0.contentDigest = isWhole ? digests.content : nil }
            // What is known of the version is on disk before its bytes are.
            downloader.beginVersion(
                total: total >= 0 ? total : nil, received: received, digest: digests.representation,
                startingOver: isWhole)
            completionHandler(.allow)
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        queue.async { self.transferEnded(error) }
    }

    // MARK: Ending

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

    /// Checks the file and moves it to its place.
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
        let mover = FileMover(from: places.partial(downloader.url), to: places.finished(downloader.url))
        let copy = places.copy(downloader.url)
        let isCopied = mover.crossesFileSystems
        if isCopied {
            guard try mover.copy(size, to: copy, from: sink, isStopped: { isStopped }) else { return end(.stopped) }
        }
        guard downloader.apply(.place) else {
            if isCopied { unlink(copy.path) }
            return end(.stopped)
        }
        try mover.place(size, by: isCopied ? copy : nil, spare: copy, from: sink)
        try? sink.saveRecord(nil)
        end(.finished(mover.destination, size: size))
    }

    /// False when the attempt was stopped meanwhile. What is wrong is deleted.
    private func check(_ size: Int64) throws -> Bool {
        let content = state.withLock { $0.contentDigest }
        guard let expected = downloader.expectedDigest ?? content else { return true }
        guard let actual = try FileDigest.sha256(length: size, isStopped: { isStopped }, read: sink.bytes) else {
            return false
        }
        guard actual == expected.lowercased() else {
            try sink.discard()
            downloader.forgetVersion()
            throw DownloadFailure(
                .cannotDecodeContentData,
                "The file's SHA-256 is \(actual), but \(expected) was expected; what had been received was deleted.")
        }
        return true
    }

    private func end(_ failure: DownloadFailure) {
        end(.failed(failure.urlError(for: assignment.url), failure.response))
    }

    private func end(_ outcome: Outcome) {
        state.withLock { $0.task = nil }
        sink.release()
        Occupancy.leave(partialPath, life: life)
        completion(self, outcome)
    }
}

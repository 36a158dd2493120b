import Foundation
import Purl
import Synchronization

/// One file's download: paused, resumed, retried, checked and moved to its place.
///
/// ```swift
/// let downloader = Downloader(url: url, configuration: DownloadConfiguration())
/// downloader.start()
/// for await event in downloader.events { print(event) }
/// let file = try await downloader.file()
/// ```
///
/// Callers of one manager that expect different digests of one URL have a downloader each, and share the transfer: a control of
/// one controls it for all, and each finishes or fails by its own digest.
///
/// All methods can be called from any thread. A download under way is kept alive until it ends or is paused.
public final class Downloader: Sendable {
    /// The URL of the resource: the download's identity.
    public let url: URL
    /// SHA-256 of the URL, hexadecimal: the base name of its files.
    public let key: String

    /// The digest that this caller expects.
    let expected: ExpectedDigest

    /// The download; another one after a start that follows its end.
    private let current: Mutex<Download>

    /// A downloader on its own. It resumes what an earlier one, or a manager, has left in the same folders.
    ///
    /// - Parameters:
    ///   - url: The resource.
    ///   - sha256: The digest that the file must have, 64 hexadecimal digits. Without it, the file must have a digest that was
    ///     expected before and is remembered; otherwise the server's digest is checked, if it sends one.
    ///   - mirrors: Other URLs of the same file, 32 at most: see ``DownloadManager/download(_:sha256:mirrors:)``.
    ///   - configuration: Where files are kept and how requests are made.
    public convenience init(
        url: URL, sha256: String? = nil, mirrors: [URL] = [], configuration: DownloadConfiguration
    ) {
        let download = Download(
            url, item: nil, order: DownloadList.currentOrder, scheduler: DownloadScheduler(configuration), list: nil)
        self.init(ExpectedDigest(sha256), of: download)
        _ = download.expect(expected)
        download.add(mirrors)
    }

    init(_ expected: ExpectedDigest, of download: Download) {
        self.expected = expected
        url = download.url
        key = download.key
        current = Mutex(download)
    }

    private var download: Download { current.withLock { $0 } }

    /// Adds servers of the same file. A caller whose digest is malformed adds none.
    func add(_ mirrors: [URL]) {
        if malformed == nil { download.add(mirrors) }
    }

    /// The URL that requests go to: differs from ``url`` after ``replaceURL(with:)``.
    public var currentURL: URL { download.status.item.currentURL }

    /// The mirrors of which nothing more is requested, each with the reason, a sentence: it has no ranges, another length, or
    /// has sent a piece that was wrong. They may be asked for the whole when every other server has failed.
    public var droppedMirrors: [URL: String] { download.droppedMirrors }

    /// The current state.
    public var state: State {
        if let malformed { return .failed(malformed) }
        return download.status.state(for: expected)
    }

    /// How many bytes are on disk. Known before any request, from the record that an earlier process has left.
    public var bytesReceived: Int64 { download.status.received }

    /// The length of the whole file, if it is known.
    public var totalBytes: Int64? { download.status.item.totalBytes }

    /// The error of a caller whose digest is malformed.
    private var malformed: URLError? {
        guard case .malformed(let text) = expected else { return nil }
        return DownloadFailure.malformedDigest(text).urlError(for: url)
    }

    // MARK: Control

    /// Starts or resumes the download: it is transferred as soon as a slot is free. When the finished file exists already,
    /// with the digest that is expected if there is one, the download finishes without a request. Does nothing while it
    /// waits for a slot, is being downloaded or is finished.
    public func start() {
        guard malformed == nil else { return }
        let download = current.withLock { download in
            if download.isClosed, !download.status.hasFinished(for: expected) {
                download = download.successor(for: self)
            }
            return download
        }
        download.start()
    }

    /// The same as ``start()``.
    public func resume() { start() }

    /// Stops the transfer and frees its slot. The bytes stay; ``resume()`` continues with them if the server supports ranges
    /// and sends a strong validator (RFC 9110 §8.8.1), and starts over otherwise. Does nothing when the download is over.
    public func pause() { control { $0.pause() } }

    /// Ends the download with `URLError.cancelled`. The bytes stay, and ``start()`` resumes with them. Does nothing when
    /// the download is over.
    public func cancel() { control { $0.cancel() } }

    /// Ends the download with `URLError.cancelled`, takes it off the manager's list and removes its unfinished files from
    /// disk as soon as the transfer has released them (see ``waitUntilIdle()``). A finished file stays. A download of the
    /// same URL that is started afterwards in this process begins when they have been removed.
    public func cancelAndDelete() { control { $0.cancelAndDelete() } }

    /// Sends further requests for the same resource to another URL, a link that was signed anew for example. The bytes on
    /// disk are kept if the validator there is the one they came with. A transfer under way is restarted.
    ///
    /// - Parameter url: The new URL. The download keeps its identity, ``url``.
    public func replaceURL(with url: URL) { control { $0.replaceURL(with: url) } }

    /// Returns when nothing of the download is being transferred, written or deleted: at once when it is paused, waiting or over
    /// and its last transfer has released the files. Until then another downloader of the same URL that has been started after
    /// ``pause()`` or ``cancel()`` of this one fails with `URLError.cannotOpenFile`.
    public func waitUntilIdle() async { await download.waitUntilIdle() }

    /// A caller whose digest is malformed controls no download.
    private func control(_ action: (Download) -> Void) {
        if malformed == nil { action(download) }
    }

    // MARK: Listening

    /// The events from the current state and progress to the end, ``Event/succeeded(_:size:)`` or ``Event/failed(_:)``.
    /// Each call returns a stream of its own; a slow reader delays neither the transfer nor other listeners.
    public var events: AsyncStream<Event> {
        let stream = EventStream()
        if let malformed {
            // Nothing awaits the new stream yet, so there is nothing to call.
            _ = stream.put(Self.events(of: malformed), isLast: true)
        } else {
            download.add(stream, expecting: expected)
        }
        return stream.events
    }

    /// Calls the observer with the events that ``events`` yields, in order and one at a time.
    ///
    /// - Parameters:
    ///   - queue: Where the observer is called; `nil` creates a queue for it.
    ///   - observer: Receives each event.
    /// - Returns: A handle that stops the calls before the end.
    @discardableResult
    public func observe(
        on queue: OperationQueue? = nil, _ observer: @escaping @Sendable (Event) -> Void
    ) -> Observation {
        let observation = Observation(on: queue, observer)
        if let malformed {
            observation.put(Self.events(of: malformed), isLast: true)?()
        } else {
            download.add(observation, expecting: expected)
        }
        return observation
    }

    private static func events(of failure: URLError) -> [Event] { [.state(.failed(failure)), .failed(failure)] }

    /// Waits for the end and returns the file, or throws the error. It does not start the download. When the waiting task is
    /// cancelled it throws `CancellationError`; the download continues.
    public func file() async throws -> URL {
        for await event in events {
            switch event {
            case .succeeded(let url, _): return url
            case .failed(let error): throw error
            case .totalSize, .progress, .state: break
            }
        }
        throw CancellationError()
    }
}

extension Downloader {
    /// The state of a download.
    public enum State: Sendable, CustomStringConvertible {
        /// Waits to be started, for a slot, or for the next attempt.
        case waiting
        /// Being transferred, checked or moved.
        case downloading
        /// Stopped by the user; the bytes stay.
        case paused
        /// The file is at this URL.
        case finished(URL)
        /// Ended without a file. `URLError.cancelled` when the user cancelled it.
        case failed(any Error)

        /// A state without its file or error.
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            case waiting, downloading, paused, finished, failed
        }

        /// The state in words, such as “finished: /home/me/film.mp4”.
        public var description: String {
            switch self {
            case .waiting, .downloading, .paused: kind.rawValue
            case .finished(let url): "finished: \(url.path)"
            case .failed(let error): "failed: \(error.localizedDescription)"
            }
        }

        /// The state without its file or error.
        public var kind: Kind {
            switch self {
            case .waiting: .waiting
            case .downloading: .downloading
            case .paused: .paused
            case .finished: .finished
            case .failed: .failed
            }
        }
    }

    /// What listeners receive.
    public enum Event: Sendable, CustomStringConvertible {
        /// The length of the whole file is known, in bytes.
        case totalSize(Int64)
        /// How many bytes are on disk. A later one replaces one that a slow listener has not taken yet. The count falls when
        /// the resource has changed and the download starts over.
        case progress(received: Int64, total: Int64?)
        /// The state changed.
        case state(State)
        /// The last event of a finished download, right after its state.
        case succeeded(URL, size: Int64)
        /// The last event of a failed download, right after its state.
        case failed(any Error)

        /// The event in words, such as “5 of 12 bytes”.
        public var description: String {
            switch self {
            case .totalSize(let size): "\(size) bytes in all"
            case .progress(let received, let total?): "\(received) of \(total) bytes"
            case .progress(let received, nil): "\(received) bytes"
            case .state(let state): state.description
            case .succeeded(let url, let size): "\(size) bytes in \(url.path)"
            case .failed(let error): error.localizedDescription
            }
        }
    }
}

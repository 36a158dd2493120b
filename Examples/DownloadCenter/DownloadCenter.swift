import Foundation
import PurlDownloads

/// A list of downloads for a screen. A `DownloadManager` does the work; each of its downloaders is a row here, which is updated
/// by the downloader's events.
@MainActor
final class DownloadCenter {
    /// One line of the screen.
    struct Row {
        var downloader: Downloader
        var state: Downloader.State
        var received: Int64
        var total: Int64?
        /// Started in this process. A download that an earlier process has left waits until it is started.
        var isStarted = false

        var name: String { downloader.url.lastPathComponent }

        /// The finished file, or why there is none.
        var note: String {
            switch state {
            case .waiting, .downloading, .paused: ""
            case .finished(let file): file.path
            case .failed(let error): (error as NSError).localizedFailureReason ?? error.localizedDescription
            }
        }
    }

    private(set) var rows: [Row] = []
    /// Called after each change, on the main queue.
    var onChange: () -> Void = {}

    private let manager: DownloadManager

    /// Reads the list and its progress from disk, without a request.
    init(configuration: DownloadConfiguration) {
        manager = DownloadManager(configuration: configuration)
        for downloader in manager.downloads { show(downloader) }
    }

    // MARK: Control

    /// Adds a file. The same URL is the same row; two URLs are two rows, also when their last path components are equal.
    func add(_ url: URL) {
        let downloader = manager.download(url)
        guard let index = index(of: downloader) else { return show(downloader, isStarted: true) }
        rows[index].isStarted = true
        let isKnown = rows[index].downloader === downloader && rows[index].state.kind != .failed
        rows[index].downloader = downloader
        // A finished or failed download has sent its last event. One that is started again needs a new observer.
        if !isKnown { listen(to: downloader) }
    }

    /// A row's button: pauses a running or queued download, resumes any other.
    func press(_ index: Int) {
        guard rows.indices.contains(index) else { return }
        let row = rows[index]
        switch row.state.kind {
        case .downloading: row.downloader.pause()
        case .waiting: row.isStarted ? row.downloader.pause() : resume(index)
        case .paused, .failed: resume(index)
        case .finished: break
        }
    }

    /// Cancels the download and removes its files.
    func remove(_ index: Int) {
        guard rows.indices.contains(index) else { return }
        rows.remove(at: index).downloader.cancelAndDelete()
        onChange()
    }

    func pauseAll() { manager.pauseAll() }

    func resumeAll() {
        for index in rows.indices where rows[index].state.kind != .finished { resume(index) }
    }

    /// Stops all downloads. The next center with the same folders restores the list and resumes with the same bytes.
    func close() async {
        manager.invalidate()
        await manager.waitUntilIdle()
    }

    private func resume(_ index: Int) {
        let downloader = rows[index].downloader
        let wasOver = rows[index].state.kind == .failed
        rows[index].isStarted = true
        downloader.resume()
        // The old observer has received the failure as its last event.
        if wasOver { listen(to: downloader) }
    }

    // MARK: Events

    private func show(_ downloader: Downloader, isStarted: Bool = false) {
        rows.append(
            Row(
                downloader: downloader, state: downloader.state, received: downloader.bytesReceived,
                total: downloader.totalBytes, isStarted: isStarted))
        listen(to: downloader)
    }

    /// Events arrive in order, starting with the current state and progress. A slow observer does not delay the transfer.
    private func listen(to downloader: Downloader) {
        downloader.observe(on: .main) { [weak self] event in
            MainActor.assumeIsolated { self?.update(with: event, of: downloader) }
        }
    }

    private func update(with event: Downloader.Event, of downloader: Downloader) {
        guard let index = index(of: downloader) else { return }
        switch event {
        case .totalSize(let total):
            rows[index].total = total
        case .progress(let received, let total):
            rows[index].received = received
            rows[index].total = total
        case .state(let state):
            rows[index].state = state
            rows[index].received = downloader.bytesReceived
        case .succeeded(_, let size):
            rows[index].received = size
            rows[index].total = size
        case .failed:
            // The state event has been received before.
            break
        }
        onChange()
    }

    private func index(of downloader: Downloader) -> Int? {
        rows.firstIndex { $0.downloader.key == downloader.key }
    }
}

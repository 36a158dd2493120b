import Foundation
import PurlDownloads

/// A list of downloads as a screen shows it. The work is done by a `DownloadManager`; here each of its downloaders
/// becomes a row, and each of their events changes one.
@MainActor
final class DownloadCenter {
    /// One line of the screen.
    struct Row {
        var downloader: Downloader
        var state: Downloader.State
        var received: Int64
        var total: Int64?
        /// Somebody wants it in this process. What an earlier one has left waits until then.
        var isAskedFor = false

        var name: String { downloader.url.lastPathComponent }

        /// The finished file, or why there is none.
        var note: String {
            switch state {
            case .waiting, .downloading, .paused: ""
            case .finished(let file): file.path
            case .failed(let error): error.localizedDescription
            }
        }
    }

    private(set) var rows: [Row] = []
    /// Called after each change, on the main queue.
    var onChange: () -> Void = {}

    private let manager: DownloadManager

    /// The list and its progress come from disk, before any request is made.
    init(configuration: DownloadConfiguration) {
        manager = DownloadManager(configuration: configuration)
        for downloader in manager.downloads { show(downloader) }
    }

    // MARK: What can be done

    /// Asks for a file. The same URL twice is the same row; two URLs are two rows, also when their last parts are equal.
    func add(_ url: URL) {
        let downloader = manager.download(url)
        guard let index = index(of: downloader) else { return show(downloader, isAskedFor: true) }
        rows[index].isAskedFor = true
        let isKnown = rows[index].downloader === downloader && rows[index].state.kind != .failed
        rows[index].downloader = downloader
        // A finished or failed download has no more to tell. What is asked for again has.
        if !isKnown { listen(to: downloader) }
    }

    /// A row's button: pause what moves or waits for its turn, go on with everything else.
    func press(_ index: Int) {
        guard rows.indices.contains(index) else { return }
        let row = rows[index]
        switch row.state.kind {
        case .downloading: row.downloader.pause()
        case .waiting: row.isAskedFor ? row.downloader.pause() : resume(index)
        case .paused, .failed: resume(index)
        case .finished: break
        }
    }

    /// Stops it, and removes what there is of it.
    func remove(_ index: Int) {
        guard rows.indices.contains(index) else { return }
        rows.remove(at: index).downloader.cancelAndDelete()
        onChange()
    }

    func pauseAll() { manager.pauseAll() }

    func resumeAll() {
        for index in rows.indices where rows[index].state.kind != .finished { resume(index) }
    }

    /// Stops everything. The next center of the same folders has the same list, and goes on with the same bytes.
    func close() async {
        manager.invalidate()
        await manager.waitUntilIdle()
    }

    private func resume(_ index: Int) {
        let downloader = rows[index].downloader
        let wasOver = rows[index].state.kind == .failed
        rows[index].isAskedFor = true
        downloader.resume()
        // Whoever listened has been told of the failure, and of the end. This is a new beginning.
        if wasOver { listen(to: downloader) }
    }

    // MARK: What is heard

    private func show(_ downloader: Downloader, isAskedFor: Bool = false) {
        rows.append(
            Row(
                downloader: downloader, state: downloader.state, received: downloader.bytesReceived,
                total: downloader.totalBytes, isAskedFor: isAskedFor))
        listen(to: downloader)
    }

    /// Events come in order, the state and progress of now first. One that is late slows no transfer down.
    private func listen(to downloader: Downloader) {
        downloader.observe(on: .main) { [weak self] event in
            MainActor.assumeIsolated { self?.heard(event, of: downloader) }
        }
    }

    private func heard(_ event: Downloader.Event, of downloader: Downloader) {
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
            // The state has said so already.
            break
        }
        onChange()
    }

    private func index(of downloader: Downloader) -> Int? {
        rows.firstIndex { $0.downloader.key == downloader.key }
    }
}

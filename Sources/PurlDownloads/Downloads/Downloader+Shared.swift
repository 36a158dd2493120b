import Foundation
import Purl

extension Downloader {
    /// Everything about a download that changes.
    struct Shared: Sendable {
        var phase: DownloadPhase
        /// What is kept on disk.
        var item: DownloadItem
        var received: Int64 = 0
        /// The finished file and its size.
        var finished: (url: URL, size: Int64)?
        var failure: (any Error)?
        /// Failures in a row without progress in between.
        var failures = 0
        /// The most bytes there have been since the user wanted it, and how many of them earlier failures had seen.
        /// A server that lets every transfer start over and cuts it at the same place makes no progress.
        var peak: Int64 = 0
        var best: Int64 = 0
        /// How long to wait for the next try.
        var delay = Duration.zero
        /// The files are to be removed once no transfer holds them.
        var isToBeDeleted = false
        /// They were to be, and nobody has wanted the file since.
        var isDeleted = false
        var audience = Audience()

        /// What there is of a download before anything is asked: the bytes its record speaks of.
        init(_ item: DownloadItem, _ places: DownloadPlaces) {
            self.item = item
            switch item.wish {
            case .wanted: phase = .idle
            case .paused: phase = .paused
            case .cancelled:
                phase = .failed
                failure = DownloadFailure.cancelled.urlError(for: item.currentURL)
            }
            guard let size = FileKind(at: places.partial(item.url)).fileSize,
                let record = ResumeRecord(contentsOf: places.record(item.url)), record.bytesReceived <= size
            else { return }
            received = record.bytesReceived
            self.item.totalBytes = item.totalBytes ?? record.totalBytes
        }

        var state: State {
            switch phase {
            case .idle, .queued, .backingOff: return .waiting
            case .downloading, .placing: return .downloading
            case .paused: return .paused
            case .finished:
                if let finished { return .finished(finished.url) }
                return .failed(URLError(.unknown))
            case .failed: return .failed(failure ?? URLError(.unknown))
            }
        }

        /// Finished or failed: nothing more is told.
        var isOver: Bool { phase == .finished || phase == .failed }

        /// What a new listener hears first.
        var openingEvents: [Event] { [.state(state), progress] + closingEvents }

        var progress: Event { .progress(received: received, total: item.totalBytes) }

        /// What listeners hear last; nothing before the end.
        var closingEvents: [Event] {
            if let finished, phase == .finished { return [.succeeded(finished.url, size: finished.size)] }
            return isOver ? [.failed(failure ?? URLError(.unknown))] : []
        }

        /// The bytes are gone, and what was known of their version with them.
        mutating func forgetVersion() {
            received = 0
            item.totalBytes = nil
            item.serverSHA256 = nil
        }
    }

    /// What an attempt is to get.
    struct Assignment: Sendable {
        let url: URL
        let sha256: String?
        let totalBytes: Int64?
    }
}

import Foundation

extension Downloader {
    /// Where a download stands.
    public enum State: Sendable {
        /// For the user to ask for it, for a place, or for the next try.
        case waiting
        /// Being transferred, checked or moved.
        case downloading
        /// Stopped by the user; the bytes stay.
        case paused
        /// Done: the file is at this URL.
        case finished(URL)
        /// Ended without a file. `URLError.cancelled` when the user cancelled it.
        case failed(any Error)

        /// A state without what comes with it.
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            case waiting, downloading, paused, finished, failed
        }

        /// The state without the file or the error.
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

    /// What a download tells those who listen.
    public enum Event: Sendable {
        /// The length of the whole is known, in bytes.
        case totalSize(Int64)
        /// So many bytes are on disk. What a slow listener has not taken yet is replaced by what comes later. It can
        /// go down, when the resource has changed and the download starts over.
        case progress(received: Int64, total: Int64?)
        /// The state changed.
        case state(State)
        /// The last event of a finished download, right after its state.
        case succeeded(URL, size: Int64)
        /// The last event of a failed download, right after its state.
        case failed(any Error)
    }
}

/// Where a download stands, in more detail than ``Downloader/State``.
enum DownloadPhase: CaseIterable, Sendable {
    /// Known, but nobody has asked for it in this process.
    case idle
    /// Asked for, without a place yet.
    case queued
    /// A transfer failed; it will be queued again when the time has come.
    case backingOff
    /// Has a place: a transfer runs, or what it brought is being checked.
    case downloading
    /// The checked file is being renamed into the finished folder: too late for everything else.
    case placing
    case paused
    case finished
    case failed

    /// What users see of it.
    var kind: Downloader.State.Kind {
        switch self {
        case .idle, .queued, .backingOff: .waiting
        case .downloading, .placing: .downloading
        case .paused: .paused
        case .finished: .finished
        case .failed: .failed
        }
    }
}

/// What can happen to a download.
enum DownloadAction: CaseIterable, Sendable {
    /// The user wants it.
    case start
    /// The user wants it later.
    case pause
    /// The user does not want it.
    case cancel
    /// The user does not want it, nor what there is of it.
    case delete
    /// The user gave another URL for it.
    case replaceURL
    /// Its manager ends.
    case invalidate
    /// It gets a place.
    case admit
    /// Its transfer failed and will be tried again.
    case retry
    /// The time to try again has come.
    case wake
    /// The file is whole and right, and about to be moved.
    case place
    /// The finished file is where it belongs.
    case finish
    /// It failed for good.
    case fail
}

extension DownloadPhase {
    /// Every transition there is; `nil` refuses the action and leaves everything as it was.
    func after(_ action: DownloadAction) -> DownloadPhase? {
        switch (self, action) {
        case (.idle, .start), (.paused, .start), (.failed, .start), (.backingOff, .start): .queued
        case (.queued, .start), (.downloading, .start), (.placing, .start), (.finished, .start): nil

        case (.idle, .pause), (.queued, .pause), (.backingOff, .pause), (.downloading, .pause): .paused
        case (.placing, .pause), (.paused, .pause), (.finished, .pause), (.failed, .pause): nil

        case (.idle, .cancel), (.queued, .cancel), (.backingOff, .cancel), (.downloading, .cancel),
            (.paused, .cancel):
            .failed
        case (.placing, .cancel), (.finished, .cancel), (.failed, .cancel): nil

        case (.idle, .delete), (.queued, .delete), (.backingOff, .delete), (.downloading, .delete),
            (.paused, .delete), (.failed, .delete):
            .failed
        case (.placing, .delete), (.finished, .delete): nil

        // A transfer under way begins again with the new URL.
        case (.queued, .replaceURL), (.backingOff, .replaceURL), (.downloading, .replaceURL): .queued
        case (.idle, .replaceURL): .idle
        case (.paused, .replaceURL): .paused
        case (.failed, .replaceURL): .failed
        case (.placing, .replaceURL), (.finished, .replaceURL): nil

        case (.idle, .invalidate), (.queued, .invalidate), (.backingOff, .invalidate), (.downloading, .invalidate),
            (.paused, .invalidate):
            .failed
        case (.placing, .invalidate), (.finished, .invalidate), (.failed, .invalidate): nil

        case (.queued, .admit): .downloading
        case (.idle, .admit), (.backingOff, .admit), (.downloading, .admit), (.placing, .admit), (.paused, .admit),
            (.finished, .admit), (.failed, .admit):
            nil

        case (.downloading, .retry): .backingOff
        case (.idle, .retry), (.queued, .retry), (.backingOff, .retry), (.placing, .retry), (.paused, .retry),
            (.finished, .retry), (.failed, .retry):
            nil

        case (.backingOff, .wake): .queued
        case (.idle, .wake), (.queued, .wake), (.downloading, .wake), (.placing, .wake), (.paused, .wake),
            (.finished, .wake), (.failed, .wake):
            nil

        case (.downloading, .place): .placing
        case (.idle, .place), (.queued, .place), (.backingOff, .place), (.placing, .place), (.paused, .place),
            (.finished, .place), (.failed, .place):
            nil

        // Without a transfer when the file was there all the time.
        case (.idle, .finish), (.backingOff, .finish), (.placing, .finish), (.paused, .finish),
            (.failed, .finish):
            .finished
        case (.queued, .finish), (.downloading, .finish), (.finished, .finish): nil

        case (.downloading, .fail), (.placing, .fail): .failed
        case (.idle, .fail), (.queued, .fail), (.backingOff, .fail), (.paused, .fail), (.finished, .fail),
            (.failed, .fail):
            nil
        }
    }
}

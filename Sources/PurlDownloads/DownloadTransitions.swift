/// The phase of a download: ``Downloader/State`` in more detail.
enum DownloadPhase: CaseIterable, Sendable {
    /// Known, but not started in this process.
    case idle
    /// Started, and waiting for a slot.
    case queued
    /// An attempt failed; the download is queued again after a delay.
    case backingOff
    /// Has a slot: the file is being transferred or checked.
    case downloading
    /// The checked file is being moved into the finished folder. Controls are refused until that is done.
    case moving
    case paused
    case finished
    case failed

    /// The public state.
    var kind: Downloader.State.Kind {
        switch self {
        case .idle, .queued, .backingOff: .waiting
        case .downloading, .moving: .downloading
        case .paused: .paused
        case .finished: .finished
        case .failed: .failed
        }
    }
}

/// An event that may change the phase.
enum DownloadAction: CaseIterable, Sendable {
    /// The user starts or resumes the download.
    case start
    /// The user pauses it.
    case pause
    /// The user cancels it.
    case cancel
    /// The user cancels it and deletes its bytes.
    case delete
    /// The user sets another URL.
    case replaceURL
    /// The manager is invalidated.
    case invalidate
    /// The scheduler assigns a slot.
    case admit
    /// The attempt failed and another one follows.
    case retry
    /// The attempt failed, and another one follows at once: at another server, or from the first byte.
    case tryElsewhere
    /// The delay before the next attempt has passed.
    case wake
    /// The file is complete and checked, and about to be moved.
    case move
    /// The file is in the finished folder.
    case finish
    /// The file was in the finished folder before the download was started.
    case find
    /// The attempt failed and no other follows.
    case fail
}

extension DownloadPhase {
    /// The phase that follows an action; `nil` refuses it. These are all transitions there are.
    func after(_ action: DownloadAction) -> DownloadPhase? {
        switch (self, action) {
        case (.idle, .start), (.paused, .start), (.failed, .start), (.backingOff, .start): .queued
        case (.queued, .start), (.downloading, .start), (.moving, .start), (.finished, .start): nil

        case (.idle, .pause), (.queued, .pause), (.backingOff, .pause), (.downloading, .pause): .paused
        case (.moving, .pause), (.paused, .pause), (.finished, .pause), (.failed, .pause): nil

        case (.idle, .cancel), (.queued, .cancel), (.backingOff, .cancel), (.downloading, .cancel),
            (.paused, .cancel):
            .failed
        case (.moving, .cancel), (.finished, .cancel), (.failed, .cancel): nil

        case (.idle, .delete), (.queued, .delete), (.backingOff, .delete), (.downloading, .delete),
            (.paused, .delete), (.failed, .delete):
            .failed
        case (.moving, .delete), (.finished, .delete): nil

        // A transfer under way is restarted with the new URL.
        case (.queued, .replaceURL), (.backingOff, .replaceURL), (.downloading, .replaceURL): .queued
        case (.idle, .replaceURL): .idle
        case (.paused, .replaceURL): .paused
        case (.failed, .replaceURL): .failed
        case (.moving, .replaceURL), (.finished, .replaceURL): nil

        case (.idle, .invalidate), (.queued, .invalidate), (.backingOff, .invalidate), (.downloading, .invalidate),
            (.paused, .invalidate):
            .failed
        case (.moving, .invalidate), (.finished, .invalidate), (.failed, .invalidate): nil

        case (.queued, .admit): .downloading
        case (.idle, .admit), (.backingOff, .admit), (.downloading, .admit), (.moving, .admit), (.paused, .admit),
            (.finished, .admit), (.failed, .admit):
            nil

        case (.downloading, .retry): .backingOff
        case (.idle, .retry), (.queued, .retry), (.backingOff, .retry), (.moving, .retry), (.paused, .retry),
            (.finished, .retry), (.failed, .retry):
            nil

        case (.downloading, .tryElsewhere): .queued
        case (.idle, .tryElsewhere), (.queued, .tryElsewhere), (.backingOff, .tryElsewhere), (.moving, .tryElsewhere),
            (.paused, .tryElsewhere), (.finished, .tryElsewhere), (.failed, .tryElsewhere):
            nil

        case (.backingOff, .wake): .queued
        case (.idle, .wake), (.queued, .wake), (.downloading, .wake), (.moving, .wake), (.paused, .wake),
            (.finished, .wake), (.failed, .wake):
            nil

        case (.downloading, .move): .moving
        case (.idle, .move), (.queued, .move), (.backingOff, .move), (.moving, .move), (.paused, .move),
            (.finished, .move), (.failed, .move):
            nil

        case (.moving, .finish): .finished
        case (.idle, .finish), (.queued, .finish), (.backingOff, .finish), (.downloading, .finish), (.paused, .finish),
            (.failed, .finish), (.finished, .finish):
            nil

        // A start in these phases; in the others the download has been started.
        case (.idle, .find), (.backingOff, .find), (.paused, .find), (.failed, .find): .finished
        case (.queued, .find), (.downloading, .find), (.moving, .find), (.finished, .find): nil

        case (.downloading, .fail), (.moving, .fail): .failed
        case (.idle, .fail), (.queued, .fail), (.backingOff, .fail), (.paused, .fail), (.finished, .fail),
            (.failed, .fail):
            nil
        }
    }
}

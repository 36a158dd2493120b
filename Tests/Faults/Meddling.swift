/// What a user does to a task while it runs.
struct Meddling: Sendable {
    enum Act: String, CaseIterable, Sendable {
        case cancel = "cancel"
        case cancelForResumeData = "cancel for resume data"
        case suspendAndResume = "suspend, then resume"
        case invalidateAndCancel = "invalidate and cancel"
        case finishTasksAndInvalidate = "finish tasks and invalidate"

        /// The task is to end by it.
        var ends: Bool {
            switch self {
            case .cancel, .cancelForResumeData, .invalidateAndCancel: true
            case .suspendAndResume, .finishTasksAndInvalidate: false
            }
        }

        /// The session takes no task afterwards.
        var invalidates: Bool { self == .invalidateAndCancel || self == .finishTasksAndInvalidate }

        func fits(_ kind: TaskKind) -> Bool {
            switch self {
            case .cancelForResumeData: kind.isDownload && kind.resultStyle != .async
            case .suspendAndResume: kind.resultStyle != .async
            case .cancel, .invalidateAndCancel, .finishTasksAndInvalidate: true
            }
        }
    }

    enum Moment: Sendable {
        /// Before the task is resumed for the first time.
        case beforeResume
        /// As soon as it has been resumed.
        case afterResume
        /// When the server has come to the stage's gate.
        case atGate
        /// Inside this call to the delegate, the first time it is made.
        case inside(Callback)
    }

    let act: Act
    let moment: Moment
    /// The server waits at the gate until the user has acted.
    var opensGate = false
}

/// The calls that a delegate gets.
enum Callback: String, CaseIterable, Sendable {
    case didCreateTask
    case willBeginDelayedRequest
    case taskIsWaitingForConnectivity
    case needNewBodyStream
    case didSendBodyData
    case didReceiveInformationalResponse
    case willPerformHTTPRedirection
    case didReceiveChallenge
    case didReceiveResponse
    case didBecomeDownload
    case didBecomeStream
    case didReceiveData
    case didResumeAtOffset
    case didWriteData
    case willCacheResponse
    case didFinishDownloading
    case didRead
    case didWrite
    case readClosed
    case writeClosed
    case didBecomeStreams
    case didFinishCollecting
    case didComplete
    case didBecomeInvalid
    case didFinishEvents

    /// Whether the delegate of such a task gets the call.
    func isMade(for kind: TaskKind) -> Bool {
        switch self {
        case .didCreateTask: kind.resultStyle != .async
        case .willBeginDelayedRequest: kind.resultStyle != .async && !kind.isStream
        case .didReceiveInformationalResponse, .didReceiveChallenge: !kind.isStream
        case .willPerformHTTPRedirection: !kind.isStream && !kind.isBackground
        case .didFinishCollecting: kind != .captured
        case .taskIsWaitingForConnectivity: !kind.isBackground
        case .needNewBodyStream: kind == .uploadStream
        case .didSendBodyData: kind.isUpload && kind.resultStyle == .delegate
        case .didReceiveResponse:
            kind.hearsOfData && !kind.isBackground || kind == .dataToFile || kind == .becomingDownload
                || kind == .becomingStream
        case .didReceiveData: kind.hearsOfData
        case .didBecomeDownload: kind == .becomingDownload
        case .didWriteData, .didFinishDownloading: kind.writesPartialFile && kind.resultStyle == .delegate
        case .didResumeAtOffset: kind == .resumed
        case .willCacheResponse: kind == .data
        case .didBecomeStream: kind == .becomingStream
        case .didRead, .didWrite: kind.hasStreamHandlers
        case .readClosed, .writeClosed: kind.isStream && kind != .captured
        case .didBecomeStreams: kind == .captured
        case .didComplete: kind.resultStyle == .delegate && kind != .captured
        case .didBecomeInvalid: true
        case .didFinishEvents: kind.isBackground
        }
    }

    /// It comes while there is still something to stop, when the server waits in the middle of the body.
    var isBeforeTheEnd: Bool {
        switch self {
        case .willCacheResponse, .didFinishDownloading, .readClosed, .didBecomeStreams, .didFinishCollecting,
            .didComplete, .didBecomeInvalid, .didFinishEvents:
            false
        default: true
        }
    }
}

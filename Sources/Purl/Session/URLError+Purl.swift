import Foundation

/// The key of an error's `userInfo` for a failed download's resume data, as `Data`.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let NSURLSessionDownloadTaskResumeData = "NSURLSessionDownloadTaskResumeData"

/// FoundationNetworking's name for ``NSURLSessionDownloadTaskResumeData``.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let URLSessionDownloadTaskResumeData = NSURLSessionDownloadTaskResumeData

extension URLError {
    /// What ``URLSession/downloadTask(withResumeData:)`` needs to resume the download that failed; `nil` when it cannot
    /// be resumed.
    public var downloadTaskResumeData: Data? {
        userInfo[NSURLSessionDownloadTaskResumeData] as? Data
    }

    /// Why a background task was cancelled, other than by the program.
    public enum BackgroundTaskCancelledReason: Int, Sendable {
        /// The process that ran it ended: by itself, by a signal or with the machine.
        case userForceQuitApplication = 0
        /// Apple's systems only.
        case backgroundUpdatesDisabled = 1
        /// Apple's systems only.
        case insufficientSystemResources = 2
    }

    /// Why a background task was cancelled; `nil` for every other error, and when the program cancelled it.
    public var backgroundTaskCancelledReason: BackgroundTaskCancelledReason? {
        (userInfo[NSURLErrorBackgroundTaskCancelledReasonKey] as? Int).flatMap(BackgroundTaskCancelledReason.init)
    }
}

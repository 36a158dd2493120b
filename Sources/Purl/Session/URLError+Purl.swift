import Foundation

/// The key of an error's `userInfo` under which a failed download's resume data lies, as `Data`.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let NSURLSessionDownloadTaskResumeData = "NSURLSessionDownloadTaskResumeData"

/// FoundationNetworking's name for ``NSURLSessionDownloadTaskResumeData``.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let URLSessionDownloadTaskResumeData = NSURLSessionDownloadTaskResumeData

extension URLError {
    /// What ``URLSession/downloadTask(withResumeData:)`` needs to go on with the download that failed; `nil` when
    /// the bytes received so far cannot be continued.
    public var downloadTaskResumeData: Data? {
        userInfo[NSURLSessionDownloadTaskResumeData] as? Data
    }

    /// Why a background task was cancelled without the program asking for it.
    public enum BackgroundTaskCancelledReason: Int, Sendable {
        /// The process that ran it ended, whether by its own will, by a signal or with the machine.
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

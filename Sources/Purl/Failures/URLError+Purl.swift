import Foundation
internal import PurlConnections

/// The key of an error's `userInfo` for a failed download's resume data, as `Data`.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let NSURLSessionDownloadTaskResumeData = "NSURLSessionDownloadTaskResumeData"

/// FoundationNetworking's name for ``NSURLSessionDownloadTaskResumeData``.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let URLSessionDownloadTaskResumeData = NSURLSessionDownloadTaskResumeData

/// The key of an error's `userInfo` for a failed upload's resume data, as `Data`.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let NSURLSessionUploadTaskResumeData = "NSURLSessionUploadTaskResumeData"

/// The key of an error's `userInfo` for the number of a `URLError.NetworkUnavailableReason`.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let NSURLErrorNetworkUnavailableReasonKey = "NSURLErrorNetworkUnavailableReasonKey"

extension URLError {
    /// An error whose description is Foundation's sentence for the code, unless it is given another.
    ///
    /// - Parameters:
    ///   - reason: What happened, as a sentence: the error's `localizedFailureReason`, as one line of at most 1,000 characters.
    ///   - userInfo: What else the error carries, possibly its description.
    package init(_ code: Code, reason: String, userInfo: [String: Any] = [:]) {
        var info = userInfo
        info[NSLocalizedDescriptionKey] = userInfo[NSLocalizedDescriptionKey] ?? code.sentence
        info[NSLocalizedFailureReasonErrorKey] = reason.asReason
        self.init(code, userInfo: info)
    }

    /// Whether a proxy has refused to connect, and would again: it lacks credentials, or has a rule against that server.
    package var isRefusalOfProxy: Bool {
        (userInfo[NSUnderlyingErrorKey] as? any ProxyFailure).map { !$0.mayPass } ?? false
    }

    /// What every call of a task fails with whose session has been released.
    static var sessionIsGone: URLError {
        URLError(.cancelled, reason: "The session that made the task no longer exists.")
    }

    /// What ``URLSession/downloadTask(withResumeData:)`` needs to resume the download that failed; `nil` when it cannot
    /// be resumed.
    public var downloadTaskResumeData: Data? {
        userInfo[NSURLSessionDownloadTaskResumeData] as? Data
    }

    /// What ``URLSession/uploadTask(withResumeData:)`` needs to resume the upload that failed; `nil` when it cannot be
    /// resumed.
    public var uploadTaskResumeData: Data? {
        userInfo[NSURLSessionUploadTaskResumeData] as? Data
    }

    /// Why the network was not available to a task, in Foundation's terms.
    public enum NetworkUnavailableReason: Int, Sendable {
        /// There is only a cellular interface, which the request or the session does not allow.
        case cellular = 0
        /// There are only expensive interfaces, which the request or the session does not allow.
        case expensive = 1
        /// There are only interfaces in Low Data Mode, which the request or the session does not allow.
        case constrained = 2
    }

    /// Why the network was not available; `nil` for every error of Purl's, since a socket on Linux does not know its
    /// interface.
    public var networkUnavailableReason: NetworkUnavailableReason? {
        (userInfo[NSURLErrorNetworkUnavailableReasonKey] as? Int).flatMap(NetworkUnavailableReason.init)
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

extension String {
    /// The text as one line of at most 1,000 characters: a reason may quote what others have sent.
    var asReason: String {
        let limit = 1_000
        // A character may consist of any number of scalars.
        guard utf8.count > limit || unicodeScalars.contains(where: \.breaksLine) else { return self }
        var line = UnicodeScalarView(unicodeScalars.prefix(limit).map { $0.breaksLine ? " " : $0 })
        if unicodeScalars.dropFirst(limit).first != nil {
            line.removeLast()
            line.append("…")
        }
        return String(line)
    }
}

extension Unicode.Scalar {
    fileprivate var breaksLine: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

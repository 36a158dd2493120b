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
}

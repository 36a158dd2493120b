import Foundation
import Synchronization

@testable import Purl

/// A delegate that keeps its calls for each task, and checks their order.
final class Observer: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
    /// What is known of a task.
    struct Account {
        var response: URLResponse?
        var content = Data()
        var file: Data?
        var written: Int64 = 0
        var resumedAt: Int64?
        var isComplete = false
        var error: (any Error)?
    }

    /// What the delegate does when a response comes.
    enum Manner: CaseIterable {
        case allow, becomeDownload, cancel, suspend
    }

    private let state = Mutex<[Int: Account]>([:])
    private let done: DispatchSemaphore
    private let files: MemoryFiles
    private let manner: Manner

    init(_ manner: Manner, files: MemoryFiles, done: DispatchSemaphore) {
        self.manner = manner
        self.files = files
        self.done = done
    }

    func account(of task: URLSessionTask) -> Account { state.withLock { $0[task.taskIdentifier] ?? Account() } }

    private func note(_ task: URLSessionTask, _ change: (inout Account) -> Void) {
        state.withLock { state in
            var account = state[task.taskIdentifier] ?? Account()
            require(!account.isComplete, "no call comes after the end")
            change(&account)
            state[task.taskIdentifier] = account
        }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        note(dataTask) { account in
            require(account.content.isEmpty, "a response comes before its content")
            account.response = response
        }
        switch manner {
        case .allow: completionHandler(.allow)
        case .becomeDownload: completionHandler(dataTask is URLSessionUploadTask ? .allow : .becomeDownload)
        case .cancel: completionHandler(.cancel)
        case .suspend:
            dataTask.suspend()
            completionHandler(.allow)
            dataTask.resume()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask)
    {
        note(dataTask) { require($0.content.isEmpty, "content goes to one place") }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note(dataTask) { account in
            require(account.response != nil, "content comes after its response")
            account.content.append(data)
        }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        note(downloadTask) { account in
            require(account.file == nil, "progress comes before the file")
            require(bytesWritten > 0 && totalBytesWritten >= bytesWritten, "progress goes forward")
            account.written = totalBytesWritten
        }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        note(downloadTask) { $0.resumedAt = fileOffset }
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let content = files.contents(location.path)
        note(downloadTask) { account in
            require(account.file == nil, "there is one file")
            account.response = downloadTask.response
            account.file = content
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        note(task) { account in
            account.isComplete = true
            account.error = error
            if account.response == nil { account.response = task.response }
        }
        done.signal()
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        done.signal()
    }
}

/// A sink that is nowhere but in memory.
final class MemorySink: BodySink {
    private struct State {
        var content = Data()
        var record: Data?
    }

    private let state = Mutex(State())

    var content: Data { state.withLock { $0.content } }
    var length: Int64 { Int64(content.count) }

    func append(_ data: Data) { state.withLock { $0.content.append(data) } }
    func truncate(to length: Int64) { state.withLock { $0.content = Data($0.content.prefix(Int(length))) } }
    func bytes(in range: Range<Int64>) -> Data {
        state.withLock { Data($0.content[Int(range.lowerBound)..<Int(range.upperBound)]) }
    }
    func synchronize() {}
    func loadRecord() -> Data? { state.withLock { $0.record } }
    func saveRecord(_ record: Data?) { state.withLock { $0.record = record } }
    func close() {}
}

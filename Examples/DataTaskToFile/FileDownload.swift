import Foundation
import Purl

/// A data task whose bytes are appended to a file by hand as they arrive: quitting at any time loses no bytes.
///
/// Everything runs on the main queue, where the session calls its delegate.
@MainActor
final class FileDownload: NSObject, Download {
    var onProgress: (_ received: Int64, _ total: Int64?) -> Void = { _, _ in }
    var onMessage: (String) -> Void = { _ in }
    var onEnd: () -> Void = {}

    private let url: URL
    private let file: URL
    private let way: FileAppender.Way

    /// The length of the file on disk.
    private(set) var size: Int64
    var total: Int64? { record?.total }
    private var record: PartialRecord?

    private let configuration: URLSessionConfiguration
    private var session: URLSession?
    private var task: URLSessionDataTask?
    private var appender: FileAppender?

    init(_ url: URL, to file: URL, way: FileAppender.Way, configuration: URLSessionConfiguration = .default) {
        self.url = url
        self.file = file
        self.way = way
        self.configuration = configuration
        let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
        size = (attributes?[.size] as? NSNumber)?.int64Value ?? 0
        record = PartialRecord.load(for: file)
    }

    // MARK: Start, suspend, resume, cancel

    func start() {
        guard task == nil else { return }
        // A range request for a complete file would be answered with 416.
        if size > 0, size == total { return finish("already complete: no request") }
        var request = URLRequest(url: url)
        if size > 0, let validator = record?.validator {
            request.setValue("bytes=\(size)-", forHTTPHeaderField: "Range")
            // The server sends the whole file if it has another version.
            request.setValue(validator, forHTTPHeaderField: "If-Range")
            onMessage("requesting bytes=\(size)-")
        } else {
            onMessage("requesting the whole file")
        }
        // Created once, when first needed.
        let session = session ?? URLSession(configuration: configuration, delegate: self, delegateQueue: .main)
        self.session = session
        task = session.dataTask(with: request)
        task?.resume()
    }

    /// `suspend` and `resume` are counted, so only a running task is suspended, and only a suspended one resumed.
    func suspend() {
        guard let task, task.state == .running else { return }
        task.suspend()
        onMessage("suspended")
    }

    func resume() {
        guard let task, task.state == .suspended else { return }
        task.resume()
        onMessage("resumed")
    }

    func cancel() { task?.cancel() }

    /// A session retains its delegate until it is invalidated, so `deinit` would never be called.
    func close() {
        guard let session else { return onEnd() }
        session.invalidateAndCancel()
    }

    private func finish(_ message: String) {
        onMessage(message)
        close()
    }
}

/// The delegate methods, in the order of the calls, on the main queue. `MainActor.assumeIsolated` tells the compiler, and stops
/// the program if that were not true.
extension FileDownload: URLSessionDataDelegate {
    /// Called once, with the head of the response, before any byte of the body is read.
    nonisolated func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        MainActor.assumeIsolated {
            do {
                completionHandler(try prepare(for: response) ? .allow : .cancel)
            } catch {
                onMessage("cannot write: \(error.localizedDescription)")
                completionHandler(.cancel)
            }
        }
    }

    /// Prepares the file for the body; false when no byte of it may be kept.
    private func prepare(for response: URLResponse) throws -> Bool {
        guard let response = response as? HTTPURLResponse else { return false }
        switch RangeResponse(response, size: size, record: record) {
        case .rest(let total):
            onMessage("206: appending the rest")
            record?.total = total
        case .whole(let total):
            onMessage(
                size > 0
                    ? "200: the whole file follows, so the file on disk is emptied first"
                    : "200: the whole file follows")
            try empty()
            let tag = response.value(forHTTPHeaderField: "ETag")
            // A weak tag does not promise the same bytes.
            record = PartialRecord(total: total, validator: tag?.hasPrefix("W/") == true ? nil : tag)
        case .nothingLeft:
            onMessage("416: no bytes are missing")
            record?.total = size
            try record?.save(for: file)
            return false
        case .wrongPart:
            onMessage("\(response.statusCode) with another range than requested: nothing is kept")
            try empty()
            return false
        case .notTheFile(let status):
            onMessage("\(status): the file stays as it is")
            return false
        }
        try record?.save(for: file)
        appender = try FileAppender(way, file)
        onProgress(size, total)
        return true
    }

    /// Removes the record first, so that it never describes another version than the file has.
    private func empty() throws {
        PartialRecord.remove(for: file)
        record = nil
        if size > 0 { try Data().write(to: file) }
        size = 0
    }

    /// Called repeatedly. While it runs, the session reads only a limited number of bytes ahead.
    nonisolated func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        MainActor.assumeIsolated {
            do {
                try appender?.append(data)
                size += Int64(data.count)
                onProgress(size, total)
            } catch {
                onMessage("cannot write: \(error.localizedDescription)")
                dataTask.cancel()
            }
        }
    }

    /// The last call about the task.
    nonisolated func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        MainActor.assumeIsolated {
            appender?.close()
            appender = nil
            self.task = nil
            if error == nil {
                // Without a Content-Length the total is known only now.
                record?.total = size
                try? record?.save(for: file)
            }
            if size == total { return finish("finished") }
            onMessage((error as? URLError)?.code == .cancelled ? "stopped" : "the connection was lost")
        }
    }

    /// The last call of all: the session has released its delegate.
    nonisolated func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        MainActor.assumeIsolated {
            self.session = nil
            onMessage("session closed")
            onEnd()
        }
    }
}

import Foundation
import Purl

/// A data task whose bytes are appended to a file as they come, by hand: quitting at any moment loses nothing.
///
/// All of it runs on the main queue; the session is told to call its delegate there.
@MainActor
final class FileDownload: NSObject, Download {
    var onProgress: (_ received: Int64, _ total: Int64?) -> Void = { _, _ in }
    var onMessage: (String) -> Void = { _ in }
    var onEnd: () -> Void = {}

    private let url: URL
    let file: URL
    let way: FileAppender.Way

    /// The truth is what is on disk, now and after every launch.
    var size: Int64
    var total: Int64? { record?.total }
    var record: PartialRecord?

    var session: URLSession?
    var task: URLSessionDataTask?
    var appender: FileAppender?

    init(_ url: URL, to file: URL, way: FileAppender.Way) {
        self.url = url
        self.file = file
        self.way = way
        let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
        size = (attributes?[.size] as? NSNumber)?.int64Value ?? 0
        record = PartialRecord.load(for: file)
    }

    // MARK: Start, suspend, resume, cancel

    func start() {
        guard task == nil else { return }
        // A finished file asked for again would be answered with 416, and an empty range is nothing to ask for.
        if size > 0, size == total { return finish("complete: nothing to ask for") }
        var request = URLRequest(url: url)
        if size > 0, let validator = record?.validator {
            request.setValue("bytes=\(size)-", forHTTPHeaderField: "Range")
            // "… if it is still this version. Otherwise send me the whole."
            request.setValue(validator, forHTTPHeaderField: "If-Range")
            onMessage("asking for bytes=\(size)-")
        } else {
            onMessage("asking for the whole")
        }
        // Made when it is first needed, and once.
        let session = session ?? URLSession(configuration: .default, delegate: self, delegateQueue: .main)
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

    /// A session keeps its delegate until it is invalidated, so waiting for `deinit` would be waiting for ever.
    func close() {
        guard let session else { return onEnd() }
        session.invalidateAndCancel()
    }

    func finish(_ message: String) {
        onMessage(message)
        close()
    }
}

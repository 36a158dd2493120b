import Foundation
import Purl
import Synchronization

/// What is left on disk by a process that was killed in the middle of a download.
///
/// A scene cannot kill its own process. But all that a kill leaves are the files as they are at that moment: so the files of a
/// background session are copied at that moment, and a session that is made in the copy finds what it would find after a kill.
package enum KilledProcess {
    /// Begins a download and copies the session's files when a part of it has been written.
    ///
    /// - Parameters:
    ///   - url: What is downloaded.
    ///   - count: How many bytes are written before the kill.
    ///   - configuration: What the process makes its background session of.
    ///   - place: The `backgroundSessionsDirectory` of the next process. It must not exist.
    package static func leave(
        _ url: URL, after count: Int64, _ configuration: URLSessionConfiguration, in place: URL
    ) async throws {
        let before = place.deletingLastPathComponent().appendingPathComponent("killed-\(UUID().uuidString)")
        configuration.backgroundSessionsDirectory = before
        let delegate = Victim(count)
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        session.downloadTask(with: url).resume()
        await delegate.hasWritten()
        try copy(before, to: place)
        session.invalidateAndCancel()
        await delegate.isGone()
    }

    /// Copies each session's journal before its partial files, which then hold what the journal claims.
    private static func copy(_ folder: URL, to copy: URL) throws {
        let manager = FileManager.default
        try manager.createDirectory(
            at: copy, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let children = try manager.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        for file in children where !file.hasDirectoryPath {
            // It may be replaced by a shorter one meanwhile, for whose missing bytes `copyItem` would wait for ever.
            try Data(contentsOf: file).write(to: copy.appendingPathComponent(file.lastPathComponent))
        }
        for child in children where child.hasDirectoryPath {
            try Self.copy(child, to: copy.appendingPathComponent(child.lastPathComponent, isDirectory: true))
        }
    }
}

/// The delegate of the process that is killed.
private final class Victim: NSObject, URLSessionDownloadDelegate {
    private let count: Int64
    private let written = AsyncStream<Void>.makeStream()
    private let gone = AsyncStream<Void>.makeStream()

    init(_ count: Int64) {
        self.count = count
    }

    /// Returns when as many bytes have been written as are to be there, or the download has ended.
    func hasWritten() async { for await _ in written.stream {} }

    /// Returns when the session has released its delegate.
    func isGone() async { for await _ in gone.stream {} }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        if totalBytesWritten >= count { written.continuation.finish() }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {}

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        written.continuation.finish()
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        gone.continuation.finish()
    }
}

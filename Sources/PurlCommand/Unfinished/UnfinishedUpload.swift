import Foundation
import Purl
internal import PurlIO

/// An upload that has not been completed: the record of it that `purl put` has left beside the file.
struct UnfinishedUpload {
    /// The file's name in messages, after the folder's name unless that is the current one.
    let name: String
    let record: UploadRecord
    /// Why the same command would not resume it, as a clause; `nil` when it would.
    let obstacle: String?
    /// Whether a command is sending it.
    let isBeingSent: Bool
    private let file: URL

    /// The unfinished uploads in a folder, by name. A file that has such a name and is not a record is none of purl's.
    ///
    /// - Parameter prefix: The text before each name.
    static func all(in folder: URL, prefix: String) -> [UnfinishedUpload] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        let stems = names.compactMap { name in
            [UploadRecord.newSuffix, UploadRecord.suffix].first(where: name.hasSuffix)
                .map { String(name.dropLast($0.count)) }
        }
        return Set(stems).sorted().compactMap { stem in
            stem.isEmpty ? nil : UnfinishedUpload(folder.appendingPathComponent(stem), name: prefix + stem)
        }
    }

    private init?(_ file: URL, name: String) {
        guard let record = Self.record(of: file) else { return nil }
        self.file = file
        self.name = name
        self.record = record
        isBeingSent = if case .failure(.taken) = Self.lock(file) { true } else { false }
        obstacle =
            switch FileEntry(at: file, followingLinks: true) {
            case .regular(let entry): record.difference(to: entry)
            case .missing: "the file is gone"
            case .folder, .link, .device, .pipe, .socket: "it is not a regular file"
            }
    }

    /// Removes the record. Throws when a command is sending the file.
    ///
    /// - Parameter abandon: Called before, with the record as it is now: no command changes it meanwhile. The record stays where this throws.
    func remove(after abandon: (UploadRecord) async throws(CommandFailure) -> Void) async throws(CommandFailure) {
        let lock = Self.lock(file)
        if case .failure(.taken) = lock { throw beingSent }
        // A file that is gone, or cannot be read, is not being sent.
        defer { withExtendedLifetime(lock) {} }
        guard let record = Self.record(of: file) else { return }
        try await abandon(record)
        try UploadRecord.removeAll(of: file)
    }

    /// The record, or the one that a killed command was about to put in its place.
    private static func record(of file: URL) -> UploadRecord? {
        (try? UploadRecord(for: file)) ?? (try? UploadRecord.new(for: file))
    }

    var beingSent: CommandFailure {
        CommandFailure("“\(name)” is being uploaded by another process, and its record was kept.")
    }

    private static func lock(_ file: URL) -> Result<FileLock, FileLock.Failure> {
        Result { () throws(FileLock.Failure) in try FileLock(file.withoutLinks) }
    }
}

/// Has servers delete what they have of uploads that were given up (draft-ietf-httpbis-resumable-upload, “Upload
/// Cancellation”).
final class UploadCancellation: NSObject, URLSessionTaskDelegate {
    /// A server that is to forget something is not waited for long.
    private static let requestTimeout: TimeInterval = 10
    private static let resourceTimeout: TimeInterval = 30

    private let session: URLSession

    init(_ configuration: URLSessionConfiguration) {
        configuration.timeoutIntervalForRequest = Self.requestTimeout
        configuration.timeoutIntervalForResource = Self.resourceTimeout
        session = URLSession(configuration: configuration)
    }

    deinit { session.finishTasksAndInvalidate() }

    /// Asks the server of an upload; returns what it did, as a clause. Throws when another command may ask it.
    ///
    /// - Parameter name: The record's, in messages.
    func cancel(_ record: UploadRecord, _ name: String) async throws(CommandFailure) -> String {
        guard let request = UploadResumeRecord(record.resumeData)?.cancellation else {
            return "the server was not asked to delete its part, since the record does not tell how"
        }
        do {
            // The status is enough: what follows may have no end.
            let (bytes, response) = try await session.bytes(for: request, delegate: self)
            bytes.task.cancel()
            return Self.clause((response as? HTTPURLResponse)?.statusCode ?? 0)
        } catch {
            if let code = (error as? URLError)?.code, code.isOfTLSOptions {
                throw CommandFailure(
                    "“\(name)” was kept, since the server could not be asked to delete its part: \(error.sentenceWithAdvice)"
                )
            }
            return "the server could not be asked to delete its part: \(error.sentenceWithAdvice)"
        }
    }

    private static func clause(_ status: Int) -> String {
        switch status {
        case 200..<300: "the server has deleted its part"
        case 404, 410: "the server no longer had its part"
        default:
            "the server may keep its part: it answered \(status) "
                + "(\(HTTPURLResponse.localizedString(forStatusCode: status)))"
        }
    }

    /// Only a redirect that keeps the method still deletes. None leaves TLS.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        let isFollowed = [307, 308].contains(response.statusCode) && !response.leavesTLS(for: request)
        completionHandler(isFollowed ? request : nil)
    }
}

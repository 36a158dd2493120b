import Foundation

/// Downloads of one URL, one attempt after the other, each going on with what the last one left.
protocol Attempts: Sendable {
    /// Where the file is, once all of it has arrived.
    func next() async throws -> URL
    /// What the resume data, or the record, of the last attempt speaks of; `nil` when there is none.
    var bytesRecorded: Int64? { get }
}

/// What keeps the bytes of a download.
enum StorageKind: String {
    /// A download task's partial file.
    case task
    /// A background session's partial file and its journal.
    case session
    /// A data task's `FileHandleSink`.
    case sink
    /// A download manager.
    case manager

    func attempts(at url: URL, in folder: URL) -> any Attempts {
        switch self {
        case .task: DownloadAttempts(at: url, in: folder, isBackground: false)
        case .session: DownloadAttempts(at: url, in: folder, isBackground: true)
        case .sink: SinkAttempts(at: url, in: folder)
        case .manager: ManagerAttempts(at: url, in: folder)
        }
    }
}

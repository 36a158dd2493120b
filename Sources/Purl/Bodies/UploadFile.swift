import Foundation
internal import PurlIO

/// A file that is to be sent, and the length it had when the request was made ready.
struct UploadFile: Sendable {
    let url: URL
    let length: Int64

    /// Looks at the file without keeping it open: many uploads may wait for a connection. Blocks.
    init(at url: URL) throws(BodyFailure) {
        guard url.isFileURL else { throw .notAFile(url) }
        self.url = url
        length = try Self.size(of: try Self.file(at: url), at: url)
    }

    /// Opens the file for sending. Blocks. Its length has been announced, so it must still be what it was.
    func open() throws(BodyFailure) -> RegularFile {
        let file = try Self.file(at: url)
        guard try Self.size(of: file, at: url) == length else { throw .fileChanged(url) }
        return file
    }

    private static func file(at url: URL) throws(BodyFailure) -> RegularFile {
        do throws(SystemError) { return try RegularFile(reading: url.path) } catch { throw .file(url, error) }
    }

    private static func size(of file: borrowing RegularFile, at url: URL) throws(BodyFailure) -> Int64 {
        do throws(SystemError) { return try file.size() } catch { throw .file(url, error) }
    }
}

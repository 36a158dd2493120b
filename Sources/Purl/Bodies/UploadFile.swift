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

/// Bytes of an open file that are to be sent without passing through the process.
final class FileRegion: Sendable {
    /// How many bytes a region holds at most.
    static let limit = 1 << 20

    let count: Int
    private let file: OpenUpload
    private let offset: Int64

    init(of file: OpenUpload, at offset: Int64, count: Int) {
        self.file = file
        self.offset = offset
        self.count = count
    }

    /// Sends bytes from `start` on, `limit` at most; returns how many the transport took, 0 when it takes none for now.
    @NetworkActor
    func send(from start: Int, atMost limit: Int, through transport: any Transport) throws(SystemError) -> Sent {
        guard let socket = transport.plainSocket else { return .cannotBeSentThisWay }
        // Nothing asked for is nothing sent, which else would mean that the file has ended.
        guard limit > 0 else { return .bytes(0) }
        do throws(SystemError) {
            let sent = try file.file.send(min(count - start, limit), from: offset + Int64(start), through: socket)
            // The file was cut while it was being sent.
            return sent.map { .bytes($0) } ?? .failed(.fileChanged(file.url))
        } catch {
            switch error.code {
            case EINVAL, ENOSYS, EOPNOTSUPP: return .cannotBeSentThisWay
            case EIO: return .failed(.file(file.url, error))
            default: throw error
            }
        }
    }

    enum Sent {
        case bytes(Int)
        /// Neither the file system nor the transport has a part in this.
        case cannotBeSentThisWay
        case failed(BodyFailure)
    }

    /// The region's bytes, read. Blocks.
    func read() throws(BodyFailure) -> [UInt8] {
        try file.read(count, at: offset)
    }
}

/// A file that is being sent.
final class OpenUpload: Sendable {
    let url: URL
    let file: RegularFile

    init(_ upload: UploadFile) throws(BodyFailure) {
        url = upload.url
        file = try upload.open()
    }

    func read(_ count: Int, at offset: Int64) throws(BodyFailure) -> [UInt8] {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try file.read(count, at: offset)
        } catch {
            throw .file(url, error)
        }
        // The file was cut while it was being sent.
        guard bytes.count == count else { throw .fileChanged(url) }
        return bytes
    }
}

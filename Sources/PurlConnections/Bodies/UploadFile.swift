package import PurlHTTP
package import PurlIO

/// A file, or a part of one, that is to be sent, and what the file was when the request was made ready.
package struct UploadFile: Sendable {
    package let path: String
    /// Where in the file the part begins.
    package let offset: Int64
    /// How many bytes are to be sent.
    package let length: Int64
    /// What the file was.
    package let state: SentFile
    /// Whether it is the continuation of what was sent before, so that a change of the file counts even if it keeps its length.
    private let continues: Bool

    /// Looks at the file without keeping it open: many uploads may wait for a connection. Blocks.
    package init(at path: String) throws(BodyFailure) {
        let state = try OpenUpload(at: path).state()
        self.init(path: path, offset: 0, length: state.length, state: state, continues: false)
    }

    /// Looks at the file of which other parts have been sent. Blocks.
    ///
    /// - Parameter sent: What the file was then.
    package init(_ part: UploadPart, ofFileAt path: String, sent: SentFile) throws(BodyFailure) {
        if let change = try sent.change(to: OpenUpload(at: path)) { throw .fileReplaced(path, change) }
        self.init(
            path: path, offset: part.offset, length: (part.end ?? sent.length) - part.offset, state: sent,
            continues: true)
    }

    private init(path: String, offset: Int64, length: Int64, state: SentFile, continues: Bool) {
        self.path = path
        self.offset = offset
        self.length = length
        self.state = state
        self.continues = continues
    }

    /// Opens the file for sending. Blocks. Its length has been announced, so it must still be what it was.
    func open() throws(BodyFailure) -> OpenUpload {
        let file = try OpenUpload(at: path)
        let now = try file.state()
        if continues, let change = state.change(to: now) { throw .fileReplaced(path, change) }
        guard now.length == state.length else { throw .fileChanged(path) }
        return file
    }
}

/// In what a file differs from the one whose beginning was sent.
package enum FileChange: Sendable, Equatable, CustomStringConvertible {
    case length(Int64, now: Int64)
    case modificationTime
    case identity
    case content

    package var description: String {
        switch self {
        case .length(let length, let now): "it had \(length) bytes, and has \(now)"
        case .modificationTime: "it has been written to"
        case .identity: "another file has taken its place"
        case .content: "its bytes are not those that were sent last"
        }
    }
}

/// What a file was when its beginning was sent.
package struct SentFile: Codable, Sendable, Equatable {
    package let length: Int64
    /// When it was last written to, since 1970.
    let modifiedSeconds: Int64
    let modifiedNanoseconds: Int64
    /// Which file it was. Absent where the bytes tell that.
    private var identity: FileStatus.Identity?
    /// How many bytes were sent, and the SHA-256 of the last 64 KiB of them; absent while the process that sent them runs.
    package private(set) var tail: DigestedBytes?

    init(_ status: FileStatus) {
        length = status.length
        modifiedSeconds = status.modified.seconds
        modifiedNanoseconds = status.modified.nanoseconds
        identity = status.identity
    }

    /// When it was last written to.
    package var modified: FileStatus.Time {
        FileStatus.Time(seconds: modifiedSeconds, nanoseconds: modifiedNanoseconds)
    }

    /// The same for another task: a copy of the file may have its name by then, which the digest recognises.
    package var withoutIdentity: SentFile {
        guard tail != nil else { return self }
        var sent = self
        sent.identity = nil
        return sent
    }

    /// The same with a digest of what was sent last; without one when the file is no longer what was sent. Blocks.
    package func digested(upTo sent: Int64, at path: String) -> SentFile {
        guard sent <= length, let digest = try? digestOfUnchanged(upTo: sent, at: path) else { return self }
        var digested = self
        digested.tail = DigestedBytes(count: sent, tailDigest: digest)
        return digested
    }

    private func digestOfUnchanged(upTo sent: Int64, at path: String) throws(BodyFailure) -> String? {
        let file = try OpenUpload(at: path)
        return try change(to: file) == nil ? file.tailDigest(endingAt: sent) : nil
    }

    /// In what a file differs, its bytes included where they are known; `nil` where it does not. Blocks.
    func change(to file: OpenUpload) throws(BodyFailure) -> FileChange? {
        if let change = change(to: try file.state()) { return change }
        guard let tail else { return nil }
        return try file.tailDigest(endingAt: tail.count) == tail.tailDigest.lowercased() ? nil : .content
    }

    /// Whether a file may be the one whose beginning was sent. Its bytes are not looked at.
    package func mayBe(_ file: FileStatus) -> Bool { change(to: SentFile(file)) == nil }

    /// In what two looks at a file differ, without its bytes.
    func change(to now: SentFile) -> FileChange? {
        if now.length != length { return .length(length, now: now.length) }
        let isSameTime = now.modifiedSeconds == modifiedSeconds && now.modifiedNanoseconds == modifiedNanoseconds
        guard isSameTime else { return .modificationTime }
        return identity == nil || now.identity == identity ? nil : .identity
    }

    /// Whether data from elsewhere could have been written here.
    package var isSound: Bool {
        guard length >= 0, length <= Int64.max / 2, 0..<1_000_000_000 ~= modifiedNanoseconds else { return false }
        guard let tail else { return true }
        return 0...length ~= tail.count && tail.tailDigest.utf8.count == 64 && tail.tailDigest.allSatisfy(\.isHexDigit)
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
    func send(from start: Int, atMost limit: Int, through transport: any LoopTransport) throws(SystemError) -> Sent {
        // Nothing asked for is nothing sent, which else would mean that the file has ended.
        guard limit > 0 else { return .bytes(0) }
        do throws(SystemError) {
            switch try file.file.send(min(count - start, limit), from: offset + Int64(start), through: transport) {
            case .moved(let count): return .bytes(count)
            case .notNow: return .bytes(0)
            // The file was cut while it was being sent.
            case .end: return .failed(.fileChanged(file.path))
            case .unsupported: return .cannotBeSentThisWay
            }
        } catch {
            if error.code == EIO { return .failed(.file(file.path, error)) }
            throw error
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

/// A file that is being sent, or looked at.
final class OpenUpload: Sendable {
    let path: String
    let file: RegularFile

    /// Blocks.
    init(at path: String) throws(BodyFailure) {
        self.path = path
        do throws(SystemError) { file = try RegularFile(reading: path) } catch { throw .file(path, error) }
    }

    /// What the file is now. Blocks.
    func state() throws(BodyFailure) -> SentFile {
        do throws(SystemError) {
            return SentFile(try file.status())
        } catch {
            throw .file(path, error)
        }
    }

    /// SHA-256 of the 64 KiB before `end`, hexadecimal. Blocks.
    func tailDigest(endingAt end: Int64) throws(BodyFailure) -> String {
        let range = DigestedBytes.tail(endingAt: end)
        let bytes = try read(range.count, at: range.lowerBound)
        return SHA256.hexadecimal(of: bytes.span.bytes)
    }

    func read(_ count: Int, at offset: Int64) throws(BodyFailure) -> [UInt8] {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try file.read(count, at: offset)
        } catch {
            throw .file(path, error)
        }
        // The file was cut while it was being sent.
        guard bytes.count == count else { throw .fileChanged(path) }
        return bytes
    }
}

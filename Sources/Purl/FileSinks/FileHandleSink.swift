import Foundation
internal import PurlHTTP
package import PurlIO
import Synchronization

/// A sink that appends to a file.
///
/// ```swift
/// let sink = FileHandleSink(fileAt: movieURL)
/// let task = session.dataTask(with: request, writingTo: sink)
/// task.resume()          // run it again after a crash: it resumes where the file ends
/// ```
///
/// While a task writes to it, the file is locked: a second sink on the same file, in this process or another, fails
/// with `URLError.cannotOpenFile`, and so does a second task with the same sink. So does a path at which there is a
/// symbolic link, a file with a second name (a hard link), or anything but a regular file: see <doc:FilesAndNames>.
public final class FileHandleSink: FileSink, PipedSink, ConcurrentSink, ExclusiveSink {
    /// The file written to; `nil` for a sink made from a handle.
    public var fileURL: URL? { state.withLock { $0.url } }

    package var recordedName: String { fileURL?.lastPathComponent ?? "handle" }

    package let completion: SinkCompletion

    package let turn = SinkTurn()

    private struct State {
        var url: URL?
        var record: RecordFile?
        /// The caller's; `nil` for a sink on a file of its own.
        var handle: FileHandle?
        /// Open and locked. That of a handle has a descriptor of its own.
        var file: WrittenFile?
        var closing: Closing
        /// Whether room on the disk is reserved for the whole resource before its first byte.
        var reservesSpace = false
        var maximumLength = Int64.max
        /// The folder's entry for the file has been synchronised.
        var isNameSafe = false
    }

    /// When the file is closed, and so unlocked.
    private enum Closing {
        /// Never: the handle is the caller's.
        case byCaller
        case atEnd
        /// Not at the end of a task: ``unlock()`` closes it.
        case whenUnlocked
        /// At once, and it is not opened again: what comes now is too late.
        case forGood
    }

    private let files: any FileLayer
    private let boot: RangeJournal.Boot
    private let state: Mutex<State>

    /// A sink on the file at `url`, which is created when it is missing.
    ///
    /// - Parameter url: The address of the file.
    /// - Parameter recordURL: Where to keep what is known of the bytes. By default beside the file, with ".resume"
    ///   appended to its name.
    public convenience init(fileAt url: URL, recordAt recordURL: URL? = nil) {
        self.init(fileAt: url, recordAt: recordURL, completion: .safe)
    }

    /// A sink on the file at `url`, and what its completion promises.
    package init(
        fileAt url: URL, recordAt recordURL: URL?, completion: SinkCompletion,
        through files: any FileLayer = SystemFiles()
    ) {
        self.completion = completion
        self.files = files
        boot = RangeJournal.Boot(files.bootIdentifier)
        let record = RecordFile(url: recordURL ?? url.appendingPathExtension("resume"), through: files)
        state = Mutex(State(url: url, record: record, closing: .atEnd))
    }

    /// A sink on an open file, readable and writable. It is not closed by the sink.
    ///
    /// - Parameter handle: The open file.
    /// - Parameter recordURL: Where to keep what is known of the bytes. Without it bytes that are there cannot be
    ///   trusted, and a transfer starts over.
    public init(_ handle: FileHandle, recordAt recordURL: URL?) {
        completion = .safe
        files = SystemFiles()
        boot = RangeJournal.Boot(files.bootIdentifier)
        state = Mutex(State(record: recordURL.map { RecordFile(url: $0) }, handle: handle, closing: .byCaller))
    }

    /// Moves the file to `url`, and its record with it; replaces what is there. A task that is writing continues
    /// in the moved file.
    ///
    /// - Parameters:
    ///   - url: Where the file is to be.
    ///   - recordURL: Where to keep what is known of the bytes; `nil` puts it beside the file.
    public func move(to url: URL, recordAt recordURL: URL? = nil) throws {
        try move(to: url, recordAt: recordURL, files.move(_:to:))
    }

    /// Moves the file to `url`, unless there is something, and its record with it.
    package func move(toFree url: URL, recordAt recordURL: URL) throws {
        try move(to: url, recordAt: recordURL, files.move(_:toFree:))
    }

    private func move(
        to url: URL, recordAt recordURL: URL?, _ rename: (String, String) throws(SystemError) -> Void
    ) throws {
        let newRecord = RecordFile(url: recordURL ?? url.appendingPathExtension("resume"), through: files)
        try state.withLock { state in
            guard let old = state.url else { throw CocoaError(.fileNoSuchFile) }
            if files.entry(old.path) != .missing {
                try Self.posix { try rename(old.path, url.path) }
            }
            let record = try state.record?.load()
            try newRecord.save(record)
            try newRecord.synchronize()
            if let oldRecord = state.record, oldRecord.url.path != newRecord.url.path { try oldRecord.save(nil) }
            state.url = url
            state.record = newRecord
            state.isNameSafe = false
        }
    }

    /// Lets a task for `url`, the resource's new address, resume from the bytes there are, provided that the server's
    /// validator there is still the one they arrived with: after a link has expired, for example. Without a record nothing
    /// happens.
    ///
    /// - Parameter url: The new address of the resource.
    public func adopt(_ url: URL) throws {
        try moveRecord(to: url) { _ in true }
    }

    /// Lets a task for `url` resume from the bytes there are, which another server has sent, as if they belonged to the version
    /// that `response` describes. For an owner who checks a digest of the whole: nothing else tells whether that is so. Without
    /// a record, and where the response cannot be resumed or has another length, nothing happens.
    ///
    /// - Parameters:
    ///   - url: The address that the task will have.
    ///   - response: The response to a request of that server for the resource or its head.
    ///   - content: What the bytes are, where the response has a content coding.
    package func adopt(_ url: URL, asVersionOf response: HTTPURLResponse, _ content: CodedContent) throws {
        let head = content.contentHead(response.head)
        guard let validator = Resumability.validator(for: URLRequest(url: url), response: head) else { return }
        let total = response.expectedContentLength
        let ranges = try ranges()
        let isMoved = try moveRecord(to: url) { resume in
            resume.validator = validator
            return total < 0 || resume.totalBytes == nil || resume.totalBytes == total
        }
        guard isMoved else { return }
        // A kill before this leaves the bytes at the beginning, which the record counts.
        let version = RangeJournal.Version(validator: validator)
        for page in RangeJournal.Page.allCases {
            if let journal = ranges[page] { try saveRanges(journal.asVersion(version), page) }
        }
    }

    /// The journal's pages, where several connections have filled the file.
    private func ranges() throws -> [RangeJournal.Page: RangeJournal] {
        guard let data = try loadRecord(), let resume = try? ResumeData(decoding: data) else { return [:] }
        let pages = try RangeJournal.pages(of: resume, length: try length, inBoot: bootIdentifier, read: bytes(in:))
        return pages ?? [:]
    }

    /// Changes the record to one of another address, unless `change` returns false.
    ///
    /// - Returns: Whether there was a record, and it was changed.
    @discardableResult
    private func moveRecord(to url: URL, _ change: (inout ResumeData) -> Bool) throws -> Bool {
        try state.withLock { state in
            guard let record = try state.record?.load(), var resume = try? ResumeData(decoding: record), change(&resume)
            else { return false }
            resume.originalRequest.url = url.absoluteString
            resume.currentRequest.url = url.absoluteString
            try state.record?.save(try resume.encoded())
            try state.record?.synchronize()
            return true
        }
    }

    // MARK: For one owner of several tasks

    /// Locks the file, created when it is missing, until ``unlock()``: also between tasks, and while the file is renamed.
    package func lock() throws {
        try state.withLock { state in
            guard state.file == nil, let url = state.url else { return }
            state.file = try WrittenFile(files.openSinkFile(at: url), .keepsName)
            state.closing = .whenUnlocked
        }
    }

    /// Whether the file that is locked still is the one at the sink's path.
    package var isInPlace: Bool {
        state.withLock { state in
            guard let file = state.file?.file, let url = state.url else { return true }
            return file.isFound(at: url.path)
        }
    }

    /// Closes the file that ``lock()`` has opened.
    package func unlock() {
        state.withLock { state in
            guard case .whenUnlocked = state.closing else { return }
            state.file?.file.unlock()
            state.file = nil
            state.closing = .atEnd
        }
    }

    /// Closes the file. Calls that come later fail: they may not take it from the sink that has it next.
    package func closeForGood() {
        state.withLock { $0.closing = .forGood }
        try? close()
    }

    /// Reserves room on the disk before the first byte of a resource whose length is known, and takes no bytes beyond a length.
    package func limit(to maximumLength: Int64?, reservingSpace reservesSpace: Bool) {
        state.withLock { state in
            state.maximumLength = maximumLength ?? .max
            state.reservesSpace = reservesSpace
        }
    }

    /// Reserves room for `total` bytes, if that is wanted. The file's length stays, since it counts the bytes that were written.
    package func reserve(upTo total: Int64) throws {
        guard total > 0, state.withLock({ $0.reservesSpace }) else { return }
        try withFile { try $0.file.reserve(total) }
    }

    // MARK: For several connections

    /// The identifier of the machine's current boot; `nil` where it is unknown.
    package var bootIdentifier: String? { files.bootIdentifier }

    /// Writes bytes at an offset, also beyond the end: what lies between is zero.
    package func write(_ data: Data, at offset: Int64) throws {
        try write(data.count, at: offset) { try $0.write(data.bytes, at: $1) }
    }

    /// Writes bytes that are in the pipe at an offset, also beyond the end.
    package func write(_ count: Int, from pipe: ContentPipe, at offset: Int64) throws {
        try write(count, at: offset) { try $0.write(count, from: pipe, at: $1) }
    }

    private func write(_ count: Int, at offset: Int64, by write: (any OpenFile, Int64) throws -> Void) throws {
        let maximum = state.withLock { $0.maximumLength }
        try withFile { try $0.write(count, at: offset, upTo: maximum, by: write) }
    }

    /// Writes a page of the journal behind the resource's last byte.
    package func saveRanges(_ journal: RangeJournal, _ page: RangeJournal.Page) throws {
        let bytes = journal.page(inBoot: boot)
        let offset = RangeJournal.offset(page, behind: journal.total)
        let length = RangeJournal.fileLength(journal.total)
        try withFile { file in
            if try file.checkedEnd() < length { try file.truncate(to: length) }
            try file.write(bytes, at: offset)
        }
    }

    /// The ledger behind the pages; `nil` when there is none.
    ///
    /// - Parameter total: The length of the resource.
    package func ledger(behind total: Int64) throws -> PieceLedger? {
        PieceLedger(head: try bytes(in: PieceLedger.headRange(behind: total)), total: total)
    }

    /// Begins a ledger behind the pages, which are there. One of other pieces is removed.
    package func begin(_ ledger: PieceLedger) throws {
        guard try self.ledger(behind: ledger.pieces.total) != ledger else { return }
        let place = PieceLedger.headRange(behind: ledger.pieces.total)
        try withFile { file in
            if try file.checkedEnd() > place.lowerBound { try file.truncate(to: place.lowerBound) }
            try file.write(ledger.head, at: place.lowerBound)
        }
    }

    /// Writes the digest of a piece into the ledger.
    package func save(_ digest: [UInt8], of piece: Int, in ledger: PieceLedger) throws {
        try withFile { try $0.write(digest, at: ledger.range(of: piece).lowerBound) }
    }

    /// The digests of some pieces in the ledger, one after another; those of zeros are not known.
    package func digests(of pieces: Range<Int>, in ledger: PieceLedger) throws -> [UInt8] {
        guard let last = pieces.last else { return [] }
        let found = [UInt8](
            try bytes(in: ledger.range(of: pieces.lowerBound).lowerBound..<ledger.range(of: last).upperBound))
        return found + [UInt8](repeating: 0, count: pieces.count * PieceLedger.digestLength - found.count)
    }

    /// Returns a call that reads the file, also when the sink has been closed meanwhile.
    package func makeReader() throws -> @Sendable (Range<Int64>) throws -> Data {
        let file = try withFile { $0.file }
        return { range in try Self.posix { Data(try file.read(range.count, at: range.lowerBound)) } }
    }

    // MARK: BodySink

    /// Throws when another program has changed the file since the sink opened it.
    public var length: Int64 {
        get throws {
            // This creates no file: the server may have nothing to put into it.
            let isThere = state.withLock { state in
                state.file != nil || state.handle != nil || state.url.map { files.entry($0.path) != .missing } == true
            }
            return isThere ? try withFile { try $0.checkedEnd() } : 0
        }
    }

    public func append(_ data: Data) throws {
        try append(data.count) { try $0.write(data.bytes, at: $1) }
    }

    package func append(_ count: Int, from pipe: ContentPipe) throws {
        try append(count) { try $0.write(count, from: pipe, at: $1) }
    }

    private func append(_ count: Int, by write: (any OpenFile, Int64) throws -> Void) throws {
        let maximum = state.withLock { $0.maximumLength }
        try withFile { try $0.append(count, upTo: maximum, by: write) }
    }

    public func truncate(to length: Int64) throws {
        try withFile { try $0.truncate(to: max(0, length)) }
    }

    public func bytes(in range: Range<Int64>) throws -> Data {
        try withFile { try $0.file.read(range.count, at: range.lowerBound) }
    }

    public func synchronize() throws {
        try makeSynchronization()()
    }

    package func makeSynchronization() throws -> @Sendable () throws -> Void {
        let file = try withFile { $0.file }
        return {
            try Self.posix { try file.synchronize() }
            try self.synchronizeName()
        }
    }

    /// A file that was created is found after a loss of power only when its folder has reached the disk, too.
    private func synchronizeName() throws {
        guard let url = state.withLock({ $0.isNameSafe ? nil : $0.url }) else { return }
        do throws(SystemError) {
            try files.synchronizeFolder(url.deletingLastPathComponent().path)
        } catch {
            // A folder that may not be read, or a file system without such calls: there is no more to be done.
            guard [EACCES, EPERM, EINVAL].contains(error.code) else { throw FileFailure(.write, url, error) }
        }
        state.withLock { if $0.url == url { $0.isNameSafe = true } }
    }

    public func loadRecord() throws -> Data? {
        try state.withLock { $0.record }?.load()
    }

    /// Locks the file first: only its owner may change the record.
    ///
    /// - Parameter record: The record; `nil` removes it.
    public func saveRecord(_ record: Data?) throws {
        try withFile { _ in }
        // Not where the file has just been moved away from.
        try state.withLock { try $0.record?.save(record) }
    }

    package func synchronizeRecord() throws {
        try state.withLock { $0.record }?.synchronize()
    }

    public func close() throws {
        defer { try? closeWithoutWaiting() }
        // Still under the lock.
        try synchronizeRecord()
    }

    package func closeWithoutWaiting() throws {
        try state.withLock { state in
            state.record?.close()
            // What was reserved and not used is free again. Where that fails, no more than room is lost: the file is
            // unlocked all the same.
            if state.reservesSpace, let file = state.file?.file, let size = try? file.size() {
                try? file.truncate(to: size)
            }
            switch state.closing {
            case .whenUnlocked:
                return
            case .atEnd, .forGood:
                state.file?.file.unlock()
                state.file = nil
            case .byCaller:
                state.file = nil
                // What the caller writes follows the body.
                _ = try state.handle?.seekToEnd()
            }
        }
    }

    /// Calls `body` with the file, which is opened and locked first where it is not.
    private func withFile<Result: Sendable>(_ body: (inout WrittenFile) throws -> Result) throws -> Result {
        try state.withLock { state in
            try Self.posix {
                var file = try state.file ?? open(state)
                defer { state.file = file }
                return try body(&file)
            }
        }
    }

    private func open(_ state: State) throws -> WrittenFile {
        if case .forGood = state.closing { throw refusal("its transfer is over") }
        if let handle = state.handle {
            return try WrittenFile(RegularFile(duplicating: handle.fileDescriptor), .mayLackName)
        }
        guard let url = state.url else { throw CocoaError(.fileNoSuchFile) }
        return try WrittenFile(files.openSinkFile(at: url), .keepsName)
    }
}

/// An open file to which one sink appends.
///
/// The lock keeps other sinks away, not other programs. So the sink remembers where it has written to: in a file that has
/// become shorter or longer, its bytes and another program's cannot be told apart.
private struct WrittenFile {
    /// Whether the file stays where others can find it.
    enum Naming {
        case keepsName
        /// A handle of the caller's may be that of a file without a name.
        case mayLackName
    }

    let file: any OpenFile
    private let naming: Naming
    /// Where the next byte goes.
    private var end: Int64

    init(_ file: any OpenFile, _ naming: Naming) throws(SystemError) {
        self.file = file
        self.naming = naming
        end = try file.size()
    }

    /// Where the next byte goes. Throws when the file does not end there.
    func checkedEnd() throws -> Int64 {
        let status = try file.status()
        if naming == .keepsName, status.lacksName { throw refusal("it was removed or replaced while it was written") }
        guard status.length == end else { throw refusal("another program has changed it while it was written") }
        return end
    }

    mutating func append(_ count: Int, upTo maximum: Int64, by write: (any OpenFile, Int64) throws -> Void) throws {
        let start = try checkedEnd()
        guard start + Int64(count) <= maximum else { throw LengthLimitPassed(maximum: maximum) }
        do {
            try write(file, start)
        } catch {
            // What was written before that counts.
            if let length = try? file.size(), start...(start + Int64(count)) ~= length { end = length }
            throw error
        }
        end = start + Int64(count)
    }

    /// Writes at an offset that may lie before or behind the end.
    mutating func write(
        _ count: Int, at offset: Int64, upTo maximum: Int64, by write: (any OpenFile, Int64) throws -> Void
    ) throws {
        let start = try checkedEnd()
        let last = offset + Int64(count)
        guard last <= maximum else { throw LengthLimitPassed(maximum: maximum) }
        do {
            try write(file, offset)
        } catch {
            if let length = try? file.size(), start...max(start, last) ~= length { end = length }
            throw error
        }
        end = max(end, last)
    }

    mutating func write(_ bytes: [UInt8], at offset: Int64) throws {
        try write(bytes.count, at: offset, upTo: .max) { try $0.write(bytes.span.bytes, at: $1) }
    }

    mutating func truncate(to length: Int64) throws {
        try file.truncate(to: length)
        end = length
    }
}

/// A sink has been offered more bytes than it may take.
package struct LengthLimitPassed: LocalizedError {
    /// The most bytes that the sink may hold.
    package let maximum: Int64

    package init(maximum: Int64) {
        self.maximum = maximum
    }

    package var errorDescription: String? { "the limit of \(maximum) bytes is passed" }
}

extension FileLayer {
    /// Opens the file of a sink, created when it is missing, and locks it.
    func openSinkFile(at url: URL) throws(FileFailure) -> any OpenFile {
        do throws(LockFailure) {
            return try openLocked(url.path, .existingOrNewDocument)
        } catch {
            throw FileFailure(.open, url, Self.reason(for: error))
        }
    }

    private static func reason(for failure: LockFailure) -> any Error {
        switch failure {
        case .system(let error): error.asUnderlying
        case .link: refusal("it is a symbolic link, which is not followed")
        case .notRegular: refusal("it is not a regular file")
        case .hasOtherNames: refusal("it has a second name, a hard link")
        case .taken: refusal("it is being written by another transfer", .fileLocking)
        case .replaced: refusal("it was replaced each time it was opened")
        }
    }
}

extension Error {
    /// Whether the file of a sink could not be opened because another transfer has locked it.
    package var isOfTakenFile: Bool {
        ((self as? FileFailure)?.underlying as? CocoaError)?.code == .fileLocking
    }
}

private func refusal(_ reason: String, _ code: CocoaError.Code = .fileWriteUnknown) -> CocoaError {
    CocoaError(code, userInfo: [NSLocalizedDescriptionKey: reason])
}

import Foundation
import PurlIO
import Synchronization

@testable import Purl

/// One call to the file layer that changes what is on disk, or makes it safe.
enum FileCall: Sendable {
    /// A file that was not there came to be, or one that was there was opened.
    case open(Int, path: String)
    case write(Int, at: Int64, Data)
    case truncate(Int, to: Int64)
    case synchronize(Int)
    case move(String, to: String)
    case remove(String)
    case synchronizeFolder(String)
}

/// The system's files, with a record of all that passes.
///
/// Calls run one at a time, so the record has the order in which they took effect. Files are known by numbers, since
/// their names change.
final class RecordingFiles: FileLayer {
    private struct State {
        var names: [String: Int]
        var count: Int
        var calls: [FileCall] = []
    }

    /// What was there before the first call.
    let start: RecordedDisk
    private let state: Mutex<State>
    private let fails: @Sendable (FileCall) -> Bool

    /// - Parameters:
    ///   - home: What is there in it already is safe.
    ///   - fails: Which calls find the disk full. They change nothing.
    init(over home: BackgroundHome, failing fails: @escaping @Sendable (FileCall) -> Bool = { _ in false }) {
        start = RecordedDisk(home.folder)
        state = Mutex(State(names: start.names, count: start.names.count))
        self.fails = fails
    }

    var calls: [FileCall] { state.withLock { $0.calls } }

    /// What is on disk after the first `count` calls.
    func disk(after count: Int) -> RecordedDisk {
        calls.prefix(count).reduce(into: start) { $0.apply($1) }
    }

    /// What is on disk after each of the calls, first that before any.
    var disks: [RecordedDisk] {
        var disks = [start]
        for call in calls {
            var disk = disks[disks.count - 1]
            disk.apply(call)
            disks.append(disk)
        }
        return disks
    }

    fileprivate func record(_ call: FileCall, _ body: () throws(SystemError) -> Void) throws(SystemError) {
        guard !fails(call) else { throw SystemError(code: ENOSPC, operation: "write") }
        try state.withLock { (state) throws(SystemError) in
            try body()
            state.calls.append(call)
        }
    }

    // MARK: FileLayer

    func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile {
        try state.withLock { (state) throws(SystemError) -> any OpenFile in
            let file = try SystemFiles().open(path, opening)
            let number = state.names[path] ?? state.count
            if state.names.updateValue(number, forKey: path) == nil { state.count += 1 }
            state.calls.append(.open(number, path: path))
            return RecordingFile(file, number, self)
        }
    }

    func move(_ path: String, to newPath: String) throws(SystemError) {
        try record(.move(path, to: newPath)) { () throws(SystemError) in
            try SystemFiles().move(path, to: newPath)
        }
        state.withLock { $0.names[newPath] = $0.names.removeValue(forKey: path) }
    }

    func remove(_ path: String) {
        try? record(.remove(path)) { SystemFiles().remove(path) }
        _ = state.withLock { $0.names.removeValue(forKey: path) }
    }

    func synchronizeFolder(_ path: String) throws(SystemError) {
        try record(.synchronizeFolder(path)) { () throws(SystemError) in
            try SystemFiles().synchronizeFolder(path)
        }
    }
}

private final class RecordingFile: OpenFile {
    private let file: any OpenFile
    private let number: Int
    private let files: RecordingFiles

    init(_ file: any OpenFile, _ number: Int, _ files: RecordingFiles) {
        self.file = file
        self.number = number
        self.files = files
    }

    func lock() throws(SystemError) -> Bool { try file.lock() }
    func unlock() { file.unlock() }
    func size() throws(SystemError) -> Int64 { try file.size() }
    func isFound(at path: String) -> Bool { file.isFound(at: path) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        try file.read(into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        try files.record(.write(number, at: offset, Data(bytes))) { () throws(SystemError) in
            try file.write(bytes, at: offset)
        }
    }

    func truncate(to length: Int64) throws(SystemError) {
        try files.record(.truncate(number, to: length)) { () throws(SystemError) in try file.truncate(to: length) }
    }

    func synchronize() throws(SystemError) {
        try files.record(.synchronize(number)) { () throws(SystemError) in try file.synchronize() }
    }
}

extension BackgroundHome {
    /// A session whose files pass through `files`.
    func makeSession(
        _ delegate: (any URLSessionDelegate)?, through files: any FileLayer, continuing: Bool = false
    ) -> URLSession {
        var values = configuration { $0.continuesDownloadsAfterRelaunch = continuing }.snapshot
        values.files = files
        return URLSession(configuration: URLSessionConfiguration(values), delegate: delegate, delegateQueue: nil)
    }
}

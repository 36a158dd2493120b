import Foundation
import PurlIO
import Synchronization

@testable import Purl
@testable import SessionFixtures

/// The system's files, which simulate a crash: every step that changes a file is counted, and after the allowed steps
/// nothing reaches the disk.
final class CrashingFiles: FileLayer {
    private struct State {
        var steps: [String] = []
        var allowed: Int
    }

    private let state: Mutex<State>
    private let beforeStep: @Sendable (String) -> Void

    /// - Parameters:
    ///   - allowed: How many steps reach the disk.
    ///   - beforeStep: What others do before a step, which it receives.
    init(steps allowed: Int = .max, beforeStep: @escaping @Sendable (String) -> Void = { _ in }) {
        state = Mutex(State(allowed: allowed))
        self.beforeStep = beforeStep
    }

    /// The steps taken, in order.
    var steps: [String] { state.withLock { $0.steps } }

    fileprivate func step(_ name: String) throws(SystemError) {
        beforeStep(name)
        let isAlive = state.withLock { state in
            guard state.steps.count < state.allowed else { return false }
            state.steps.append(name)
            return true
        }
        if !isAlive { throw SystemError(code: EIO, operation: name) }
    }

    func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile {
        let name = URL(fileURLWithPath: path).lastPathComponent
        switch opening {
        case .existing, .reading: break
        case .creating, .existingOrNew, .existingOrNewDocument: try step("open \(name)")
        }
        return CrashingFile(try SystemFiles().open(path, opening), name: name, files: self)
    }

    func move(_ path: String, to newPath: String) throws(SystemError) {
        try step("move to \(URL(fileURLWithPath: newPath).lastPathComponent)")
        try SystemFiles().move(path, to: newPath)
    }

    func entry(_ path: String) -> FileEntry { SystemFiles().entry(path) }

    func removeExisting(_ path: String) throws(SystemError) -> Bool {
        try step("remove")
        return try SystemFiles().removeExisting(path)
    }

    func synchronizeFolder(_ path: String) throws(SystemError) {
        try step("synchronize folder")
        try SystemFiles().synchronizeFolder(path)
    }
}

private final class CrashingFile: OpenFile {
    private let file: any OpenFile
    private let name: String
    private let files: CrashingFiles

    init(_ file: any OpenFile, name: String, files: CrashingFiles) {
        (self.file, self.name, self.files) = (file, name, files)
    }

    func lock() throws(SystemError) -> Bool { try file.lock() }
    func unlock() { file.unlock() }
    func status() throws(SystemError) -> FileStatus { try file.status() }
    func isFound(at path: String) -> Bool { file.isFound(at: path) }
    func truncate(to length: Int64) throws(SystemError) { try file.truncate(to: length) }

    /// Half of the bytes may be written.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        try files.step("write half of \(name)")
        try file.write(UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)]), at: offset)
        try files.step("write \(name)")
        try file.write(bytes, at: offset)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        try file.read(into: buffer, at: offset)
    }

    func synchronize() throws(SystemError) {
        try files.step("synchronize \(name)")
        try file.synchronize()
    }
}

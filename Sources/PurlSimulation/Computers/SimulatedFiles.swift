import Foundation
internal import Purl
import PurlIO

/// The files of a simulated process: real ones, whose changes the disk records. Every change is a step before which the process
/// may be killed.
final class SimulatedFiles: FileLayer {
    private let process: SimulatedProcess
    private var disk: Disk { process.computer.disk }

    init(_ process: SimulatedProcess) {
        self.process = process
    }

    var bootIdentifier: String? { "\(process.computer.name)-\(disk.boot)" }

    func entry(_ path: String) -> FileEntry { FileEntry(atPath: path) }

    func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile {
        let isNew = FileEntry(atPath: path) == .missing
        switch opening {
        case .reading: try process.checkReading("open")
        case .existing: try process.checkAlive("open")
        case .creating, .existingOrNew, .existingOrNewDocument:
            if isNew {
                try process.checkChange("open", isEdge: true)
                try process.checkRoom("open")
            } else {
                try process.checkAlive("open")
            }
        }
        let file = SimulatedFile(try RegularFile(path, opening), of: process)
        if isNew {
            disk.didCreate(path)
            file.touch()
        }
        return file
    }

    func move(_ path: String, to newPath: String) throws(SystemError) {
        try process.checkChange("rename", isEdge: true)
        let moved = disk.willMove(path, to: newPath)
        try RegularFile.move(path, to: newPath)
        moved()
    }

    func move(_ path: String, toFree newPath: String) throws(SystemError) {
        try process.checkChange("rename", isEdge: true)
        let moved = disk.willMove(path, to: newPath)
        try RegularFile.move(path, toFree: newPath)
        moved()
    }

    func removeExisting(_ path: String) throws(SystemError) -> Bool {
        try process.countChange("unlink", isEdge: true)
        let removed = disk.willRemove(path)
        let wasThere = try RegularFile.removeExisting(path)
        removed()
        return wasThere
    }

    func synchronizeFolder(_ path: String) throws(SystemError) {
        try process.checkChange("fsync", isEdge: true)
        disk.synchronizeFolder(path)
    }
}

/// An open file of a simulated process, which the kernel closes when the process ends.
final class SimulatedFile: OpenFile, @unchecked Sendable {
    // Used on the thread of the simulation alone.
    private var openFile: RegularFile?
    private let process: SimulatedProcess
    private var disk: Disk { process.computer.disk }

    init(_ file: RegularFile, of process: SimulatedProcess) {
        openFile = file
        self.process = process
        process.opens(self)
    }

    /// By which the disk knows the file, whatever its name is.
    private(set) lazy var number = try? openFile?.status().identity.number

    private func file() throws(SystemError) -> RegularFile {
        guard let openFile else { throw SystemError(code: EBADF, operation: "write") }
        return openFile
    }

    /// The kernel closes it, and frees its lock.
    func close() {
        openFile?.unlock()
        openFile = nil
    }

    /// What is in it now; `nil` where it cannot be read.
    var content: Data? {
        guard let openFile, let size = try? openFile.size() else { return nil }
        return (try? openFile.read(Int(size), at: 0)).map { Data($0) }
    }

    /// It was written to now, by the calendar of the simulation.
    func touch() {
        try? openFile?.setModificationTime(process.calendarTime)
    }

    func lock() throws(SystemError) -> Bool {
        guard try file().lock() else { return false }
        process.locks(self)
        return true
    }

    func unlock() {
        openFile?.unlock()
        process.unlocks(self)
    }

    func status() throws(SystemError) -> FileStatus { try file().status() }
    func isFound(at path: String) -> Bool { openFile?.isFound(at: path) ?? false }
    func openToOthers() throws(SystemError) { try file().openToOthers() }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        do throws(SystemError) {
            try process.checkChange("pwrite", isEdge: offset == 0)
            try process.checkRoom("pwrite")
        } catch {
            // A disk that is full has taken a part, and a process that is killed has written one.
            let part = process.isDying ? process.takePart(of: bytes.count) : bytes.count / 2
            try write(part, of: bytes, at: offset)
            throw error
        }
        try write(bytes.count, of: bytes, at: offset)
        process.hasWritten(self, number: number)
    }

    private func write(_ count: Int, of bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        guard count > 0 else { return }
        let file = try file()
        disk.willWrite(count, at: offset, to: file)
        try file.write(UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: offset)
        touch()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        try process.checkReading("pread")
        return try file().read(into: buffer, at: offset)
    }

    func truncate(to length: Int64) throws(SystemError) {
        try process.checkChange("ftruncate", isEdge: true)
        let file = try file()
        let isFilled = content.map { RangeJournal.isBehind(length, in: $0) } ?? false
        disk.willTruncate(file, to: length)
        try file.truncate(to: length)
        touch()
        if isFilled { process.hasJoined(self) }
    }

    func synchronize() throws(SystemError) {
        try process.checkChange("fsync", isEdge: true)
        disk.synchronize(try file())
    }

    deinit {
        // The disk may keep the descriptor, for what has not been synchronised.
        openFile?.unlock()
        process.closes(self)
    }
}

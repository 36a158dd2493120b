/// Opens, moves and removes files that must survive a crash, such as those of unfinished downloads.
///
/// What survives a power loss is decided by the order of writes and synchronisations alone, and that order can only be
/// checked where all of them pass: tests use a layer that records it.
package protocol FileLayer: Sendable {
    /// What identifies the boot in which the files are written; `nil` where that is unknown.
    var bootIdentifier: String? { get }

    /// Opens the file at `path`.
    func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile

    /// Renames the file at `path`, and replaces the file at `newPath`, in one step.
    func move(_ path: String, to newPath: String) throws(SystemError)

    /// Removes the file at `path`, if there is one. While it is open it stays readable.
    func remove(_ path: String)

    /// Returns when the names in the folder at `path` have reached the disk.
    func synchronizeFolder(_ path: String) throws(SystemError)
}

extension FileLayer {
    /// The machine's own.
    package var bootIdentifier: String? { Boot.identifier }
}

/// A file that is open in a ``FileLayer``; see `RegularFile` for what the calls do.
package protocol OpenFile: AnyObject, Sendable {
    func lock() throws(SystemError) -> Bool
    func unlock()
    func size() throws(SystemError) -> Int64
    func isFound(at path: String) -> Bool
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError)
    func write(_ count: Int, from pipe: ContentPipe, at offset: Int64) throws(SystemError)
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int
    func truncate(to length: Int64) throws(SystemError)
    func synchronize() throws(SystemError)
}

/// The system's own files.
package struct SystemFiles: FileLayer {
    package init() {}

    package func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile {
        SystemFile(try RegularFile(path, opening))
    }

    package func move(_ path: String, to newPath: String) throws(SystemError) {
        try RegularFile.move(path, to: newPath)
    }

    package func remove(_ path: String) {
        RegularFile.remove(path)
    }

    package func synchronizeFolder(_ path: String) throws(SystemError) {
        try RegularFile.synchronizeFolder(path)
    }
}

private final class SystemFile: OpenFile {
    private let file: RegularFile

    init(_ file: consuming RegularFile) { self.file = file }

    func lock() throws(SystemError) -> Bool { try file.lock() }
    func unlock() { file.unlock() }
    func size() throws(SystemError) -> Int64 { try file.size() }
    func isFound(at path: String) -> Bool { file.isFound(at: path) }
    func truncate(to length: Int64) throws(SystemError) { try file.truncate(to: length) }
    func synchronize() throws(SystemError) { try file.synchronize() }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        try file.write(bytes, at: offset)
    }

    func write(_ count: Int, from pipe: ContentPipe, at offset: Int64) throws(SystemError) {
        try file.write(count, from: pipe, at: offset)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        try file.read(into: buffer, at: offset)
    }
}

extension OpenFile {
    /// Writes `count` bytes, which are in the pipe, through this process's memory.
    package func write(_ count: Int, from pipe: ContentPipe, at offset: Int64) throws(SystemError) {
        let content = try pipe.bytes(count)
        try content.span.bytes.withUnsafeBytes { bytes throws(SystemError) in try write(bytes, at: offset) }
    }
}

import Foundation
package import PurlIO

/// The files of unfinished downloads and of the journals that speak of them.
///
/// What survives a power loss is decided by the order of writes and synchronisations alone, and that order can only be
/// checked where all of them pass: tests put a layer here that records it.
package protocol FileLayer: Sendable {
    func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile

    /// Gives the file another name, in place of the file that has it now; in one step.
    func move(_ path: String, to newPath: String) throws(SystemError)

    /// Removes the file, if there is one. What is open of it stays readable until it is closed.
    func remove(_ path: String)

    /// Returns when the names in the folder have reached the disk.
    func synchronizeFolder(_ path: String) throws(SystemError)
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

extension FileLayer {
    /// Puts a new file with these bytes in the place of the one at `path`: a crash leaves one or the other. The name is
    /// safe once the folder has been synchronised.
    ///
    /// - Returns: The new file, open.
    func replace(_ path: String, with bytes: Data) throws(SystemError) -> any OpenFile {
        let fresh = path + ".new"
        remove(fresh)
        let file = try open(fresh, .creating)
        try file.write(bytes, at: 0)
        try file.synchronize()
        try move(fresh, to: path)
        return file
    }
}

extension OpenFile {
    /// Writes `count` bytes of the pipe like others.
    func write(_ count: Int, from pipe: ContentPipe, at offset: Int64) throws(SystemError) {
        let content = try pipe.bytes(count)
        try content.span.bytes.withUnsafeBytes { bytes throws(SystemError) in try write(bytes, at: offset) }
    }

    /// The bytes from `offset`, at most `count`; fewer where the file ends.
    func read(_ count: Int, at offset: Int64) throws -> Data {
        var data = Data(count: count)
        let length = try data.withUnsafeMutableBytes { try read(into: $0, at: offset) }
        return data.prefix(length)
    }

    /// Writes all of `data` at `offset`.
    func write(_ data: Data, at offset: Int64) throws(SystemError) {
        try data.bytes.withUnsafeBytes { bytes throws(SystemError) in try write(bytes, at: offset) }
    }
}

/// Opens, moves and removes the files that this library keeps: those of unfinished transfers and their records, journals, the
/// cache and the cookies.
///
/// What survives a power loss is decided by the order of writes and synchronisations alone, and that order can only be
/// checked where all of them pass: tests use a layer that records it.
package protocol FileLayer: Sendable {
    /// What identifies the boot in which the files are written; `nil` where that is unknown.
    var bootIdentifier: String? { get }

    /// What is at `path`; links are not followed.
    func entry(_ path: String) -> FileEntry

    /// Opens the file at `path`.
    func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile

    /// Renames the file at `path`, and replaces the file at `newPath`, in one step.
    func move(_ path: String, to newPath: String) throws(SystemError)

    /// Renames the file at `path` in one step, unless there is something at `newPath`: then it throws `EEXIST`.
    func move(_ path: String, toFree newPath: String) throws(SystemError)

    /// Removes the file or link at `path`, never a folder. While it is open it stays readable. False when there is none.
    @discardableResult
    func removeExisting(_ path: String) throws(SystemError) -> Bool

    /// Returns when the names in the folder at `path` have reached the disk.
    func synchronizeFolder(_ path: String) throws(SystemError)
}

extension FileLayer {
    /// The machine's own.
    package var bootIdentifier: String? { Boot.identifier }

    /// For a layer whose files no other process uses: it looks first.
    package func move(_ path: String, toFree newPath: String) throws(SystemError) {
        guard entry(newPath) == .missing else { throw SystemError(code: EEXIST, operation: "rename") }
        try move(path, to: newPath)
    }

    /// Removes the file at `path`, if there is one and it can be removed.
    package func remove(_ path: String) { _ = try? removeExisting(path) }
}

/// A file that is open in a ``FileLayer``; see `RegularFile` for what the calls do.
package protocol OpenFile: AnyObject, Sendable {
    func lock() throws(SystemError) -> Bool
    func unlock()
    func status() throws(SystemError) -> FileStatus
    func isFound(at path: String) -> Bool
    func reserve(_ length: Int64) throws(SystemError)
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError)
    func write(_ count: Int, from pipe: ContentPipe, at offset: Int64) throws(SystemError)
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int
    func truncate(to length: Int64) throws(SystemError)
    func synchronize() throws(SystemError)
    func openToOthers() throws(SystemError)
}

/// The system's own files; in a simulation, those of the process that makes this value.
package struct SystemFiles: FileLayer {
    private let simulated: (any FileLayer)?

    package init() {
        simulated = Simulated.machine?.files
    }

    package var bootIdentifier: String? { simulated == nil ? Boot.identifier : simulated?.bootIdentifier }

    package func entry(_ path: String) -> FileEntry { simulated?.entry(path) ?? FileEntry(atPath: path) }

    package func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile {
        if let simulated { return try simulated.open(path, opening) }
        return try RegularFile(path, opening)
    }

    package func move(_ path: String, to newPath: String) throws(SystemError) {
        if let simulated { return try simulated.move(path, to: newPath) }
        try RegularFile.move(path, to: newPath)
    }

    package func move(_ path: String, toFree newPath: String) throws(SystemError) {
        if let simulated { return try simulated.move(path, toFree: newPath) }
        try RegularFile.move(path, toFree: newPath)
    }

    package func removeExisting(_ path: String) throws(SystemError) -> Bool {
        if let simulated { return try simulated.removeExisting(path) }
        return try RegularFile.removeExisting(path)
    }

    package func synchronizeFolder(_ path: String) throws(SystemError) {
        if let simulated { return try simulated.synchronizeFolder(path) }
        try RegularFile.synchronizeFolder(path)
    }
}

extension OpenFile {
    /// Changes nothing.
    package func openToOthers() throws(SystemError) {}

    /// Reserves nothing.
    package func reserve(_ length: Int64) throws(SystemError) {}

    /// The length in bytes.
    package func size() throws(SystemError) -> Int64 { try status().length }

    /// Writes `count` bytes, which are in the pipe, through this process's memory.
    package func write(_ count: Int, from pipe: ContentPipe, at offset: Int64) throws(SystemError) {
        let content = try pipe.bytes(count)
        try write(content.span.bytes, at: offset)
    }

    /// Writes all of `bytes` at `offset`.
    package func write(_ bytes: RawSpan, at offset: Int64) throws(SystemError) {
        try bytes.withUnsafeBytes { bytes throws(SystemError) in try write(bytes, at: offset) }
    }
}

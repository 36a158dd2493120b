// The two kinds of files that are kept.
//
// A *locked file* takes bytes while a transfer runs, or is one that others must not change meanwhile. It is reached through no
// link, it is locked, and it was still the file at its path once it was locked: the holder of the lock before may have moved it.
// The lock is held until the file is unlocked or closed, also while it is renamed.
//
// A *record* says what another file is. It is small and never changed: a new one is written to a second file, ".new", which is
// renamed, so that a reader finds the old one or the new one.

/// Why a file cannot be locked.
package enum LockFailure: Error, Sendable, Equatable {
    case system(SystemError)
    case link
    case notRegular
    /// It is another file's, too: what is written to it would change that one.
    case hasOtherNames
    /// Another descriptor, in this process or another, has locked it.
    case taken
    /// Another file has taken its place each time it was opened.
    case replaced

    /// The nearest of the system's errors.
    package var systemError: SystemError {
        switch self {
        case .system(let error): error
        case .link: SystemError(code: ELOOP, operation: "open")
        case .notRegular: SystemError(code: EINVAL, operation: "open")
        case .hasOtherNames: SystemError(code: EMLINK, operation: "open")
        case .taken: SystemError(code: EWOULDBLOCK, operation: "flock")
        case .replaced: SystemError(code: EAGAIN, operation: "open")
        }
    }
}

extension FileLayer {
    /// Opens the file at `path`, locks it, and makes sure that it still is the one at `path`.
    ///
    /// A file that may be written to has no other name.
    package func openLocked(
        _ path: String, _ opening: RegularFile.Opening
    ) throws(LockFailure) -> any OpenFile {
        for _ in 0..<maximumLockAttempts {
            let file: any OpenFile
            do throws(SystemError) {
                file = try open(path, opening)
            } catch {
                switch entry(path) {
                case .link: throw .link
                case .device, .pipe, .socket: throw .notRegular
                case .missing, .regular, .folder: throw .system(error)
                }
            }
            let (isSound, isLocked): (Bool, Bool)
            do throws(SystemError) {
                isSound = if case .reading = opening { true } else { try !file.status().hasOtherNames }
                isLocked = isSound ? try file.lock() : false
            } catch {
                throw .system(error)
            }
            guard isSound else { throw .hasOtherNames }
            guard isLocked else { throw .taken }
            if file.isFound(at: path) { return file }
        }
        throw .replaced
    }

    // MARK: Records

    /// Writes a new file beside `path`, which is to take its place. Whatever has that name, a link for example, is removed and
    /// not written to.
    package func createSuccessor(of path: String, _ bytes: RawSpan) throws(SystemError) -> any OpenFile {
        let successor = self.successor(of: path)
        try removeExisting(successor)
        let file = try open(successor, .creating)
        do throws(SystemError) {
            if !bytes.isEmpty { try file.write(bytes, at: 0) }
        } catch {
            remove(successor)
            throw error
        }
        return file
    }

    /// Puts the file that ``createSuccessor(of:_:)`` has made in the place of the one at `path`, in one step.
    package func installSuccessor(of path: String) throws(SystemError) {
        try move(successor(of: path), to: path)
    }

    /// Puts a new file with these bytes, readable by its owner only, in the place of the one at `path`. A process that is killed
    /// leaves one or the other.
    ///
    /// - Parameter survivesPowerLoss: The bytes reach the disk first, so that a power loss leaves one or the other, too. The
    ///   name is safe once the folder has been synchronised.
    package func replace(_ path: String, with bytes: RawSpan, survivesPowerLoss: Bool) throws(SystemError) {
        let file = try createSuccessor(of: path, bytes)
        do throws(SystemError) {
            if survivesPowerLoss { try file.synchronize() }
            try installSuccessor(of: path)
        } catch {
            remove(successor(of: path))
            throw error
        }
    }

    /// The bytes of the record at `path`, `limit` at most; `nil` unless it is a regular file of this user's: in a folder that
    /// several users can write to, others do not decide what it says.
    package func readRecord(_ path: String, upTo limit: Int) throws(SystemError) -> [UInt8]? {
        guard case .regular = entry(path) else { return nil }
        let file = try open(path, .reading)
        let status = try file.status()
        guard status.isOwn else { return nil }
        let count = Int(min(status.length, Int64(limit)))
        // Initializing an empty array writes to the storage that all empty arrays share: a race.
        guard count > 0 else { return [] }
        return try [UInt8](unsafeUninitializedCapacity: count) { buffer, length throws(SystemError) in
            length = try file.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
        }
    }

    /// Where the file is written that is to take the place of the one at `path`.
    package func successor(of path: String) -> String { path + ".new" }
}

private let maximumLockAttempts = 100

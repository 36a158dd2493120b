import Foundation

extension FileHandle {
    /// Opens the file at `url`, made when it is not there, for reading and writing and for this holder alone.
    static func locked(_ url: URL) throws -> FileHandle {
        let descriptor = open(url.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw FileFailure(.open, url, NSError.system(at: url)) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let reason = "it is being written by another transfer"
            throw FileFailure(
                .open, url, CocoaError(.fileLocking, userInfo: [NSLocalizedDescriptionKey: reason]))
        }
        return handle
    }

    /// The bytes at these offsets.
    func bytes(in range: Range<Int64>) throws -> Data {
        try seek(toOffset: UInt64(max(0, range.lowerBound)))
        return try read(upToCount: range.count) ?? Data()
    }
}

extension NSError {
    /// What the system call that just failed has left in `errno`.
    static func system(at url: URL) -> NSError {
        NSError(domain: NSPOSIXErrorDomain, code: Int(errno), userInfo: [NSFilePathErrorKey: url.path])
    }
}

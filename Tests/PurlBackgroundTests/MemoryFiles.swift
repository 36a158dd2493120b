import Foundation
import PurlIO
import Synchronization

@testable import Purl

/// Files in memory, for journals that are opened thousands of times.
final class MemoryFiles: FileLayer {
    private let files: Mutex<[String: MemoryFile]>

    init(_ contents: [String: Data] = [:]) {
        files = Mutex(contents.mapValues(MemoryFile.init))
    }

    func contents(_ path: String) -> Data? { files.withLock { $0[path] }?.contents }

    func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile {
        let file = files.withLock { files -> MemoryFile? in
            switch (opening, files[path]) {
            case (.existing, let file?), (.reading, let file?), (.existingOrNew, let file?),
                (.existingOrNewDocument, let file?):
                return file
            case (.existing, nil), (.reading, nil), (.creating, _?): return nil
            case (.creating, nil), (.existingOrNew, nil), (.existingOrNewDocument, nil):
                let file = MemoryFile(Data())
                files[path] = file
                return file
            }
        }
        guard let file else { throw SystemError(code: opening == .creating ? EEXIST : ENOENT, operation: "open") }
        return file
    }

    func move(_ path: String, to newPath: String) throws(SystemError) {
        files.withLock { $0[newPath] = $0.removeValue(forKey: path) }
    }

    func entry(_ path: String) -> FileEntry {
        files.withLock { $0[path] }.map { .regular($0.status()) } ?? .missing
    }

    func removeExisting(_ path: String) -> Bool {
        files.withLock { $0.removeValue(forKey: path) } != nil
    }

    func synchronizeFolder(_ path: String) {}
}

/// A file in memory. It has one owner, so its lock is always free.
private final class MemoryFile: OpenFile {
    private let data: Mutex<Data>

    init(_ data: Data) { self.data = Mutex(data) }

    var contents: Data { data.withLock { $0 } }

    func lock() -> Bool { true }
    func unlock() {}
    func status() -> FileStatus {
        FileStatus(
            identity: .init(device: 0, number: UInt64(UInt(bitPattern: ObjectIdentifier(self)))),
            length: Int64(contents.count), modified: .init(seconds: 0, nanoseconds: 0))
    }
    func isFound(at path: String) -> Bool { true }
    func synchronize() {}

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
        let bytes = Data(bytes)
        data.withLock { data in
            let end = Int(offset) + bytes.count
            if data.count < end { data.append(Data(count: end - data.count)) }
            data.replaceSubrange(Int(offset)..<end, with: bytes)
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        contents.dropFirst(Int(offset)).copyBytes(to: buffer)
    }

    func truncate(to length: Int64) {
        data.withLock { $0 = $0.prefix(Int(length)) + Data(count: max(0, Int(length) - $0.count)) }
    }
}

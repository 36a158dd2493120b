import Testing

@testable import PurlIO

@Suite("Names of regular files")
struct RegularFileTests {
    private let folder = ScratchFolder()

    /// Removed with its files when it is deallocated.
    private final class ScratchFolder {
        private let path: String
        private var names: [String] = []

        init(in parent: String = "/tmp") {
            var template = Array("\(parent)/purl-io-XXXXXX".utf8CString)
            let created = mkdtemp(&template)
            path = created.map { String(cString: $0) } ?? "/nonexistent"
        }

        deinit {
            for name in names { unlink(path + "/" + name) }
            rmdir(path)
        }

        func path(_ name: String) -> String {
            names.append(name)
            return path + "/" + name
        }
    }

    #if os(Linux)
        @Test("Room for a file in memory is looked at and not taken: the system would write zeros to all of it")
        func roomInMemory() throws {
            let memory = ScratchFolder(in: "/dev/shm")
            let file = try RegularFile(memory.path("film"), .existingOrNew)
            try file.reserve(1 << 30)
            #expect(try file.status().length == 0)
            #expect(blocks(of: memory.path("film")) == 0)
            // Not a byte is asked of a server for what cannot be kept.
            #expect(throws: SystemError.self) { try file.reserve(.max) }
        }

        private func blocks(of path: String) -> Int {
            var status = stat()
            return stat(path, &status) == 0 ? Int(status.st_blocks) : -1
        }
    #endif

    private func write(_ text: String, to name: String) throws -> String {
        let path = folder.path(name)
        try RegularFile(path, .existingOrNew).write(Array(text.utf8).span.bytes, at: 0)
        return path
    }

    private func text(_ path: String) throws -> String {
        let file = try RegularFile(path, .reading)
        return String(decoding: try file.read(100, at: 0), as: UTF8.self)
    }

    @Test("A file that is released is unlocked, though a process that is being started has its descriptor")
    func releasedLock() throws {
        let path = folder.path("film")
        // What a child has between `fork` and `exec`: another descriptor of the same open file.
        let childs = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(childs) }
        var file: RegularFile? = try RegularFile(duplicating: childs)
        #expect(try file?.lock() == true)
        let next = try RegularFile(path, .existing)
        #expect(try !next.lock())
        file = nil
        #expect(try next.lock())
    }

    @Test("A file is moved to a free name, and never to one that is taken")
    func movesToFreeName() throws {
        let (old, new) = (try write("old", to: "old"), folder.path("new"))
        try RegularFile.move(old, toFree: new)
        #expect(try text(new) == "old")
        #expect(FileEntry(atPath: old) == .missing)
        let other = try write("other", to: "other")
        #expect(throws: SystemError(code: EEXIST, operation: "rename")) { try RegularFile.move(other, toFree: new) }
        #expect(try text(new) == "old")
        #expect(try text(other) == "other")
        #expect(symlink("nowhere", folder.path("link")) == 0)
        #expect(throws: SystemError.self) { try RegularFile.move(other, toFree: folder.path("link")) }
    }
}

import Foundation

/// The changes of a folder's files, which another thread or process makes.
enum FolderChanges {
    /// Returns when the condition holds, or when the test is cancelled: looks at every change of a file in the folder.
    static func wait(in folder: URL, until condition: () throws -> Bool) async throws {
        let watch = inotify_init1(Int32(IN_NONBLOCK))
        let kinds = UInt32(IN_CREATE | IN_MODIFY | IN_MOVED_TO | IN_DELETE)
        guard watch >= 0, inotify_add_watch(watch, folder.path, kinds) >= 0 else {
            throw CocoaError(.fileReadNoSuchFile)
        }
        let (changes, toChanges) = AsyncStream<Void>.makeStream()
        let source = DispatchSource.makeReadSource(fileDescriptor: watch)
        source.setEventHandler {
            var events = [UInt8](repeating: 0, count: 4096)
            while read(watch, &events, events.count) > 0 {}
            toChanges.yield()
        }
        source.setCancelHandler { close(watch) }
        source.activate()
        defer { source.cancel() }
        if try condition() { return }
        for await _ in changes where try condition() { return }
    }

    /// Copies a file that may meanwhile be replaced by a shorter one: `FileManager` would wait for the missing bytes for ever.
    static func copyFile(_ file: URL, to copy: URL) throws {
        try Data(contentsOf: file).write(to: copy)
    }
}

import Foundation

/// A test's own folder, removed when it is deallocated.
final class TemporaryFolder: Sendable {
    let url: URL

    init() {
        url = FileManager.default.temporaryDirectory
            .appendingPathComponent("purl-examples-\(UUID().uuidString)", isDirectory: true)
        try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func file(_ name: String) -> URL { url.appendingPathComponent(name) }

    /// Returns when there is a file of this many bytes in the folder, or in one within it.
    func waitForFile(ofSize size: Int) async {
        while !sizes.contains(size), !Task.isCancelled { await Task.yield() }
    }

    private var sizes: [Int] {
        let files = FileManager.default.enumerator(at: url, includingPropertiesForKeys: [.fileSizeKey])
        // A file may be gone when it is asked for its size.
        return files?.compactMap { ($0 as? URL).flatMap { try? $0.resourceValues(forKeys: [.fileSizeKey]).fileSize } }
            ?? []
    }
}

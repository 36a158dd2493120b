import Foundation

/// The items in a manager's folder, as earlier processes have left them.
struct StoredItems {
    private let paths: DownloadPaths
    private let names: [String]

    /// The downloads that have an item, in the order in which they were added. Files that are not items are skipped.
    private(set) var unfinished: [DownloadItem] = []

    init(in paths: DownloadPaths) {
        self.paths = paths
        names = (try? FileManager.default.contentsOfDirectory(atPath: paths.unfinishedDirectory.path)) ?? []
        // Equal numbers keep the order of the names, since the sort is stable.
        unfinished = names.filter { $0.hasSuffix(".\(DownloadPaths.itemType)") }.sorted().compactMap { name in
            ItemFile.read(place(of: name), through: paths.files)
        }.sorted { $0.order < $1.order }
    }

    /// Removes what killed processes have left of downloads that are over, and these from the unfinished ones.
    mutating func removeFinished() {
        for name in names where DownloadPaths.isUnfinishedItem(name) {
            // A process was killed while it wrote it. One that is writing it now writes it once more.
            paths.files.remove(place(of: name).path)
        }
        for deleted in names.compactMap(paths.unfinished(ofDeletion:)) {
            // The process ended before the bytes were deleted. Those of a download that was added once more are not.
            if paths.files.entry(deleted.item.path) == .missing {
                deleted.finishDeletion()
            } else {
                paths.files.remove(deleted.deletion.path)
            }
        }
        unfinished.removeAll { [paths] item in
            guard item.sha256.isEmpty, paths.files.fileSize(paths.finished(item.url)) != nil else { return false }
            // The process ended just after the file had been moved.
            let remains = paths.unfinished(item.url)
            DownloadSink.remove(remains)
            paths.files.remove(remains.item.path)
            return true
        }
    }

    private func place(of name: String) -> URL {
        paths.unfinishedDirectory.appendingPathComponent(name, isDirectory: false)
    }
}

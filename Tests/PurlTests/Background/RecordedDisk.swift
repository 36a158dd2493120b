import Foundation

/// A disk as far as a process can know it: what is safe, and what was done since and may or may not get there.
struct RecordedDisk: Sendable {
    /// Something done to a file that it has not been synchronised after.
    enum Change: Sendable {
        case write(at: Int64, Data)
        case truncate(to: Int64)
    }

    struct File: Sendable {
        var safe = Data()
        var pending: [Change] = []

        /// What a process reads.
        var now: Data { pending.reduce(into: safe) { $0.apply($1) } }
    }

    /// What a power loss makes of changes that were not synchronised.
    enum Loss: CaseIterable, Sendable {
        /// None happened.
        case all
        /// All happened: also what the death of the process alone leaves.
        case none
        /// The last one happened by half.
        case torn
        /// The lengths arrived, the bytes did not.
        case zeros
        /// The last one overtook the others.
        case overtaken
    }

    private(set) var files: [Int: File] = [:]
    /// The paths that lead to the files.
    private(set) var names: [String: Int] = [:]
    /// Those that a power loss leaves.
    private(set) var safeNames: [String: Int] = [:]

    /// Everything in a folder, all of it safe.
    init(_ folder: URL) {
        let paths = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        for path in paths.map({ "\(folder.path)/\($0)" }) {
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue,
                let data = try? Data(contentsOf: URL(fileURLWithPath: path))
            else { continue }
            names[path] = files.count
            files[files.count] = File(safe: data)
        }
        safeNames = names
    }

    mutating func apply(_ call: FileCall) {
        switch call {
        case .open(let number, let path):
            names[path] = number
            if files[number] == nil { files[number] = File() }
        case .write(let number, let offset, let data):
            files[number]?.pending.append(.write(at: offset, data))
        case .truncate(let number, let length):
            files[number]?.pending.append(.truncate(to: length))
        case .synchronize(let number):
            if let now = files[number]?.now { files[number] = File(safe: now) }
        case .move(let path, let newPath):
            names[newPath] = names.removeValue(forKey: path)
        case .remove(let path):
            names[path] = nil
        case .synchronizeFolder(let folder):
            safeNames = safeNames.filter { Self.folder(of: $0.key) != folder }
            for (path, number) in names where Self.folder(of: path) == folder { safeNames[path] = number }
        }
    }

    private static func folder(of path: String) -> String { (path as NSString).deletingLastPathComponent }

    func file(_ path: String) -> File? { names[path].flatMap { files[$0] } }

    /// What is there after a power loss.
    ///
    /// - Parameters:
    ///   - journal: What becomes of the journal's changes, and of its replacement's.
    ///   - partials: What becomes of the other files' changes.
    ///   - losesNames: Whether the names arrived that were not synchronised.
    func survivors(journal: Loss, partials: Loss, losesNames: Bool) -> [String: Data] {
        (losesNames ? safeNames : names).reduce(into: [:]) { survivors, entry in
            let loss = entry.key.contains("journal") ? journal : partials
            survivors[entry.key] = files[entry.value]?.survivor(loss)
        }
    }
}

extension RecordedDisk.File {
    func survivor(_ loss: RecordedDisk.Loss) -> Data {
        guard let last = pending.last else { return safe }
        switch loss {
        case .all: return safe
        case .none: return now
        case .torn:
            let before = pending.dropLast().reduce(into: safe) { $0.apply($1) }
            guard case .write(let offset, let data) = last else { return before }
            var torn = before
            torn.apply(.write(at: offset, data.prefix(data.count / 2)))
            return torn
        case .zeros:
            return pending.reduce(into: safe) { data, change in
                switch change {
                case .write(let offset, let bytes): data.apply(.write(at: offset, Data(count: bytes.count)))
                case .truncate: data.apply(change)
                }
            }
        case .overtaken:
            var data = safe
            data.apply(last)
            return data
        }
    }
}

extension Data {
    fileprivate mutating func apply(_ change: RecordedDisk.Change) {
        switch change {
        case .truncate(let length):
            resize(to: Int(length))
        case .write(let offset, let bytes):
            let end = Int(offset) + bytes.count
            if count < end { resize(to: end) }
            replaceSubrange(Int(offset)..<end, with: bytes)
        }
    }

    private mutating func resize(to length: Int) {
        if count > length { removeSubrange(length...) } else { append(Data(count: length - count)) }
    }
}

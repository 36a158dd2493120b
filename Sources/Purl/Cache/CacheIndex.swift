import Foundation

/// The index of a cache's responses, in memory and on disk. Those that have not been used for the longest time make
/// room.
///
/// It reads and writes no file: it lists the files that are to be removed.
struct CacheIndex: Sendable {
    /// One response: in memory, on disk, or in both.
    struct Entry: Sendable {
        /// When it was stored, in milliseconds since 1970, as in its file's name.
        var milliseconds: Int64
        /// The number of its request among those of this process; 0 for that of an earlier one.
        var request = 0
        /// The URL of the key; `nil` for a file that has not been read.
        var url: String?
        /// The response, if it is in memory.
        var response: CachedURLResponse?
        var file: File = .none
        var fileSize = 0
    }

    enum File: Sendable {
        case none
        /// The file is to be written.
        case waiting(CachedURLResponse, CacheKey)
        case written
    }

    private(set) var memoryUsage = 0
    private(set) var diskUsage = 0
    private var entries: [CacheSlot: Entry] = [:]
    /// The variants of each key.
    private var variants: [UInt64: Set<UInt64>] = [:]
    private var memoryOrder = RecencyList<CacheSlot>()
    private var diskOrder = RecencyList<CacheSlot>()
    /// Files that are no longer part of the index, and are still to be removed.
    private var discarded: [CacheFolder.Name] = []

    static func milliseconds(_ date: Date) -> Int64 {
        Int64(exactly: (date.timeIntervalSince1970 * 1000).rounded(.down))
            ?? (date < Date(timeIntervalSince1970: 0) ? .min : .max)
    }

    subscript(slot: CacheSlot) -> Entry? { entries[slot] }

    /// The responses to a key, the one that was stored last first.
    func slots(of number: UInt64) -> [CacheSlot] {
        guard let found = variants[number] else { return [] }
        if found.count == 1, let only = found.first { return [CacheSlot(number: number, variant: only)] }
        return found.map { CacheSlot(number: number, variant: $0) }
            .sorted { (entries[$0]?.milliseconds ?? 0) > (entries[$1]?.milliseconds ?? 0) }
    }

    /// The slots of the responses that were stored at `date` or later.
    func slots(since date: Date) -> [CacheSlot] {
        let limit = Self.milliseconds(date)
        return entries.filter { $0.value.milliseconds >= limit }.map(\.key)
    }

    var all: [CacheSlot] { Array(entries.keys) }

    // MARK: Changes

    /// Keeps a response in memory, on disk (where it waits to be written), or in both; in place of what the slot had.
    mutating func insert(
        _ slot: CacheSlot, _ response: CachedURLResponse, for key: CacheKey, stored: Int64, sent request: Int,
        inMemory: Bool, file: File
    ) {
        remove(slot)
        guard inMemory || file.isWanted else { return }
        entries[slot] = Entry(milliseconds: stored, request: request)
        variants[slot.number, default: []].insert(slot.variant)
        if inMemory { keepInMemory(response, slot, to: key.url) }
        if file.isWanted { setFile(file, size: response.cost, slot) }
    }

    /// Keeps a response that was found on disk, unless there is a newer one.
    mutating func insert(_ finding: CacheFolder.Finding) {
        let slot = finding.name.slot
        if let entry = entries[slot] {
            // It may have been written since this process began.
            if finding.name.stored == entry.milliseconds, entry.file.isWanted { return }
            // What waits to be written is the latest, also where the clock was set back.
            if case .waiting = entry.file { return discard(finding) }
            guard finding.name.stored > entry.milliseconds else { return discard(finding) }
            remove(slot)
        }
        entries[slot] = Entry(milliseconds: finding.name.stored)
        variants[slot.number, default: []].insert(slot.variant)
        setFile(.written, size: finding.size, slot)
    }

    /// Has the file of a response that was found on disk removed.
    mutating func discard(_ finding: CacheFolder.Finding) {
        discarded.append(finding.name)
    }

    /// Keeps a response that is on disk in memory, too.
    ///
    /// - Parameter url: That of its key.
    mutating func keepInMemory(_ response: CachedURLResponse, _ slot: CacheSlot, to url: String) {
        guard let entry = entries[slot], entry.response == nil else { return }
        entries[slot]?.response = response
        entries[slot]?.url = url
        memoryUsage += response.cost
        memoryOrder.touch(slot)
    }

    /// A waiting response has been written to a file of `size` bytes.
    mutating func didWrite(_ slot: CacheSlot, size: Int) {
        setFile(.written, size: size, slot)
    }

    mutating func use(_ slot: CacheSlot) {
        guard let entry = entries[slot] else { return }
        if entry.response != nil { memoryOrder.touch(slot) }
        if entry.file.isWanted { diskOrder.touch(slot) }
    }

    mutating func remove(_ slot: CacheSlot) {
        removeFromMemory(slot)
        removeFromDisk(slot)
    }

    /// Removes responses until no more bytes are kept than given.
    mutating func trim(memory: Int, disk: Int) {
        while memoryUsage > max(0, memory), let oldest = memoryOrder.oldest { removeFromMemory(oldest) }
        while diskUsage > max(0, disk), let oldest = diskOrder.oldest { removeFromDisk(oldest) }
    }

    /// Whether files are to be removed.
    var hasDiscarded: Bool { !discarded.isEmpty }

    mutating func takeDiscarded() -> [CacheFolder.Name] {
        defer { discarded = [] }
        return discarded
    }

    mutating func removeFromDisk(_ slot: CacheSlot) {
        guard let entry = entries[slot], entry.file.isWanted else { return }
        if case .written = entry.file {
            discarded.append(CacheFolder.Name(slot: slot, stored: entry.milliseconds))
        }
        diskUsage -= entry.fileSize
        diskOrder.remove(slot)
        entries[slot]?.file = .none
        entries[slot]?.fileSize = 0
        forgetIfGone(slot)
    }

    private mutating func removeFromMemory(_ slot: CacheSlot) {
        guard let response = entries[slot]?.response else { return }
        memoryUsage -= response.cost
        memoryOrder.remove(slot)
        entries[slot]?.response = nil
        forgetIfGone(slot)
    }

    private mutating func setFile(_ file: File, size: Int, _ slot: CacheSlot) {
        guard let entry = entries[slot] else { return }
        diskUsage += size - entry.fileSize
        if !entry.file.isWanted { diskOrder.touch(slot) }
        entries[slot]?.file = file
        entries[slot]?.fileSize = size
    }

    private mutating func forgetIfGone(_ slot: CacheSlot) {
        guard let entry = entries[slot], entry.response == nil, !entry.file.isWanted else { return }
        entries[slot] = nil
        variants[slot.number]?.remove(slot.variant)
        if variants[slot.number]?.isEmpty == true { variants[slot.number] = nil }
    }
}

extension CacheIndex.File {
    /// Whether the response is on disk, or is about to be.
    var isWanted: Bool {
        switch self {
        case .none: false
        case .waiting, .written: true
        }
    }
}

/// Elements in the order of their last use. Each change takes the same time, however many there are.
struct RecencyList<Element: Hashable & Sendable>: Sendable {
    private struct Link: Sendable {
        var older: Element?
        var newer: Element?
    }

    private var links: [Element: Link] = [:]
    /// The element that has not been used for the longest time.
    private(set) var oldest: Element?
    private var newest: Element?

    /// Makes the element the one that was used last.
    mutating func touch(_ element: Element) {
        guard newest != element else { return }
        remove(element)
        links[element] = Link(older: newest, newer: nil)
        if let newest { links[newest]?.newer = element } else { oldest = element }
        newest = element
    }

    /// Forgets the element, if it is there.
    mutating func remove(_ element: Element) {
        guard let link = links.removeValue(forKey: element) else { return }
        if let older = link.older { links[older]?.newer = link.newer } else { oldest = link.newer }
        if let newer = link.newer { links[newer]?.older = link.older } else { newest = link.older }
    }
}

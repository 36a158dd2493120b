import Foundation
internal import PurlHTTP
internal import PurlIO
import Synchronization

/// The responses of a cache, in memory and in its folder. Safe from any thread.
///
/// Files are written and removed on a queue of the store's own, as soon as it gets to it. Until then a response is read from
/// memory; one that is replaced meanwhile is never written. Who wants the files as they should be waits with ``flush()``.
final class CacheStore: Sendable {
    /// Which of a key's responses is looked for (RFC 9111 §4.1).
    enum Choice: Sendable {
        /// The one to a request with these fields.
        case sent(HeaderFields)
        /// The one to a request that sets these fields itself; those it does not set may have had any value.
        case asked(HeaderFields)
    }

    /// What is found without looking on the disk.
    enum MemoryLookUp: Sendable {
        case response(CachedURLResponse)
        case nothing
        case onDisk
    }

    private struct State {
        var index = CacheIndex()
        var memoryCapacity: Int
        var diskCapacity: Int
        var waiting: Set<CacheSlot> = []
        var isUpdateDue = false
        /// How many requests have been sent.
        var requests = 0
        var removals = CacheRemovals()
        var scan = Scan.due

        /// The index has every response, also those on disk.
        var isComplete: Bool { scan == .done || diskCapacity <= 0 }
    }

    /// Whether the files of an earlier process are in the index.
    private enum Scan {
        case due
        /// Responses were removed while nothing was kept on disk, and so the folder not looked into. They may be there.
        case dueAfterRemovals
        case done
    }

    /// The share of the capacity that one response may take.
    private static let share = 20

    private let folder: CacheFolder
    private let clock: @Sendable () -> Date
    private let state: Mutex<State>
    /// Held while the folder is scanned.
    private let scanning = Mutex(())
    private let queue = WorkQueue(on: .files)

    /// - Parameter folder: `nil` means the program's own.
    init(
        memoryCapacity: Int, diskCapacity: Int, folder: URL?, files: any FileLayer = SystemFiles(),
        clock: @escaping @Sendable () -> Date = { .current }
    ) {
        self.folder = CacheFolder(url: folder ?? CacheFolder.program, files: files)
        self.clock = clock
        state = Mutex(State(memoryCapacity: memoryCapacity, diskCapacity: diskCapacity))
    }

    /// The current date, by the store's clock.
    var now: Date { clock() }

    // MARK: Capacity

    var memoryCapacity: Int {
        get { state.withLock { $0.memoryCapacity } }
        set { change { $0.memoryCapacity = newValue } }
    }

    var diskCapacity: Int {
        get { state.withLock { $0.diskCapacity } }
        set {
            // The files of an earlier process have to fit as well.
            scan()
            change { state in
                if state.scan == .due, state.removals.count > 0 { state.scan = .dueAfterRemovals }
                state.diskCapacity = newValue
            }
        }
    }

    var memoryUsage: Int { state.withLock { $0.index.memoryUsage } }

    var diskUsage: Int {
        scan()
        return state.withLock { $0.index.diskUsage }
    }

    /// The longest body worth collecting: more would not be stored.
    func maximumSize(_ policy: URLCache.StoragePolicy) -> Int {
        state.withLock { Self.limit($0, policy) }
    }

    private static func limit(_ state: State, _ policy: URLCache.StoragePolicy) -> Int {
        let usesDisk = policy == .allowed && state.diskCapacity > 0
        return max(0, usesDisk ? state.diskCapacity : state.memoryCapacity) / share
    }

    // MARK: Looking up

    /// Looks for the newest response in memory that the choice accepts. If it may be on disk, ``find(_:_:)`` reads it.
    func lookUpInMemory(_ key: CacheKey, _ choice: () -> Choice) -> MemoryLookUp {
        state.withLock { state in
            let slots = state.index.slots(of: key.number)
            if slots.isEmpty { return state.isComplete ? .nothing : .onDisk }
            let choice = choice()
            for slot in slots {
                switch Self.known(slot, state.index, for: key) {
                case .response(let response):
                    guard choice.accepts(response, for: key) else { continue }
                    state.index.use(slot)
                    return .response(response)
                case .another: continue
                case .nothing: return .onDisk
                }
            }
            return state.isComplete ? .nothing : .onDisk
        }
    }

    /// The newest response that the choice accepts. Reads files where it has to, and drops those that are damaged.
    func find(_ key: CacheKey, _ choice: Choice) -> CachedURLResponse? {
        scan()
        for slot in state.withLock({ $0.index.slots(of: key.number) }) {
            guard let response = response(in: slot, for: key), choice.accepts(response, for: key) else { continue }
            state.withLock { $0.index.use(slot) }
            return response
        }
        return nil
    }

    /// The same on the store's queue.
    func find(_ key: CacheKey, _ choice: Choice, then: @escaping @Sendable (CachedURLResponse?) -> Void) {
        queue.async { then(self.find(key, choice)) }
    }

    /// What is known of a slot without reading its file.
    private enum Known {
        case response(CachedURLResponse)
        /// It has the response to another key.
        case another
        case nothing
    }

    private static func known(_ slot: CacheSlot, _ index: CacheIndex, for key: CacheKey) -> Known {
        guard let entry = index[slot] else { return .nothing }
        if case .waiting(let response, let itsKey) = entry.file {
            return itsKey == key ? .response(response) : .another
        }
        guard let response = entry.response else { return .nothing }
        return entry.url == key.url ? .response(response) : .another
    }

    private func response(in slot: CacheSlot, for key: CacheKey) -> CachedURLResponse? {
        let (entry, known) = state.withLock { ($0.index[slot], Self.known(slot, $0.index, for: key)) }
        switch known {
        case .response(let response): return response
        case .another: return nil
        case .nothing: break
        }
        guard let entry else { return nil }
        let name = CacheFolder.Name(slot: slot, stored: entry.milliseconds)
        guard let bytes = folder.read(name), let (url, read) = CacheFile.decode(bytes) else {
            change { state in
                // Unless it has been replaced meanwhile.
                if state.index[slot]?.milliseconds == entry.milliseconds { state.index.remove(slot) }
            }
            return nil
        }
        folder.touch(name, at: clock())
        change { state in
            guard read.cost <= state.memoryCapacity, state.index[slot]?.milliseconds == entry.milliseconds else {
                return
            }
            state.index.keepInMemory(read, slot, to: url)
        }
        return url == key.url ? read : nil
    }

    // MARK: Changes

    /// When a request was sent, among the others and the removals.
    struct Moment {
        fileprivate var requests = 0
        fileprivate var removals = 0
    }

    /// A request is sent.
    func markRequest() -> Moment {
        state.withLock { state in
            state.requests += 1
            return Moment(requests: state.requests, removals: state.removals.count)
        }
    }

    /// Whether responses to a key have been removed since then.
    func hasRemoved(_ key: CacheKey, since moment: Moment) -> Bool {
        state.withLock { $0.removals.contains(key.number, since: moment.removals) }
    }

    /// Keeps a response where its policy allows, unless it is too large.
    ///
    /// - Parameter moment: When its request was sent: what has been removed since does not come back with it, and the response
    ///   to a later request stays. `nil`: the program stores it now.
    func store(
        _ response: CachedURLResponse, _ provenance: CacheProvenance, for key: CacheKey, sent moment: Moment? = nil
    ) {
        guard response.storagePolicy != .notAllowed else { return }
        let fields = (response.response as? HTTPURLResponse)?.fields ?? HeaderFields()
        let slot = CacheSlot(key, fields, answering: provenance.requestFields)
        let now = clock()
        let cost = response.cost
        change { state in
            if let moment {
                if state.removals.contains(key.number, since: moment.removals) { return }
                if let newer = state.index[slot], newer.request > moment.requests { return }
            }
            guard cost <= Self.limit(state, response.storagePolicy) else { return state.index.remove(slot) }
            let kept = response.provenance == provenance ? response : response.with(provenance)
            let isWritten = response.storagePolicy == .allowed && cost <= state.diskCapacity
            // Two files of one slot never have the same name.
            let date = max(CacheIndex.milliseconds(now), (state.index[slot]?.milliseconds ?? .min) &+ 1)
            state.index.insert(
                slot, kept, for: key, stored: date, sent: moment?.requests ?? state.requests,
                inMemory: cost <= state.memoryCapacity, file: isWritten ? .waiting(kept, key) : .none)
            if isWritten { state.waiting.insert(slot) }
        }
    }

    /// Removes all responses to a key.
    func remove(_ key: CacheKey) {
        scan()
        removeKnown(key)
    }

    private func removeKnown(_ key: CacheKey) {
        change { state in
            state.removals.add(key.number)
            for slot in state.index.slots(of: key.number) { state.index.remove(slot) }
        }
    }

    /// The same, on the store's queue where files have to be looked for first.
    func removeSoon(_ key: CacheKey) {
        removeKnown(key)
        guard !state.withLock({ $0.isComplete }) else { return }
        queue.async { self.remove(key) }
    }

    /// Removes those responses to a key that are out of date, at once where they are in memory and soon where they have
    /// to be read first.
    func removeSoon(_ key: CacheKey, where isOutOfDate: @escaping @Sendable (CachedURLResponse) -> Bool) {
        change { state in
            for slot in state.index.slots(of: key.number) {
                if case .response(let known) = Self.known(slot, state.index, for: key), isOutOfDate(known) {
                    state.index.remove(slot)
                }
            }
        }
        guard state.withLock({ !$0.isComplete || !$0.index.slots(of: key.number).isEmpty }) else { return }
        queue.async { self.removeRead(key, where: isOutOfDate) }
    }

    private func removeRead(_ key: CacheKey, where isOutOfDate: (CachedURLResponse) -> Bool) {
        scan()
        for slot in state.withLock({ $0.index.slots(of: key.number) }) {
            guard let found = response(in: slot, for: key), isOutOfDate(found) else { continue }
            change { state in
                // Unless it has been replaced meanwhile.
                if case .response(let known) = Self.known(slot, state.index, for: key), known !== found { return }
                state.index.remove(slot)
            }
        }
    }

    func removeAll() {
        scan()
        change { state in
            state.removals.add(nil)
            for slot in state.index.all { state.index.remove(slot) }
        }
    }

    /// Removes the responses that were stored at `date` or later.
    func remove(since date: Date) {
        scan()
        change { state in
            for slot in state.index.slots(since: date) { state.index.remove(slot) }
        }
    }

    /// Changes the state, makes room, and has the files follow.
    private func change(_ body: (inout State) -> Void) {
        let isDue = state.withLock { state in
            body(&state)
            state.index.trim(memory: state.memoryCapacity, disk: state.diskCapacity)
            guard !state.isUpdateDue, !state.waiting.isEmpty || state.index.hasDiscarded else { return false }
            state.isUpdateDue = true
            return true
        }
        guard isDue else { return }
        Outdated.insert(self)
        queue.async { self.updateFiles() }
    }

    // MARK: Files

    /// Takes the files of an earlier process into the index, once.
    private func scan() {
        guard !state.withLock({ $0.isComplete }) else { return }
        scanning.withLock { _ in
            guard state.withLock({ $0.scan != .done }) else { return }
            let findings = folder.scan(at: clock())
            change { state in
                for finding in findings {
                    if state.scan == .dueAfterRemovals, state.removals.contains(finding.name.slot.number, since: 0) {
                        state.index.discard(finding)
                    } else {
                        state.index.insert(finding)
                    }
                }
                state.scan = .done
            }
        }
    }

    /// Returns when everything stored so far has been written, or could not be, and everything removed is gone.
    func flush() {
        queue.sync { self.updateFiles() }
    }

    /// Calls the handler on the store's queue when everything stored so far has been written.
    func flush(_ completion: @escaping @Sendable () -> Void) {
        queue.async {
            self.updateFiles()
            completion()
        }
    }

    private func updateFiles() {
        // The files of an earlier process count, and make room, also where nothing is ever looked for.
        if state.withLock({ !$0.waiting.isEmpty }) { scan() }
        while let (discarded, slots) = takeUpdates() {
            for name in discarded { folder.remove(name) }
            // In an order that is the same in every process, for simulations.
            for slot in slots.sorted(by: { ($0.number, $0.variant) < ($1.number, $1.variant) }) { write(slot) }
        }
        Outdated.remove(self)
    }

    /// The files that are to be removed, and the responses that are to be written; `nil` when all is as it should be.
    private func takeUpdates() -> ([CacheFolder.Name], Set<CacheSlot>)? {
        state.withLock { state in
            defer {
                state.waiting = []
                state.isUpdateDue = false
            }
            let discarded = state.index.takeDiscarded()
            return discarded.isEmpty && state.waiting.isEmpty ? nil : (discarded, state.waiting)
        }
    }

    private func write(_ slot: CacheSlot) {
        guard let entry = state.withLock({ $0.index[slot] }),
            case .waiting(let response, let key) = entry.file
        else { return }
        let name = CacheFolder.Name(slot: slot, stored: entry.milliseconds)
        let bytes = CacheFile.encode(response, for: key)
        let size = bytes.flatMap { bytes in (try? folder.write(bytes, to: name)).map { bytes.count } }
        change { state in
            guard state.index[slot]?.milliseconds == entry.milliseconds else { return }
            if let size { state.index.didWrite(slot, size: size) } else { state.index.removeFromDisk(slot) }
        }
        // It may have been replaced or removed while it was being written.
        let isWanted = state.withLock { state in
            state.index[slot].map { $0.milliseconds == entry.milliseconds && $0.file.isWanted } ?? false
        }
        if size != nil, !isWanted { folder.remove(name) }
    }

    // MARK: At the end of the process

    /// The stores whose files are not yet as they should be.
    private enum Outdated {
        private static let stores = Mutex<[ObjectIdentifier: CacheStore]>([:])
        private static let atExit: Void = {
            _ = atexit {
                for store in Outdated.stores.withLock({ $0.values.map { $0 } }) { store.flush() }
            }
        }()

        static func insert(_ store: CacheStore) {
            // What a simulated process leaves unwritten when it is killed is lost.
            guard Simulated.machine == nil else { return }
            atExit
            stores.withLock { $0[ObjectIdentifier(store)] = store }
        }

        static func remove(_ store: CacheStore) {
            stores.withLock { stores in
                guard !store.state.withLock({ $0.isUpdateDue }) else { return }
                stores[ObjectIdentifier(store)] = nil
            }
        }
    }
}

extension CacheStore.Choice {
    /// Whether it accepts a response: one to that URL, and to such a request.
    fileprivate func accepts(_ response: CachedURLResponse, for key: CacheKey) -> Bool {
        guard let rules = response.rules else { return true }
        guard case .fields(let names) = VaryList(rules.fields) else { return false }
        guard !names.isEmpty else { return true }
        switch self {
        case .sent(let fields):
            return VaryList(rules.fields).allows(fields, after: rules.requestFields)
        case .asked(let fields):
            return names.allSatisfy { name in
                !fields.contains(name) || fields.listElements(of: name) == rules.requestFields.listElements(of: name)
            }
        }
    }
}

import Foundation
import Purl
import Synchronization

/// The download of one URL in a manager, from its first start to the moved file or the deletion. Its callers' ``Downloader``s
/// share it; the scheduler runs its attempts.
///
/// Once it is closed another download of the same URL may take its place, in the list and in the item's file.
final class Download: Sendable {
    typealias Event = Downloader.Event

    private struct Shared: Sendable {
        var status: DownloadStatus
        var listeners = EventListeners()
    }

    /// What an attempt does with a complete file.
    enum Judgement: Sendable, Equatable {
        /// A caller, or the server, vouches for the file.
        case accepted
        /// There are digests to compare with, and the file's is not known yet.
        case needsDigest
        /// The file has another digest than expected.
        case rejected
        /// It has, and another server may have the right one.
        case mistaken(found: String)
        /// The download has left the phase.
        case stopped
    }

    /// The URL of the resource: the download's identity.
    let url: URL
    /// SHA-256 of the URL, hexadecimal: the base name of its files.
    let key: String

    private let shared: Mutex<Shared>
    /// What is known of the server's ranges.
    let experience = ParallelTransfer.Experience()
    /// The mirrors of which nothing more is requested, and why.
    private let dropped = Mutex<[URL: String]>([:])

    private let scheduler: DownloadScheduler
    /// The manager's list; `nil` for a downloader on its own.
    private weak let list: DownloadList?
    let unfinished: UnfinishedFiles
    private let itemFile: ItemFile

    /// - Parameters:
    ///   - item: What an earlier process has left of the download; `nil` reads it from disk.
    ///   - currentURL: Where requests go to when there is no item; `nil` for the URL itself.
    ///   - mirrors: Other servers of the file, when there is no item.
    init(
        _ url: URL, currentURL: URL? = nil, mirrors: [URL] = [], item: DownloadItem?, order: Int64,
        scheduler: DownloadScheduler,
        list: DownloadList?
    ) {
        self.url = url
        key = DownloadPaths.key(of: url)
        self.scheduler = scheduler
        self.list = list
        let paths = scheduler.paths
        unfinished = paths.unfinished(url)
        let item = item ?? ItemFile.read(unfinished.item, through: paths.files)
        itemFile = ItemFile(unfinished.item, holding: item, validity: scheduler.validity, through: paths.files)
        // The bytes that an earlier download is about to delete do not count.
        let isDeleting = PartialFileOwners.isDeletionPending(of: unfinished.partial.path)
        shared = Mutex(
            Shared(
                status: DownloadStatus(
                    item
                        ?? DownloadItem(
                            url: url, currentURL: currentURL ?? url, sha256: [], mirrors: mirrors, intent: .wanted,
                            order: order),
                    record: isDeleting ? nil : unfinished.soundRecord)))
    }

    var status: DownloadStatus { shared.withLock { $0.status } }

    var phase: DownloadPhase { status.phase }

    var isClosed: Bool { status.isClosed }

    var retryDelay: Duration { status.retryDelay }

    private var partialPath: String { unfinished.partial.path }

    // MARK: Control

    /// Finishes at once when the finished file exists and no digest is expected; otherwise the download is queued.
    func start() {
        guard scheduler.validity.isValid else { return invalidate() }
        let location = scheduler.paths.finished(url)
        // Finding the file has removed the item.
        if let size = scheduler.paths.files.fileSize(location), find(location, size: size) { return }
        update { $0.start() }
        saveItem()
        scheduler.statusChanged(of: self)
    }

    func pause() { control { $0.pause() } }

    func cancel() { control { $0.cancel() } }

    func replaceURL(with url: URL) { control { $0.replaceURL(with: url) } }

    func cancelAndDelete() {
        control { [self] status in
            let isPending = status.isDeletionPending
            let events = status.delete()
            if !isPending { beginDeletion(status) }
            return events
        }
    }

    /// The finished file exists; a process that was killed while it moved the file may have left the partial one.
    private func find(_ file: URL, size: Int64) -> Bool {
        updateAndReport { [self] status in
            guard let events = status.find(file, size: size) else { return nil }
            if !status.isDeletionPending {
                status.requestDeletion()
                beginDeletion(status)
            }
            return events
        }
    }

    /// Makes later downloads of the URL wait for the deletion, before they can be created.
    private func beginDeletion(_ status: DownloadStatus) {
        if status.isDeletionPending { PartialFileOwners.beginDeletion(of: partialPath, by: ObjectIdentifier(self)) }
    }

    /// Removes the unfinished files after a request to do so, as soon as no invalidated manager uses them. Called by the
    /// scheduler when no attempt of its own does.
    ///
    /// - Parameter completion: Called when they are removed.
    /// - Returns: Whether there has been a request.
    func deleteIfRequested(then completion: @escaping @Sendable () -> Void) -> Bool {
        // The mark of the deletion is made before, or not at all: nothing would remove it afterwards.
        guard itemFile.betweenWrites({ shared.withLock { $0.status.takeDeletion() } }) else { return false }
        let validity = scheduler.validity
        PartialFileOwners.acquire(partialPath, for: validity, of: ObjectIdentifier(self)) { [self] in
            unfinished.finishDeletion()
            PartialFileOwners.release(partialPath, for: validity)
            PartialFileOwners.endDeletion(of: partialPath, by: ObjectIdentifier(self))
            completion()
        }
        return true
    }

    private func control(_ step: (inout DownloadStatus) -> [Event]?) {
        guard scheduler.validity.isValid, updateAndReport(step) else { return }
        saveItem()
    }

    /// Makes a step that the scheduler knows of before a listener does, who may wait until all is idle.
    private func updateAndReport(_ step: (inout DownloadStatus) -> [Event]?) -> Bool {
        update(step) { scheduler.statusChanged(of: self) }
    }

    /// The manager has been invalidated.
    func invalidate() {
        update { $0.invalidate() }
    }

    func waitUntilIdle() async {
        await scheduler.waitUntilIdle(self)
    }

    // MARK: Callers

    /// Adds a caller's digest to those that are expected. False when the download is closed: it did not expect this one.
    func expect(_ expected: ExpectedDigest) -> Bool {
        shared.withLock { $0.status.expect(expected) }
    }

    /// The download of the same URL that takes the place of this one, which is closed.
    func successor(for downloader: Downloader) -> Download {
        if let list { return list.adopt(downloader) { self.successor(list) } }
        retire()
        let successor = successor(nil)
        _ = successor.expect(downloader.expected)
        return successor
    }

    private func successor(_ list: DownloadList?) -> Download {
        Download(
            url, currentURL: status.item.currentURL, mirrors: status.item.mirrors, item: nil,
            order: list?.nextOrder() ?? DownloadList.currentOrder,
            scheduler: scheduler, list: list)
    }

    // MARK: Mirrors

    /// Adds servers of the same file. They are on disk when the item is saved next: with a start, at the latest with a version.
    func add(_ mirrors: [URL]) {
        shared.withLock { $0.status.add(mirrors) }
    }

    var droppedMirrors: [URL: String] { dropped.withLock { $0 } }

    /// Nothing more is requested of a mirror.
    ///
    /// - Parameter reason: A sentence.
    func drop(_ mirror: URL, because reason: String) {
        dropped.withLock { $0[mirror] = reason }
    }

    // MARK: Listeners

    func add(_ stream: EventStream, expecting expected: ExpectedDigest) {
        // Nothing awaits the new stream yet, so there is nothing to call.
        _ = listen(expecting: expected, { $0.add(stream, expecting: expected) }, put: { stream.put($0, isLast: $1) })
    }

    func add(_ observation: Observation, expecting expected: ExpectedDigest) {
        let call = listen(
            expecting: expected, { $0.add(observation, expecting: expected) }, put: { observation.put($0, isLast: $1) })
        call?()
    }

    /// Adds a listener, which receives the present state. One that comes after the end hears of it when there is room for
    /// another download, like all others.
    private func listen(
        expecting expected: ExpectedDigest, _ add: (inout EventListeners) -> Void,
        put: ([Event], _ isLast: Bool) -> (@Sendable () -> Void)?
    ) -> (@Sendable () -> Void)? {
        let isRetired = isClosed
        if isRetired { retire() }
        let (isAdded, call): (Bool, (@Sendable () -> Void)?) = shared.withLock { shared in
            // It has been closed meanwhile.
            guard shared.status.isClosed == isRetired else { return (false, nil) }
            if !shared.status.isOver { add(&shared.listeners) }
            let events = shared.status.events(shared.status.openingEvents, for: expected)
            return (true, put(events, shared.status.isOver))
        }
        return isAdded ? call : listen(expecting: expected, add, put: put)
    }

    // MARK: Interface of the scheduler and the attempts

    /// What the next attempt transfers.
    var resource: FileAcquisition.Resource {
        let status = status
        let item = status.item
        let dropped = droppedMirrors
        let others = status.asksOneServer ? [] : item.sources.filter { $0 != item.currentURL && dropped[$0] == nil }
        let isJoined = item.otherSources > 0
        return FileAcquisition.Resource(
            url: isJoined ? JoinedBytes.url(of: item.currentURL, under: item.sha256[0]) : item.currentURL,
            mirrors: others, totalBytes: item.totalBytes, sha256: item.sha256, serverSHA256: item.serverSHA256)
    }

    /// Makes a transition that changes nothing but the phase. False when the table refuses it.
    @discardableResult
    func apply(_ action: DownloadAction) -> Bool {
        update { $0.apply(action) }
    }

    /// The bytes of a version follow; see ``DownloadStatus/beginVersion(total:received:digest:isStartingOver:)``.
    func beginVersion(total: Int64?, received: Int64, digest: String?, isStartingOver: Bool) {
        update {
            $0.beginVersion(total: total, received: received, digest: digest, isStartingOver: isStartingOver)
        }
        saveItem()
    }

    /// So many bytes are on disk.
    ///
    /// - Parameter count: Called within the change, so that of two at the same time the later one has the later count. It may
    ///   not ask for the status.
    func setReceived(_ count: () -> Int64) {
        update { $0.setReceived(count()) }
    }

    /// Decides whether a file that exists in the finished folder is the one; if so, the phase is `moving`. One that is not is
    /// replaced at the end.
    func judgeFinishedFile(_ sha256: String?) -> Judgement {
        judge { status in
            switch status.verdict(onFinishedFile: sha256) {
            case .accepted: (.accepted, status.apply(.move))
            case .needsDigest: (.needsDigest, [])
            case .mismatched: (.rejected, [])
            }
        }
    }

    /// Decides whether the file that has been received is one that was asked for. A download whose file is not has failed.
    ///
    /// - Parameters:
    ///   - isReady: The file is about to be moved: if it is accepted, the phase is `moving`. Digests that callers expect from
    ///     then on no longer prevent the move.
    ///   - deleteBytes: Called where no digest vouches for the bytes, in the same step: a program that sees the download's failure
    ///     does not see them, and may end. It may not ask for the status.
    func judgeReceivedFile(_ sha256: String?, isReady: Bool, deleteBytes: () -> Void) -> Judgement {
        judge { status in
            switch (status.verdict(onReceivedFile: sha256), sha256) {
            case (.accepted, _):
                return (.accepted, isReady ? status.apply(.move) : [])
            case (.needsDigest, _), (.mismatched, nil):
                return (.needsDigest, [])
            case (.mismatched, let found?) where status.item.otherSources > 0:
                return (.mistaken(found: found), [])
            case (.mismatched, let found?):
                let keepsBytes = status.item.serverSHA256 == found
                let events = status.reject(found: found, keepsBytes: keepsBytes)
                if events != nil, !keepsBytes { deleteBytes() }
                return (.rejected, events)
            }
        } beforeEvents: { judgement in
            if judgement == .rejected { saveItem() }
        }
    }

    private func judge(
        _ step: (inout DownloadStatus) -> (Judgement, [Event]?), beforeEvents: (Judgement) -> Void = { _ in }
    ) -> Judgement {
        var judgement = Judgement.stopped
        let isMade = update { status in
            let (result, events) = step(&status)
            judgement = result
            return events
        } beforeEvents: {
            beforeEvents(judgement)
        }
        return isMade ? judgement : .stopped
    }

    /// The file is in its place. False when a caller has asked for a digest meanwhile, and the file's is not known.
    func finish(_ file: URL, size: Int64, sha256: String?) -> Bool {
        update { $0.finish(file, size: size, sha256: sha256) }
    }

    /// An attempt has failed: the download is retried later, or fails.
    func attemptEnded(_ error: any Error, _ response: HTTPURLResponse?, _ policy: RetryPolicy) {
        update { $0.attemptEnded(error, response, policy) }
        saveItem()
    }

    /// The file that an attempt has brought has another digest than expected, and its bytes are deleted: one server is asked
    /// for the whole, or another one, or the download fails.
    ///
    /// - Parameters:
    ///   - found: The digest.
    ///   - isJoined: The bytes may be those of several servers.
    func attemptEnded(withDigest found: String, isJoined: Bool, _ policy: RetryPolicy) {
        guard !update({ $0.attemptEnded(withMismatch: isJoined, policy) }) else { return saveItem() }
        // Who sees the failure finds no file.
        DownloadSink.remove(unfinished)
        update {
            $0.reject(found: found, keepsBytes: false)
        } beforeEvents: {
            saveItem()
        }
    }

    /// Returns when the item is not being written.
    func waitForItemWriter() { itemFile.betweenWrites {} }

    // MARK: Steps

    /// Makes one step and delivers its events. False when the step was refused.
    ///
    /// - Parameter beforeEvents: What has to be done when a listener receives them.
    @discardableResult
    private func update(_ step: (inout DownloadStatus) -> [Event]?, beforeEvents: () -> Void = {}) -> Bool {
        enum Outcome {
            case made(calls: [@Sendable () -> Void])
            /// The download is closed, and these do not know it yet.
            case closed(EventListeners, DownloadStatus, [Event])
        }
        let outcome: Outcome? = shared.withLock { shared in
            guard let events = step(&shared.status) else { return nil }
            let status = shared.status
            guard !status.isClosed else {
                defer { shared.listeners = EventListeners() }
                return .closed(shared.listeners, status, events)
            }
            guard !events.isEmpty else { return .made(calls: []) }
            return .made(calls: shared.listeners.put(isLast: status.isOver) { status.events(events, for: $0) })
        }
        if outcome != nil { beforeEvents() }
        switch outcome {
        case nil:
            return false
        case .made(let calls):
            for call in calls { call() }
        case .closed(var listeners, let status, let events):
            // Before any listener receives the end.
            retire()
            for call in listeners.put(isLast: true, { status.events(events, for: $0) }) { call() }
        }
        return true
    }

    /// Makes room for another download of the URL: removes the item, then the entry in the list.
    func retire() {
        itemFile.close(leaving: { status.isDeletionPending ? unfinished.deletion : nil })
        list?.remove(self)
    }

    /// Brings the item on disk up to date.
    private func saveItem() {
        itemFile.save { status.item }
    }
}

import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO
import Synchronization

/// A store of responses to GET requests, in memory and on disk.
///
/// Sessions store in it and answer from it by the rules of RFC 9111 for a private cache, as far as a request's
/// ``URLRequest/CachePolicy`` allows; see <doc:Caching>. No response takes more than 5 % of the disk capacity, or of
/// the memory capacity where there is no disk; those that have not been used for the longest time make room.
///
/// Safe from any thread. The calls may read, write and remove files: when one returns, the files are as they should be. Only
/// the responses of tasks are written a moment after they are stored, which no task waits for; at the latest when
/// ``URLSession/flush(completionHandler:)`` has called its handler, or the process has ended in an orderly way.
/// `@unchecked Sendable` because the class is open; it adds no mutable state to its `store`, which has its own lock.
open class URLCache: NSObject, @unchecked Sendable {
    let store: CacheStore

    private static let ofProgram = ProcessLocal { Standard() }

    private final class Standard: Sendable {
        let cache = Mutex<URLCache?>(nil)
    }

    /// The cache of sessions with a default configuration: 4 MiB in memory, 20 MiB in `$XDG_CACHE_HOME`, under the
    /// program's name, readable by the user only. Another one put here is used by configurations that are made later.
    open class var shared: URLCache {
        get {
            ofProgram.current.cache.withLock { standard in
                if let standard { return standard }
                let cache = URLCache(memoryCapacity: 4 << 20, diskCapacity: 20 << 20, directory: nil)
                standard = cache
                return cache
            }
        }
        set {
            let former = ofProgram.current.cache.withLock { standard in
                defer { standard = newValue }
                return standard
            }
            // Released outside the lock: a deinitialiser may ask for the shared cache.
            withExtendedLifetime(former) {}
        }
    }

    /// Makes a cache of 4 MiB in memory, without files.
    public override init() {
        store = CacheStore(memoryCapacity: 4 << 20, diskCapacity: 0, folder: nil)
    }

    /// Makes a cache.
    ///
    /// - Parameters:
    ///   - memoryCapacity: In bytes; 0 keeps nothing in memory.
    ///   - diskCapacity: In bytes; 0 keeps nothing on disk.
    ///   - path: The folder for its files, made when it is first needed. A relative path is below the user's cache
    ///     directory, `nil` the program's own folder there. What an earlier cache has left in it is found again.
    public init(memoryCapacity: Int, diskCapacity: Int, diskPath path: String?) {
        let folder = path.map { path in
            path.hasPrefix("/")
                ? URL(fileURLWithPath: path, isDirectory: true)
                : CacheFolder.program.appendingPathComponent(path, isDirectory: true)
        }
        store = CacheStore(memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, folder: folder)
    }

    /// Makes a cache.
    ///
    /// - Parameters:
    ///   - memoryCapacity: In bytes; 0 keeps nothing in memory.
    ///   - diskCapacity: In bytes; 0 keeps nothing on disk.
    ///   - directoryURL: The folder for its files, made when it is first needed; `nil`: the program's own, in the
    ///     user's cache directory. What an earlier cache has left in it is found again.
    public init(memoryCapacity: Int, diskCapacity: Int, directory directoryURL: URL? = nil) {
        store = CacheStore(memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, folder: directoryURL)
    }

    /// A cache with a store that has files and a clock of its own.
    init(_ store: CacheStore) {
        self.store = store
    }

    // MARK: Capacity

    /// How many bytes may be kept in memory. Responses that exceed a smaller value are removed at once.
    open var memoryCapacity: Int {
        get { store.memoryCapacity }
        set { store.memoryCapacity = newValue }
    }

    /// How many bytes may be kept on disk. Responses that exceed a smaller value are removed.
    open var diskCapacity: Int {
        get { store.diskCapacity }
        set {
            store.diskCapacity = newValue
            store.flush()
        }
    }

    /// How many bytes are kept in memory, heads included.
    open var currentMemoryUsage: Int { store.memoryUsage }

    /// How many bytes are kept on disk, or about to be written there.
    open var currentDiskUsage: Int { store.diskUsage }

    // MARK: Responses

    /// The stored response to the request, however old it is; the newest, when several depend on header fields that the
    /// request does not set itself.
    open func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
        guard let key = CacheKey(request) else { return nil }
        return store.find(key, .asked(request.ownFields))
    }

    /// Stores a response to a GET request, in place of the one it had. Nothing is stored that is too large, or whose
    /// policy is `.notAllowed`.
    open func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
        guard let key = CacheKey(request) else { return }
        store.store(cachedResponse, cachedResponse.provenance ?? provenance(of: request), for: key)
        settle()
    }

    /// Removes the responses to the request, whatever header fields they depend on.
    open func removeCachedResponse(for request: URLRequest) {
        guard let key = CacheKey(request) else { return }
        store.remove(key)
        settle()
    }

    /// Removes all responses.
    open func removeAllCachedResponses() {
        store.removeAll()
        settle()
    }

    /// Removes the responses that have been stored since `date`.
    open func removeCachedResponses(since date: Date) {
        store.remove(since: date)
        settle()
    }

    /// Returns when the files are as they should be.
    private func settle() {
        if store.diskCapacity > 0 { store.flush() }
    }

    // MARK: Responses of tasks

    /// Stores the response to the task's current request. Sessions store with this method.
    open func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
        guard let request = dataTask.currentRequest else { return }
        storeCachedResponse(cachedResponse, for: request)
    }

    /// Calls the handler, on a queue of the system's, with the stored response to the task's current request. Sessions
    /// look up with this method where a subclass overrides it.
    open func getCachedResponse(
        for dataTask: URLSessionDataTask, completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        let request = dataTask.currentRequest
        Worker.shared.run(on: .userCode) {
            completionHandler(request.flatMap { self.cachedResponse(for: $0) })
        }
    }

    /// Removes the responses to the task's current request.
    open func removeCachedResponse(for dataTask: URLSessionDataTask) {
        guard let request = dataTask.currentRequest else { return }
        removeCachedResponse(for: request)
    }

    // MARK: For a session's tasks

    /// What a look-up finds at once.
    enum LookUp {
        case response(CachedURLResponse)
        case nothing
        /// The response may be on disk, or in a subclass's hands: the completion receives it.
        case pending
    }

    /// A subclass may do anything, and take its time: its methods are called where they may block.
    private var isSubclass: Bool { type(of: self) != URLCache.self }

    /// Looks for the stored response to the current request of `task`.
    ///
    /// - Parameters:
    ///   - fields: Composes the fields that the request is sent with, which a stored response may depend on.
    ///   - makeCompletion: Makes, where it is needed, what receives what is found later.
    @NetworkActor
    func lookUp(
        _ key: CacheKey, for task: URLSessionTask, sending fields: () -> HeaderFields,
        completion makeCompletion: () -> @Sendable @NetworkActor (CachedURLResponse?) -> Void
    ) -> LookUp {
        if isSubclass, let dataTask = task as? URLSessionDataTask {
            let completion = makeCompletion()
            runSubclass {
                self.getCachedResponse(for: dataTask) { stored in NetworkActor.post { completion(stored) } }
            }
            return .pending
        }
        switch store.lookUpInMemory(key, { .sent(fields()) }) {
        case .response(let stored): return .response(stored)
        case .nothing: return .nothing
        case .onDisk:
            let completion = makeCompletion()
            store.find(key, .sent(fields())) { stored in NetworkActor.post { completion(stored) } }
            return .pending
        }
    }

    /// Stores the response to a task. A subclass receives it with the task, so this is called on the delegate queue.
    ///
    /// - Parameter moment: When the request was sent; see ``CacheStore/store(_:_:for:sent:)``.
    func store(
        _ response: CachedURLResponse, of task: URLSessionTask, for key: CacheKey, sent moment: CacheStore.Moment
    ) {
        if isSubclass, let dataTask = task as? URLSessionDataTask {
            if !store.hasRemoved(key, since: moment) { storeCachedResponse(response, for: dataTask) }
        } else if let provenance = response.provenance {
            store.store(response, provenance, for: key, sent: moment)
        }
    }

    /// Stores the response to a task, from anywhere: a subclass receives it on `queue`.
    func store(
        _ response: CachedURLResponse, of task: URLSessionTask, for key: CacheKey, sent moment: CacheStore.Moment,
        on queue: DelegateQueue
    ) {
        if isSubclass, task is URLSessionDataTask {
            queue.enqueue { self.store(response, of: task, for: key, sent: moment) }
        } else {
            store(response, of: task, for: key, sent: moment)
        }
    }

    /// Removes the responses to a URL that are out of date, soon.
    ///
    /// - Parameter isOutOfDate: `nil`: all of them are.
    func removeResponses(to url: URL, where isOutOfDate: (@Sendable (CachedURLResponse) -> Bool)? = nil) {
        if isSubclass {
            runSubclass {
                let request = URLRequest(url: url)
                if let isOutOfDate, self.cachedResponse(for: request).map(isOutOfDate) != true { return }
                self.removeCachedResponse(for: request)
            }
        } else if let isOutOfDate {
            store.removeSoon(CacheKey(url), where: isOutOfDate)
        } else {
            store.removeSoon(CacheKey(url))
        }
    }

    private func runSubclass(_ call: @escaping @Sendable () -> Void) {
        Worker.shared.run(on: .userCode, call)
    }

    /// The provenance of a response that the program stores: it counts as received now, for the request as a session
    /// would send it.
    private func provenance(of request: URLRequest) -> CacheProvenance {
        let now = Int64(store.now.timeIntervalSince1970)
        var fields = request.ownFields
        if let target = try? TargetURI(request.url) {
            fields =
                RequestComposer(request: request).head(at: target, framing: .none).fields
        }
        return CacheProvenance(requestFields: fields, requestTime: now, responseTime: now)
    }
}

extension URLCache {
    /// The stored response to the task's current request.
    public func cachedResponse(for dataTask: URLSessionDataTask) async -> CachedURLResponse? {
        await handlerResult { getCachedResponse(for: dataTask, completionHandler: $0) }
    }
}

extension URLRequest {
    /// The header fields that the request sets itself.
    var ownFields: HeaderFields {
        var fields = HeaderFields()
        for (name, value) in headerLines { fields.append(FieldName(name), value) }
        return fields
    }
}

extension URLCache {
    /// Where a response may be kept.
    public enum StoragePolicy: UInt, Sendable {
        /// In memory and on disk.
        case allowed = 0
        /// In memory alone.
        case allowedInMemoryOnly = 1
        /// Nowhere.
        case notAllowed = 2
    }
}

import Foundation
internal import PurlIO
import Synchronization

/// A way to load requests that a program brings itself: a stand-in for the network in tests, or a scheme of its own.
///
/// Subclass it, decide in ``canInit(with:)-(URLRequest)`` which requests it takes, and report the response to the
/// ``client`` in ``startLoading()``. A session asks the classes in its
/// ``URLSessionConfiguration/protocolClasses``, the first one first; ``URLSession/shared`` asks those that were
/// registered with ``registerClass(_:)``, the last one first. The class that takes a request loads it for every kind of task.
/// See <doc:StubbingRequests>.
///
/// All methods of one load are called one at a time, on a serial queue that belongs to this load alone: they may
/// block. The client may be called from any thread.
open class URLProtocol: NSObject {
    private let ownRequest: URLRequest
    private let ownCachedResponse: CachedURLResponse?
    /// The client that the load is reported to.
    open var client: (any URLProtocolClient)?
    /// The task that is loaded, where there is one.
    open var task: URLSessionTask?

    /// Makes a protocol for a request.
    ///
    /// - Parameters:
    ///   - cachedResponse: What the cache has for the request.
    ///   - client: The client that the load is reported to.
    public required init(request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
        ownRequest = request
        ownCachedResponse = cachedResponse
        self.client = client
    }

    /// Makes a protocol for a task; sessions use this one.
    ///
    /// - Parameters:
    ///   - cachedResponse: What the cache has for the request.
    ///   - client: The client that the load is reported to.
    public required convenience init(
        task: URLSessionTask, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?
    ) {
        let request = task.currentRequest ?? task.originalRequest ?? .unreadable
        self.init(request: request, cachedResponse: cachedResponse, client: client)
        self.task = task
    }

    /// What is to be loaded, with the session's additional header fields. The body of an upload from a file, or from a
    /// stream, is its `httpBodyStream`.
    open var request: URLRequest { ownRequest }

    /// What the cache has for the request.
    open var cachedResponse: CachedURLResponse? { ownCachedResponse }

    // MARK: For subclasses

    /// Whether the class loads this request. Here `false`; a subclass decides.
    open class func canInit(with request: URLRequest) -> Bool { false }

    /// Whether the class loads this task: as it is with its request, unless a subclass knows better.
    open class func canInit(with task: URLSessionTask) -> Bool {
        task.currentRequest.map { canInit(with: $0) } ?? false
    }

    /// The form of a request that stands for all that mean the same. Here the request itself.
    open class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// Whether a response to one request may serve the other. Here: whether their canonical forms are equal.
    ///
    /// - Parameter b: Another request.
    open class func requestIsCacheEquivalent(_ a: URLRequest, to b: URLRequest) -> Bool {
        canonicalRequest(for: a) == canonicalRequest(for: b)
    }

    /// Begins to load, and reports to the ``client``; it may continue after this returns. Here it fails.
    open func startLoading() {
        let error = URLError(.resourceUnavailable, reason: "The protocol loads nothing.")
        client?.urlProtocol(self, didFailWithError: error)
    }

    /// Stops the load, which has finished or is not wanted any more. Called once for every load that began.
    open func stopLoading() {}

    // MARK: Properties of requests

    /// What was kept in a request under a key.
    open class func property(forKey key: String, in request: URLRequest) -> Any? {
        request.properties[key]
    }

    /// Keeps something in a request. Copies have it, too, also those that a redirect makes; it is not sent. Two requests
    /// that differ in nothing else are equal.
    open class func setProperty(_ value: any Sendable, forKey key: String, in request: inout URLRequest) {
        request.properties[key] = value
    }

    /// Keeps something in a request that is an object. Its copies have it, too, as a ``URLRequest`` or not.
    open class func setProperty(_ value: any Sendable, forKey key: String, in request: NSMutableURLRequest) {
        request.change { setProperty(value, forKey: key, in: &$0) }
    }

    /// Keeps nothing in a request under a key any more.
    open class func removeProperty(forKey key: String, in request: inout URLRequest) {
        request.properties[key] = nil
    }

    /// Keeps nothing in a request that is an object under a key any more.
    open class func removeProperty(forKey key: String, in request: NSMutableURLRequest) {
        request.change { removeProperty(forKey: key, in: &$0) }
    }

    // MARK: Classes of the shared session

    private static let registry = ProcessLocal { Registry() }

    private final class Registry: Sendable {
        let types = Mutex<[URLProtocol.Type]>([])
    }

    /// The registered classes, the last one first.
    static var registered: [URLProtocol.Type] { registry.current.types.withLock { $0.reversed() } }

    /// Lets ``URLSession/shared`` load with this class, which it asks before all others. A class that is registered
    /// already becomes the last one. `false` when it is not a subclass of this one.
    @discardableResult
    open class func registerClass(_ protocolClass: AnyClass) -> Bool {
        guard let type = protocolClass as? URLProtocol.Type else { return false }
        registry.current.types.withLock { types in
            types.removeAll { $0 == type }
            types.append(type)
        }
        return true
    }

    /// Removes a registered class. Loads that have begun continue.
    open class func unregisterClass(_ protocolClass: AnyClass) {
        registry.current.types.withLock { $0.removeAll { ObjectIdentifier($0) == ObjectIdentifier(protocolClass) } }
    }
}

@available(*, unavailable)
extension URLProtocol: @unchecked Sendable {}

/// What a ``URLProtocol`` reports its load to: the session. Any thread may call.
///
/// A response comes first, then its data, then the end. Nothing that comes after the end, or after
/// ``URLProtocol/stopLoading()``, reaches the task.
public protocol URLProtocolClient: NSObjectProtocol, Sendable {
    /// The server wants another request. The task's delegate is asked, and the session loads it, with whatever protocol
    /// wants it; this load is over. If the delegate does not follow, the redirect is the task's response.
    ///
    /// `Authorization`, `Cookie` and `Proxy-Authorization` that are the same as in the request which the protocol loads stay
    /// behind when the new request is for another origin.
    ///
    /// - Parameter protocol: The protocol that loads the request.
    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse)

    /// The cached response the protocol was made with is still good: it is delivered. The protocol ends the load.
    ///
    /// - Parameters:
    ///   - protocol: The protocol that loads the request.
    ///   - cachedResponse: What the cache has for the request.
    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse)

    /// There is a response. It is taken as it is: a redirect in it is not followed, nor are its cookies kept.
    ///
    /// - Parameters:
    ///   - protocol: The protocol that loads the request.
    ///   - policy: Where the session's cache keeps the response of a GET to a data task, if at all. It is kept before the
    ///     task's completion is reported; a delegate is asked before.
    func urlProtocol(
        _ protocol: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy)

    /// There is some of the body, without any coding. It waits in memory until the task takes it.
    ///
    /// - Parameters:
    ///   - protocol: The protocol that loads the request.
    ///   - data: The bytes.
    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data)

    /// The body is complete. Without a response before it, the task gets an empty one.
    ///
    /// - Parameter protocol: The protocol that loads the request.
    func urlProtocolDidFinishLoading(_ protocol: URLProtocol)

    /// The load has failed: this is the task's error, of whatever type it is.
    ///
    /// - Parameters:
    ///   - protocol: The protocol that loads the request.
    ///   - error: Why the load failed.
    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error)

    /// The server asks for credentials. The task's delegate is asked, and the challenge's sender gets its answer, on the
    /// protocol's queue; `performDefaultHandling` where there is no delegate. If the delegate cancels, so does the task.
    ///
    /// - Parameter protocol: The protocol that loads the request.
    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge)

    /// The answer to a challenge is not needed any more.
    ///
    /// - Parameter protocol: The protocol that loads the request.
    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge)
}

import Foundation

/// What a ``URLProtocol`` reports its load to: the session. Any thread may call.
///
/// A response comes first, then its data, then the end. Nothing that comes after the end, or after
/// ``URLProtocol/stopLoading()``, reaches the task.
public protocol URLProtocolClient: NSObjectProtocol, Sendable {
    /// The server wants another request. The task's delegate is asked, and the session loads it, with whatever protocol
    /// wants it; this load is over. If the delegate does not follow, the redirect is the task's response.
    ///
    /// - Parameters:
    ///   - protocol: The protocol that loads the request.
    ///   - request: The request.
    ///   - redirectResponse: The response that redirects.
    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse)

    /// The cached response the protocol was made with is still good: it is delivered. The protocol ends the load.
    ///
    /// - Parameters:
    ///   - protocol: The protocol that loads the request.
    ///   - cachedResponse: What the cache has for the request.
    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse)

    /// There is a response. It is taken as it is: a redirect in it is not followed, nor are its cookies kept, nor is it
    /// stored, whatever the policy is: a protocol that wants that stores it in a ``URLCache`` itself.
    ///
    /// - Parameters:
    ///   - protocol: The protocol that loads the request.
    ///   - response: The response.
    ///   - policy: Whether a cache may keep the response.
    func urlProtocol(
        _ protocol: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy)

    /// There is some of the body, without any coding. It waits in memory until the task takes it.
    ///
    /// - Parameters:
    ///   - protocol: The protocol that loads the request.
    ///   - data: The bytes.
    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data)

    /// The body is whole. Without a response before it, the task gets an empty one.
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
    /// - Parameters:
    ///   - protocol: The protocol that loads the request.
    ///   - challenge: The challenge.
    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge)

    /// The answer to a challenge is not needed any more.
    ///
    /// - Parameters:
    ///   - protocol: The protocol that loads the request.
    ///   - challenge: The challenge.
    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge)
}

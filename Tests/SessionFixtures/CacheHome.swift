import Foundation
import PurlHTTP
import PurlIO
import PurlTesting
import Synchronization

@testable import Purl

/// A clock that stands still until the test advances it.
final class TestClock: Sendable {
    /// Sunday, 6 November 1994, 08:49:37.
    static let start: Int64 = 784_111_777

    private let seconds = Mutex(TestClock.start)

    var date: Date { Date(timeIntervalSince1970: Double(seconds.withLock { $0 })) }

    /// The current time as a field value.
    var text: String { HTTPDate(secondsSinceEpoch: seconds.withLock { $0 }).description }

    func advance(by count: Int64) {
        seconds.withLock { $0 += count }
    }
}

/// A folder with a cache, which can be opened again as a later process does; removed with this object.
final class CacheHome: Sendable {
    let sandbox = Sandbox()
    let clock = TestClock()
    private let stores = Mutex<[CacheStore]>([])

    deinit {
        // A store that writes after the sandbox is gone would make the folder again.
        for store in stores.withLock({ $0 }) {
            store.diskCapacity = 0
            store.flush()
        }
    }

    var folder: URL { sandbox.file("cache") }

    /// The names of all files, stored responses and others.
    var fileNames: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }

    /// Makes all unfinished files older than those that may be another process's.
    func abandonUnfinishedFiles() throws {
        for name in fileNames where name.hasSuffix(".new") {
            try FileManager.default.setAttributes(
                [.modificationDate: Date.distantPast], ofItemAtPath: folder.appendingPathComponent(name).path)
        }
    }

    func cache(memory: Int = 1 << 20, disk: Int = 1 << 20, files: any FileLayer = SystemFiles()) -> URLCache {
        let store = CacheStore(
            memoryCapacity: memory, diskCapacity: disk, folder: folder, files: files, clock: { [clock] in clock.date })
        stores.withLock { $0.append(store) }
        return URLCache(store)
    }

    /// A session that uses the cache.
    func session(
        _ cache: URLCache?, _ delegate: (any URLSessionDelegate)? = nil,
        _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        sandbox.session(delegate) { configuration in
            configuration.urlCache = cache
            change(configuration)
        }
    }
}

func cacheURL(_ name: String) -> URL {
    URL(string: "http://cache.example/\(name)") ?? URL(fileURLWithPath: "/")
}

/// A response as a server sends it.
func serverResponse(
    _ name: String, size: Int = 100, fields: [String: String] = ["Cache-Control": "max-age=60"],
    userInfo: [AnyHashable: Any]? = nil, policy: URLCache.StoragePolicy = .allowed
) -> CachedURLResponse {
    let response =
        HTTPURLResponse(url: cacheURL(name), statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields)
        ?? URLResponse(url: cacheURL(name), mimeType: nil, expectedContentLength: 0, textEncodingName: nil)
    let data = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ name.utf8.count) })
    return CachedURLResponse(response: response, data: data, userInfo: userInfo, storagePolicy: policy)
}

extension URLCache {
    func put(_ names: String..., size: Int = 100, policy: URLCache.StoragePolicy = .allowed) {
        for name in names {
            storeCachedResponse(
                serverResponse(name, size: size, policy: policy), for: URLRequest(url: cacheURL(name)))
        }
    }

    func has(_ name: String) -> Bool {
        cachedResponse(for: URLRequest(url: cacheURL(name))) != nil
    }

    /// Which of the names are stored.
    func names(_ names: String...) -> [String] {
        names.filter { has($0) }
    }
}

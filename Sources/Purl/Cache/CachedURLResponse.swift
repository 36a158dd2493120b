import Foundation
internal import PurlHTTP

/// A response with its whole body, as a ``URLCache`` keeps it.
///
/// Immutable after initialisation, which is what makes `@unchecked Sendable` true for the class itself.
open class CachedURLResponse: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    private let head: URLResponse
    private let content: Data
    private let info: [AnyHashable: Any]?
    private let policy: URLCache.StoragePolicy
    /// How it was received, when a transfer has received it.
    let provenance: CacheProvenance?
    /// What the rules of RFC 9111 apply to; `nil` for a response that is not HTTP.
    let rules: CachedResponse?

    /// Makes a response that may be kept in memory and on disk.
    ///
    /// - Parameters:
    ///   - response: The head.
    ///   - data: The body without content coding.
    public init(response: URLResponse, data: Data) {
        head = response
        content = data
        info = nil
        policy = .allowed
        provenance = nil
        rules = nil
    }

    /// Makes a response with data of the program's own.
    ///
    /// - Parameters:
    ///   - response: The head.
    ///   - data: The body without content coding.
    ///   - userInfo: Kept on disk too if it is a property list, else only as long as the response is in memory.
    ///   - storagePolicy: Where it may be kept.
    public init(
        response: URLResponse, data: Data, userInfo: [AnyHashable: Any]? = nil,
        storagePolicy: URLCache.StoragePolicy
    ) {
        head = response
        content = data
        info = userInfo
        policy = storagePolicy
        provenance = nil
        rules = nil
    }

    init(
        _ response: URLResponse, _ data: Data, _ userInfo: [AnyHashable: Any]?, _ policy: URLCache.StoragePolicy,
        _ provenance: CacheProvenance?
    ) {
        head = response
        content = data
        info = userInfo
        self.policy = policy
        self.provenance = provenance
        rules = provenance.flatMap { Self.rules(for: response, $0) }
    }

    private static func rules(for response: URLResponse, _ provenance: CacheProvenance) -> CachedResponse? {
        guard let response = response as? HTTPURLResponse else { return nil }
        return CachedResponse(
            requestFields: provenance.requestFields, status: response.statusCode,
            fields: CacheStorage.storedFields(of: response.fields), requestTime: provenance.requestTime,
            responseTime: provenance.responseTime)
    }

    /// The head.
    open var response: URLResponse { head }
    /// The whole body, without content coding.
    open var data: Data { content }
    /// Data of the program's own that is kept with the response.
    open var userInfo: [AnyHashable: Any]? { info }
    /// Where it may be kept.
    open var storagePolicy: URLCache.StoragePolicy { policy }

    // MARK: NSSecureCoding, NSCopying

    public static var supportsSecureCoding: Bool { true }

    public required init?(coder aDecoder: NSCoder) {
        guard
            let response = aDecoder.decodeObject(of: [URLResponse.self, HTTPURLResponse.self], forKey: "response")
                as? URLResponse,
            let data = aDecoder.decodeObject(of: NSData.self, forKey: "data"),
            let policy = URLCache.StoragePolicy(rawValue: UInt(bitPattern: aDecoder.decodeInteger(forKey: "policy")))
        else { return nil }
        head = response
        content = data as Data
        let blob = aDecoder.decodeObject(of: NSData.self, forKey: "userInfo")
        info = blob.flatMap { Self.userInfo(from: $0 as Data) }
        self.policy = policy
        provenance = nil
        rules = nil
    }

    open func encode(with aCoder: NSCoder) {
        aCoder.encode(response, forKey: "response")
        aCoder.encode(data as NSData, forKey: "data")
        aCoder.encode(Int(bitPattern: storagePolicy.rawValue), forKey: "policy")
        aCoder.encode(userInfoData as NSData?, forKey: "userInfo")
    }

    open override func copy() -> Any { copy(with: nil) }

    /// Returns the response itself: it never changes.
    ///
    /// - Parameter zone: Ignored.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    open override func isEqual(_ value: Any?) -> Bool {
        guard let other = value as? CachedURLResponse else { return false }
        if other === self { return true }
        return response == other.response && data == other.data && storagePolicy == other.storagePolicy
            && (userInfo ?? [:]) as NSDictionary == (other.userInfo ?? [:]) as NSDictionary
    }

    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(response)
        hasher.combine(data.count)
        hasher.combine(storagePolicy)
        return hasher.finalize()
    }

    // MARK: For the cache

    /// ``userInfo`` as a property list, if it is one.
    var userInfoData: Data? {
        guard let userInfo, PropertyListSerialization.propertyList(userInfo, isValidFor: .binary) else { return nil }
        return try? PropertyListSerialization.data(fromPropertyList: userInfo, format: .binary, options: 0)
    }

    static func userInfo(from data: Data) -> [AnyHashable: Any]? {
        try? PropertyListSerialization.propertyList(from: data, format: nil) as? [AnyHashable: Any]
    }

    /// The bytes that the response takes up; those of the head are estimated.
    var cost: Int {
        let fields = (response as? HTTPURLResponse)?.fields.memorySize ?? 0
        return data.count + fields + 256
    }

    /// The same response with another provenance.
    func with(_ provenance: CacheProvenance) -> CachedURLResponse {
        CachedURLResponse(response, data, userInfo, storagePolicy, provenance)
    }
}

/// The request that a stored response was received for, and when; times in seconds since 1970.
struct CacheProvenance: Sendable, Equatable {
    /// The fields of the request as they went over the wire.
    var requestFields: HeaderFields
    /// When the request was sent.
    var requestTime: Int64
    /// When the head of the response arrived.
    var responseTime: Int64
}

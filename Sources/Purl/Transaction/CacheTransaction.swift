import Foundation
internal import PurlHTTP
internal import PurlIO

/// The dealings of one request with the cache, from the look-up to the storing of its response (RFC 9111).
@NetworkActor
final class CacheTransaction {
    /// A response that is being collected to be stored.
    private struct Collection {
        let response: URLResponse
        let responseTime: Int64
        let policy: URLCache.StoragePolicy
        /// A longer content is not stored.
        let limit: Int
        /// The content so far, where it is not collected for a handler anyway.
        var data = Data()
    }

    private let cache: URLCache
    private let key: CacheKey
    let policy: URLRequest.CachePolicy
    /// The response that was found.
    private var stored: CachedURLResponse?
    /// The fields that ask the server whether the stored response is still right.
    private var conditions: HeaderFields = [:]
    /// The fields of the request as they were sent, without the conditions.
    private var sentFields: HeaderFields = [:]
    private var requestTime: Int64 = 0
    /// When the request was sent.
    private var moment = CacheStore.Moment()
    /// The head of a response has arrived.
    private var isAnswered = false
    private var collection: Collection?

    /// Seconds since 1970, by the cache's clock.
    var now: Int64 { Int64(cache.store.now.timeIntervalSince1970) }

    init(_ cache: URLCache, _ key: CacheKey, _ policy: URLRequest.CachePolicy) {
        self.cache = cache
        self.key = key
        self.policy = policy
    }

    /// The request is sent.
    ///
    /// - Parameters:
    ///   - stored: What may be confirmed, or stand in for a failure.
    ///   - conditions: What asks the server to confirm it.
    func forward(_ stored: CachedURLResponse?, asking conditions: HeaderFields = [:]) {
        self.stored = stored
        self.conditions = conditions
    }

    /// Adds the conditions to the fields that are about to be sent.
    func send(_ fields: inout HeaderFields) {
        markSent(fields)
        for condition in conditions { fields.append(FieldName(condition.name), condition.value) }
    }

    /// What the cache makes of the head of a response from the server. From now on no stored response stands in for a
    /// connection that failed.
    func judge(_ head: ResponseHead) -> ResponseDecision.CacheJudgement {
        isAnswered = true
        if head.status == 304, !conditions.isEmpty {
            return confirmed(by: head.fields).map { .confirmed($0) } ?? .mismatched
        }
        if [500, 502, 503, 504].contains(head.status), let (stored, age) = replacement {
            return .replaced(stored, age: age)
        }
        return .irrelevant
    }

    /// The stored response, when it may stand in for a failure before any response (RFC 5861 §4).
    var replacementForFailure: (CachedURLResponse, age: Int64)? { isAnswered ? nil : replacement }

    private var replacement: (CachedURLResponse, age: Int64)? {
        guard policy == .useProtocolCachePolicy, let stored, let rules = stored.rules,
            rules.mayReplaceError(for: sentFields, at: now)
        else { return nil }
        return (stored, rules.currentAge(at: now))
    }

    /// The stored response, updated by the 304 that confirms it; `nil` when that describes another.
    private func confirmed(by notModified: HeaderFields) -> CachedURLResponse? {
        guard let stored, let rules = stored.rules, rules.isConfirmed(by: notModified),
            let response = stored.response as? HTTPURLResponse, let url = response.url
        else { return nil }
        let updated = rules.updated(by: notModified, requestTime: requestTime, responseTime: now)
        var head = response.head
        head.fields = updated.fields
        return CachedURLResponse(
            HTTPURLResponse(url: url, head: head), stored.data, stored.userInfo, stored.storagePolicy,
            CacheProvenance(
                requestFields: updated.requestFields, requestTime: updated.requestTime,
                responseTime: updated.responseTime))
    }

    // MARK: Storing

    /// Begins to collect the content of a response, if it may be stored and is not too long.
    func collect(_ response: ReceivedResponse) {
        // Whether a body that ends with the connection is complete cannot be known.
        guard response.framing != .untilClose, ![401, 407].contains(response.head.status),
            CacheStorage.mayStore(
                method: .get, requestFields: sentFields, status: response.head.status, fields: response.head.fields)
        else { return }
        // A redirect's body is not decoded, since it is seldom wanted.
        if (300...399).contains(response.head.status), response.head.fields.contains(.contentEncoding) { return }
        collect(response, storing: .allowed)
    }

    /// Begins to collect the content of a response that a user's protocol lets be stored.
    func collect(_ response: ReceivedResponse, to request: URLRequest, storing policy: URLCache.StoragePolicy) {
        markSent(request.ownFields)
        collect(response, storing: policy)
    }

    private func markSent(_ fields: HeaderFields) {
        sentFields = fields
        requestTime = now
        moment = cache.store.markRequest()
    }

    private func collect(_ response: ReceivedResponse, storing policy: URLCache.StoragePolicy) {
        let limit = cache.store.maximumSize(policy)
        if case .length(let length) = response.framing, length > limit { return }
        guard limit > 0 else { return }
        collection = Collection(response: response.response, responseTime: now, policy: policy, limit: limit)
    }

    /// Adds content, or stops collecting when it becomes too long.
    func take(_ bytes: UnsafeRawBufferPointer) {
        guard let collected = collection else { return }
        if collected.data.count + bytes.count > collected.limit {
            collection = nil
        } else {
            collection?.data.append(contentsOf: bytes)
        }
    }

    /// The whole response has arrived: it is stored, if the delegate does not object.
    ///
    /// - Parameters:
    ///   - content: The content, where it was collected for a handler and so not here.
    ///   - isFinal: It is the task's result, which the delegate is asked about.
    func offer(content: Data?, isFinal: Bool, _ calls: DelegateCalls) {
        guard let proposed = finish(content: content) else { return }
        calls.trace?.record(.cache(.store))
        guard isFinal, case .delegate = calls.task.consumer else { return store(proposed, calls) }
        calls.askAboutCaching(proposed) { [cache, key, moment] wanted, dataTask in
            cache.store(wanted, of: dataTask, for: key, sent: moment)
        }
    }

    /// Stores a response that the server has confirmed, unless the request or the 304 had `no-store`, which concerns any part
    /// of it (RFC 9111 §5.2.1.5 and §5.2.2.5).
    func storeConfirmed(_ response: CachedURLResponse, _ calls: DelegateCalls) {
        guard let head = (response.response as? HTTPURLResponse)?.head,
            CacheStorage.mayStore(method: .get, requestFields: sentFields, status: head.status, fields: head.fields)
        else { return }
        store(response, calls)
    }

    /// Stores a response that the delegate is not asked about.
    private func store(_ response: CachedURLResponse, _ calls: DelegateCalls) {
        cache.store(
            response, of: calls.task, for: key, sent: moment, on: calls.session.queue)
    }

    /// The response as it may be stored; once.
    ///
    /// - Parameter content: The content where it was collected for a handler, and so not here.
    private func finish(content: Data?) -> CachedURLResponse? {
        guard let collected = collection else { return nil }
        collection = nil
        let data = content ?? collected.data
        guard data.count <= collected.limit else { return nil }
        return CachedURLResponse(
            collected.response, data, nil, collected.policy,
            CacheProvenance(
                requestFields: sentFields, requestTime: requestTime, responseTime: collected.responseTime))
    }
}

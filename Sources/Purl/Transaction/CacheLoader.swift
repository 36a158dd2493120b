import Foundation
internal import PurlHTTP
internal import PurlIO

/// A transaction's dealings with the session's cache: answers the request from it, confirms what is stored with a 304,
/// lets it stand in for a failure, and stores the response (RFC 9111).
@NetworkActor
final class CacheLoader: TransactionLoader {
    private let transfer: Transfer
    private let trustsStored: Bool
    /// From the look-up to the storing of the response; `nil` while the request has nothing to do with a cache.
    private(set) var transaction: CacheTransaction?

    /// - Parameter trustsStored: What is stored may be used, if the policy lets it.
    init(_ transfer: Transfer, trustsStored: Bool) {
        self.transfer = transfer
        self.trustsStored = trustsStored
    }

    /// The request's own policy, or the session's where it has none.
    var policy: URLRequest.CachePolicy { policy(of: transfer.request) }

    private func policy(of request: URLRequest) -> URLRequest.CachePolicy {
        request.cachePolicy == .useProtocolCachePolicy
            ? transfer.session.settings.requestCachePolicy : request.cachePolicy
    }

    // MARK: The look-up

    /// Looks for a stored response. True when the cache answers, fails the transfer, or will continue the transaction
    /// later; false when the request is to be sent.
    func answers(_ owner: Transaction) -> Bool {
        let policy = policy(of: owner.request)
        guard usesCache(owner.request), let cache = transfer.session.settings.urlCache,
            let key = CacheKey(owner.request)
        else {
            guard policy == .returnCacheDataDontLoad else { return false }
            transfer.fail(.notCached)
            return true
        }
        let transaction = CacheTransaction(cache, key, policy)
        self.transaction = transaction
        guard policy.looksUp, trustsStored, !owner.request.asksAboutOwnCopy else {
            return carryOut(nil, owner, transaction)
        }
        var fields: HeaderFields?
        let lookUp = cache.lookUp(
            key, for: transfer.calls.task,
            sending: {
                let composed = owner.fieldsToSend
                fields = composed
                return composed
            },
            completion: { [weak self, weak owner] stored in
                guard let self, let owner else { return }
                self.found(stored, for: owner)
            })
        switch lookUp {
        case .response(let stored): return carryOut(stored, owner, transaction, fields)
        case .nothing: return carryOut(nil, owner, transaction, fields)
        case .pending: return true
        }
    }

    /// Only what goes to a delegate or a handler as data comes from the cache.
    private func usesCache(_ request: URLRequest) -> Bool {
        guard case .response = transfer.purpose, !transfer.source.isUpload, transfer.storage == nil else {
            return false
        }
        return request.httpBody == nil && request.bodyStream == nil
    }

    private func found(_ stored: CachedURLResponse?, for owner: Transaction) {
        guard owner.awaitsLoader, let transaction else { return }
        let fields = owner.fieldsToSend
        let now = CacheProvenance(requestFields: fields, requestTime: transaction.now, responseTime: transaction.now)
        let known = stored.map { $0.provenance == nil ? $0.with(now) : $0 }
        if !carryOut(known, owner, transaction, fields) { owner.proceed() }
    }

    /// Does what the policy and the rules say. False: the request is to be sent.
    ///
    /// - Parameter composed: The fields that it would be sent with, if they have been composed already.
    private func carryOut(
        _ stored: CachedURLResponse?, _ owner: Transaction, _ transaction: CacheTransaction,
        _ composed: HeaderFields? = nil
    ) -> Bool {
        // Most requests carry no directives for caches; then their fields need not be composed.
        let fields = composed ?? (stored == nil && !hasDirectives(owner.request) ? [:] : owner.fieldsToSend)
        switch CacheDecision(transaction.policy, stored, for: fields, at: transaction.now) {
        case .use(let stored, let age):
            owner.deliver(stored, age: age)
            return true
        case .validate(let stored, let conditions):
            transaction.forward(stored, asking: conditions)
            return false
        case .forward(let stored):
            transaction.forward(stored)
            return false
        case .unsatisfiable:
            owner.deliverGatewayTimeout()
            return true
        case .refuse:
            transfer.fail(.notCached)
            return true
        }
    }

    private func hasDirectives(_ request: URLRequest) -> Bool {
        request.value(forHTTPHeaderField: "Cache-Control") != nil
            || transfer.session.settings.additionalFields.contains(.cacheControl)
    }

    // MARK: Requests and responses

    /// Adds the conditions under which the stored response is used to the fields that are about to be sent.
    func willSend(_ fields: inout HeaderFields) {
        transaction?.send(&fields)
    }

    /// What the cache makes of a response's head.
    func judge(_ head: ResponseHead) -> ResponseDecision.CacheJudgement {
        guard let transaction else { return .irrelevant }
        transaction.markAnswered()
        if head.status == 304, !transaction.conditions.isEmpty {
            return transaction.confirmed(by: head.fields).map { .confirmed($0) } ?? .mismatched
        }
        if [500, 502, 503, 504].contains(head.status), let (stored, age) = transaction.replacement {
            return .replaced(stored, age: age)
        }
        return .irrelevant
    }

    /// The stored response that may take the place of a failure before any response (RFC 5861 §4).
    var replacement: (CachedURLResponse, age: Int64)? {
        guard let transaction, !transaction.isAnswered else { return nil }
        return transaction.replacement
    }

    /// Begins to collect a response that may be stored.
    func collect(_ response: ReceivedResponse) {
        transaction?.collect(response)
    }

    /// Collects content of a response that is not delivered.
    func collect(_ bytes: UnsafeRawBufferPointer) {
        transaction?.take(bytes)
    }

    /// The response does not come from the server any more, or is not this task's: it is not stored.
    func detach() {
        transaction = nil
    }

    /// RFC 9111 §4.4: what a request has changed is not answered from the cache any more.
    func invalidate(_ head: ResponseHead, _ request: URLRequest) {
        guard let cache = transfer.session.settings.urlCache, let url = request.url else { return }
        let method = request.method
        if method == .head, head.status == 200 {
            // RFC 9111 §4.3.5: what a HEAD has shown to be out of date is not, either.
            return cache.removeResponses(to: url) { $0.rules?.isContradicted(byHead: head.fields) ?? false }
        }
        guard CacheStorage.invalidates(method: method, status: head.status) else { return }
        let others = CacheStorage.invalidatedReferences(by: head.fields)
            .compactMap { URL(string: $0, relativeTo: url)?.absoluteURL }
            .filter { url.isSameOrigin(as: $0) }
        for url in [url] + others { cache.removeResponses(to: url) }
    }

    // MARK: Storing

    /// The whole response has arrived: it is stored, if its delegate does not object.
    ///
    /// - Parameters:
    ///   - content: The content, where it was collected for a handler and so not here.
    ///   - isFinal: It is the task's result, which the delegate is asked about.
    func offer(content: Data?, isFinal: Bool) {
        guard let transaction, let proposed = transaction.finish(content: content) else { return }
        guard isFinal, case .delegate = transfer.calls.task.consumer else { return store(proposed) }
        transfer.calls.askAboutCaching(proposed) {
            [cache = transaction.cache, key = transaction.key] wanted, dataTask in
            cache.store(wanted, of: dataTask, for: key)
        }
    }

    /// Stores a response that the delegate is not asked about.
    func store(_ response: CachedURLResponse) {
        guard let transaction else { return }
        transaction.cache.store(response, of: transfer.calls.task, for: transaction.key, on: transfer.session.queue)
    }
}

extension URLRequest {
    /// It names a copy that its user has, or asks for a part: the response is for the user to judge.
    fileprivate var asksAboutOwnCopy: Bool {
        hasFields
            && ["Range", "If-Range", "If-None-Match", "If-Match", "If-Modified-Since", "If-Unmodified-Since"]
                .contains { value(forHTTPHeaderField: $0) != nil }
    }
}

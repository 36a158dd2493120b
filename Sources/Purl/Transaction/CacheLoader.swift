import Foundation
internal import PurlHTTP
internal import PurlIO

/// Loads a transaction's request from the session's cache, where policy and rules let it (RFC 9111). What follows with the
/// cache, confirming or storing a response, is the task of a ``CacheTransaction``, which the transaction keeps.
@NetworkActor
struct CacheLoader: TransactionLoader {
    let transfer: Transfer
    /// Whether what is stored may be used, if the policy lets it.
    let trustsStored: Bool

    /// The request's own policy, or the session's where it has none.
    static func policy(of request: URLRequest, in session: URLSession) -> URLRequest.CachePolicy {
        request.cachePolicy == .useProtocolCachePolicy ? session.settings.requestCachePolicy : request.cachePolicy
    }

    /// Looks for a stored response. True when the cache loads the request, fails the transfer, or will continue the
    /// transaction later; false when the request is to be sent.
    func loads(_ owner: Transaction) -> Bool {
        let policy = Self.policy(of: owner.request, in: transfer.session)
        guard usesCache(owner.request), let cache = transfer.session.settings.urlCache,
            let key = CacheKey(owner.request)
        else {
            guard policy == .returnCacheDataDontLoad else { return false }
            transfer.fail(.notCached)
            return true
        }
        let transaction = CacheTransaction(cache, key, policy)
        owner.use(transaction)
        guard policy.looksUp, trustsStored, !asksAboutOwnCopy(owner.request) else {
            return carryOut(nil, owner, transaction)
        }
        var fields: HeaderFields?
        let lookUp = cache.lookUp(
            key, for: transfer.calls.task,
            sending: {
                let composed = owner.outgoing.fields
                fields = composed
                return composed
            },
            completion: {
                { [weak owner] stored in
                    if let owner { found(stored, for: owner) }
                }
            })
        switch lookUp {
        case .response(let stored): return carryOut(stored, owner, transaction, fields)
        case .nothing: return carryOut(nil, owner, transaction, fields)
        case .pending: return true
        }
    }

    /// Begins to collect the response of a user's protocol, if the protocol lets it be stored.
    func collecting(_ response: ReceivedResponse, _ policy: URLCache.StoragePolicy) -> CacheTransaction? {
        guard policy != .notAllowed, let cache = transfer.session.settings.urlCache,
            let request = transfer.calls.task.currentRequest, usesCache(request), let key = CacheKey(request)
        else { return nil }
        let transaction = CacheTransaction(cache, key, .useProtocolCachePolicy)
        transaction.collect(response, to: request, storing: policy)
        return transaction
    }

    /// Only what goes to a delegate or a handler as data comes from the cache.
    private func usesCache(_ request: URLRequest) -> Bool {
        guard case .response = transfer.purpose, !transfer.source.isUpload, transfer.storage == nil else {
            return false
        }
        return request.httpBody == nil && request.bodyStream == nil
    }

    private func found(_ stored: CachedURLResponse?, for owner: Transaction) {
        guard owner.awaitsLoader, let transaction = owner.cacheTransaction else { return }
        let fields = owner.outgoing.fields
        let now = CacheProvenance(requestFields: fields, requestTime: transaction.now, responseTime: transaction.now)
        let known = stored.map { $0.provenance == nil ? $0.with(now) : $0 }
        if !carryOut(known, owner, transaction, fields) { owner.proceed() }
    }

    /// Does what the policy and the rules require. False: the request is to be sent.
    ///
    /// - Parameter composed: The fields that it would be sent with, if they have been composed already.
    private func carryOut(
        _ stored: CachedURLResponse?, _ owner: Transaction, _ transaction: CacheTransaction,
        _ composed: HeaderFields? = nil
    ) -> Bool {
        // Most requests carry no directives for caches; then their fields need not be composed.
        let isPlain = stored == nil && !owner.request.carries(.cacheControl, or: additionalFields)
        let fields = composed ?? (isPlain ? [:] : owner.outgoing.fields)
        let decision = CacheDecision(transaction.policy, stored, for: fields, at: transaction.now)
        transfer.calls.trace?.cache(decision)
        switch decision {
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
            if let url = owner.request.url { owner.deliver(.gatewayTimeout(at: url)) }
            return true
        case .refuse:
            transfer.fail(.notCached)
            return true
        }
    }

    private var additionalFields: AdditionalFields { transfer.session.settings.additionalFields }

    /// It names a copy that its user has, or asks for a part: the response is for the user to judge.
    private func asksAboutOwnCopy(_ request: URLRequest) -> Bool {
        guard request.hasFields || !additionalFields.dictionary.isEmpty else { return false }
        return Self.fieldsOfOwnCopies.contains { request.carries($0, or: additionalFields) }
    }

    private static let fieldsOfOwnCopies: [FieldName] = [
        .range, .ifRange, .ifNoneMatch, .ifMatch, .ifModifiedSince, "If-Unmodified-Since",
    ]

    /// RFC 9111 §4.4: what a request has changed is not loaded from the cache any more.
    static func invalidate(_ head: ResponseHead, to request: URLRequest, in session: URLSession) {
        guard let cache = session.settings.urlCache, let url = request.url else { return }
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
}

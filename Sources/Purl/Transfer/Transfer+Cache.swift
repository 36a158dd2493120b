import Foundation
internal import PurlHTTP
internal import PurlIO
import Synchronization

/// How a transfer answers from the cache.
extension Transfer {
    /// What the request's policy is: its own, or the session's where it has none.
    var cachePolicy: URLRequest.CachePolicy {
        request.cachePolicy == .useProtocolCachePolicy ? session.settings.requestCachePolicy : request.cachePolicy
    }

    /// Looks for a stored response to the request of the moment, once. True when no request goes out, for now at least.
    func consultCache() -> Bool {
        guard !hasConsultedCache else { return false }
        hasConsultedCache = true
        isAnsweredByCache = false
        guard usesCache, let cache = session.settings.urlCache, let key = CacheKey(request) else {
            visit = nil
            guard cachePolicy == .returnCacheDataDontLoad else { return false }
            fail(.notCached)
            return true
        }
        let visit = CacheVisit(cache, key, cachePolicy)
        self.visit = visit
        guard visit.policy.looksUp, !distrustsCache, !request.asksAboutOwnCopy else { return judge(nil) }
        if type(of: cache) != URLCache.self, let dataTask = task as? URLSessionDataTask {
            lookUp(dataTask, in: cache)
            return true
        }
        var fields: HeaderFields?
        let glance = cache.store.glance(key) {
            let composed = fieldsToSend
            fields = composed
            return .sent(composed)
        }
        switch glance {
        case .response(let stored): return judge(stored, fields)
        case .nothing: return judge(nil, fields)
        case .onDisk:
            phase = .preparing
            cache.store.find(key, .sent(fieldsToSend)) { stored in
                NetworkActor.post { [weak self] in self?.found(stored) }
            }
            return true
        }
    }

    /// Only what goes to a delegate or a handler as data comes from the cache.
    private var usesCache: Bool {
        guard case .request = origin, downloadTask == nil, writer == nil else { return false }
        return request.httpBody == nil && request.bodyStream == nil
    }

    /// The fields that the request would be sent with. What proves who asks is not among them: a response that depends on
    /// it is not found.
    private var fieldsToSend: HeaderFields {
        guard let target = try? RequestTarget(request.url, like: session.pool.latestTarget) else {
            return request.ownFields
        }
        return composeHead(at: target, framing: .none).fields
    }

    /// A cache of the user's own may do anything, and take its time.
    private func lookUp(_ dataTask: URLSessionDataTask, in cache: URLCache) {
        phase = .preparing
        DispatchQueue.global().async { [weak self] in
            cache.getCachedResponse(for: dataTask) { stored in
                NetworkActor.post { self?.found(stored) }
            }
        }
    }

    private func found(_ stored: CachedURLResponse?) {
        guard case .preparing = phase, let visit else { return }
        let fields = fieldsToSend
        let now = CacheCircumstances(requestFields: fields, requestTime: visit.now, responseTime: visit.now)
        let known = stored.map { $0.circumstances == nil ? $0.with(now) : $0 }
        if !judge(known, fields) { connect() }
    }

    /// Does what the policy and the rules say. False: the request is to be sent.
    ///
    /// - Parameter composed: The fields that it would be sent with, if somebody has asked for them already.
    private func judge(_ stored: CachedURLResponse?, _ composed: HeaderFields? = nil) -> Bool {
        guard let visit else { return false }
        // Most requests say nothing to caches; then there is nothing to look at.
        let fields = composed ?? (stored == nil && !speaksToCaches ? [:] : fieldsToSend)
        switch CacheVerdict(visit.policy, stored, for: fields, at: visit.now) {
        case .use(let stored, let age):
            deliver(stored, age: age)
            return true
        case .validate(let stored, let conditions):
            visit.forward(stored, asking: conditions)
            return false
        case .forward(let stored):
            visit.forward(stored)
            return false
        case .unsatisfiable:
            deliverGatewayTimeout()
            return true
        case .refuse:
            fail(.notCached)
            return true
        }
    }

    private var speaksToCaches: Bool {
        request.value(forHTTPHeaderField: "Cache-Control") != nil
            || session.settings.httpAdditionalHeaders.keys.contains { FieldName($0) == .cacheControl }
    }

    // MARK: Answers

    /// The stored response is the answer.
    func deliver(_ stored: CachedURLResponse, age: Int64?) {
        guard let url = request.url else { return }
        var response = stored.response
        var head = ResponseHead(status: 200)
        if let http = response as? HTTPURLResponse {
            head = http.head
            head.fields = stored.rules?.fields ?? head.fields
            // RFC 9111 §5.1: unless the server has just confirmed it.
            if let age { head.fields[.age] = String(age) }
            response = HTTPURLResponse(url: url, head: head)
        }
        answer(response, head, stored.data)
    }

    /// RFC 9111 §5.2.1.7: nothing is stored that would do.
    private func deliverGatewayTimeout() {
        guard let url = request.url else { return }
        let head = ResponseHead(status: 504, fields: ["Content-Length": "0"])
        answer(HTTPURLResponse(url: url, head: head), head, Data())
    }

    private func answer(_ response: URLResponse, _ head: ResponseHead, _ content: Data) {
        isAnsweredByCache = true
        recordLocalAnswer(response, from: .localCache)
        answer(with: response, head, .length(Int64(content.count)), content: content, mayRedirect: true)
    }

    // MARK: What the server says

    /// Looks at the head of a response before anybody else does. True when the stored response is the answer.
    func cacheTakes(_ answer: Answer) -> Bool {
        guard let visit else { return false }
        visit.isAnswered = true
        if answer.head.status == 304, !visit.conditions.isEmpty {
            guard let confirmed = visit.confirmed(by: answer.head.fields) else {
                // RFC 9111 §4.3.4: it speaks of something else. Asked without conditions, the server sends all of it.
                distrustsCache = true
                leave(answer, for: .request(request))
                return true
            }
            keep(confirmed)
            leave(answer, for: .stored(confirmed, age: nil))
            return true
        }
        if [500, 502, 503, 504].contains(answer.head.status), let (stored, age) = visit.replacement {
            leave(answer, for: .stored(stored, age: age))
            return true
        }
        visit.collect(answer)
        return false
    }

    /// RFC 9111 §4.4: what has been changed is not answered from the cache any more.
    func invalidateCache(_ head: ResponseHead) {
        guard let cache = session.settings.urlCache, let url = request.url else { return }
        let method = request.httpMethod ?? "GET"
        if method == "HEAD", head.status == 200 { return compareStored(with: head, in: cache, url) }
        guard CacheStorage.invalidates(method: method, status: head.status) else { return }
        let others = CacheStorage.invalidatedReferences(by: head.fields)
            .compactMap { URL(string: $0, relativeTo: url)?.absoluteURL }
            .filter { Redirect.isSameOrigin(url, $0) }
        for url in [url] + others {
            guard type(of: cache) != URLCache.self else {
                cache.store.removeSoon(CacheKey(url))
                continue
            }
            DispatchQueue.global().async { cache.removeCachedResponse(for: URLRequest(url: url)) }
        }
    }

    /// RFC 9111 §4.3.5: what a HEAD has shown to be out of date is not answered from the cache any more.
    private func compareStored(with head: ResponseHead, in cache: URLCache, _ url: URL) {
        let isOver = { @Sendable (stored: CachedURLResponse) in
            stored.rules?.isContradicted(byHead: head.fields) ?? false
        }
        guard type(of: cache) != URLCache.self else { return cache.store.removeSoon(CacheKey(url), where: isOver) }
        DispatchQueue.global().async {
            let stored = URLRequest(url: url)
            if cache.cachedResponse(for: stored).map(isOver) == true { cache.removeCachedResponse(for: stored) }
        }
    }

    /// The stored response in place of a failure, if it may be (RFC 5861 §4). True when it is the answer.
    func replace(_ failure: TransferFailure) -> Bool {
        guard failure.isUnreachability, let visit, !visit.isAnswered, let (stored, age) = visit.replacement else {
            return false
        }
        switch phase {
        case .ending, .concluded: return false
        case .parked, .preparing, .leasing, .decoding: break
        case .waiting(let ticket): ticket.cancel()
        case .exchanging(let source): source.abandon()
        }
        deliver(stored, age: age)
        return true
    }

    // MARK: Storing

    /// The whole response has come: it is stored, if its delegate has nothing against it.
    func offerToCache(isFinal: Bool) {
        let content: Data?
        if case .memory = destination { content = collected } else { content = nil }
        guard let proposed = visit?.finish(content: content) else { return }
        guard isFinal, case .delegate = task.audience, let visit else { return keep(proposed) }
        session.queue.enqueue { [task, session, cache = visit.cache, key = visit.key] in
            guard let dataTask = task as? URLSessionDataTask else { return }
            guard let delegate = task.dataDelegate else {
                return Self.store(proposed, of: dataTask, in: cache, for: key)
            }
            let answer = Mutex(false)
            delegate.urlSession(session, dataTask: dataTask, willCacheResponse: proposed) { wanted in
                let isFirst = answer.withLock { isAnswered in
                    defer { isAnswered = true }
                    return !isAnswered
                }
                guard isFirst, let wanted, let circumstances = proposed.circumstances else { return }
                Self.store(wanted.with(circumstances), of: dataTask, in: cache, for: key)
            }
        }
    }

    private func keep(_ response: CachedURLResponse) {
        guard let visit else { return }
        guard type(of: visit.cache) != URLCache.self, let dataTask = task as? URLSessionDataTask else {
            return Self.store(response, of: nil, in: visit.cache, for: visit.key)
        }
        session.queue.enqueue { [cache = visit.cache, key = visit.key] in
            Self.store(response, of: dataTask, in: cache, for: key)
        }
    }

    /// A cache of the user's own hears of it with the task.
    private nonisolated static func store(
        _ response: CachedURLResponse, of dataTask: URLSessionDataTask?, in cache: URLCache, for key: CacheKey
    ) {
        if let dataTask, type(of: cache) != URLCache.self {
            cache.storeCachedResponse(response, for: dataTask)
        } else if let circumstances = response.circumstances {
            cache.store.store(response, circumstances, for: key)
        }
    }
}

extension URLRequest {
    /// It speaks of a response that its user has, or of a part: the answer is for him to judge.
    fileprivate var asksAboutOwnCopy: Bool {
        hasFields
            && ["Range", "If-Range", "If-None-Match", "If-Match", "If-Modified-Since", "If-Unmodified-Since"]
                .contains { value(forHTTPHeaderField: $0) != nil }
    }
}

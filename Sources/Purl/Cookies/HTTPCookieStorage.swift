import Foundation
internal import PurlHTTP
internal import PurlIO
import Synchronization

/// A store of cookies, with the rules for which requests carry them (RFC 6265bis §5.7, §5.8).
///
/// ``shared`` keeps those with an expiry date in `$XDG_DATA_HOME`, under the program's name, readable by the user
/// only: what the program changes is on disk when its call returns, what servers set soon after
/// (``URLSession/flush(completionHandler:)`` waits for it). The others, and all in a storage that is made with `init()`, live
/// in memory. A domain has 50 cookies at most and a storage 3000; those that have not been used for the longest time make room.
///
/// A name without a dot inside, such as `com`, and an IP address never share a cookie with another host. Where the
/// system has the list of public suffixes (`/usr/share/publicsuffix/public_suffix_list.dat`, of the package
/// `publicsuffix`), no domain of that list does either; without it, a server below `co.uk` can set a cookie for all of
/// `co.uk`.
///
/// Safe from any thread. After a change `NSHTTPCookieManagerCookiesChanged` is posted, on the thread that made the
/// change or, for what servers set, on a thread for user code.
/// `@unchecked Sendable` because the class is open; its only mutable state is `state`, behind a `Mutex`.
open class HTTPCookieStorage: NSObject, @unchecked Sendable {
    private struct State {
        /// `nil` until the file has been read.
        var jar: CookieJar?
        var policy = HTTPCookie.AcceptPolicy.always
    }

    private let state: Mutex<State>
    /// Held while the file is read, which the state is not.
    private let reading = Mutex(())
    let file: CookieFile?
    private let publicSuffixes: PublicSuffixList
    private let clock: @Sendable () -> Date

    private static let standard = ProcessLocal { kept(in: .program) }
    private static let groups = ProcessLocal { Groups() }

    private final class Groups: Sendable {
        let storages = Mutex<[String: HTTPCookieStorage]>([:])
    }

    /// The program's cookies, kept from one run to the next. A second process of the same program gets what has been
    /// written when it starts, and both write what they change.
    open class var shared: HTTPCookieStorage { standard.current }

    /// The cookies of all programs of this user with the group identifier; the same object for the same identifier.
    ///
    /// - Parameter identifier: The name the programs share.
    open class func sharedCookieStorage(
        forGroupContainerIdentifier identifier: String
    ) -> HTTPCookieStorage {
        groups.current.storages.withLock { groups in
            if let storage = groups[identifier] { return storage }
            let storage = kept(in: .group(identifier))
            groups[identifier] = storage
            return storage
        }
    }

    private static func kept(in folder: CookieFolder) -> HTTPCookieStorage {
        let file = CookieFile(in: folder.url, after: folder.predecessor)
        file.flushAtExit()
        return HTTPCookieStorage(file: file)
    }

    /// Makes an empty storage in memory, for a session with cookies of its own.
    public override init() {
        file = nil
        publicSuffixes = .system
        clock = { .current }
        state = Mutex(State(jar: CookieJar()))
    }

    /// A storage with the cookies of the file, which is read when they are first needed.
    init(
        file: CookieFile?, publicSuffixes: PublicSuffixList = .system,
        clock: @escaping @Sendable () -> Date = { .current }
    ) {
        self.file = file
        self.publicSuffixes = publicSuffixes
        self.clock = clock
        state = Mutex(State(jar: file == nil ? CookieJar() : nil))
    }

    /// All cookies that have not expired, oldest first.
    open var cookies: [HTTPCookie]? { withJar { $0.all(at: $1) } }

    /// Which cookies are accepted from servers. The session's configuration has a policy of its own, which counts as
    /// well.
    open var cookieAcceptPolicy: HTTPCookie.AcceptPolicy {
        get { state.withLock { $0.policy } }
        set {
            let isNew = state.withLock { state in
                defer { state.policy = newValue }
                return state.policy != newValue
            }
            guard isNew else { return }
            NotificationCenter.default.post(name: .NSHTTPCookieManagerAcceptPolicyChanged, object: self)
        }
    }

    /// Stores a cookie, in place of the one with the same name, domain and path. One that has expired removes that one.
    ///
    /// Nothing happens when the policy is `.never`, and for a cookie of more than 4096 bytes or one that does not
    /// satisfy the prefix of its name (`__Secure-`, `__Host-`).
    open func setCookie(_ cookie: HTTPCookie) {
        guard cookieAcceptPolicy != .never else { return }
        finishChange(withJar { $0.insert(cookie, set: $1, at: $1) })
    }

    /// Removes the cookie with this one's name, domain and path.
    open func deleteCookie(_ cookie: HTTPCookie) {
        finishChange(withJar { jar, _ in jar.remove(cookie.key) })
    }

    /// Removes all cookies that have been set after a date.
    open func removeCookies(since date: Date) {
        finishChange(withJar { jar, _ in jar.removeAll(since: date) })
    }

    /// The cookies for a request to the URL, in the order in which they are sent: longer paths first, then older
    /// cookies. `nil` for a URL without a host.
    ///
    /// - Parameter url: The URL of the request.
    open func cookies(for url: URL) -> [HTTPCookie]? {
        CookieURL(url).map { cookies(at: $0) }
    }

    /// Stores those of the cookies that the URL's server may set: for its own host or a domain above it, secure ones
    /// only over a secure connection.
    ///
    /// - Parameters:
    ///   - url: The URL of the request whose response sets them.
    ///   - mainDocumentURL: What `.onlyFromMainDocumentDomain` compares the URL with; `nil` means the URL itself.
    open func setCookies(_ cookies: [HTTPCookie], for url: URL?, mainDocumentURL: URL?) {
        guard Self.mayAccept(from: url, mainDocumentURL: mainDocumentURL, policy: cookieAcceptPolicy),
            let target = CookieURL(url)
        else { return }
        finishChange(admit(cookies, from: target))
    }

    /// Stores those of the cookies that the server of the task's current request may set.
    open func storeCookies(_ cookies: [HTTPCookie], for task: URLSessionTask) {
        let request = task.currentRequest
        setCookies(cookies, for: request?.url, mainDocumentURL: request?.mainDocumentURL)
    }

    /// Calls the handler, at once, with the cookies for the task's current request.
    ///
    /// - Parameter completionHandler: Receives the cookies; `nil` for a request without a host.
    open func getCookiesFor(
        _ task: URLSessionTask, completionHandler: @escaping @Sendable ([HTTPCookie]?) -> Void
    ) {
        completionHandler(task.currentRequest?.url.flatMap { cookies(for: $0) })
    }

    /// All cookies that have not expired, in the order of the descriptors.
    ///
    /// - Parameter sortOrder: The descriptors, the most significant first.
    open func sortedCookies(using sortOrder: [NSSortDescriptor]) -> [HTTPCookie] {
        (cookies ?? []).sorted { one, other in
            for descriptor in sortOrder {
                switch descriptor.compare(one, to: other) {
                case .orderedAscending: return true
                case .orderedDescending: return false
                case .orderedSame: continue
                }
            }
            return false
        }
    }

    open override var description: String {
        "<NSHTTPCookieStorage cookies count:\(cookies?.count ?? 0)>"
    }

    // MARK: The jar

    /// Runs `body` with the cookies, and has the file written if that changes its contents.
    private func withJar<Result: Sendable>(_ body: (inout CookieJar, _ now: Date) -> Result) -> Result {
        let now = clock()
        if !isRead { readFile(at: now) }
        return state.withLock { state in
            var jar = state.jar ?? CookieJar()
            // Only one owner: with a second, every change would copy all cookies.
            state.jar = CookieJar()
            defer { state.jar = jar }
            let result = body(&jar, now)
            let changes = jar.takeChanges()
            if !changes.isEmpty { file?.save(changes) }
            return result
        }
    }

    /// Waits until what the program has changed is on disk, or could not be written, and announces it.
    private func finishChange(_ hasChanged: Bool) {
        if hasChanged { file?.flush() }
        announce(hasChanged)
    }

    /// Whether the cookies are in memory: asking for them waits for no file.
    private var isRead: Bool { state.withLock { $0.jar != nil } }

    private func readFile(at now: Date) {
        reading.withLock { _ in
            guard !isRead else { return }
            let jar = CookieJar(file?.load() ?? [], at: now, tracksChanges: true)
            state.withLock { $0.jar = jar }
        }
    }

    /// Whether there are no cookies.
    private var isEmpty: Bool { withJar { jar, _ in jar.count == 0 } }

    /// The cookies for a request to the target, in the order in which they are sent.
    private func cookies(at target: CookieURL) -> [HTTPCookie] {
        withJar { $0.cookies(for: target, at: $1) }
    }

    /// Stores the cookies that the target's server may set. False when there are none.
    private func admit(_ cookies: [HTTPCookie], from target: CookieURL) -> Bool {
        let cookies = cookies.compactMap { limited($0, from: target) }
        return withJar { jar, now in
            var hasChanged = false
            for cookie in cookies where jar.admits(cookie, from: target, at: now) {
                if jar.insert(cookie, set: now, at: now) { hasChanged = true }
            }
            return hasChanged
        }
    }

    /// The cookie as far as its domain is not a public suffix (RFC 6265bis §5.7 step 9): one for a public suffix is
    /// refused, except from the host of that name, which it is then for alone.
    private func limited(_ cookie: HTTPCookie, from target: CookieURL) -> HTTPCookie? {
        let domain = cookie.key.domain
        guard !cookie.key.isHostOnly, publicSuffixes.suffixes.contains(domain) else { return cookie }
        guard domain == target.host else { return nil }
        var content = cookie.content
        content.domain = domain
        return HTTPCookie(content)
    }

    /// Where the storage is asked for a request's cookies, if that could keep its caller waiting: for code of the user's, or
    /// for the file. `nil`: it may be asked on the network thread.
    var laneForAsking: Worker.Lane? {
        if isSubclass { return .userCode }
        return isRead ? nil : .files
    }

    /// Where a response's cookies are stored, if that could keep its caller waiting: for code of the user's, for the file, or
    /// for that of public suffixes. `nil`: they may be stored on the network thread.
    func laneForStoring(_ fields: HeaderFields) -> Worker.Lane? {
        if let lane = laneForAsking { return lane }
        return publicSuffixes.isRead || fields.setCookies.allSatisfy(\.domain.isEmpty) ? nil : .files
    }

    /// The current date, by the storage's clock.
    private var now: Date { clock() }

    private func announce(_ hasChanged: Bool) {
        guard hasChanged else { return }
        Worker.shared.runUserCode {
            NotificationCenter.default.post(name: .NSHTTPCookieManagerCookiesChanged, object: self)
        }
    }
}

extension HTTPCookieStorage {
    /// The cookies for the task's current request.
    public func cookies(for task: URLSessionTask) async -> [HTTPCookie]? {
        await handlerResult { getCookiesFor(task, completionHandler: $0) }
    }
}

extension NSNotification.Name {
    /// A cookie storage, the notification's object, has other cookies than before.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public static let NSHTTPCookieManagerCookiesChanged = Notification.Name(
        "NSHTTPCookieManagerCookiesChangedNotification")

    /// A cookie storage, the notification's object, has another accept policy than before.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public static let NSHTTPCookieManagerAcceptPolicyChanged = Notification.Name(
        "NSHTTPCookieManagerAcceptPolicyChangedNotification")
}

/// The interface for a session's transfers.
extension HTTPCookieStorage {
    /// No cookie that a server sets lives longer: 400 days (RFC 6265bis §5.6.1, §5.6.2), in seconds.
    static let longestLife: TimeInterval = 400 * 24 * 60 * 60

    /// Whether it is a subclass of the user's, which is asked through the methods that it may override.
    var isSubclass: Bool { type(of: self) != HTTPCookieStorage.self }

    /// The value of the `Cookie` field for a request; `nil` when there is no cookie for it, and when the request has a
    /// `Cookie` field of its own.
    ///
    /// To be called whenever a head is composed, so that a redirect gets what belongs to its own URL, and a cookie
    /// that the redirecting response has set. The field is the head's only; it does not become part of the
    /// `URLRequest`. Not to be called when the session (`httpShouldSetCookies`) or the request
    /// (`httpShouldHandleCookies`) does not allow it.
    ///
    /// A subclass is asked with `cookies(for:)`. On the network thread only where ``laneForAsking`` is `nil`.
    func cookieHeader(for request: URLRequest) -> String? {
        if !isSubclass, isEmpty { return nil }
        guard let url = request.url, request.value(forHTTPHeaderField: "Cookie") == nil,
            let target = CookieURL(url), let cookies = isSubclass ? cookies(for: url) : cookies(at: target)
        else { return nil }
        // A subclass may have returned a secure one.
        let pairs = cookies.filter { target.isSecure || !$0.content.isSecure }.map(\.content.pair)
        return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
    }

    /// Stores the cookies of a response's `Set-Cookie` fields, as far as its server may set them.
    ///
    /// To be called once with the head of every response but interim ones and what a proxy answers itself (407): of a
    /// redirect before its target's head is composed, and before the delegate receives the response. Not to be called
    /// when the request's `httpShouldHandleCookies` is false.
    ///
    /// A subclass receives them in `setCookies(_:for:mainDocumentURL:)`. On the network thread only where
    /// ``laneForStoring(_:)`` is `nil`.
    ///
    /// - Parameters:
    ///   - url: The URL of the request that the response is for.
    ///   - mainDocumentURL: The request's.
    ///   - policy: The configuration's `httpCookieAcceptPolicy`; the storage's own counts as well.
    func storeCookies(
        in fields: HeaderFields, from url: URL, mainDocumentURL: URL?, policy: HTTPCookie.AcceptPolicy = .always
    ) {
        guard fields.contains(.setCookie),
            Self.mayAccept(from: url, mainDocumentURL: mainDocumentURL, policy: policy),
            Self.mayAccept(from: url, mainDocumentURL: mainDocumentURL, policy: cookieAcceptPolicy),
            let target = CookieURL(url)
        else { return }
        let moment = now
        let cookies = fields.setCookies.compactMap {
            CookieContent($0, from: target, at: moment, longest: Self.longestLife).map { HTTPCookie($0) }
        }
        guard !cookies.isEmpty else { return }
        if isSubclass {
            return setCookies(cookies, for: url, mainDocumentURL: mainDocumentURL)
        }
        announce(admit(cookies, from: target))
    }

    /// Calls the handler, on a thread for user code, when all changes so far are on disk. For `URLSession.flush`
    /// and `reset`, which removes all cookies before.
    func flush(_ completion: @escaping @Sendable () -> Void) {
        guard let file else { return Worker.shared.run(on: .userCode, completion) }
        file.flush { Worker.shared.run(on: .userCode, completion) }
    }

    /// Whether a policy lets servers set cookies in answer to a request for `url`.
    static func mayAccept(from url: URL?, mainDocumentURL: URL?, policy: HTTPCookie.AcceptPolicy) -> Bool {
        switch policy {
        case .always: return true
        case .never: return false
        case .onlyFromMainDocumentDomain:
            guard let mainDocumentURL else { return true }
            guard let host = CookieURL(url)?.host, let document = CookieURL(mainDocumentURL)?.host else {
                return false
            }
            return CookieDomain.covers(host, host: document) || CookieDomain.covers(document, host: host)
        }
    }
}

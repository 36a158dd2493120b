import Foundation
internal import PurlHTTP

/// The cookies of a storage, and the rules by which they are stored and retrieved (RFC 6265bis §5.7 and §5.8).
struct CookieJar: Sendable {
    /// How many cookies one domain may have.
    static let limitPerDomain = 50
    /// How many cookies a jar may have.
    static let limit = 3000

    private struct Entry {
        let cookie: HTTPCookie
        /// When it was set last.
        let set: Date
        /// Counts up with every new cookie. One that takes another's place has its number (RFC 6265bis §5.7 step 23).
        let order: UInt64
        /// The ``CookieJar/moment`` of the last use.
        var lastUse: UInt64

        func hasExpired(at now: Date) -> Bool { cookie.content.expires.map { $0 <= now } ?? false }
        var age: (UInt64, UInt64) { (lastUse, order) }
    }

    private var domains: [String: [Entry]] = [:]
    private(set) var count = 0
    private var secureCount = 0
    private var moment: UInt64 = 0
    /// The cookies that have changed since the last ``takeChanges()``; `nil` when changes are not tracked.
    private var changed: Set<CookieKey>?

    init() {}

    /// A jar with stored cookies. Those that have expired, and those that exceed a limit, are left out.
    ///
    /// - Parameter tracksChanges: Whether ``takeChanges()`` is going to be called.
    init(_ stored: [StoredCookie], at now: Date, tracksChanges: Bool) {
        for cookie in stored { insert(HTTPCookie(cookie.content), set: cookie.set, at: now) }
        if tracksChanges { changed = [] }
    }

    // MARK: Storing

    /// Whether a server may set the cookie, in answer to a request for `target`.
    func admits(_ cookie: HTTPCookie, from target: CookieURL, at now: Date) -> Bool {
        // RFC 6265bis §5.7 step 10
        guard CookieDomain.covers(cookie.key.domain, host: target.host) else { return false }
        if target.isSecure { return true }
        // Steps 13 and 16: over a plain connection a secure cookie is neither set nor hidden behind another.
        return !cookie.content.isSecure && !hidesSecureCookie(cookie, at: now)
    }

    private func hidesSecureCookie(_ cookie: HTTPCookie, at now: Date) -> Bool {
        // Most jars that are used over plain connections have none, and this looks at all cookies.
        guard secureCount > 0 else { return false }
        let key = cookie.key
        for entry in domains.values.joined() where entry.cookie.content.isSecure && !entry.hasExpired(at: now) {
            let old = entry.cookie.key
            guard old.name == key.name, CookiePath.covers(old.path, request: key.path) else { continue }
            if CookieDomain.covers(old.domain, host: key.domain) || CookieDomain.covers(key.domain, host: old.domain) {
                return true
            }
        }
        return false
    }

    /// Stores a cookie, in place of the one with the same key. A cookie that has expired removes that one; one that is
    /// too large, or does not satisfy the prefix of its name, is ignored.
    ///
    /// - Returns: Whether anything has changed.
    @discardableResult
    mutating func insert(_ cookie: HTTPCookie, set: Date, at now: Date) -> Bool {
        let (key, content) = (cookie.key, cookie.content)
        // RFC 6265bis §5.7 steps 4, 20, 21 and 22
        guard content.name.utf8.count + content.value.utf8.count <= SetCookie.maximumSize,
            CookiePrefix.isSatisfied(
                name: content.name, value: content.value, isSecure: content.isSecure, isHostOnly: key.isHostOnly,
                path: content.path)
        else { return false }
        moment += 1
        // One that has expired is there no more (RFC 6265bis §5.7, the end).
        let old = take(key).flatMap { $0.hasExpired(at: now) ? nil : $0 }
        let entry = Entry(cookie: cookie, set: set, order: old?.order ?? moment, lastUse: moment)
        if entry.hasExpired(at: now) { return old != nil }
        markChanged(cookie)
        domains[key.domain, default: []].append(entry)
        count += 1
        if content.isSecure { secureCount += 1 }
        makeRoom(in: key.domain, at: now)
        return true
    }

    /// Removes a cookie. False when there is none.
    @discardableResult
    mutating func remove(_ key: CookieKey) -> Bool {
        take(key) != nil
    }

    /// Removes the cookies that were set after `date`. False when there are none.
    mutating func removeAll(since date: Date) -> Bool {
        removeAll { $0.set > date } > 0
    }

    private mutating func take(_ key: CookieKey) -> Entry? {
        guard let index = domains[key.domain]?.firstIndex(where: { $0.cookie.key == key }) else { return nil }
        return take(at: index, of: key.domain)
    }

    private mutating func take(at index: Int, of domain: String) -> Entry? {
        guard let entry = domains[domain]?.remove(at: index) else { return nil }
        if domains[domain]?.isEmpty == true { domains[domain] = nil }
        count -= 1
        if entry.cookie.content.isSecure { secureCount -= 1 }
        markChanged(entry.cookie)
        return entry
    }

    @discardableResult
    private mutating func removeAll(where isUnwanted: (Entry) -> Bool) -> Int {
        let unwanted = domains.values.joined().filter(isUnwanted)
        for entry in unwanted { remove(entry.cookie.key) }
        return unwanted.count
    }

    /// RFC 6265bis §5.7, the end: cookies that have expired are removed first; of a domain that has too many, those
    /// that are not secure; then those that have not been used for the longest time.
    private mutating func makeRoom(in domain: String, at now: Date) {
        if domains[domain, default: []].count > Self.limitPerDomain || count > Self.limit {
            removeAll { $0.hasExpired(at: now) }
        }
        while let entries = domains[domain], entries.count > Self.limitPerDomain {
            let plain = entries.filter { !$0.cookie.content.isSecure }
            guard let oldest = (plain.isEmpty ? entries : plain).min(by: { $0.age < $1.age }) else { return }
            remove(oldest.cookie.key)
        }
        while count > Self.limit, let oldest = domains.values.joined().min(by: { $0.age < $1.age }) {
            remove(oldest.cookie.key)
        }
    }

    // MARK: Retrieving

    /// The cookies for a request to `target`, in the order in which they are sent: longer paths first, then older
    /// cookies (RFC 6265bis §5.8.3).
    mutating func cookies(for target: CookieURL, at now: Date) -> [HTTPCookie] {
        guard count > 0 else { return [] }
        moment += 1
        var found: [(entry: Entry, length: Int)] = []
        collect(from: target.host, for: target, at: now, into: &found)
        if !CookieDomain.isAddress(target.host) {
            var rest = target.host[...]
            while let dot = rest.firstIndex(of: ".") {
                rest = rest[rest.index(after: dot)...]
                collect(from: String(rest), for: target, at: now, into: &found)
            }
        }
        found.sort { ($1.length, $0.entry.order) < ($0.length, $1.entry.order) }
        return found.map(\.entry.cookie)
    }

    private mutating func collect(
        from domain: String, for target: CookieURL, at now: Date, into found: inout [(entry: Entry, length: Int)]
    ) {
        guard let entries = domains[domain] else { return }
        for (index, entry) in entries.enumerated() {
            let content = entry.cookie.content
            guard !entry.hasExpired(at: now), domain == target.host || !entry.cookie.key.isHostOnly,
                target.isSecure || !content.isSecure, content.ports?.contains(target.port) ?? true,
                CookiePath.covers(content.path, request: target.path)
            else { continue }
            domains[domain]?[index].lastUse = moment
            found.append((entry, content.path.utf8.count))
        }
    }

    /// All cookies that have not expired, oldest first.
    mutating func all(at now: Date) -> [HTTPCookie] {
        removeAll { $0.hasExpired(at: now) }
        return domains.values.joined().sorted { $0.order < $1.order }.map(\.cookie)
    }

    // MARK: On disk

    /// The cookies to be kept on disk, oldest first.
    var storedCookies: [StoredCookie] {
        domains.values.joined().sorted { $0.order < $1.order }.compactMap(Self.stored)
    }

    /// The changes since the last call, oldest first.
    mutating func takeChanges() -> [CookieChange] {
        guard let keys = changed, !keys.isEmpty else { return [] }
        changed = []
        return keys.map { key in
            let entry = domains[key.domain]?.first { $0.cookie.key == key }
            return CookieChange(key: key, stored: entry.flatMap(Self.stored), order: entry?.order ?? 0)
        }.sorted { $0.order < $1.order }
    }

    /// Cookies that end with the session are not kept on disk.
    private mutating func markChanged(_ cookie: HTTPCookie) {
        if cookie.content.expires != nil { changed?.insert(cookie.key) }
    }

    private static func stored(_ entry: Entry) -> StoredCookie? {
        entry.cookie.content.expires == nil ? nil : StoredCookie(content: entry.cookie.content, set: entry.set)
    }
}

/// A cookie as it is kept on disk.
struct StoredCookie: Hashable, Codable, Sendable {
    var content: CookieContent
    /// When it was set last.
    var set: Date
}

/// A change of a cookie on disk.
struct CookieChange: Sendable {
    let key: CookieKey
    /// The cookie to keep; `nil`: none.
    let stored: StoredCookie?
    /// Its place among all cookies of the jar, by age.
    let order: UInt64
}

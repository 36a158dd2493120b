import Foundation
internal import PurlHTTP

/// The cookies of a storage and the rules by which they come, go and are found (RFC 6265bis §5.7 and §5.8).
struct CookieJar: Sendable {
    /// How many cookies one domain may have.
    static let limitPerDomain = 50
    /// How many there may be in all.
    static let limit = 3000

    private struct Entry {
        let cookie: HTTPCookie
        /// When it was set last.
        let set: Date
        /// Counts up with every new cookie. One that takes another's place has its number (RFC 6265bis §5.7 step 23).
        let order: UInt64
        /// The moment of the last use, in numbers of ``CookieJar/moment``.
        var lastUse: UInt64

        func isOver(at now: Date) -> Bool { cookie.content.expires.map { $0 <= now } ?? false }
        var age: (UInt64, UInt64) { (lastUse, order) }
    }

    private var domains: [String: [Entry]] = [:]
    private(set) var count = 0
    private var secureCount = 0
    private var moment: UInt64 = 0
    /// What has been changed since it was last asked for; `nil` when nobody is going to.
    private var changed: Set<CookieKey>?

    init() {}

    /// A jar with what was kept; what is over by now, or too much, is left out.
    ///
    /// - Parameter tracksChanges: Whether ``takeChanges()`` is going to be called.
    init(_ stored: [StoredCookie], at now: Date, tracksChanges: Bool) {
        for cookie in stored { insert(HTTPCookie(cookie.content), set: cookie.set, at: now) }
        if tracksChanges { changed = [] }
    }

    // MARK: Coming and going

    /// Whether a server may set the cookie, in answer to a request for `target`.
    func admits(_ cookie: HTTPCookie, from target: CookieURL) -> Bool {
        // RFC 6265bis §5.7 step 10
        guard CookieDomain.covers(cookie.key.domain, host: target.host) else { return false }
        if target.isSecure { return true }
        // Steps 13 and 16: over a plain connection a secure cookie is neither set nor hidden behind another.
        return !cookie.content.isSecure && !hidesSecureCookie(cookie)
    }

    private func hidesSecureCookie(_ cookie: HTTPCookie) -> Bool {
        // Most jars that talk over plain connections have none, and this looks at all there is.
        guard secureCount > 0 else { return false }
        let key = cookie.key
        for entry in domains.values.joined() where entry.cookie.content.isSecure {
            let old = entry.cookie.key
            guard old.name == key.name, CookiePath.covers(old.path, request: key.path) else { continue }
            if CookieDomain.covers(old.domain, host: key.domain) || CookieDomain.covers(key.domain, host: old.domain) {
                return true
            }
        }
        return false
    }

    /// Puts a cookie in, in place of the one with the same key. A cookie that is over removes that one; one that is too
    /// large or breaks the promise of its name does nothing.
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
        let old = take(key)
        let entry = Entry(cookie: cookie, set: set, order: old?.order ?? moment, lastUse: moment)
        if entry.isOver(at: now) { return old != nil }
        markChanged(cookie)
        domains[key.domain, default: []].append(entry)
        count += 1
        if content.isSecure { secureCount += 1 }
        makeRoom(in: key.domain, at: now)
        return true
    }

    /// Takes a cookie out. False when there is none.
    @discardableResult
    mutating func remove(_ key: CookieKey) -> Bool {
        take(key) != nil
    }

    /// Takes out what was set after `date`. False when that is nothing.
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

    /// RFC 6265bis §5.7, the end: what is over goes first; of a domain that has too many, what is not secure; then
    /// what has not been used for the longest time.
    private mutating func makeRoom(in domain: String, at now: Date) {
        if domains[domain, default: []].count > Self.limitPerDomain || count > Self.limit {
            removeAll { $0.isOver(at: now) }
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

    // MARK: Finding

    /// What goes with a request for `target`, in the order in which it is sent: longer paths first, then older cookies
    /// (RFC 6265bis §5.8.3).
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
            guard !entry.isOver(at: now), domain == target.host || !entry.cookie.key.isHostOnly,
                target.isSecure || !content.isSecure, content.ports?.contains(target.port) ?? true,
                CookiePath.covers(content.path, request: target.path)
            else { continue }
            domains[domain]?[index].lastUse = moment
            found.append((entry, content.path.utf8.count))
        }
    }

    /// All that are not over, oldest first.
    mutating func all(at now: Date) -> [HTTPCookie] {
        removeAll { $0.isOver(at: now) }
        return domains.values.joined().sorted { $0.order < $1.order }.map(\.cookie)
    }

    // MARK: Keeping

    /// What is to be kept on disk, oldest first.
    var storedCookies: [StoredCookie] {
        domains.values.joined().sorted { $0.order < $1.order }.compactMap(Self.stored)
    }

    /// What has changed since the last call, oldest first.
    mutating func takeChanges() -> [CookieChange] {
        guard let keys = changed, !keys.isEmpty else { return [] }
        changed = []
        return keys.map { key in
            let entry = domains[key.domain]?.first { $0.cookie.key == key }
            return CookieChange(key: key, stored: entry.flatMap(Self.stored), order: entry?.order ?? 0)
        }.sorted { $0.order < $1.order }
    }

    /// What ends with the session is nothing to the disk.
    private mutating func markChanged(_ cookie: HTTPCookie) {
        if cookie.content.expires != nil { changed?.insert(cookie.key) }
    }

    private static func stored(_ entry: Entry) -> StoredCookie? {
        entry.cookie.content.expires == nil ? nil : StoredCookie(content: entry.cookie.content, set: entry.set)
    }
}

/// A cookie as it lies on disk.
struct StoredCookie: Hashable, Codable, Sendable {
    var content: CookieContent
    /// When it was set last.
    var set: Date
}

/// What has happened to a cookie.
struct CookieChange: Sendable {
    let key: CookieKey
    /// What is to be kept of it; `nil`: nothing.
    let stored: StoredCookie?
    /// Its place among all cookies of the jar, by age.
    let order: UInt64
}

/// In which order things have been used last, whatever their number: each change takes the same short time.
struct UseOrder<Element: Hashable & Sendable>: Sendable {
    private struct Link: Sendable {
        var older: Element?
        var newer: Element?
    }

    private var links: [Element: Link] = [:]
    /// What has not been used for the longest time.
    private(set) var oldest: Element?
    private var newest: Element?

    /// Makes the element the one that was used last.
    mutating func use(_ element: Element) {
        guard newest != element else { return }
        remove(element)
        links[element] = Link(older: newest, newer: nil)
        if let newest { links[newest]?.newer = element } else { oldest = element }
        newest = element
    }

    /// Forgets the element, if it is there.
    mutating func remove(_ element: Element) {
        guard let link = links.removeValue(forKey: element) else { return }
        if let older = link.older { links[older]?.newer = link.newer } else { oldest = link.newer }
        if let newer = link.newer { links[newer]?.older = link.older } else { newest = link.older }
    }
}

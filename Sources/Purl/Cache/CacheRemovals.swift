/// The last removals from a cache. A response whose request was sent before one of them is not stored after it: it may be what
/// was removed.
struct CacheRemovals: Sendable {
    /// How many removals are remembered.
    private static let remembered = 64

    /// How many there have been.
    private(set) var count = 0
    /// The numbers of the last ones' keys, each in the place of the one so many before it; `nil` for a removal of everything.
    private var numbers: [UInt64?] = []

    /// All responses to a key are removed.
    ///
    /// - Parameter number: That of the key; `nil` where everything is removed.
    mutating func add(_ number: UInt64?) {
        if numbers.count < Self.remembered {
            numbers.append(number)
        } else {
            numbers[count % Self.remembered] = number
        }
        count += 1
    }

    /// Whether responses with that number have been removed since there were so many removals; true where that is not
    /// remembered any more.
    func contains(_ number: UInt64, since start: Int) -> Bool {
        guard count - start <= Self.remembered else { return true }
        return (start..<count).contains { position in
            let removed = numbers[position % Self.remembered]
            return removed == nil || removed == number
        }
    }
}

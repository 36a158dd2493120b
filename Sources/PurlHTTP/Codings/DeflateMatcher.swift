/// Finds repetitions in bytes that come in pieces: the longest match at each place, without looking further (greedy).
///
/// Theory of operation: places whose next three bytes have the same hash form a chain, the latest first. `heads` has
/// the latest place for each hash, `chain` the one before for each place. The oldest half of the window is dropped when
/// it is full, and all places are moved then.
struct DeflateMatcher: Sendable {
    /// How the next bytes are written.
    enum Symbol {
        case literal(UInt8)
        case match(length: Int, distance: Int)
    }

    /// How many bytes can be added at once, after all earlier ones were taken out.
    static let largestPiece = 32_768
    private static let half = 32_768
    private static let hashBits: UInt32 = 15
    private static let longest = 258
    private static let shortest = 3
    /// How many places of a chain are looked at.
    private static let maximumTries = 48
    /// A match of that length ends the search.
    private static let goodLength = 96

    private let reach: Int
    private var window: [UInt8] = []
    private var position = 0
    /// No place: -1.
    private var heads: [Int32] = []
    private var chain: [Int32] = []

    /// A matcher whose matches lie at most `reach` bytes back.
    init(reach: Int) {
        self.reach = reach
    }

    /// Forgets all bytes.
    mutating func reset() {
        window.removeAll(keepingCapacity: true)
        position = 0
        heads = []
    }

    /// Adds bytes after those that have been taken out.
    mutating func add(_ piece: RawSpan) {
        if heads.isEmpty {
            heads = [Int32](repeating: -1, count: 1 << Int(DeflateMatcher.hashBits))
            chain = [Int32](repeating: -1, count: DeflateMatcher.half)
        }
        if window.count + piece.byteCount > 2 * DeflateMatcher.half + DeflateMatcher.largestPiece { slide() }
        window.append(Span(_bytes: piece), 0..<piece.byteCount)
    }

    /// The next symbol; nil when all bytes were taken out.
    mutating func next() -> Symbol? {
        guard position < window.count else { return nil }
        let available = min(DeflateMatcher.longest, window.count &- position)
        guard available >= DeflateMatcher.shortest else {
            position &+= 1
            return .literal(window[position &- 1])
        }
        let (length, distance) = longestMatch(upTo: available)
        guard length >= DeflateMatcher.shortest else {
            enter(position)
            position &+= 1
            return .literal(window[position &- 1])
        }
        for place in position..<(position &+ length) { enter(place) }
        position &+= length
        return .match(length: length, distance: distance)
    }

    private func longestMatch(upTo available: Int) -> (length: Int, distance: Int) {
        let bytes = window.span
        var best = (length: 0, distance: 0)
        var place = Int(heads[hash(at: position)])
        let oldest = max(0, position &- reach)
        var tries = DeflateMatcher.maximumTries
        while place >= oldest, tries > 0 {
            tries &-= 1
            // To be longer, a match must have the byte after the best one so far.
            if bytes[place &+ best.length] == bytes[position &+ best.length] {
                var length = 0
                while length < available, bytes[place &+ length] == bytes[position &+ length] { length &+= 1 }
                if length > best.length {
                    best = (length, position &- place)
                    if length >= min(available, DeflateMatcher.goodLength) { break }
                }
            }
            let next = Int(chain[place & (DeflateMatcher.half &- 1)])
            // Places only become older; any other entry belongs to bytes that are out of reach.
            guard next < place else { break }
            place = next
        }
        return best
    }

    private mutating func enter(_ place: Int) {
        guard window.count &- place >= DeflateMatcher.shortest else { return }
        let hash = hash(at: place)
        chain[place & (DeflateMatcher.half &- 1)] = heads[hash]
        heads[hash] = Int32(truncatingIfNeeded: place)
    }

    private func hash(at place: Int) -> Int {
        let three = UInt32(window[place]) | UInt32(window[place &+ 1]) &<< 8 | UInt32(window[place &+ 2]) &<< 16
        return Int((three &* 0x9E37_79B1) &>> (32 &- DeflateMatcher.hashBits))
    }

    /// Drops all but the last bytes that can be referred to, in steps that keep the places in `chain` where they are.
    private mutating func slide() {
        let shift = (position - DeflateMatcher.half) / DeflateMatcher.half * DeflateMatcher.half
        guard shift > 0 else { return }
        window.removeSubrange(0..<shift)
        position -= shift
        for index in heads.indices { heads[index] = max(-1, heads[index] - Int32(shift)) }
        for index in chain.indices { chain[index] = max(-1, chain[index] - Int32(shift)) }
    }
}

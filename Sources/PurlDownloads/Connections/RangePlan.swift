/// Which bytes of one file are there, which are under way, and by which connection: the plan for several connections.
///
/// ```
/// 0                                                                 total
/// |-- segment -------------|-- segment ----|-- segment -------------|
/// |############------------|########-------|----------------------- |
///  there       front       there           nobody reads this one yet
///              ^ reader 0          ^ readers 1 and 2
/// ```
///
/// The segments cover the resource without gaps. Each is filled from its start; ``Segment/front`` is the first byte that is
/// missing. A reader is a connection: the response it receives covers a segment's rest, or, when that is split or overtaken
/// meanwhile, a part that others fill as well. Bytes that are there are never placed again, so each is placed exactly once,
/// whatever the order in which responses arrive.
///
/// It is a value without a clock, a file or a socket.
package struct RangePlan: Sendable, Equatable {
    /// A connection's number.
    package typealias Reader = Int

    /// A part of the resource that is filled from its start.
    package struct Segment: Sendable, Equatable {
        package let start: Int64
        /// The first byte that is missing; ``end`` when the segment is complete.
        package fileprivate(set) var front: Int64
        package fileprivate(set) var end: Int64

        /// The bytes that are missing.
        package var rest: Range<Int64> { front..<end }
    }

    /// Where the bytes that a reader has received belong.
    package struct Placement: Sendable, Equatable {
        /// How many of them are there already. They are dropped.
        package var skipped: Int
        /// Where the others go.
        package var offset: Int64
        /// How many are placed. Those that follow belong to another segment, and are dropped.
        package var count: Int
    }

    private struct Reading: Sendable, Equatable {
        /// The start of the segment.
        var segment: Int64
        /// The offset of the next byte of the response.
        var position: Int64
    }

    /// A segment is not split into less than this: a request costs about as much time.
    package static let leastShare: Int64 = 1 << 20

    /// No segment is split when there are so many: each takes room in the journal.
    private static let maximumSegments = 192

    /// The length of the resource.
    package let total: Int64
    /// In the order of their bytes.
    package private(set) var segments: [Segment]
    /// The least part of a segment that another connection takes.
    private let share: Int64
    private var readings: [Reader: Reading] = [:]
    /// Those whose rest no other connection shares.
    private var undivided: Set<Reader> = []
    /// Bytes a second, of connections that have been measured.
    private var rates: [Reader: Double] = [:]

    /// - Parameters:
    ///   - total: The length of the resource.
    ///   - present: What is there: in order, without overlaps, each within the resource and not empty.
    ///   - share: The least part of a segment that another connection takes.
    package init(total: Int64, present: [Range<Int64>] = [], share: Int64 = leastShare) {
        self.total = total
        self.share = share
        let runs = Self.joined(present)
        var starts = runs
        if runs.first?.lowerBound != 0 { starts.insert(0..<0, at: 0) }
        let ends = starts.dropFirst().map(\.lowerBound) + [total]
        segments = zip(starts, ends).map { Segment(start: $0.lowerBound, front: $0.upperBound, end: $1) }
    }

    // MARK: Values

    /// The bytes that are there, adjacent ones as one range.
    package var present: [Range<Int64>] {
        Self.joined(segments.filter { $0.front > $0.start }.map { $0.start..<$0.front })
    }

    /// The part of each segment that is there, also where that is empty: what the journal holds.
    package var filled: [Range<Int64>] { segments.map { $0.start..<$0.front } }

    private static func joined(_ ranges: [Range<Int64>]) -> [Range<Int64>] {
        ranges.reduce(into: []) { joined, range in
            if let last = joined.last, last.upperBound == range.lowerBound {
                joined[joined.count - 1] = last.lowerBound..<range.upperBound
            } else {
                joined.append(range)
            }
        }
    }

    /// How many bytes are there.
    package var presentCount: Int64 { segments.reduce(0) { $0 + $1.front - $1.start } }

    /// The first byte that is missing: what comes before it could be resumed by one connection.
    package var prefix: Int64 { segments.first { $0.front < $0.end }?.front ?? total }

    package var isComplete: Bool { prefix == total }

    /// The connections that are reading, in order.
    package var readers: [Reader] { readings.keys.sorted() }

    /// Whether all of these bytes are there.
    package func has(_ range: Range<Int64>) -> Bool {
        var offset = range.lowerBound
        var index = index(offset)
        while offset < range.upperBound, index < segments.count {
            guard segments[index].front > offset else { return false }
            offset = segments[index].front
            guard offset == segments[index].end else { break }
            index += 1
        }
        return offset >= range.upperBound
    }

    /// Whether there are bytes that nobody reads.
    package var hasUnreadSegment: Bool { unread != nil }

    /// Whether bytes are missing in several places.
    package var hasSeveralRests: Bool { segments.count { !$0.rest.isEmpty } > 1 }

    private var unread: Int? {
        segments.indices.first { !segments[$0].rest.isEmpty && readers(of: segments[$0]).isEmpty }
    }

    private func readers(of segment: Segment) -> [Reader] {
        readings.filter { $0.value.segment == segment.start }.keys.sorted()
    }

    private func index(_ start: Int64) -> Int {
        var (low, high) = (0, segments.count - 1)
        while low < high {
            let middle = (low + high + 1) / 2
            if segments[middle].start <= start { low = middle } else { high = middle - 1 }
        }
        return low
    }

    /// The bytes of the reader's segment that are missing; `nil` when it reads nothing, or all of them are there.
    package func rest(of reader: Reader) -> Range<Int64>? {
        guard let reading = readings[reader] else { return nil }
        let rest = segments[index(reading.segment)].rest
        return rest.isEmpty || reading.position >= rest.upperBound ? nil : rest
    }

    // MARK: Assignment

    /// Lets a connection read the first rest that nobody reads; `nil` when there is none.
    package mutating func assignUnread(_ reader: Reader) -> Range<Int64>? {
        unread.map { read($0, by: reader) }
    }

    /// Joins segments that nobody reads and that follow one another, where nothing is there between them.
    package mutating func joinUnread() {
        for index in segments.indices.dropLast().reversed() where readers(of: segments[index]).isEmpty {
            let next = segments[index + 1]
            guard next.front == next.start, readers(of: next).isEmpty else { continue }
            segments[index].end = next.end
            segments.remove(at: index + 1)
        }
    }

    /// Joins complete segments with those that follow them.
    private mutating func joinComplete() {
        for index in segments.indices.dropLast().reversed() where segments[index].rest.isEmpty {
            let next = segments.remove(at: index + 1)
            segments[index].front = next.front
            segments[index].end = next.end
            // A connection that others have overtaken does not read what follows.
            for reader in readers(of: segments[index]) { release(reader) }
            for reader in readers(of: next) { readings[reader]?.segment = segments[index].start }
        }
    }

    /// Splits the largest rest into equal parts, for so many connections that are about to begin. What the first one of them has
    /// just brought is of its part: with as much of the rest as the others it would end last.
    package mutating func spread(over count: Int) {
        guard count > 1, let index = largestRest(isShared: false) else { return }
        let segment = segments[index]
        let parts = min(Int64(count), Int64(segment.rest.count) / share)
        guard parts > 1 else { return }
        let hasJustBegun = segment.front - segment.start + share <= (segment.end - segment.start) / parts
        let start = hasJustBegun ? segment.start : segment.front
        let bounds = (1..<parts).map { start + (segment.end - start) / parts * $0 }
        for bound in bounds.reversed() { split(index, at: bound) }
    }

    /// What an idle connection is to request; `nil` when it is not needed. The connection reads it from now on.
    ///
    /// In this order: a rest that nobody reads; a share of the largest rest that somebody reads, by half or, where both
    /// connections have been measured, in proportion to their rates; a rest that this connection, having been measured, would
    /// finish in less than half the time that its reader needs. The last one is then read by both.
    ///
    /// - Parameter reader: The connection, which reads nothing.
    package mutating func assign(_ reader: Reader) -> Range<Int64>? {
        guard readings[reader] == nil else { return nil }
        joinComplete()
        if let index = unread { return read(index, by: reader) }
        if segments.count < Self.maximumSegments, let index = largestRest(isShared: true),
            let bound = boundary(of: segments[index], for: reader)
        {
            split(index, at: bound)
            return read(index + 1, by: reader)
        }
        return overtakable(by: reader).map { read($0, by: reader) }
    }

    /// The connection reads to the end of the resource, from the first byte that is missing: a response that was not asked for
    /// a part.
    package mutating func assignLeader(_ reader: Reader) {
        guard let index = segments.firstIndex(where: { !$0.rest.isEmpty }) else { return }
        _ = read(index, by: reader)
    }

    private mutating func read(_ index: Int, by reader: Reader) -> Range<Int64> {
        let segment = segments[index]
        readings[reader] = Reading(segment: segment.start, position: segment.front)
        return segment.rest
    }

    private mutating func split(_ index: Int, at bound: Int64) {
        let end = segments[index].end
        segments[index].end = bound
        segments.insert(Segment(start: bound, front: bound, end: end), at: index + 1)
    }

    /// - Parameter isShared: Whether those that are not to be shared are left out.
    private func largestRest(isShared: Bool) -> Int? {
        segments.indices.filter { index in
            !segments[index].rest.isEmpty
                && !(isShared && readers(of: segments[index]).contains(where: undivided.contains))
        }.max { segments[$0].rest.count < segments[$1].rest.count }
    }

    /// From now on no other connection shares this reader's rest, whose bytes count as a whole only: its response names their
    /// digest.
    ///
    /// - Parameter range: What its response carries.
    /// - Returns: Whether nothing of it has been shared before.
    package mutating func keepWhole(_ reader: Reader, _ range: Range<Int64>) -> Bool {
        guard rest(of: reader) == range else { return false }
        undivided.insert(reader)
        return true
    }

    /// Where the rest of a segment is divided between its reader and another one; `nil` when it is too short.
    private func boundary(of segment: Segment, for reader: Reader) -> Int64? {
        let rest = segment.rest
        guard Int64(rest.count) >= 2 * share else { return nil }
        var kept = Int64(rest.count) / 2
        if let other = readers(of: segment).compactMap({ rates[$0] }).max(), let own = rates[reader], own + other > 0 {
            kept = Int64(Double(rest.count) * other / (own + other))
        }
        return rest.lowerBound + min(max(kept, share), Int64(rest.count) - share)
    }

    /// The segment whose reader needs the most time, if this connection would finish it in less than half of that.
    private func overtakable(by reader: Reader) -> Int? {
        guard let own = rates[reader], own > 0 else { return nil }
        let slow = segments.indices.compactMap { index -> (index: Int, time: Double)? in
            let readers = readers(of: segments[index])
            guard !segments[index].rest.isEmpty, readers.count == 1, let rate = rates[readers[0]] else { return nil }
            return (index, Double(segments[index].rest.count) / max(rate, 1))
        }
        guard let slowest = slow.max(by: { $0.time < $1.time }) else { return nil }
        return Double(segments[slowest.index].rest.count) / own < slowest.time / 2 ? slowest.index : nil
    }

    // MARK: Dropping

    /// Whether there is room for what ``drop(_:)`` leaves: two segments more at the most.
    package var hasRoomToDrop: Bool { segments.count { !$0.rest.isEmpty } < Self.mostRestsBeforeDrop }

    /// More than there are of segments that are split, and so few that the journal has room for two more, and for one behind the
    /// last rest.
    private static let mostRestsBeforeDrop = maximumSegments + 48

    /// Bytes that are there turned out to be wrong: they are missing from now on, as one rest that no connection reads. One that
    /// read behind them continues there.
    package mutating func drop(_ range: Range<Int64>) {
        joinComplete()
        var changed: [Segment] = []
        for segment in segments {
            let (lower, upper) = (max(segment.start, range.lowerBound), min(segment.front, range.upperBound))
            guard lower < upper else {
                changed.append(segment)
                continue
            }
            let readers = readers(of: segment)
            let isCut = upper < segment.front || (upper < segment.end && !readers.isEmpty)
            changed.append(Segment(start: segment.start, front: lower, end: isCut ? upper : segment.end))
            // What others have overtaken in a complete segment may lie behind the byte that is missing now.
            guard isCut else {
                for reader in readers { release(reader) }
                continue
            }
            changed.append(Segment(start: upper, front: segment.front, end: segment.end))
            for reader in readers { readings[reader]?.segment = upper }
        }
        segments = changed
        for index in segments.indices.dropLast().reversed()
        where range.lowerBound < segments[index].end && segments[index].end < range.upperBound {
            let next = segments[index + 1]
            guard !segments[index].rest.isEmpty, next.front == next.start, readers(of: segments[index]).isEmpty,
                readers(of: next).isEmpty
            else { continue }
            segments[index].end = next.end
            segments.remove(at: index + 1)
        }
    }

    // MARK: Events

    /// Where the next bytes of a reader's response belong. Nothing has changed until they are placed: see ``place(_:by:)``.
    package func placement(of count: Int, by reader: Reader) -> Placement? {
        guard let reading = readings[reader] else { return nil }
        let segment = segments[index(reading.segment)]
        let from = max(reading.position, segment.front)
        let end = min(reading.position + Int64(count), segment.end)
        // What lies behind a byte that is missing is not placed.
        guard end > from, from == segment.front else {
            return Placement(skipped: count, offset: segment.front, count: 0)
        }
        return Placement(skipped: Int(from - reading.position), offset: from, count: Int(end - from))
    }

    /// So many bytes of the reader's response have been placed, or dropped, as ``placement(of:by:)`` said.
    ///
    /// - Returns: Whether the reader's segment is complete, or its response has come to the segment's end.
    package mutating func place(_ count: Int, by reader: Reader) -> Bool {
        guard let placement = placement(of: count, by: reader), let reading = readings[reader] else { return true }
        let index = index(reading.segment)
        segments[index].front = max(segments[index].front, placement.offset + Int64(placement.count))
        readings[reader]?.position += Int64(count)
        return rest(of: reader) == nil
    }

    /// Lets a reader whose response does not end at its segment's end read the segments that follow as well, as long as nothing
    /// of them is there and nobody reads them, if its next bytes reach that far.
    ///
    /// - Parameter count: How many bytes of the response are next.
    package mutating func extend(_ reader: Reader, for count: Int) {
        guard let reading = readings[reader] else { return }
        let index = index(reading.segment)
        while reading.position + Int64(count) >= segments[index].end, index + 1 < segments.count,
            segments[index + 1].front == segments[index + 1].start, readers(of: segments[index + 1]).isEmpty
        {
            segments[index].end = segments[index + 1].end
            segments.remove(at: index + 1)
        }
    }

    /// The connection reads nothing any more.
    package mutating func release(_ reader: Reader) {
        readings[reader] = nil
        undivided.remove(reader)
    }

    /// A connection has been measured.
    package mutating func setRate(_ bytesPerSecond: Double, of reader: Reader) { rates[reader] = bytesPerSecond }

    /// The connection will not read again.
    package mutating func forget(_ reader: Reader) {
        release(reader)
        rates[reader] = nil
    }
}

/// The decoded bytes that were not delivered yet, and the 32 KiB before them that matches may refer to.
struct InflateWindow: Sendable {
    /// How far back a match may reach.
    static let reach = 32_768
    /// The longest match.
    static let longestMatch = 258
    /// Where decoding stops until the bytes are delivered.
    static let capacity = 98_304
    /// Copies work in steps of 16 bytes, so they may write that far beyond their end.
    private static let slack = 32

    /// The first `end` bytes count.
    var bytes: [UInt8] = []
    /// The index after the last byte decoded.
    var end = 0
    /// The first byte that was not delivered.
    private var start = 0

    /// Whether there are bytes to deliver.
    var hasUndelivered: Bool { start < end }

    /// The range of the bytes to deliver.
    var undelivered: Range<Int> { start..<end }

    /// How many bytes can be added.
    var room: Int { InflateWindow.capacity - end }

    /// Prepares for a new stream, which cannot refer to bytes decoded before.
    mutating func reset() {
        if bytes.isEmpty { bytes = [UInt8](repeating: 0, count: InflateWindow.capacity + InflateWindow.slack) }
        start = 0
        end = 0
    }

    /// Appends the bytes not delivered yet, until `output` has `goal` bytes.
    mutating func deliver(into output: inout [UInt8], upTo goal: Int) {
        let count = min(end - start, goal - output.count)
        guard count > 0 else { return }
        output.append(bytes.span, start..<(start + count))
        start += count
    }

    /// Adds one byte; there is room.
    mutating func append(_ byte: UInt8) {
        bytes[end] = byte
        end += 1
    }

    /// Adds bytes; there is room.
    mutating func append(_ source: Span<UInt8>) {
        let start = end
        end += source.count
        var target = bytes.mutableSpan
        for index in source.indices { target[start &+ index] = source[index] }
    }

    /// Adds a copy of bytes that lie not before the first; there is room.
    mutating func repeatMatch(distance: Int, length: Int) {
        let start = end
        end += length
        var storage = bytes.mutableSpan
        var raw = MutableRawSpan(_elements: &storage)
        raw.copyMatch(to: start, distance: distance, length: length)
    }

    /// Makes room for more. All bytes have been delivered.
    mutating func slide() {
        guard end > InflateWindow.reach else { return }
        let shift = end - InflateWindow.reach
        start = InflateWindow.reach
        end = InflateWindow.reach
        var storage = bytes.mutableSpan
        var raw = MutableRawSpan(_elements: &storage)
        var offset = 0
        while offset < InflateWindow.reach {
            let piece = raw.bytes.load(at: shift &+ offset, as: InlineArray<16, UInt8>.self)
            raw.storeBytes(of: piece, toByteOffset: offset, as: InlineArray<16, UInt8>.self)
            offset &+= 16
        }
    }
}

extension MutableRawSpan {
    /// Repeats `length` bytes that lie `distance` before `place`; the two may overlap, as matches do. Up to 15 bytes
    /// after the end are overwritten.
    @inline(always)
    mutating func copyMatch(to place: Int, distance: Int, length: Int) {
        var target = place
        let end = place &+ length
        if distance >= 16 {
            while target < end {
                let piece = bytes.load(at: target &- distance, as: InlineArray<16, UInt8>.self)
                storeBytes(of: piece, toByteOffset: target, as: InlineArray<16, UInt8>.self)
                target &+= 16
            }
        } else if distance >= 8 {
            while target < end {
                let piece = bytes.load(at: target &- distance, as: UnalignedWord.self)
                storeBytes(of: piece, toByteOffset: target, as: UnalignedWord.self)
                target &+= 8
            }
        } else if distance == 1 {
            let byte = bytes.load(at: target &- 1, as: UInt8.self)
            let piece = InlineArray<16, UInt8>(repeating: byte)
            while target < end {
                storeBytes(of: piece, toByteOffset: target, as: InlineArray<16, UInt8>.self)
                target &+= 16
            }
        } else {
            while target < end {
                let byte = bytes.load(at: target &- distance, as: UInt8.self)
                storeBytes(of: byte, toByteOffset: target, as: UInt8.self)
                target &+= 1
            }
        }
    }
}

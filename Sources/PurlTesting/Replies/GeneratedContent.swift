public import Foundation

/// Content of any size that takes no memory: each byte follows from its offset and the seed.
///
/// The server sends it with ``Reply/generated(size:seed:)``; a test makes the same value to compare what arrived:
///
/// ```swift
/// let content = GeneratedContent(size: 64 << 20, seed: 7)
/// #expect(try content.matches(fileAt: downloaded))
/// ```
public struct GeneratedContent: Sendable, Hashable {
    /// How many bytes there are.
    public let size: Int
    /// Which content it is: different seeds (up to some thousands) give different bytes at the same offset.
    public let seed: UInt64

    /// Describes content; its bytes are computed when they are read.
    ///
    /// - Parameters:
    ///   - size: How many bytes there are; negative sizes count as 0.
    ///   - seed: Which content it is.
    public init(size: Int, seed: UInt64 = 0) {
        self.size = max(0, size)
        self.seed = seed
    }

    /// All of it, in memory.
    public var data: Data { bytes(0..<size) }

    /// The bytes at some offsets.
    ///
    /// - Parameter offsets: The offsets; those beyond the content are left out.
    public func bytes(_ offsets: Range<Int>) -> Data {
        let range = offsets.clamped(to: 0..<size)
        var data = Data(capacity: range.count)
        var offset = range.lowerBound
        while offset < range.upperBound {
            withBytes(at: offset, upTo: range.upperBound - offset) { bytes in
                data.append(contentsOf: bytes)
                offset += bytes.count
            }
        }
        return data
    }

    /// Whether `data` is a part of the content.
    ///
    /// - Parameters:
    ///   - data: The bytes, which need not reach to the content's end.
    ///   - offset: Where in the content they are to be.
    public func matches(_ data: Data, at offset: Int = 0) -> Bool {
        firstDifference(from: data, at: offset) == nil
    }

    /// Whether the file is this content: all of it and nothing else. Reads it in pieces.
    ///
    /// - Parameter url: Where the file is.
    /// - Throws: The error of opening or reading the file.
    public func matches(fileAt url: URL) throws -> Bool {
        let file = try FileHandle(forReadingFrom: url)
        defer { try? file.close() }
        var offset = 0
        while let piece = try file.read(upToCount: GeneratedBlock.longestSlice), !piece.isEmpty {
            guard matches(piece, at: offset) else { return false }
            offset += piece.count
        }
        return offset == size
    }

    /// The position of the first byte of `data` that differs from the content, counted from 0; bytes beyond the content's
    /// end differ.
    ///
    /// - Parameters:
    ///   - data: The bytes, which need not reach to the content's end.
    ///   - offset: Where in the content they are to be.
    public func firstDifference(from data: Data, at offset: Int = 0) -> Int? {
        guard offset >= 0 else { return 0 }
        return data.withUnsafeBytes { (data: UnsafeRawBufferPointer) -> Int? in
            var position = 0
            while position < data.count {
                guard offset <= size, position < size - offset else { return position }
                let limit = min(data.count - position, size - offset - position)
                let (count, difference) = withBytes(at: offset + position, upTo: limit) { bytes -> (Int, Int?) in
                    let piece = UnsafeRawBufferPointer(rebasing: data[position..<(position + bytes.count)])
                    guard let expected = bytes.baseAddress, let found = piece.baseAddress,
                        memcmp(expected, found, bytes.count) != 0
                    else { return (bytes.count, nil) }
                    return (bytes.count, bytes.indices.first { bytes[$0] != piece[$0] })
                }
                if let difference { return position + difference }
                position += count
            }
            return nil
        }
    }

    /// Calls `body` with at most `count` bytes, the first of them at `offset`, without copying them.
    func withBytes<Result>(
        at offset: Int, upTo count: Int, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        // The seed decides where in the block the content starts; the golden ratio spreads small seeds evenly.
        let start = Int((seed &* 0x9E37_79B9_7F4A_7C15) >> 24) % GeneratedBlock.period
        return try GeneratedBlock.withBytes(at: offset, startingAt: start, upTo: count, body)
    }
}

/// The bytes of which all generated content consists, made once per process.
///
/// Content is periodic. The period is a prime, so that bytes in the wrong place (off by a block, a buffer or a page) differ
/// from the right ones.
private enum GeneratedBlock {
    /// After how many bytes content repeats.
    static let period = 262_139
    /// How many bytes can be had in one piece, from any offset.
    static let longestSlice = 256 << 10

    private static let bytes = make()

    /// Calls `body` with at most `count` bytes, the first of them at `offset` of the content that begins at `origin` of
    /// the block.
    static func withBytes<Result>(
        at offset: Int, startingAt origin: Int, upTo count: Int, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        let start = (max(0, offset) % period + origin) % period
        return try bytes.withUnsafeBytes { block in
            try body(UnsafeRawBufferPointer(rebasing: block[start..<(start + min(max(0, count), longestSlice))]))
        }
    }

    /// The bytes of SplitMix64 for a period, then its beginning again.
    private static func make() -> [UInt8] {
        let count = period + longestSlice
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            var state: UInt64 = 0x5EED_0F_B1_0C_C5
            var offset = 0
            while offset + 8 <= count, offset < period {
                state &+= 0x9E37_79B9_7F4A_7C15
                var word = state
                word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
                word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
                raw.storeBytes(of: word ^ (word >> 31), toByteOffset: offset, as: UInt64.self)
                offset += 8
            }
            let tail = UnsafeMutableRawBufferPointer(rebasing: raw[period...])
            tail.copyMemory(from: UnsafeRawBufferPointer(rebasing: raw[..<min(period, tail.count)]))
            // A slice may be a few bytes longer than the period.
            for position in period..<tail.count { tail[position] = tail[position - period] }
            initialized = count
        }
    }
}

public import Foundation

/// Content of any size that costs no memory: each byte follows from its offset and the seed.
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

    /// Content of `size` bytes; negative sizes count as 0.
    public init(size: Int, seed: UInt64 = 0) {
        self.size = max(0, size)
        self.seed = seed
    }

    /// All of it, in memory.
    public var data: Data { bytes(0..<size) }

    /// The bytes at these offsets, as far as they lie inside the content.
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

    /// Whether `data` is what the content holds from `offset` on. Need not reach to the end.
    public func matches(_ data: Data, at offset: Int = 0) -> Bool {
        firstDifference(from: data, at: offset) == nil
    }

    /// Whether the file holds this content: all of it and nothing else. Reads in pieces.
    ///
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

    /// The position in `data` of the first byte that is not what the content holds there, counted from 0.
    ///
    /// `data` is compared with the content from `offset` on; bytes beyond the content's end differ.
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

    /// Calls `body` with at most `count` bytes from `offset` on, without copying them.
    func withBytes<Result>(
        at offset: Int, upTo count: Int, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        // The seed decides where in the block the content starts; the golden ratio spreads small seeds evenly.
        let phase = Int((seed &* 0x9E37_79B9_7F4A_7C15) >> 24) % GeneratedBlock.period
        return try GeneratedBlock.withBytes(at: offset, phase: phase, upTo: count, body)
    }
}

/// The state that a digest carries from block to block of 64 bytes, and its compression function.
protocol BlockDigestState: Sendable {
    /// Whether the message's length follows it with its most significant byte first.
    static var endsBigEndian: Bool { get }

    /// The state before the first block.
    init()

    /// Mixes in whole blocks: `bytes` is a multiple of 64 long.
    mutating func compress(_ bytes: RawSpan)

    /// The digest of the blocks so far.
    var digest: [UInt8] { get }
}

/// A digest of bytes that come in pieces of any size, made block by block: what MD5 and the SHA family have in common.
struct BlockDigest<State: BlockDigestState>: Sendable {
    private let blockSize = 64

    private var state = State()
    /// The bytes after the last whole block: fewer than 64.
    private var held: [UInt8] = []
    private var byteCount: UInt64 = 0

    init() {}

    /// Takes the next bytes of the message.
    mutating func update(_ bytes: RawSpan) {
        byteCount &+= UInt64(bytes.byteCount)
        var rest = bytes
        if !held.isEmpty {
            let missing = min(blockSize - held.count, rest.byteCount)
            held.append(Span(_bytes: rest), 0..<missing)
            rest = rest.extracting(droppingFirst: missing)
            guard held.count == blockSize else { return }
            let block = held
            held.removeAll()
            state.compress(RawSpan(_elements: block.span))
        }
        let whole = rest.byteCount / blockSize * blockSize
        state.compress(rest.extracting(first: whole))
        held.append(Span(_bytes: rest), whole..<rest.byteCount)
    }

    /// The digest of all bytes taken. Then a new message begins.
    mutating func finalize() -> [UInt8] {
        let bitCount = byteCount &* 8
        var padding: [UInt8] = [0x80]
        // The length takes the last eight bytes of a block.
        let zeros = (blockSize * 2 - 9 - held.count) % blockSize
        padding.append(contentsOf: repeatElement(0, count: zeros))
        for index in 0..<8 {
            let shift = State.endsBigEndian ? 56 - 8 * index : 8 * index
            padding.append(UInt8(truncatingIfNeeded: bitCount >> UInt64(shift)))
        }
        update(RawSpan(_elements: padding.span))

        let digest = state.digest
        self = BlockDigest()
        return digest
    }
}

extension InlineArray where Element == UInt32 {
    /// Puts the sixteen words of a block first, each of four bytes with the most significant first.
    @inline(always)
    mutating func begin(withBigEndianBlockAt start: Int, of bytes: RawSpan) {
        for index in 0..<8 {
            // After the swap the first of the two words lies in the upper half.
            let pair = bytes.word(at: start + 8 * index).byteSwapped
            self[2 * index] = UInt32(truncatingIfNeeded: pair >> 32)
            self[2 * index + 1] = UInt32(truncatingIfNeeded: pair)
        }
    }
}

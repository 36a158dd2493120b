/// The bits of a deflate stream that were read and not used yet, the next one lowest.
struct BitBuffer: Sendable {
    /// Nothing above the `count` lowest is set.
    private(set) var bits: UInt64 = 0
    private(set) var count = 0

    init() {}

    /// A buffer of the `count` lowest of `bits`; what lies above is dropped. `count` is less than 64.
    init(bits: UInt64, count: Int) {
        self.bits = bits & (1 &<< UInt64(count) &- 1)
        self.count = count
    }

    /// Reads bytes until there are `wanted` bits, 56 at most. False when the input ends before that.
    mutating func fill(to wanted: Int, from input: RawSpan, at position: inout Int) -> Bool {
        let bytes = Span<UInt8>(_bytes: input)
        while count < wanted {
            guard position < bytes.count else { return false }
            bits |= UInt64(bytes[position]) &<< UInt64(count)
            count &+= 8
            position &+= 1
        }
        return true
    }

    /// Takes bits away that are known to be there.
    mutating func drop(_ number: Int) {
        bits &>>= UInt64(number)
        count &-= number
    }

    /// Takes bits, which are known to be there, as a number.
    mutating func take(_ number: Int) -> Int {
        let value = Int(bits & (1 &<< UInt64(number) &- 1))
        drop(number)
        return value
    }

    /// Drops what is left of the byte that was begun.
    mutating func alignToByte() {
        drop(count & 7)
    }

    /// Gives whole bytes back to the input they came from.
    mutating func giveBack(to position: inout Int) {
        let whole = min(count &>> 3, position)
        position &-= whole
        self = BitBuffer(bits: bits, count: count &- whole &* 8)
    }
}

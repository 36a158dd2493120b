/// Compresses bytes that come in pieces (RFC 1951): repetitions within the window, fixed codes.
///
/// Made for messages: everything given to `encode` is written at once, as far as whole bytes go, and `flush` makes the
/// rest readable. Later messages may refer to earlier ones. Bytes that cannot be compressed grow by an eighth at most.
package struct DeflateEncoder: Sendable {
    private var matcher: DeflateMatcher
    private var bits: UInt64 = 0
    private var bitCount = 0
    private var isBlockOpen = false

    /// An encoder that refers to no more than the last 2 to the power of `windowBits` bytes; 8 to 15, others are taken
    /// for the nearest of these.
    package init(windowBits: Int = 15) {
        matcher = DeflateMatcher(reach: 1 << min(max(windowBits, 8), 15))
    }

    /// Appends the compressed form of the bytes. Some bits may be held back until `flush` or `finish`.
    package mutating func encode(_ input: RawSpan, into output: inout [UInt8]) {
        guard !input.isEmpty else { return }
        if !isBlockOpen {
            // Not the last block, fixed codes.
            put(0b010, 3, to: &output)
            isBlockOpen = true
        }
        var rest = input
        while !rest.isEmpty {
            let piece = rest.extracting(first: min(rest.byteCount, DeflateMatcher.largestPiece))
            rest = rest.extracting(droppingFirst: piece.byteCount)
            matcher.add(piece)
            while let symbol = matcher.next() {
                switch symbol {
                case .literal(let byte):
                    let code = FixedCodes.literals[Int(byte)]
                    put(code.bits, code.count, to: &output)
                case .match(let length, let distance):
                    let code = FixedCodes.lengths[length]
                    put(code.bits, code.count, to: &output)
                    let place = FixedCodes.distance(distance)
                    put(place.bits, place.count, to: &output)
                }
            }
        }
    }

    /// Ends the block and writes an empty stored one, so that all bytes given so far can be decoded. The last four
    /// bytes are `00 00 FF FF`, which WebSocket messages leave out (RFC 7692 §7.2.1).
    package mutating func flush(into output: inout [UInt8]) {
        endBlock(&output)
        put(0, 3, to: &output)
        alignToByte(&output)
        output.append(contentsOf: [0, 0, 0xFF, 0xFF])
    }

    /// Ends the stream. After that the encoder begins a new one.
    package mutating func finish(into output: inout [UInt8]) {
        endBlock(&output)
        // The last block: fixed codes, and in it nothing but its end.
        put(0b011, 3, to: &output)
        put(0, 7, to: &output)
        alignToByte(&output)
        reset()
    }

    /// Forgets everything before: what comes next refers to nothing.
    package mutating func reset() {
        matcher.reset()
        (bits, bitCount, isBlockOpen) = (0, 0, false)
    }

    private mutating func endBlock(_ output: inout [UInt8]) {
        guard isBlockOpen else { return }
        // Symbol 256: seven zeros.
        put(0, 7, to: &output)
        isBlockOpen = false
    }

    @inline(always)
    private mutating func put(_ value: UInt32, _ count: Int, to output: inout [UInt8]) {
        bits |= UInt64(value) &<< UInt64(bitCount)
        bitCount &+= count
        while bitCount >= 8 {
            output.append(UInt8(truncatingIfNeeded: bits))
            bits &>>= 8
            bitCount &-= 8
        }
    }

    private mutating func alignToByte(_ output: inout [UInt8]) {
        if bitCount > 0 { put(0, 8 - bitCount, to: &output) }
    }
}

/// The masking of a client's frames (RFC 6455 §5.3). Doing it twice undoes it.
package enum WebSocketMask {
    /// Masks the bytes of `array` from `start` on in place.
    ///
    /// - Parameters:
    ///   - key: The four bytes of the key, the first one lowest.
    ///   - offset: How many bytes of the frame's content come before these.
    package static func apply(_ key: UInt32, offset: Int, to array: inout [UInt8], from start: Int) {
        // The key as it meets the first of these bytes, twice.
        let turn = UInt32(truncatingIfNeeded: offset & 3) &* 8
        let turned = turn == 0 ? key : key &>> turn | key &<< (32 &- turn)
        var storage = array.mutableSpan
        var bytes = MutableRawSpan(_elements: &storage)
        apply(UInt64(turned) &<< 32 | UInt64(turned), to: &bytes, from: start)
    }

    private static func apply(_ word: UInt64, to bytes: inout MutableRawSpan, from start: Int) {
        var position = start
        let count = bytes.byteCount
        while position &+ 32 <= count {
            let first = bytes.bytes.word(at: position) ^ word
            let second = bytes.bytes.word(at: position &+ 8) ^ word
            let third = bytes.bytes.word(at: position &+ 16) ^ word
            let fourth = bytes.bytes.word(at: position &+ 24) ^ word
            bytes.storeBytes(of: first.littleEndian, toByteOffset: position, as: UInt64.self)
            bytes.storeBytes(of: second.littleEndian, toByteOffset: position &+ 8, as: UInt64.self)
            bytes.storeBytes(of: third.littleEndian, toByteOffset: position &+ 16, as: UInt64.self)
            bytes.storeBytes(of: fourth.littleEndian, toByteOffset: position &+ 24, as: UInt64.self)
            position &+= 32
        }
        var rest = word
        while position < count {
            let byte = bytes.bytes.load(at: position, as: UInt8.self)
            bytes.storeBytes(of: byte ^ UInt8(truncatingIfNeeded: rest), toByteOffset: position, as: UInt8.self)
            rest = rest &>> 8 | rest &<< 56
            position &+= 1
        }
    }
}

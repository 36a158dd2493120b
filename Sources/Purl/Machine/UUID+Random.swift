import Foundation
internal import PurlIO

extension UUID {
    /// A random identifier (RFC 9562 §5.4), from the simulation on the thread of one.
    static var random: UUID {
        guard Simulated.machine != nil else { return UUID() }
        let source = Randomness()
        let (high, low) = (source.next(), source.next())
        func byte(_ word: UInt64, _ index: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: word >> (56 - 8 * index)) }
        return UUID(
            uuid: (
                byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3), byte(high, 4), byte(high, 5),
                byte(high, 6) & 0x0f | 0x40, byte(high, 7),
                byte(low, 0) & 0x3f | 0x80, byte(low, 1), byte(low, 2), byte(low, 3), byte(low, 4), byte(low, 5),
                byte(low, 6), byte(low, 7)
            ))
    }
}

/// Writes values of ASN.1 in the Distinguished Encoding Rules (X.690): as much of them as certificates need.
enum DER {
    /// A value with its tag and length.
    static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag] + length(content.count) + content }

    static func sequence(_ parts: [UInt8]...) -> [UInt8] { value(0x30, parts.flatMap { $0 }) }

    static func set(_ content: [UInt8]) -> [UInt8] { value(0x31, content) }

    /// `[number]` around a whole value.
    static func explicit(_ number: UInt8, _ content: [UInt8]) -> [UInt8] { value(0xA0 | number, content) }

    static func boolean(_ value: Bool) -> [UInt8] { self.value(0x01, [value ? 0xFF : 0]) }

    static func integer(_ number: UInt64) -> [UInt8] {
        var bytes = withUnsafeBytes(of: number.bigEndian) { [UInt8]($0.drop { $0 == 0 }) }
        // The first bit is the sign.
        if bytes.first.map({ $0 >= 0x80 }) ?? true { bytes.insert(0, at: 0) }
        return value(0x02, bytes)
    }

    static func enumerated(_ number: UInt8) -> [UInt8] { value(0x0A, [number]) }

    /// A string of whole bytes.
    static func bitString(_ bytes: [UInt8], unusedBits: UInt8 = 0) -> [UInt8] { value(0x03, [unusedBits] + bytes) }

    static func octetString(_ bytes: [UInt8]) -> [UInt8] { value(0x04, bytes) }

    static func utf8String(_ text: String) -> [UInt8] { value(0x0C, [UInt8](text.utf8)) }

    static let null: [UInt8] = [0x05, 0]

    static func identifier(_ components: UInt...) -> [UInt8] {
        var bytes: [UInt8] = []
        for component in [components[0] * 40 + components[1]] + components[2...] {
            var septets = [UInt8(component & 0x7F)]
            var rest = component >> 7
            while rest > 0 {
                septets.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
                rest >>= 7
            }
            bytes += septets
        }
        return value(0x06, bytes)
    }

    private static func length(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        let bytes = withUnsafeBytes(of: count.bigEndian) { [UInt8]($0.drop { $0 == 0 }) }
        return [0x80 | UInt8(bytes.count)] + bytes
    }
}

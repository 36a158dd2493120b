/// The form of names in Unicode in the DNS (RFC 3492): `bücher` is `xn--bcher-kva` there.
package enum Punycode {
    private static let base: UInt32 = 36
    private static let leastThreshold: UInt32 = 1
    private static let largestThreshold: UInt32 = 26

    /// The domain with each of its names that is not ASCII in the form of the DNS. Names are not normalised.
    package static func encode(domain: String) -> String {
        domain.split(separator: ".", omittingEmptySubsequences: false).map { name in
            // A longer name is none of the DNS, and its numbers could be too large.
            name.utf8.allSatisfy { $0 < 0x80 } || name.unicodeScalars.count > 63 ? String(name) : "xn--" + encode(name)
        }.joined(separator: ".")
    }

    /// RFC 3492 §6.3.
    private static func encode(_ name: Substring) -> String {
        let scalars = name.unicodeScalars.map { $0.value }
        let plain = scalars.filter { $0 < 0x80 }
        var output = plain.map { UInt8(truncatingIfNeeded: $0) }
        if !plain.isEmpty { output.append(UInt8(ascii: "-")) }
        var (point, delta, bias): (UInt32, UInt32, UInt32) = (0x80, 0, 72)
        var handled = UInt32(plain.count)
        while handled < scalars.count, let next = scalars.lazy.filter({ $0 >= point }).min() {
            delta += (next - point) * (handled + 1)
            point = next
            for scalar in scalars {
                if scalar < point { delta += 1 }
                guard scalar == point else { continue }
                append(delta, bias: bias, to: &output)
                bias = adapted(delta, count: handled + 1, isFirst: handled == plain.count)
                delta = 0
                handled += 1
            }
            delta += 1
            point += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// A number in digits of which the last is below its threshold.
    private static func append(_ number: UInt32, bias: UInt32, to output: inout [UInt8]) {
        var rest = number
        var position = base
        while true {
            let threshold = min(max(position, bias + leastThreshold) - bias, largestThreshold)
            guard rest >= threshold else { return output.append(digit(rest)) }
            output.append(digit(threshold + (rest - threshold) % (base - threshold)))
            rest = (rest - threshold) / (base - threshold)
            position += base
        }
    }

    /// `a` to `z`, then `0` to `9`.
    private static func digit(_ value: UInt32) -> UInt8 {
        UInt8(truncatingIfNeeded: value < 26 ? value + 0x61 : value - 26 + 0x30)
    }

    /// RFC 3492 §6.1.
    private static func adapted(_ delta: UInt32, count: UInt32, isFirst: Bool) -> UInt32 {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / count
        var bias: UInt32 = 0
        while delta > (base - leastThreshold) * largestThreshold / 2 {
            delta /= base - leastThreshold
            bias += base
        }
        return bias + (base - leastThreshold + 1) * delta / (delta + 38)
    }
}

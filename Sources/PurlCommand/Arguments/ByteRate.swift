/// Bytes a second, as people write them: `500000`, `200K`, `1.5M`.
struct ByteRate: Equatable {
    let bytesPerSecond: Int

    /// `nil` when the text says no rate of a byte a second or more. K, M and G, in whatever letters, are powers of 1024, as
    /// they are with curl and wget.
    init?(_ text: String) {
        var number = Substring(text)
        let factor: Double
        switch number.last {
        case "k", "K": factor = 1024
        case "m", "M": factor = 1024 * 1024
        case "g", "G": factor = 1024 * 1024 * 1024
        default: factor = 1
        }
        if factor > 1 { number = number.dropLast() }
        // What else `Double` reads (exponents, infinity, hexadecimal, signs) is no rate.
        guard number.first?.isNumber == true, number.allSatisfy({ $0 == "." || ("0"..."9").contains($0) }),
            let value = Double(number), let bytes = Int(exactly: (value * factor).rounded()), bytes >= 1
        else { return nil }
        bytesPerSecond = bytes
    }
}

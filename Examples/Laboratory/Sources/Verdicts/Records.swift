/// Many inputs in one: for each a line with its kind and its length, a line feed, and its bytes.
enum Records {
    /// The verdicts in the same form: the length of each and its text.
    static func verdicts(on input: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var rest = input[...]
        while !rest.isEmpty {
            let kind = take(from: &rest, upTo: 0x20)
            let length = Int(String(decoding: take(from: &rest, upTo: 0x0A), as: UTF8.self)) ?? 0
            let bytes = Array(rest.prefix(length))
            rest = rest.dropFirst(length)
            let verdict = Laboratory.verdict(on: bytes, as: String(decoding: kind, as: UTF8.self))
            output.append(contentsOf: "\(verdict.count)\n".utf8)
            output.append(contentsOf: verdict)
        }
        return output
    }

    private static func take(from rest: inout ArraySlice<UInt8>, upTo end: UInt8) -> ArraySlice<UInt8> {
        let word = rest.prefix { $0 != end }
        rest = rest[word.endIndex...].dropFirst()
        return word
    }
}

/// The `Strict-Transport-Security` field of a response (RFC 6797 §6.1).
package struct StrictTransportSecurity: Sendable, Hashable {
    /// For how many seconds the host is to be reached over secure connections alone; 0 for no longer.
    package let maxAge: Int64
    /// Whether the same goes for all hosts below it.
    package let includesSubdomains: Bool

    /// The first line of the field counts (§8.1 item 1); `nil` when there is none, or it breaks the grammar.
    package init?(_ fields: HeaderFields) {
        guard fields.mayContain(.strictTransportSecurity), let line = fields.values(of: .strictTransportSecurity).first
        else { return nil }
        self.init(line)
    }

    /// Reads a field value. Unknown directives are skipped (§6.1 item 5); one that is repeated makes the value invalid
    /// (item 2), and so does a missing or broken `max-age`. A number that is too large counts as the largest.
    package init?(_ text: String) {
        var seen: Set<String> = []
        var maxAge: Int64?
        var includesSubdomains = false
        for part in Self.directives(Array(text.utf8)) {
            let directive = part.trimmingBlanks()
            if directive.isEmpty { continue }
            let name = directive.prefix(while: { $0.isTokenByte })
            let rest = directive[name.endIndex...].drop(while: { $0.isBlank })
            guard !name.isEmpty, rest.isEmpty || rest.first == .equals else { return nil }
            let word = String(fieldBytes: name).asciiLowercased
            guard seen.insert(word).inserted else { return nil }
            switch word {
            case "max-age":
                guard let parameter = FieldParameter(element: directive), !parameter.value.isEmpty,
                    parameter.value.utf8.allSatisfy({ $0.digitValue != nil })
                else { return nil }
                maxAge = Int64(digits: parameter.value.utf8) ?? .max
            case "includesubdomains":
                guard rest.isEmpty else { return nil }
                includesSubdomains = true
            default: break
            }
        }
        guard let maxAge else { return nil }
        self.maxAge = maxAge
        self.includesSubdomains = includesSubdomains
    }

    /// The parts between semicolons that are not in a quoted string.
    private static func directives(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var start = 0
        var isQuoted = false
        var position = 0
        while position < bytes.count {
            switch bytes[position] {
            case .quote: isQuoted.toggle()
            case .backslash where isQuoted: position += 1
            case .semicolon where !isQuoted:
                parts.append(bytes[start..<position])
                start = position + 1
            default: break
            }
            position += 1
        }
        parts.append(bytes[start...])
        return parts
    }
}

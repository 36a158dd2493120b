/// The domains below which names are registered, such as `com` and `co.uk`, by the rules of the Public Suffix List.
///
/// A rule is a domain, a domain below any name (`*.ck`), or an exception from such a rule (`!www.ck`).
package struct PublicSuffixes: Sendable {
    private let rules: Set<String>

    /// Reads a list in the format of publicsuffix.org: one rule a line, as far as its first blank, in UTF-8; comments
    /// begin with `//`.
    package init(_ list: some Sequence<UInt8>) {
        var rules: Set<String> = []
        for line in Array(list).split(separator: .lineFeed) {
            let rule = line.prefix { $0 > 0x20 }
            guard !rule.isEmpty, !rule.starts(with: [UInt8(ascii: "/"), UInt8(ascii: "/")]) else { continue }
            let text = String(fieldBytes: rule)
            rules.insert(text)
            if rule.contains(where: { $0 >= 0x80 }) { rules.insert(Punycode.encode(domain: text)) }
        }
        self.rules = rules
    }

    /// Whether the domain is a public suffix. It is in lower case; its names may be in Unicode or in the form that the
    /// DNS has for them (`xn--…`). A domain of one name is not looked for: it always is one.
    package func contains(_ domain: String) -> Bool {
        guard !rules.isEmpty, !rules.contains("!" + domain) else { return false }
        if rules.contains(domain) { return true }
        guard let dot = domain.utf8.firstIndex(of: UInt8(ascii: ".")) else { return false }
        return rules.contains("*" + domain[dot...])
    }
}

/// Fields whose value is a comma-separated list (RFC 9110 §5.6.1), spread over any number of lines.
extension HeaderFields {
    /// The elements of the list over all lines of that name, trimmed, empty ones dropped.
    /// A comma inside a quoted string divides nothing.
    package func listElements(of name: FieldName) -> [String] {
        guard mayContain(name) else { return [] }
        var elements: [String] = []
        for line in lines where matches(line, name) {
            var scanner = ListScanner(line.value)
            while let element = scanner.next(in: bytes) {
                elements.append(String(fieldBytes: bytes[element]))
            }
        }
        return elements
    }

    /// Whether the list holds that element; the case of ASCII letters does not matter.
    package func hasToken(_ token: String, in name: FieldName) -> Bool {
        guard mayContain(name) else { return false }
        for line in lines where matches(line, name) {
            var scanner = ListScanner(line.value)
            while let element = scanner.next(in: bytes) {
                if element.count == token.utf8.count,
                    zip(bytes[element], token.utf8).allSatisfy({ $0.lowercased == $1.lowercased })
                {
                    return true
                }
            }
        }
        return false
    }
}

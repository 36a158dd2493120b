extension FieldParameter {
    /// One element of a list of `name=value`; the value may be quoted, and blanks around the equals sign are passed
    /// over. nil when the first word is not followed by an equals sign.
    init?(element: ArraySlice<UInt8>) {
        let word = element.prefix(while: \.isTokenByte)
        let rest = element[word.endIndex...].drop(while: \.isBlank)
        guard !word.isEmpty, rest.first == .equals else { return nil }
        self.init(
            name: String(fieldBytes: word),
            value: FieldParameter.unquoted(rest.dropFirst().trimmingBlanks()))
    }

    /// The text of a token or of a quoted string; one that is never closed reaches to the end.
    private static func unquoted(_ value: ArraySlice<UInt8>) -> String {
        guard value.first == .quote else { return String(fieldBytes: value) }
        var text: [UInt8] = []
        var rest = value.dropFirst()
        while let byte = rest.popFirst(), byte != .quote {
            if byte == .backslash, let escaped = rest.popFirst() {
                text.append(escaped)
            } else {
                text.append(byte)
            }
        }
        return String(fieldBytes: text[...])
    }
}

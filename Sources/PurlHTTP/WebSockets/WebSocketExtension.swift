/// One element of `Sec-WebSocket-Extensions` (RFC 6455 §9.1): `name; parameter; parameter=value`.
package struct WebSocketExtension: Sendable, Hashable {
    /// A parameter; nil: without a value.
    package struct Parameter: Sendable, Hashable {
        package let name: String
        package let value: String?
    }

    package let name: String
    package let parameters: [Parameter]

    /// nil when the text breaks the grammar.
    package init?(_ text: String) {
        var parts = Array(text.utf8).split(separator: .semicolon, omittingEmptySubsequences: false)[...]
        guard let first = parts.popFirst() else { return nil }
        let name = String(fieldBytes: first.trimmingBlanks())
        guard name.isToken else { return nil }
        var parameters: [Parameter] = []
        for part in parts {
            let sides = part.split(separator: .equals, maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(fieldBytes: sides[0].trimmingBlanks())
            guard name.isToken else { return nil }
            guard sides.count == 2 else {
                parameters.append(Parameter(name: name, value: nil))
                continue
            }
            guard let value = WebSocketExtension.value(sides[1].trimmingBlanks()) else { return nil }
            parameters.append(Parameter(name: name, value: value))
        }
        self.name = name
        self.parameters = parameters
    }

    /// All elements of the fields; nil when one of them breaks the grammar.
    package static func all(in fields: HeaderFields) -> [WebSocketExtension]? {
        let elements = fields.listElements(of: .secWebSocketExtensions)
        let extensions = elements.compactMap { WebSocketExtension($0) }
        return extensions.count == elements.count ? extensions : nil
    }

    /// No parameter comes twice.
    var hasDistinctParameters: Bool { Set(parameters.map(\.name)).count == parameters.count }

    /// A number from 8 to 15 without leading zeros (RFC 7692 §7.1.2).
    static func windowBits(_ text: String) -> Int? {
        switch text {
        case "8": 8
        case "9": 9
        case "10": 10
        case "11": 11
        case "12": 12
        case "13": 13
        case "14": 14
        case "15": 15
        default: nil
        }
    }

    /// A value is a token, even where it is quoted.
    private static func value(_ bytes: ArraySlice<UInt8>) -> String? {
        let isQuoted = bytes.count >= 2 && bytes.first == .quote && bytes.last == .quote
        let text = String(fieldBytes: isQuoted ? bytes.dropFirst().dropLast() : bytes)
        return text.isToken ? text : nil
    }
}

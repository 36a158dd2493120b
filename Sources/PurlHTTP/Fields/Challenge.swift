/// One challenge of `WWW-Authenticate` or `Proxy-Authenticate` (RFC 9110 §11.6.1).
package struct Challenge: Sendable, Hashable {
    /// As it was written; the case of letters does not matter.
    package var scheme: String
    /// The text after the scheme when there are no parameters: `Negotiate YII=`.
    package var token68: String?
    /// In the order written.
    package var parameters: [FieldParameter]

    package init(scheme: String, token68: String? = nil, parameters: [FieldParameter] = []) {
        self.scheme = scheme
        self.token68 = token68
        self.parameters = parameters
    }

    /// So many challenges of a response are read. Servers have one for each scheme; what follows is flooding.
    package static let maximumCount = 16

    /// The first ``maximumCount`` challenges of the fields of that name, in order. Parts that belong to no challenge are
    /// skipped.
    ///
    /// Commas separate challenges as well as parameters. An element is a parameter when an equals sign follows its first
    /// word; otherwise that word is a scheme.
    package static func all(in fields: HeaderFields, _ name: FieldName) -> [Challenge] {
        var challenges: [Challenge] = []
        for line in fields.lines where fields.matches(line, name) {
            var scanner = ListScanner(line.value)
            while let range = scanner.next(in: fields.bytes) {
                let element = fields.bytes[range]
                if let parameter = FieldParameter(element: element) {
                    // A token68 stands alone.
                    guard let last = challenges.indices.last, challenges[last].token68 == nil else { continue }
                    challenges[last].parameters.append(parameter)
                } else if let challenge = Challenge(element: element) {
                    guard challenges.count < maximumCount else { return challenges }
                    challenges.append(challenge)
                }
            }
        }
        return challenges
    }

    /// Whether this is the scheme; the case of letters does not matter.
    package func isScheme(_ name: String) -> Bool { scheme.equalsIgnoringCase(name) }

    /// The value of the first parameter of that name, which is given in lower case.
    package func parameter(_ name: String) -> String? { parameters.first(named: name) }

    /// The protection space within the server; nil when the challenge names none.
    package var realm: String? { parameter("realm") }

    /// Reads an element that begins a challenge: a scheme, and after blanks a token68 or the first parameter.
    private init?(element: ArraySlice<UInt8>) {
        let word = element.prefix(while: { $0.isTokenByte })
        let rest = element[word.endIndex...]
        guard !word.isEmpty, rest.first?.isBlank ?? true else { return nil }
        self.init(scheme: String(fieldBytes: word))
        let value = rest.trimmingBlanks()
        if value.isToken68 {
            token68 = String(fieldBytes: value)
        } else if let parameter = FieldParameter(element: value) {
            parameters = [parameter]
        }
    }
}

extension ArraySlice<UInt8> {
    /// `1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="`
    fileprivate var isToken68: Bool {
        let body = prefix { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                true
            default: false
            }
        }
        return !body.isEmpty && self[body.endIndex...].allSatisfy { $0 == .equals }
    }
}

/// The value of `Content-Disposition` (RFC 6266): `attachment; filename="a.txt"`.
package struct ContentDisposition: Sendable, Hashable {
    /// In lower case: `inline`, `attachment`, `form-data`.
    package var type: String
    /// In the order written; those whose name ends with `*` are still encoded.
    package var parameters: [FieldParameter]

    /// A disposition; a file name outside ASCII is written in both forms, since old recipients read only the plain one.
    package init(type: String, filename: String? = nil) {
        self.type = type
        parameters = []
        guard let filename else { return }
        if filename.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) {
            parameters = [FieldParameter(name: "filename", value: filename)]
        } else {
            let plain = String(filename.map { $0.isASCII ? $0 : "_" })
            parameters = [
                FieldParameter(name: "filename", value: plain),
                FieldParameter(name: "filename*", value: ExtendedValue(text: filename).description),
            ]
        }
    }

    /// Reads the field's value; nil when there is no type.
    package init?(_ text: String) {
        var scanner = ParameterScanner(text)
        type = scanner.leadingItem().asciiLowercased
        guard type.isToken else { return nil }
        parameters = scanner.parameters()
    }

    /// The file name that the server suggests. It is unchecked and must not be trusted: it may contain slashes and dots.
    /// `filename*` wins over `filename` (RFC 6266 §4.3) unless it is broken.
    package var filename: String? {
        for parameter in parameters where parameter.name == "filename*" {
            if let value = ExtendedValue(parameter.value) { return value.text }
        }
        return parameters.first(named: "filename")
    }
}

extension ContentDisposition: CustomStringConvertible {
    /// As it goes on the wire.
    package var description: String {
        ([type] + parameters.map { $0.description }).joined(separator: "; ")
    }
}

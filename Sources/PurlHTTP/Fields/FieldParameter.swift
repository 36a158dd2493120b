/// One `name=value` after a semicolon.
package struct FieldParameter: Sendable, Hashable {
    /// In small letters.
    package var name: String
    /// Without quotes and escapes.
    package var value: String

    package init(name: String, value: String) {
        self.name = name.asciiLowercased
        self.value = value
    }
}

extension FieldParameter: CustomStringConvertible {
    /// As it goes on the wire: a value that is no token is quoted. Controls, which no field may hold, are left out.
    package var description: String {
        guard !value.isToken else { return "\(name)=\(value)" }
        var quoted: [UInt8] = []
        for byte in value.utf8 where byte.isFieldValueByte {
            if byte == .quote || byte == .backslash { quoted.append(.backslash) }
            quoted.append(byte)
        }
        return "\(name)=\"\(String(decoding: quoted, as: UTF8.self))\""
    }
}

extension [FieldParameter] {
    /// The value of the first parameter of that name, which is given in small letters.
    func first(named name: String) -> String? {
        first { $0.name == name }?.value
    }
}

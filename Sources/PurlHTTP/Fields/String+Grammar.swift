extension String {
    /// Field bytes as text: UTF-8 when they are valid UTF-8, Latin-1 otherwise. Never fails, never loses a byte.
    init(fieldBytes bytes: ArraySlice<UInt8>) {
        if let text = String(validating: bytes, as: UTF8.self) {
            self = text
            return
        }
        var text = ""
        for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
        self = text
    }

    /// Whether the text is a `token`: not empty and made of `tchar` alone.
    var isToken: Bool {
        !isEmpty && utf8.allSatisfy(\.isTokenByte)
    }

    /// Whether two texts are the same when ASCII letters are compared without case.
    func equalsIgnoringCase(_ other: String) -> Bool {
        utf8.count == other.utf8.count
            && zip(utf8, other.utf8).allSatisfy { $0 == $1 || $0.lowercased == $1.lowercased }
    }

    /// The text with ASCII letters made small and everything else as it was.
    var asciiLowercased: String {
        String(decoding: utf8.map(\.lowercased), as: UTF8.self)
    }
}

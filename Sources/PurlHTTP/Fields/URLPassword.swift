/// Hides the users and passwords of URLs in texts that are shown or saved: messages, sentences of errors, descriptions,
/// traces.
///
/// A URL may stand anywhere in a text: in a field, in a list, in the query of another URL, also with its slashes
/// percent-encoded. What follows two slashes up to the last `@` of the authority (RFC 3986 §3.2) counts as its user, so
/// that rather too much is hidden than too little.
package enum URLPassword {
    /// What stands for a password.
    package static let placeholder = "•••"

    /// `text` with the password of each URL in it replaced: `http://u:p@host/` becomes `http://u:•••@host/`.
    package static func hidden(in text: String) -> String {
        replacingUsers(in: text) { user, form in
            guard let colon = form.endOfColon(in: user) else { return Array(user) }
            return user[..<colon] + Array(placeholder.utf8)
        }
    }

    /// `text` with the user, and the password, of each URL in it replaced: `http://u:p@host/` becomes `http://MARK@host/`.
    package static func hidden(in text: String, withUsersAs mark: String) -> String {
        replacingUsers(in: text) { _, _ in Array(mark.utf8) }
    }

    private static func replacingUsers(
        in text: String, by replacement: (ArraySlice<UInt8>, AuthorityForm) -> [UInt8]
    ) -> String {
        let bytes = Array(text.utf8)
        guard bytes.contains(where: { $0 == .at || $0 == .percent }) else { return text }
        var shown: [UInt8] = []
        var copied = 0
        var position = 0
        while position < bytes.count {
            guard let form = AuthorityForm(after: bytes[position...]) else {
                position += 1
                continue
            }
            let start = position + form.slashes.count
            position = start
            guard let end = form.endOfUser(in: bytes[start...]) else { continue }
            shown += bytes[copied..<start] + replacement(bytes[start..<end], form)
            (copied, position) = (end, end)
        }
        return copied == 0 ? text : String(decoding: shown + bytes[copied...], as: UTF8.self)
    }
}

/// How an authority is written: as it is, or percent-encoded within another URL.
private enum AuthorityForm {
    case plain
    case encoded

    /// The form of the authority that begins after these bytes' slashes; `nil` where they do not begin with two.
    init?(after bytes: ArraySlice<UInt8>) {
        guard let form = [AuthorityForm.plain, .encoded].first(where: { $0.begins(bytes) }) else { return nil }
        self = form
    }

    var slashes: [UInt8] {
        switch self {
        case .plain: [.slash, .slash]
        case .encoded: Array("%2F%2F".utf8)
        }
    }

    private func begins(_ bytes: ArraySlice<UInt8>) -> Bool {
        // Most bytes begin neither.
        guard bytes.first == slashes.first else { return false }
        return bytes.prefix(slashes.count).elementsEqual(slashes) { $0.lowercased == $1.lowercased }
    }

    /// Where the user ends in an authority that begins here: at its last `@`. `nil` where it has none.
    func endOfUser(in bytes: ArraySlice<UInt8>) -> Int? {
        var end: Int?
        for index in bytes.indices {
            if endsAuthority(bytes[index...]) { break }
            if isAt(bytes[index...]) { end = index }
        }
        return end
    }

    /// The index after the colon before the password; `nil` without one.
    func endOfColon(in user: ArraySlice<UInt8>) -> Int? {
        for index in user.indices {
            if user[index] == .colon { return index + 1 }
            if self == .encoded, user[index...].isEscape(of: .colon) { return index + 3 }
        }
        return nil
    }

    private func isAt(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.first == .at || self == .encoded && bytes.isEscape(of: .at)
    }

    private func endsAuthority(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let byte = bytes.first else { return true }
        // A blank, a line break or another control character ends the URL.
        if byte <= .space || [.slash, .questionMark, .numberSign].contains(byte) { return true }
        guard self == .encoded else { return false }
        // The URL around it goes on.
        if byte == .ampersand { return true }
        return [.slash, .questionMark, .numberSign].contains { bytes.isEscape(of: $0) }
    }
}

extension ArraySlice<UInt8> {
    /// Whether it begins with the byte percent-encoded.
    fileprivate func isEscape(of byte: UInt8) -> Bool {
        guard first == .percent, count >= 3, let high = self[startIndex + 1].hexadecimalValue,
            let low = self[startIndex + 2].hexadecimalValue
        else { return false }
        return high << 4 | low == Int(byte)
    }
}

extension UInt8 {
    fileprivate static let at = UInt8(ascii: "@")
    fileprivate static let percent = UInt8(ascii: "%")
    fileprivate static let slash = UInt8(ascii: "/")
    fileprivate static let questionMark = UInt8(ascii: "?")
    fileprivate static let numberSign = UInt8(ascii: "#")
    fileprivate static let ampersand = UInt8(ascii: "&")
}

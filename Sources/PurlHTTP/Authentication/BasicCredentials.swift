/// A user and a password that the Basic scheme sends unencrypted (RFC 7617).
package struct BasicCredentials: Sendable, Hashable {
    package let user: String
    package let password: String

    /// nil for a user with a colon, which the server would read as the end of the name, and for control characters in either.
    package init?(user: String, password: String) {
        guard !user.utf8.contains(.colon), user.hasNoControlCharacters, password.hasNoControlCharacters else {
            return nil
        }
        self.user = user
        self.password = password
    }

    /// The value of `Authorization` or `Proxy-Authorization`. The text is sent as UTF-8.
    package var authorization: String {
        "Basic " + Base64.encode("\(user):\(password)".utf8)
    }
}

extension String {
    fileprivate var hasNoControlCharacters: Bool { utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }
}

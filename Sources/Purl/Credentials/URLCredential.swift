import Foundation

/// A user and a password, and how long they are kept; or the acceptance of a server's certificates.
///
/// `@unchecked Sendable` because the class is open; it is immutable.
open class URLCredential: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    /// How long a credential is kept after it has been used.
    public enum Persistence: UInt, Sendable {
        /// For the task that uses it, and no longer.
        case none
        /// For as long as the session's ``URLCredentialStorage`` lives.
        case forSession
        /// The same as ``forSession``: a credential storage is in memory, and a password that is to outlive the process
        /// is the program's to keep.
        case permanent
        /// Apple's systems only; the same as ``permanent``.
        @available(*, deprecated, message: "There is no keychain to synchronise here; this is the same as .permanent.")
        case synchronizable
    }

    private enum Contents: Hashable {
        case password(UserAndPassword)
        case trust(TLSTrust)
    }

    private let contents: Contents
    /// How long the credential is kept.
    open private(set) var persistence: Persistence

    /// Makes a credential.
    ///
    /// - Parameter persistence: How long it is kept.
    public init(user: String, password: String, persistence: URLCredential.Persistence) {
        contents = .password(UserAndPassword(user: user, password: password))
        self.persistence = persistence
    }

    /// Makes a credential that accepts a server: the answer, with `.useCredential`, to a challenge of the method
    /// ``NSURLAuthenticationMethodServerTrust``, for the same certificates.
    ///
    /// - Parameter trust: The challenge's ``URLProtectionSpace/serverTrust``.
    public init(trust: TLSTrust) {
        contents = .trust(trust)
        persistence = .forSession
    }

    /// Reads a credential from an archive; `nil` when it holds none.
    ///
    /// - Parameter aDecoder: The archive.
    public required init?(coder aDecoder: NSCoder) {
        guard let user = aDecoder.decodeObject(of: NSString.self, forKey: "user"),
            let password = aDecoder.decodeObject(of: NSString.self, forKey: "password"),
            let number = aDecoder.decodeObject(of: NSNumber.self, forKey: "persistence"),
            let persistence = Persistence(rawValue: number.uintValue)
        else { return nil }
        contents = .password(UserAndPassword(user: "\(user)", password: "\(password)"))
        self.persistence = persistence
    }

    /// Writes the credential to an archive, the password as it is. One that accepts a server cannot be read again.
    ///
    /// - Parameter aCoder: The archive.
    open func encode(with aCoder: NSCoder) {
        aCoder.encode(user.map { NSString(string: $0) }, forKey: "user")
        aCoder.encode(password.map { NSString(string: $0) }, forKey: "password")
        aCoder.encode(NSNumber(value: persistence.rawValue), forKey: "persistence")
    }

    /// Credentials may be archived.
    public static var supportsSecureCoding: Bool { true }

    open override func copy() -> Any { copy(with: nil) }

    /// Returns the credential itself: it never changes.
    ///
    /// - Parameter zone: Ignored.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    private var named: UserAndPassword? {
        if case .password(let named) = contents { return named }
        return nil
    }

    /// The server's certificates that the credential accepts.
    var trust: TLSTrust? {
        if case .trust(let trust) = contents { return trust }
        return nil
    }

    /// The user; `nil` where a server is accepted.
    open var user: String? { named?.user }

    /// The password; `nil` where a server is accepted.
    open var password: String? { named?.password }

    /// Whether there is a password: not where a server is accepted.
    open var hasPassword: Bool { named != nil }

    /// Equal credentials have the same user and password, or certificates, and persistence.
    ///
    /// - Parameter object: Another object.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? URLCredential else { return false }
        return contents == other.contents && persistence == other.persistence
    }

    open override var hash: Int { contents.hashValue }

    /// Without the password: descriptions end up in logs.
    open override var description: String {
        "\(super.description) { \(trust.map { "trust: \($0.host)" } ?? "user: \(named?.user ?? "")"), persistence: \(persistence) }"
    }
}

/// A user and a password, which a server accepts or refuses.
struct UserAndPassword: Hashable, Sendable {
    let user: String
    let password: String
}

extension URLCredential {
    /// Both, if there are both: a subclass may lack one.
    var userAndPassword: UserAndPassword? {
        guard let user, let password else { return nil }
        return UserAndPassword(user: user, password: password)
    }
}

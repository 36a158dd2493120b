import Foundation
internal import PurlIO
import Synchronization

/// The credentials of a program, by protection space: in memory, for as long as the storage lives.
///
/// A session looks here before it asks its delegate, and stores here the delegate's credential once the server has
/// accepted it, unless its persistence is `.none`. Removing a credential logs its user out: no session sends it any
/// more by itself.
///
/// Any thread may use a storage. `@unchecked Sendable` because the class is open; its only state is `spaces`, behind a
/// `Mutex`.
open class URLCredentialStorage: NSObject, @unchecked Sendable {
    private struct Users {
        var credentials: [String: URLCredential] = [:]
        var defaultUser: String?
    }

    private static let standard = ProcessLocal { URLCredentialStorage() }

    private let spaces = Mutex<[URLProtectionSpace: Users]>([:])

    /// The storage of every session whose configuration names no other.
    open class var shared: URLCredentialStorage { standard.current }

    /// An empty storage.
    public override init() {}

    /// The credentials of a space by user; `nil` when there are none.
    open func credentials(for space: URLProtectionSpace) -> [String: URLCredential]? {
        spaces.withLock { $0[space]?.credentials }
    }

    /// All credentials.
    open var allCredentials: [URLProtectionSpace: [String: URLCredential]] {
        spaces.withLock { spaces in spaces.mapValues(\.credentials) }
    }

    /// Adds a credential, in place of the one its user had. The first of a space is its default.
    ///
    /// A credential with the persistence `.none` is not added.
    ///
    /// - Parameter space: The protection space it is for.
    open func set(_ credential: URLCredential, for space: URLProtectionSpace) {
        add(credential, for: space, asDefault: false)
    }

    /// Removes a credential, if the space has it.
    ///
    /// - Parameter space: The protection space it is for.
    open func remove(_ credential: URLCredential, for space: URLProtectionSpace) {
        remove(credential, for: space, options: nil)
    }

    /// Removes a credential, if the space has it.
    ///
    /// - Parameters:
    ///   - space: The protection space it is for.
    ///   - options: Ignored.
    open func remove(
        _ credential: URLCredential, for space: URLProtectionSpace, options: [String: AnyObject]? = [:]
    ) {
        let isRemoved = spaces.withLock { spaces in
            guard let user = credential.user, spaces[space]?.credentials[user] == credential else { return false }
            spaces[space]?.credentials[user] = nil
            if spaces[space]?.defaultUser == user { spaces[space]?.defaultUser = nil }
            if spaces[space]?.credentials.isEmpty == true { spaces[space] = nil }
            return true
        }
        if isRemoved { announceChange() }
    }

    /// The credential a session tries by itself.
    open func defaultCredential(for space: URLProtectionSpace) -> URLCredential? {
        spaces.withLock { spaces in
            guard let users = spaces[space], let user = users.defaultUser else { return nil }
            return users.credentials[user]
        }
    }

    /// Adds a credential and makes it the one that a session tries by itself.
    ///
    /// - Parameter space: The protection space it is for.
    open func setDefaultCredential(_ credential: URLCredential, for space: URLProtectionSpace) {
        add(credential, for: space, asDefault: true)
    }

    /// Whether it is a subclass of the user's, whose code must not keep the network thread.
    var isSubclass: Bool { type(of: self) != URLCredentialStorage.self }

    /// Removes everything.
    func removeAll() {
        let wasEmpty = spaces.withLock { spaces in
            defer { spaces = [:] }
            return spaces.isEmpty
        }
        if !wasEmpty { announceChange() }
    }

    private func add(_ credential: URLCredential, for space: URLProtectionSpace, asDefault: Bool) {
        guard let user = credential.user, credential.persistence != .none else { return }
        let isChanged = spaces.withLock { spaces in
            var users = spaces[space] ?? Users()
            let isNew = users.credentials[user] != credential
            let becomesDefault = (asDefault || users.credentials.isEmpty) && users.defaultUser != user
            users.credentials[user] = credential
            if becomesDefault { users.defaultUser = user }
            spaces[space] = users
            return isNew || becomesDefault
        }
        if isChanged { announceChange() }
    }

    private func announceChange() {
        Worker.shared.runUserCode {
            NotificationCenter.default.post(name: .NSURLCredentialStorageChanged, object: self)
        }
    }
}

extension NSNotification.Name {
    /// A credential storage, the notification's object, has changed. Posted on the thread that changed it.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public static let NSURLCredentialStorageChanged = NSNotification.Name("NSURLCredentialStorageChangedNotification")
}

import Foundation

extension URLCredentialStorage {
    /// Calls the handler, at once, with the credentials of a space.
    ///
    /// - Parameters:
    ///   - task: Ignored.
    ///   - completionHandler: Receives the credentials by user; `nil` when there are none.
    public func getCredentials(
        for protectionSpace: URLProtectionSpace, task: URLSessionTask,
        completionHandler: ([String: URLCredential]?) -> Void
    ) {
        completionHandler(credentials(for: protectionSpace))
    }

    /// The credentials of a space by user; `nil` when there are none.
    ///
    /// - Parameter task: Ignored.
    public func credentials(
        for protectionSpace: URLProtectionSpace, task: URLSessionTask
    ) async -> [String: URLCredential]? {
        credentials(for: protectionSpace)
    }

    /// Adds a credential; see ``set(_:for:)``.
    ///
    /// - Parameters:
    ///   - protectionSpace: The protection space it is for.
    ///   - task: Ignored.
    public func set(_ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask) {
        set(credential, for: protectionSpace)
    }

    /// Removes a credential; see ``remove(_:for:options:)``.
    ///
    /// - Parameters:
    ///   - protectionSpace: The protection space it is for.
    ///   - options: Ignored.
    ///   - task: Ignored.
    public func remove(
        _ credential: URLCredential, for protectionSpace: URLProtectionSpace, options: [String: AnyObject]? = [:],
        task: URLSessionTask
    ) {
        remove(credential, for: protectionSpace, options: options)
    }

    /// Calls the handler, at once, with the credential a session tries by itself.
    ///
    /// - Parameters:
    ///   - task: Ignored.
    ///   - completionHandler: Receives the credential; `nil` when there is none.
    public func getDefaultCredential(
        for space: URLProtectionSpace, task: URLSessionTask, completionHandler: (URLCredential?) -> Void
    ) {
        completionHandler(defaultCredential(for: space))
    }

    /// The credential a session tries by itself; `nil` when there is none.
    ///
    /// - Parameter task: Ignored.
    public func defaultCredential(for space: URLProtectionSpace, task: URLSessionTask) async -> URLCredential? {
        defaultCredential(for: space)
    }

    /// Adds a default credential; see ``setDefaultCredential(_:for:)``.
    ///
    /// - Parameters:
    ///   - protectionSpace: The protection space it is for.
    ///   - task: Ignored.
    public func setDefaultCredential(
        _ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask
    ) {
        setDefaultCredential(credential, for: protectionSpace)
    }
}

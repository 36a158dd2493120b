import Foundation
internal import PurlConnections
internal import PurlIO

extension Origin {
    /// The origin of a URL of any scheme. Where the URL has no authority, the host is empty.
    ///
    /// - Returns: `nil` when the URL has no scheme, or its authority cannot be read.
    init?(_ url: URL) {
        self.init(url.absoluteString)
    }
}

extension TargetURI {
    init(_ url: URL?) throws(Refusal) {
        guard let url else { throw .noURL }
        try self.init(url.absoluteString)
    }
}

extension URL {
    /// Whether both URLs have the same scheme, host and port, written or not. Credentials go from one to the other then,
    /// and only then.
    func isSameOrigin(as other: URL) -> Bool {
        guard let origin = Origin(self) else { return false }
        return origin == Origin(other)
    }

    /// The URL without its user and password.
    var withoutCredentials: URL {
        guard user != nil || password != nil, var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else {
            return self
        }
        parts.percentEncodedUser = nil
        parts.percentEncodedPassword = nil
        return parts.url ?? self
    }
}

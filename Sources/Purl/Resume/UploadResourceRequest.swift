import Foundation

extension URLRequest {
    /// A request to the upload resource that this request has created: without what describes its content.
    func toUploadResource(_ method: String, at url: URL) -> URLRequest {
        var request = self
        if let old = self.url {
            request = Redirect.request(request, movedFrom: old, to: url.withCredentials(of: old))
        }
        request.httpMethod = method
        request.httpBody = nil
        request.httpBodyStream = nil
        for field in Self.fieldsOfContent { request.setValue(nil, forHTTPHeaderField: field) }
        return request
    }

    private static let fieldsOfContent = [
        "Content-Type", "Content-Length", "Content-Encoding", "Content-Language", "Content-Disposition",
        "Content-Location", "Content-Digest", "Repr-Digest", "Want-Content-Digest", "Want-Repr-Digest", "Expect",
        "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "Transfer-Encoding",
    ]
}

extension URL {
    /// The same with the user and the password of another URL, where that has the same origin.
    fileprivate func withCredentials(of other: URL) -> URL {
        guard isSameOrigin(as: other), let given = URLComponents(url: other, resolvingAgainstBaseURL: true),
            given.user != nil, var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
        else { return self }
        parts.percentEncodedUser = given.percentEncodedUser
        parts.percentEncodedPassword = given.percentEncodedPassword
        return parts.url ?? self
    }
}

import Foundation
internal import PurlHTTP

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
        request.removeFields(Self.fieldsOfContent)
        return request
    }

    private static let fieldsOfContent: [FieldName] = [
        .contentType, .contentLength, .contentEncoding, .contentLanguage, .contentDisposition, .contentLocation,
        "Content-Digest", "Repr-Digest", "Want-Content-Digest", "Want-Repr-Digest", .expect, .ifMatch, .ifNoneMatch,
        .ifModifiedSince, "If-Unmodified-Since", .transferEncoding,
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

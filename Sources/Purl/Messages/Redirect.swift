import Foundation
internal import PurlConnections
internal import PurlHTTP

/// What a 3xx response asks for (RFC 9110 §15.4).
enum Redirect {
    /// Why a redirect is not followed.
    enum Fault: Error {
        /// The location is not a URL.
        case toNowhere(String)
        /// From a host, or another socket, to a Unix-domain socket.
        case toLocalSocket(URL)
    }

    /// The request that follows `request` according to `head`; `nil` when the response is not a redirect that is
    /// followed by itself (300, 304, 305, or no `Location`).
    static func next(
        after request: URLRequest, at url: URL, response head: ResponseHead
    ) throws(Fault) -> URLRequest? {
        guard [301, 302, 303, 307, 308].contains(head.status),
            let location = head.fields.values(of: .location).first
        else { return nil }
        guard var target = resolve(location, against: url) else {
            throw .toNowhere(location)
        }
        if url.isWebSocketURL { target = target.webSocketForm }
        // A server of the network must not choose a socket of this machine: daemons trust every peer there.
        guard !leadsToLocalSocket(from: url, to: target) else { throw .toLocalSocket(target) }
        var next = self.request(request, movedFrom: url, to: target)
        changeMethod(of: &next, for: head.status)
        return next
    }

    /// The same request to another URL. Credentials stay behind when it is one of another origin.
    static func request(_ request: URLRequest, movedFrom url: URL, to target: URL) -> URLRequest {
        var next = request
        next.url = target
        if !url.isSameOrigin(as: target) { removeCredentials(from: &next) }
        // RFC 9110 §10.1.3: what was loaded securely is not named in the open.
        if Origin(url)?.isSecure == true, Origin(target)?.isSecure != true {
            next.setValue(nil, forHTTPHeaderField: "Referer")
        }
        // A Host of the user's own named the first server.
        next.setValue(nil, forHTTPHeaderField: "Host")
        return next
    }

    /// Removes what is never sent to another origin.
    static func removeCredentials(from request: inout URLRequest) {
        request.removeFields(credentialFields)
    }

    /// A protocol's redirect to another origin, without the credentials that it has copied from the request that it loads:
    /// these are the program's, or the session's. Its own stay.
    static func withoutCredentials(_ next: URLRequest, copiedFrom request: URLRequest) -> URLRequest {
        guard let url = request.url, let target = next.url, !url.isSameOrigin(as: target) else { return next }
        var kept = next
        kept.removeFields(
            credentialFields.filter {
                next.value(forHTTPHeaderField: $0.text) == request.value(forHTTPHeaderField: $0.text)
            })
        return kept
    }

    /// The upload resource that a `Location` names, without credentials: those of the current request count. `nil` for what
    /// could not be loaded, or may not be by a redirect.
    /// A secure server names a secure one, so that the rest is not sent in the open; a plain server a plain one, since there
    /// may be no TLS provider.
    static func uploadResource(_ location: String, from url: URL) -> URL? {
        guard let target = resolve(location, against: url), !leadsToLocalSocket(from: url, to: target),
            let origin = try? TargetURI(target).origin, !origin.isWebSocket, !origin.isStream,
            origin.isSecure == (Origin(url)?.isSecure == true)
        else { return nil }
        return target.withoutCredentials
    }

    /// The fields that are never sent to another origin. `Proxy-Authorization` is for the proxy, whatever the origin (RFC 9110
    /// §11.7.2), and no server receives it.
    private static let credentialFields: [FieldName] = [.authorization, .cookie]

    /// Whether a field of this name is never sent to another origin.
    static func isCredential(_ name: String) -> Bool {
        credentialFields.contains(FieldName(name))
    }

    private static func leadsToLocalSocket(from url: URL, to target: URL) -> Bool {
        target.scheme?.lowercased() == Origin.localScheme && !url.isSameOrigin(as: target)
    }

    /// A fragment is inherited when the location has none (RFC 9110 §10.2.2).
    private static func resolve(_ location: String, against url: URL) -> URL? {
        guard !location.isEmpty, var target = URL(string: location, relativeTo: url)?.absoluteURL else { return nil }
        if target.fragment == nil, let fragment = url.fragment {
            target = URL(string: "\(target.absoluteString)#\(fragment)") ?? target
        }
        let hasHost = target.host(percentEncoded: false)?.isEmpty == false
        return hasHost || !["http", "https"].contains(target.scheme?.lowercased()) ? target : nil
    }

    /// An upload task's body is not part of its request. It goes along until a request has one of its own, or has become
    /// a GET.
    static func replacesBody(of request: URLRequest, by next: URLRequest) -> Bool {
        let becameGet = next.method == .get && request.method != .get
        return becameGet || next.httpBody != nil || next.httpBodyStream != nil
    }

    private static func changeMethod(of request: inout URLRequest, for status: Int) {
        let method = request.method
        let becomesGet =
            switch status {
            // RFC 9110 §15.4.2, §15.4.3: after 301 or 302 a POST becomes a GET, as in every client.
            case 301, 302: method == .post
            case 303: method != .head && method != .get
            default: false
            }
        guard becomesGet else { return }
        request.httpMethod = "GET"
        // Neither data nor a stream.
        request.httpBody = nil
        request.removeFields(fieldsOfContent)
    }

    /// The fields that describe content (RFC 9110 §15.4; RFC 9530), which a request without any does not have.
    private static let fieldsOfContent: [FieldName] = [
        .contentType, .contentLength, .contentEncoding, .contentLanguage, .contentLocation, .contentRange,
        .contentDisposition, .transferEncoding, .lastModified, FieldName("Content-Digest"), FieldName("Repr-Digest"),
        FieldName("Digest"), FieldName("Content-MD5"),
    ]
}

extension URL {
    fileprivate var isWebSocketURL: Bool { ["ws", "wss"].contains(scheme?.lowercased()) }

    /// The URL of a WebSocket server that is given as that of an HTTP server; any other URL as it is.
    var webSocketForm: URL {
        let scheme: String? =
            switch self.scheme?.lowercased() {
            case "http": "ws"
            case "https": "wss"
            default: nil
            }
        guard let scheme, var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return self }
        parts.scheme = scheme
        return parts.url ?? self
    }
}

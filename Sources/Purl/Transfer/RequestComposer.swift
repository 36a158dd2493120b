import Foundation
internal import PurlHTTP

/// Turns a `URLRequest` into the head that goes over the wire.
enum RequestComposer {
    /// What this client calls itself.
    static let userAgent = "Purl/1.0"

    /// Fields the client decides by itself: what the user says of them would contradict the message that is sent.
    private static let reserved: Set<FieldName> = [.contentLength, .transferEncoding, .te, .trailer]

    /// - Parameters:
    ///   - throughProxy: It goes to a proxy, which is told the whole URL, and what the user has to say to it.
    ///   - framing: How the end of the request's body is told: `none`, a length, or chunks.
    ///   - additional: The session's fields, for those the request does not set.
    ///   - cookies: What the cookie storage has for the request.
    ///   - rest: Where a resumed transfer goes on.
    ///   - wantsPlainBytes: The body goes to a file that may have to be resumed: no content coding then.
    ///   - mayCarryCredentials: False once a redirect has left the first origin.
    ///   - mayUpgrade: Somebody could speak the other protocol that the request's `Upgrade` field asks for.
    static func head(
        for request: URLRequest,
        at target: RequestTarget,
        throughProxy: Bool,
        framing: BodyFraming,
        additional: [String: String],
        cookies: String?,
        rest: ResumePoint?,
        decidesRange: Bool,
        wantsPlainBytes: Bool,
        mayCarryCredentials: Bool,
        mayUpgrade: Bool
    ) -> RequestHead {
        var fields = HeaderFields()
        fields.reserve(bytes: 384, lines: 12)
        // RFC 9110 §10.1.1: without content a request expects nothing.
        let hasContent = framing != .none && framing != .length(0)
        fields.append(.host, request.value(forHTTPHeaderField: "Host") ?? target.hostField)
        for (name, value) in request.headerLines {
            let name = FieldName(name)
            guard name != .host, !reserved.contains(name) else { continue }
            if !throughProxy, name == .proxyAuthorization { continue }
            if !mayUpgrade, name == .upgrade { continue }
            if decidesRange, name == .range || name == .ifRange { continue }
            if !hasContent, name == .expect { continue }
            fields.append(name, value)
        }
        // Before the session's own fields, which stand back when there are cookies to send.
        if let cookies { appendDefault(.cookie, cookies, to: &fields) }
        for (name, value) in additional.sorted(by: { $0.key < $1.key }) {
            guard mayCarryCredentials || !Redirect.isCredential(name) else { continue }
            if !throughProxy, FieldName(name) == .proxyAuthorization { continue }
            if !hasContent, FieldName(name) == .expect { continue }
            if FieldName(name) == .upgrade { continue }
            if !reserved.contains(FieldName(name)) { appendDefault(FieldName(name), value, to: &fields) }
        }
        // RFC 9110 §7.8: the field is for the next hop only, which has to be told.
        if mayUpgrade, fields.contains(.upgrade), !fields.hasToken("upgrade", in: .connection) {
            fields.append(.connection, "upgrade")
        }
        if let rest {
            fields.append(.range, "bytes=\(rest.offset)-")
            fields.append(.ifRange, rest.validator)
        }
        appendDefault(.accept, "*/*", to: &fields)
        // A part of a coded body cannot be decoded by itself.
        let isPlain = wantsPlainBytes || fields.contains(.range)
        appendDefault(.acceptEncoding, isPlain ? "identity" : ContentDecoder.acceptEncoding, to: &fields)
        appendDefault(.userAgent, userAgent, to: &fields)
        let method = request.httpMethod ?? "GET"
        if request.httpBody != nil, framing != .none {
            appendDefault(.contentType, "application/x-www-form-urlencoded", to: &fields)
        } else if method == "OPTIONS", hasContent {
            // RFC 9110 §9.3.7: here content has to have a type, if only one that says nothing.
            appendDefault(.contentType, "application/octet-stream", to: &fields)
        }
        switch framing {
        case .length(let length):
            fields.append(.contentLength, String(length))
        case .chunked:
            fields.append(.transferEncoding, "chunked")
        case .none, .untilClose:
            // RFC 9110 §8.6: a method that anticipates content says so when there is none.
            if ["POST", "PUT", "PATCH"].contains(method) { fields.append(.contentLength, "0") }
        }
        return RequestHead(
            method: method, target: throughProxy ? target.absoluteForm : target.originForm, fields: fields)
    }

    /// Why a URL cannot be asked with this, if it cannot.
    static func fault(in head: RequestHead, _ framing: BodyFraming) -> EncodeError? {
        switch head.method {
        case "CONNECT": .tunnel
        case "TRACE" where framing != .none && framing != .length(0): .contentOfTrace
        default: nil
        }
    }

    private static func appendDefault(_ name: FieldName, _ value: String, to fields: inout HeaderFields) {
        if !fields.contains(name) { fields.append(name, value) }
    }
}

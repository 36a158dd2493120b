import Foundation
internal import PurlConnections
internal import PurlHTTP

/// Turns a `URLRequest` into the head that goes over the wire: one rule, without I/O.
struct RequestComposer {
    /// Fields the client decides by itself: a value of the user's could contradict the message that is sent.
    private static let reserved: Set<FieldName> = [.contentLength, .transferEncoding, .te, .trailer]

    var request: URLRequest
    /// The request goes to a proxy, which receives the whole URL, and the fields that are meant for it.
    var isForProxy = false
    /// The session's fields that may go with the request, for those it does not set.
    var additionalFields: [AdditionalFields.Field] = []
    /// The cookies that the storage has for the request.
    var cookies: String?
    /// What the body is kept in: a part that is there already is not requested, and a body that may have to be resumed is
    /// requested without a content coding.
    var storage = ResponseDecision.StorageState.none
    /// The delegate could speak the other protocol that the request's `Upgrade` field asks for.
    var mayUpgrade = false
    /// False once the server has refused to meet the request's expectation.
    var mayExpect = true

    /// - Parameter framing: How the end of the request's body is marked: `none`, a length, or chunks.
    func head(at target: TargetURI, framing: BodyFraming) -> RequestHead {
        var fields = HeaderFields()
        fields.reserve(bytes: 384, lines: 12)
        let hasContent = framing != .none && framing != .length(0)
        fields.append(.host, request.value(forHTTPHeaderField: "Host") ?? target.hostField)
        for (name, value) in request.headerLines {
            let name = FieldName(name)
            if !leavesOut(name, hasContent) { fields.append(name, value) }
        }
        // Before the session's own fields, which stand back when there are cookies to send.
        if let cookies { Self.appendDefault(.cookie, cookies, to: &fields) }
        for field in additionalFields where !leavesOut(field.name, hasContent) {
            Self.appendDefault(field.name, field.value, to: &fields)
        }
        // RFC 9110 §7.8: the field is for the next hop only, so `Connection` has to list it.
        if mayUpgrade, fields.contains(.upgrade), !fields.hasToken("upgrade", in: .connection) {
            fields.append(.connection, "upgrade")
        }
        if let point = storage.point {
            fields.append(.range, point.requestedRange)
            fields.append(point.conditionField, latin1: point.validator)
        }
        Self.appendDefault(.accept, "*/*", to: &fields)
        // A part of a coded body cannot be decoded by itself.
        let isPlain = storage.exists || fields.contains(.range)
        Self.appendDefault(.acceptEncoding, isPlain ? "identity" : ContentDecoder.acceptEncoding, to: &fields)
        Self.appendDefault(.userAgent, HeaderFields.standardUserAgent, to: &fields)
        let method = request.method
        if method == .post, request.httpBody != nil, hasContent {
            Self.appendDefault(.contentType, "application/x-www-form-urlencoded", to: &fields)
        } else if method == .options, hasContent {
            // RFC 9110 §9.3.7: here content has to have a type, if only the least specific one.
            Self.appendDefault(.contentType, "application/octet-stream", to: &fields)
        }
        switch framing {
        case .length(let length):
            fields.append(.contentLength, String(length))
        case .chunked:
            fields.append(.transferEncoding, "chunked")
        case .none, .untilClose:
            // RFC 9110 §8.6: where the method anticipates content, its absence is stated.
            if method.expectsContent { fields.append(.contentLength, "0") }
        }
        return RequestHead(
            method: method, target: isForProxy ? target.absoluteForm : target.originForm, fields: fields)
    }

    /// Whether a field that the program has set, in the request or for the session, is not for this message, or contradicts
    /// it.
    private func leavesOut(_ name: FieldName, _ hasContent: Bool) -> Bool {
        switch name {
        // There is one already.
        case .host: true
        case .proxyAuthorization: !isForProxy
        case .upgrade: !mayUpgrade
        // RFC 9110 §10.1.1: without content a request expects nothing.
        case .expect: !hasContent || !mayExpect
        case .range, .ifRange: storage.isOpen
        default: name == storage.point?.conditionField || Self.reserved.contains(name)
        }
    }

    /// The request as a `URLProtocol` receives it: as it would be sent, with its body.
    func requestForProtocols(with body: OutgoingBody) -> URLRequest {
        var shown = request
        switch body {
        case .none: break
        case .data(let data): shown.httpBody = data
        case .file(let file): shown.httpBodyStream = InputStream(fileAtPath: file.path)
        case .stream(let stream, _): shown.httpBodyStream = stream.stream
        case .sequence(let sequence, _): shown.httpBodyStream = SequenceStream(sequence)
        }
        for field in additionalFields where shown.value(forHTTPHeaderField: field.name.text) == nil {
            shown.setValue(field.value, forHTTPHeaderField: field.name.text)
        }
        if storage.isOpen {
            shown.setValue(storage.point?.requestedRange, forHTTPHeaderField: "Range")
            shown.setValue(nil, forHTTPHeaderField: "If-Range")
            if let point = storage.point {
                shown.setValue(point.validator.fieldText, forHTTPHeaderField: point.conditionField.text)
            }
        }
        return shown
    }

    /// Why a head cannot be sent, if it cannot.
    static func fault(in head: RequestHead, _ framing: BodyFraming) -> EncodeError? {
        switch head.method {
        case .connect: .tunnel
        case .trace where framing != .none && framing != .length(0): .contentOfTrace
        default: nil
        }
    }

    private static func appendDefault(_ name: FieldName, _ value: String, to fields: inout HeaderFields) {
        if !fields.contains(name) { fields.append(name, value) }
    }
}

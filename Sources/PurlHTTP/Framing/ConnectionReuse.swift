/// Whether a connection may carry another exchange after this one (RFC 9112 §9.3).
package enum ConnectionReuse {
    /// Decides for the client. `requestFields` are those of the request that the response answers.
    package static func isAllowed(
        after response: ResponseHead, framing: BodyFraming, requestFields: HeaderFields
    ) -> Bool {
        // The end of the connection is the end of the body.
        guard framing != .untilClose else { return false }
        // After 101 the connection carries another protocol.
        guard response.status != 101 else { return false }
        guard !requestFields.hasToken("close", in: .connection) else { return false }
        return isPersistent(response.version, response.fields)
    }

    /// Decides for the server.
    package static func isAllowed(after request: RequestHead) -> Bool {
        isPersistent(request.version, request.fields)
    }

    /// For how many seconds the server keeps an idle connection: `Keep-Alive: timeout=N`.
    package static func idleTimeout(_ response: ResponseHead) -> Int? {
        guard response.fields.contains(.keepAlive) else { return nil }
        for element in response.fields.listElements(of: .keepAlive) {
            let parts = element.utf8.split(separator: .equals, maxSplits: 1)
            guard parts.count == 2, let name = String(parts[0].trimmingBlanks()),
                name.equalsIgnoringCase("timeout")
            else { continue }
            return Int64(digits: parts[1].trimmingBlanks()).flatMap(Int.init(exactly:))
        }
        return nil
    }

    private static func isPersistent(_ version: HTTPVersion, _ fields: HeaderFields) -> Bool {
        // `close` takes precedence.
        if fields.hasToken("close", in: .connection) { return false }
        // HTTP/1.0 closes unless both sides ask to persist; HTTP/1.1 persists unless one side asks to close.
        return version >= .http1_1 || fields.hasToken("keep-alive", in: .connection)
    }
}

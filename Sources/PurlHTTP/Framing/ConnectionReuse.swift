/// Whether a connection may carry another exchange after this one (RFC 9112 §9.3), the one place that decides.
package enum ConnectionReuse {
    /// The client's side. `requestFields` are those of the request that was answered.
    package static func isAllowed(
        after response: ResponseHead, framing: BodyFraming, requestFields: HeaderFields
    ) -> Bool {
        // A body that ends with the connection takes the connection with it.
        guard framing != .untilClose else { return false }
        // After 101 the connection speaks another protocol.
        guard response.status != 101 else { return false }
        guard !requestFields.hasToken("close", in: .connection) else { return false }
        return isPersistent(response.version, response.fields)
    }

    /// The server's side.
    package static func isAllowed(after request: RequestHead) -> Bool {
        isPersistent(request.version, request.fields)
    }

    /// How many seconds the server says it keeps an idle connection: `Keep-Alive: timeout=N`.
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
        // `close` wins over everything else.
        if fields.hasToken("close", in: .connection) { return false }
        // HTTP/1.0 closes unless both want to go on; 1.1 goes on unless somebody wants to close.
        return version >= .http1_1 || fields.hasToken("keep-alive", in: .connection)
    }
}

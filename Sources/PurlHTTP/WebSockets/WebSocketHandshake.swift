/// The opening handshake (RFC 6455 §4): a client's request, and the check of the server's response.
package struct WebSocketHandshake: Sendable {
    /// What both sides have agreed on.
    package struct Agreement: Sendable, Hashable {
        /// The subprotocol the server has chosen.
        package var subprotocol: String?
        package var compression: PermessageDeflate?

        package init(subprotocol: String? = nil, compression: PermessageDeflate? = nil) {
            self.subprotocol = subprotocol
            self.compression = compression
        }
    }

    private static let version = "13"

    /// `Sec-WebSocket-Key`.
    package let key: String
    private let protocols: [String]
    private let offers: [PermessageDeflateOffer]

    /// Adds the handshake to a request.
    ///
    /// - Parameters:
    ///   - nonce: 16 random bytes, new for each request (§4.1 item 7).
    ///   - head: The request's head; gets the fields of the handshake. Its `Sec-WebSocket-Protocol` lists the
    ///     subprotocols that the server may choose from. The user's own `Sec-WebSocket-Extensions` is left as it is; an
    ///     empty one means that no extension is offered.
    package init(nonce: [UInt8], addingTo head: inout RequestHead) {
        key = Base64.encode(nonce)
        var fields = head.fields
        fields[.upgrade] = "websocket"
        fields[.connection] = "Upgrade"
        fields[.secWebSocketKey] = key
        fields[.secWebSocketVersion] = WebSocketHandshake.version
        if !fields.contains(.secWebSocketExtensions) {
            fields[.secWebSocketExtensions] = PermessageDeflateOffer.standard.description
        } else if fields.listElements(of: .secWebSocketExtensions).isEmpty {
            fields.removeAll(.secWebSocketExtensions)
        }
        protocols = fields.listElements(of: .secWebSocketProtocol)
        offers = (WebSocketExtension.all(in: fields) ?? []).compactMap { PermessageDeflateOffer($0) }
        head.fields = fields
    }

    /// Checks a response with the status 101 by the rules of §4.1.
    package func check(_ response: ResponseHead) throws(WebSocketHandshakeError) -> Agreement {
        let fields = response.fields
        guard fields.values(of: .upgrade).joined(separator: ", ").equalsIgnoringCase("websocket") else {
            throw .upgradeMissing
        }
        guard fields.hasToken("upgrade", in: .connection) else { throw .connectionMissing }
        guard fields.values(of: .secWebSocketAccept) == [WebSocketHandshake.accept(key)] else { throw .wrongAccept }
        return Agreement(subprotocol: try subprotocol(fields), compression: try compression(fields))
    }

    /// `Sec-WebSocket-Accept` for a key (§4.2.2 item 5.4).
    package static func accept(_ key: String) -> String {
        var digest = SHA1()
        digest.update(RawSpan(_elements: Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8).span))
        return Base64.encode(digest.finalize())
    }

    private func subprotocol(_ fields: HeaderFields) throws(WebSocketHandshakeError) -> String? {
        let chosen = fields.values(of: .secWebSocketProtocol)
        guard let first = chosen.first else { return nil }
        guard chosen.count == 1, protocols.contains(first) else {
            throw .unrequestedProtocol(chosen.joined(separator: ", "))
        }
        return first
    }

    private func compression(_ fields: HeaderFields) throws(WebSocketHandshakeError) -> PermessageDeflate? {
        guard let accepted = WebSocketExtension.all(in: fields) else {
            throw .invalidExtension(fields[.secWebSocketExtensions] ?? "")
        }
        guard let response = accepted.first else { return nil }
        guard accepted.count == 1, response.name == PermessageDeflate.name, !offers.isEmpty else {
            throw .unofferedExtension(accepted.map { $0.name }.joined(separator: ", "))
        }
        guard let agreed = offers.lazy.compactMap({ $0.agreement(with: response) }).first else {
            throw .invalidExtension(fields[.secWebSocketExtensions] ?? "")
        }
        return agreed
    }
}

// MARK: - The server's side

extension WebSocketHandshake {
    /// Checks a client's request (§4.2.1) and makes the response to it (§4.2.2).
    ///
    /// - Parameters:
    ///   - request: The client's request.
    ///   - protocols: The subprotocols that the server supports, the preferred one first.
    ///   - preferences: The compression that the server prefers; nil: none.
    package static func response(
        to request: RequestHead, protocols: [String] = [], compression preferences: PermessageDeflate? = nil
    ) throws(WebSocketHandshakeError) -> (head: ResponseHead, agreement: Agreement) {
        let fields = request.fields
        guard request.method == .get, request.version >= .http1_1 else { throw .notGET }
        guard fields.hasToken("websocket", in: .upgrade) else { throw .upgradeMissing }
        guard fields.hasToken("upgrade", in: .connection) else { throw .connectionMissing }
        guard fields[.secWebSocketVersion] == version else { throw .wrongVersion }
        guard let key = fields[.secWebSocketKey], Base64.decode(Array(key.utf8))?.count == 16 else {
            throw .wrongKey
        }
        var agreement = Agreement()
        var head = ResponseHead(
            status: 101,
            fields: [.upgrade: "websocket", .connection: "Upgrade", .secWebSocketAccept: accept(key)])
        let offered = fields.listElements(of: .secWebSocketProtocol)
        if let chosen = protocols.first(where: { offered.contains($0) }) {
            agreement.subprotocol = chosen
            head.fields.append(.secWebSocketProtocol, chosen)
        }
        let offers = (WebSocketExtension.all(in: fields) ?? []).lazy.compactMap { PermessageDeflateOffer($0) }
        if let preferences, let offer = offers.first {
            let (agreed, response) = offer.accept(preferences)
            agreement.compression = agreed
            head.fields.append(.secWebSocketExtensions, response)
        }
        return (head, agreement)
    }
}

/// Why a request or a response is not a valid WebSocket handshake (RFC 6455 §4.1, §4.2).
package enum WebSocketHandshakeError: Error, Hashable, Sendable {
    case notGET
    case upgradeMissing
    case connectionMissing
    case wrongVersion
    case wrongKey
    case wrongAccept
    /// A subprotocol that was not requested, or several.
    case unrequestedProtocol(String)
    /// Extensions that were not offered, or one twice.
    case unofferedExtension(String)
    /// Parameters that were not offered, or do not exist.
    case invalidExtension(String)
}

extension WebSocketHandshakeError: CustomStringConvertible {
    /// One sentence for people.
    package var description: String {
        switch self {
        case .notGET: "The request is not an HTTP/1.1 GET."
        case .upgradeMissing: "“Upgrade” is not “websocket”."
        case .connectionMissing: "“Connection” does not contain “upgrade”."
        case .wrongVersion: "“Sec-WebSocket-Version” is not 13."
        case .wrongKey: "“Sec-WebSocket-Key” is not 16 bytes in base64."
        case .wrongAccept: "“Sec-WebSocket-Accept” is missing or does not belong to the key."
        case .unrequestedProtocol(let name): "The subprotocol “\(name)” was not requested."
        case .unofferedExtension(let name): "The extension “\(name)” was not offered."
        case .invalidExtension(let text): "“\(text)” does not match the extensions that were offered."
        }
    }
}

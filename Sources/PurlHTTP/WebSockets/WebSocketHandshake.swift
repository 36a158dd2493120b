/// The opening handshake (RFC 6455 §4): what a client asks, and whether the answer is one to it.
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

    /// - Parameters:
    ///   - nonce: 16 random bytes, new for each request (§4.1 item 7).
    ///   - head: The request's head; gets the fields of the handshake. Its `Sec-WebSocket-Protocol` says between which
    ///     subprotocols a server may choose. The user's own `Sec-WebSocket-Extensions` is left as it is, and an empty one
    ///     says that nothing is to be offered.
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

    /// The checks of §4.1 on a response with the status 101.
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
            throw .unaskedProtocol(chosen.joined(separator: ", "))
        }
        return first
    }

    private func compression(_ fields: HeaderFields) throws(WebSocketHandshakeError) -> PermessageDeflate? {
        guard let answers = WebSocketExtension.all(in: fields) else {
            throw .badExtension(fields[.secWebSocketExtensions] ?? "")
        }
        guard let answer = answers.first else { return nil }
        guard answers.count == 1, answer.name == PermessageDeflate.name, !offers.isEmpty else {
            throw .unaskedExtension(answers.map(\.name).joined(separator: ", "))
        }
        guard let agreed = offers.lazy.compactMap({ $0.agreement(answeredBy: answer) }).first else {
            throw .badExtension(fields[.secWebSocketExtensions] ?? "")
        }
        return agreed
    }
}

// MARK: - The server's side

extension WebSocketHandshake {
    /// Judges a client's request (§4.2.1) and answers it (§4.2.2).
    ///
    /// - Parameters:
    ///   - protocols: Those the server speaks, the best first.
    ///   - wishes: What the server wants of compression; nil: none.
    package static func answer(
        _ request: RequestHead, protocols: [String] = [], compression wishes: PermessageDeflate? = nil
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
        if let wishes, let offer = offers.first {
            let (agreed, answer) = offer.accept(wishes)
            agreement.compression = agreed
            head.fields.append(.secWebSocketExtensions, answer)
        }
        return (head, agreement)
    }
}

import PurlHTTP

extension FuzzTarget {
    /// A connection's frames after the handshake; the first bytes choose which end reads them and what was agreed on.
    static let webSocketFrames = FuzzTarget("web-socket-frames") { bytes in
        var choices = Choices(bytes)
        let role: WebSocketRole = choices.flag() ? .server : .client
        let compression = choices.flag() ? PermessageDeflate(&choices) : nil
        let limit = choices.one(of: [1 << 20, 1 << 14, 125, 7, 0])
        let rest = choices.remainder()

        func read(_ pieces: [[UInt8]]) -> Frames {
            Frames(pieces, WebSocketReader(role: role, maximumMessageSize: limit, compression: compression))
        }
        let whole = read([rest])
        for pieces in Pieces.ways(of: rest) {
            let other = read(pieces)
            requireSame(other.events, whole.events, "any split gives the same messages")
            requireSame(other.error == nil, whole.error == nil, "any split gives an error, or none")
            // How much is decompressed at once decides whether a message is too big or damaged first.
            if compression == nil { requireSame(other.error, whole.error, "any split gives the same error") }
        }
        for case .message(let message) in whole.events { require(message.count <= limit, "the limit holds") }
        for case .close(let close) in whole.events {
            requireSame(try? WebSocketClose(payload: close.payload), close, "a close frame can be sent back")
        }

        var writer = WebSocketWriter(role: role == .client ? .server : .client, compression: compression)
        var generator = Generator(seededBy: rest)
        var written: [UInt8] = []
        for event in whole.events { writer.write(event, makeKey: { generator.next32() }, into: &written) }
        requireSame(read([written]).events, whole.events, "written and read again it is the same")
    }

    /// The opening handshake, from both ends: a request's fields, what a server wishes, and an answer's fields.
    static let webSocketHandshakes = FuzzTarget("web-socket-handshakes") { bytes in
        var choices = Choices(bytes)
        var request = RequestHead(method: "GET", target: "/", fields: [.host: "example.com"])
        let wishes = choices.flag() ? PermessageDeflate(&choices) : nil
        request.fields.append(.secWebSocketProtocol, FieldText.value(choices.lineBytes()))
        if choices.flag() {
            request.fields.append(.secWebSocketExtensions, FieldText.value(choices.lineBytes()))
        }
        let asked = request.fields.listElements(of: .secWebSocketProtocol)
        let handshake = WebSocketHandshake(nonce: Array(repeating: 7, count: 16), addingTo: &request)

        var answer = ResponseHead(status: 101, fields: [.secWebSocketAccept: WebSocketHandshake.accept(handshake.key)])
        let names: [FieldName] = [
            .upgrade, .connection, .secWebSocketExtensions, .secWebSocketProtocol, .secWebSocketAccept,
        ]
        let protocols = choices.flag() ? Array(asked.suffix(2)) : ["chat"]
        while !choices.isEmpty, answer.fields.count < 20 {
            let name = choices.one(of: names)
            answer.fields.append(name, FieldText.value(choices.lineBytes()))
        }
        if let agreement = try? handshake.check(answer) {
            if let chosen = agreement.subprotocol { require(asked.contains(chosen), "a subprotocol was asked for") }
            if let agreed = agreement.compression { agreed.requireSound() }
        }

        do throws(WebSocketHandshakeError) {
            let (head, agreement) = try WebSocketHandshake.response(
                to: request, protocols: protocols, compression: wishes)
            agreement.compression?.requireSound()
            requireSame(try handshake.check(head), agreement, "both ends agree on the same")
        } catch {
            fail("a client's request and a server's answer to it are good: \(error)")
        }
    }
}

/// What a reader makes of its input.
private struct Frames {
    var events: [WebSocketReader.Event] = []
    var error: WebSocketError?

    init(_ pieces: [[UInt8]], _ reader: WebSocketReader) {
        var reader = reader
        do throws(WebSocketError) {
            for piece in pieces {
                var offset = 0
                while let event = try reader.next(piece.span.bytes, from: &offset) {
                    if case .message(.text(let bytes)) = event {
                        require(String(validating: bytes, as: UTF8.self) != nil, "a text is UTF-8")
                    }
                    events.append(event)
                }
                requireSame(offset, piece.count, "everything is taken")
            }
        } catch {
            self.error = error
        }
    }
}

extension WebSocketWriter {
    fileprivate mutating func write(
        _ event: WebSocketReader.Event, makeKey: () -> UInt32, into output: inout [UInt8]
    ) {
        switch event {
        case .message(.text(let bytes)): write(bytes, isText: true, makeKey, into: &output)
        case .message(.binary(let bytes)): write(bytes, isText: false, makeKey, into: &output)
        case .ping(let bytes): write(.ping, bytes, makeKey: makeKey, into: &output)
        case .pong(let bytes): write(.pong, bytes, makeKey: makeKey, into: &output)
        case .close(let close): write(.close, close.payload, makeKey: makeKey, into: &output)
        }
    }

    private mutating func write(_ bytes: [UInt8], isText: Bool, _ makeKey: () -> UInt32, into output: inout [UInt8]) {
        var position = 0
        while !write(bytes.span.bytes, isText: isText, from: &position, makeKey: makeKey, into: &output) {}
    }
}

extension PermessageDeflate {
    fileprivate init(_ choices: inout Choices) {
        let options = choices.byte()
        self.init(
            serverNoContextTakeover: options & 1 != 0, clientNoContextTakeover: options & 2 != 0,
            serverMaxWindowBits: 8 + choices.number(below: 8), clientMaxWindowBits: 8 + choices.number(below: 8))
    }

    fileprivate func requireSound() {
        require((8...15).contains(serverMaxWindowBits), "a server's window is one that there is")
        require((8...15).contains(clientMaxWindowBits), "a client's window is one that there is")
    }
}

extension Generator {
    fileprivate mutating func next32() -> UInt32 { UInt32(truncatingIfNeeded: next()) }
}

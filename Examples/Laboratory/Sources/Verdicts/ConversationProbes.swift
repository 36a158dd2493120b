import PurlHTTP

/// WebSockets, and a proxy's handshake.
enum ConversationProbes {
    static func frames(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var choices = Choices(bytes)
        let role: WebSocketRole = choices.flag() ? .server : .client
        let compression = choices.flag() ? compression(&choices) : nil
        let limit = choices.one(of: [1 << 20, 1 << 14, 125, 7, 0])
        let rest = choices.remainder()
        read([rest], WebSocketReader(role: role, maximumMessageSize: limit, compression: compression), &transcript)
        let pieces = rest.map { [$0] }
        read(pieces, WebSocketReader(role: role, maximumMessageSize: limit, compression: compression), &transcript)
    }

    private static func read(_ pieces: [[UInt8]], _ reader: WebSocketReader, _ transcript: inout Transcript) {
        var reader = reader
        do throws(WebSocketError) {
            for piece in pieces {
                var offset = 0
                while let event = try reader.next(piece.span.bytes, from: &offset) { write(event, to: &transcript) }
            }
        } catch {
            transcript.line("error", error.description, "\(error.closeCode)")
        }
        transcript.line("partial", reader.hasPartialMessage.word)
    }

    private static func write(_ event: WebSocketReader.Event, to transcript: inout Transcript) {
        switch event {
        case .message(.text(let bytes)): transcript.line("text", content: bytes)
        case .message(.binary(let bytes)): transcript.line("binary", content: bytes)
        case .ping(let bytes): transcript.line("ping", content: bytes)
        case .pong(let bytes): transcript.line("pong", content: bytes)
        case .close(let close): transcript.line("close", content: close.payload)
        }
    }

    static func handshake(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var choices = Choices(bytes)
        var request = RequestHead(method: "GET", target: "/", fields: [.host: "example.com"])
        let wishes = choices.flag() ? compression(&choices) : nil
        request.fields.append(.secWebSocketProtocol, choices.fieldValue())
        if choices.flag() { request.fields.append(.secWebSocketExtensions, choices.fieldValue()) }
        let asked = request.fields.listElements(of: .secWebSocketProtocol)
        let handshake = WebSocketHandshake(nonce: Array(repeating: 7, count: 16), addingTo: &request)
        var answer = ResponseHead(status: 101, fields: [.secWebSocketAccept: WebSocketHandshake.accept(handshake.key)])
        let names: [FieldName] = [
            .upgrade, .connection, .secWebSocketExtensions, .secWebSocketProtocol, .secWebSocketAccept,
        ]
        let protocols = choices.flag() ? Array(asked.suffix(2)) : ["chat"]
        while !choices.isEmpty, answer.fields.count < 20 {
            answer.fields.append(choices.one(of: names), choices.fieldValue())
        }
        do throws(WebSocketHandshakeError) {
            write(try handshake.check(answer), to: &transcript)
        } catch {
            transcript.line("error", error.description)
        }
        do throws(WebSocketHandshakeError) {
            let (head, agreement) = try WebSocketHandshake.response(
                to: request, protocols: protocols, compression: wishes)
            for field in head.fields { transcript.line("field", field.name, field.value) }
            write(agreement, to: &transcript)
        } catch {
            transcript.line("error", error.description)
        }
    }

    private static func write(_ agreement: WebSocketHandshake.Agreement, to transcript: inout Transcript) {
        transcript.line("protocol", agreement.subprotocol.word)
        guard let compression = agreement.compression else { return }
        transcript.line(
            "compression", "\(compression.serverMaxWindowBits)", "\(compression.clientMaxWindowBits)",
            compression.serverNoContextTakeover.word, compression.clientNoContextTakeover.word)
    }

    static func socks(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var choices = Choices(bytes)
        let destination: SOCKSHandshake.Destination =
            choices.flag() ? .name(choices.line()) : .address([UInt8](repeating: 7, count: choices.flag() ? 4 : 16))
        let user = choices.flag() ? choices.line() : nil
        let password = choices.flag() ? choices.line() : nil
        let rest = choices.remainder()
        var offset = 0
        do throws(SOCKSFailure) {
            var handshake = try SOCKSHandshake(to: destination, port: 80, user: user, password: password)
            transcript.line("sends", content: handshake.output)
            while !handshake.isDone, offset + handshake.needed <= rest.count {
                let reply = Array(rest[offset..<offset + handshake.needed])
                offset += reply.count
                handshake.clearOutput()
                try handshake.receive(reply)
                transcript.line("sends", content: handshake.output)
            }
            transcript.line("done", handshake.isDone.word, "\(handshake.needed)")
        } catch {
            transcript.line("error", error.description)
        }
    }

    private static func compression(_ choices: inout Choices) -> PermessageDeflate {
        let options = choices.byte()
        return PermessageDeflate(
            serverNoContextTakeover: options & 1 != 0, clientNoContextTakeover: options & 2 != 0,
            serverMaxWindowBits: 8 + choices.number(below: 8), clientMaxWindowBits: 8 + choices.number(below: 8))
    }
}

import Foundation
internal import PurlHTTP

/// One answer, worked out before its first byte is sent: what to write, from where, and what to do afterwards.
struct Answer {
    /// What is to be written, step by step.
    let script: AnswerScript
    /// Where the body's bytes come from.
    let content: ContentReader
    /// At most this many body bytes a second.
    var bytesPerSecond: Int?
    /// Whether the connection takes another request afterwards.
    let keepsConnection: Bool

    /// The answer of `reply` to `exchange`. A file that cannot be opened becomes a 404, a head that cannot be
    /// written a 500.
    init(_ reply: ResolvedReply, to exchange: Exchange) {
        do {
            switch reply.source {
            case .content(let content):
                try self.init(ContentReader(content), reply.traits, to: exchange)
            case .echo:
                try self.init(ContentReader(exchange.echo), reply.traits, to: exchange)
            case .raw(let pieces, let ending):
                self.init(pieces, then: ending, to: exchange)
            case .webSocket:
                self.init(failure: 400, "The request is not a WebSocket handshake.", to: exchange)
            case .stream:
                self.init(failure: 500, "The reply speaks no HTTP.", to: exchange)
            case .computed:
                self.init(failure: 500, "A handler returned too many handlers.", to: exchange)
            }
        } catch let error as EncodeError {
            self.init(failure: 500, "The reply cannot be written: \(error)", to: exchange)
        } catch {
            self.init(failure: 404, "The reply's file cannot be read: \(error.localizedDescription)", to: exchange)
        }
    }

    /// An answer that says what went wrong and closes the connection.
    init(failure status: Int, _ explanation: String, to exchange: Exchange?) {
        let content = ContentReader(Data((explanation + "\n").utf8))
        // Nothing in this head depends on anybody's input.
        let head =
            "HTTP/1.1 \(status) \(ResponseHead.standardReason(for: status))\r\nContent-Type: text/plain; charset=utf-8"
            + "\r\nContent-Length: \(content.length)\r\nConnection: close\r\n\r\n"
        let isHead = exchange?.head.method == .head
        script = AnswerScript(prelude: [.bytes([UInt8](head.utf8))], range: 0..<(isHead ? 0 : content.length))
        self.content = content
        keepsConnection = false
    }

    private init(_ pieces: [Data], then ending: Reply.RawEnding, to exchange: Exchange) {
        var steps = pieces.flatMap { [.bytes([UInt8]($0)), .turn] as [AnswerScript.Step] }
        if ending == .reset { steps.append(.mishap(.reset)) }
        script = AnswerScript(prelude: steps, range: 0..<0)
        content = ContentReader(Data())
        keepsConnection = ending == .keepOpen && exchange.bodyIsComplete
    }

    private init(_ content: ContentReader, _ traits: Traits, to exchange: Exchange) throws {
        let description = AnswerHead(traits, length: content.length, exchange: exchange)
        var prelude: [AnswerScript.Step] = []
        for interim in traits.interim {
            var bytes: [UInt8] = []
            try ResponseHead(status: interim.status, fields: interim.fields).encode(into: &bytes)
            prelude.append(.bytes(bytes))
        }
        var bytes: [UInt8] = []
        try description.head.encode(into: &bytes)

        let mishaps = traits.mishaps.map(\.value)
        prelude += bytes.split(by: mishaps)
        script = try AnswerScript(
            prelude: prelude, range: description.body, chunking: description.chunking, mishaps: mishaps,
            pieceSize: traits.pieceSize)
        self.content = content
        bytesPerSecond = traits.bytesPerSecond
        keepsConnection = description.keepsConnection
    }
}

extension [UInt8] {
    /// These bytes of a head, with the mishaps that happen in it.
    fileprivate func split(by mishaps: [PlannedMishap]) -> [AnswerScript.Step] {
        let breaks = mishaps.compactMap { planned in offset(of: planned.phase).map { ($0, planned.mishap) } }
        var steps: [AnswerScript.Step] = []
        var start = 0
        for (offset, mishap) in breaks.sorted(by: { $0.0 < $1.0 }) {
            if offset > start { steps.append(.bytes([UInt8](self[start..<offset]))) }
            steps.append(.mishap(mishap))
            start = offset
        }
        return steps + [.bytes([UInt8](self[start...]))]
    }

    /// Where in a head of these bytes the phase is; nil when it is elsewhere, or nowhere.
    private func offset(of phase: Phase) -> Int? {
        let firstLine = firstIndex(of: UInt8(ascii: "\n")) ?? count
        switch phase {
        case .beforeHead: return 0
        case .statusLine: return firstLine / 2
        case .field:
            // After the fields comes an empty line.
            guard let end = self[(firstLine + 1)...].firstIndex(of: UInt8(ascii: "\n")), end > firstLine + 2 else {
                return nil
            }
            return (firstLine + 1 + end) / 2
        case .midHead: return count / 2
        case .afterBodyBytes, .midBody, .chunkSize, .chunk, .trailers: return nil
        }
    }
}

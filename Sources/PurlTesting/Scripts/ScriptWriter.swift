import Foundation
internal import PurlHTTP

/// Writes as a ``ServerScript`` what a server has replied, request by request, so that `purl serve` replies the same.
enum ScriptWriter {
    /// The route of a path and a method, and the directives of each of its responses, in their order.
    private struct Route {
        let path: String
        let method: String
        var responses: [[String]] = []
    }

    /// The script.
    ///
    /// - Parameters:
    ///   - title: What it is about, on one line.
    ///   - requests: All that the server has received, in their order.
    ///   - replies: The replies to them, by the requests' numbers.
    /// - Returns: `nil` without requests, or where scripts have no words for one of the replies.
    static func script(
        _ title: String, _ requests: [ReceivedRequest], _ replies: [Int: ResolvedReply]
    ) -> String? {
        var routes: [Route] = []
        // A HEAD is no request of its own for a script.
        for request in requests where request.method != RequestMethod.head.name {
            guard request.path.hasPrefix("/"), !request.path.contains(where: \.isWhitespace),
                let reply = replies[request.number], var directives = reply.directives
            else { return nil }
            if let end = Self.end(of: request) { directives.append(end) }
            let place = routes.firstIndex { $0.path == request.path && $0.method == request.method }
            if place == nil { routes.append(Route(path: request.path, method: request.method)) }
            routes[place ?? routes.count - 1].responses.append(directives)
        }
        guard !routes.isEmpty else { return nil }
        return routes.reduce("title \(title)\n") { $0 + "\n" + text(of: $1) }
    }

    /// How the server has broken off a response by being stopped.
    private static func end(of request: ReceivedRequest) -> String? {
        guard request.ending == .serverStopped else { return nil }
        return request.status == nil ? "cut before head" : "cut after \(request.bytesSent)"
    }

    private static func text(of route: Route) -> String {
        var lines = ["route \(route.path)" + (route.method == RequestMethod.get.name ? "" : " \(route.method)")]
        let responses = route.responses
        var first = 0
        while first < responses.count {
            let last = responses[first...].firstIndex { $0 != responses[first] } ?? responses.count
            let selector =
                switch (first, last) {
                case (0, responses.count): ""
                case (_, responses.count): "\(first + 1)-: "
                case (_, first + 1): "\(first + 1): "
                default: "\(first + 1)-\(last): "
                }
            lines += responses[first].map { "  \(selector)\($0)" }
            first = last
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Bytes as a `text` or `raw` directive has them.
    fileprivate static func escaped(_ data: some Sequence<UInt8>) -> String {
        data.reduce(into: "") { text, byte in
            switch byte {
            case UInt8(ascii: "\n"): text += "\\n"
            case UInt8(ascii: "\r"): text += "\\r"
            case UInt8(ascii: "\t"): text += "\\t"
            case UInt8(ascii: "\\"): text += "\\\\"
            // A blank at an end of the line would be lost.
            case 0x21...0x7E: text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
    }
}

extension ResolvedReply {
    /// The directives that make this reply; `nil` where scripts have no words for it.
    fileprivate var directives: [String]? {
        guard let content = source.directives else { return nil }
        if case .raw = source { return content }
        guard let head = traits.headDirectives, let delivery = traits.deliveryDirectives else { return nil }
        var faults: [String] = []
        for planned in traits.faults.map(\.value) {
            guard let fault = planned.fault.directive, let place = planned.phase.directive else { return nil }
            faults.append("\(fault) \(place)")
        }
        return content + head + traits.rangeDirectives + delivery + faults
    }
}

extension ResolvedReply.Source {
    fileprivate var directives: [String]? {
        switch self {
        case .content(.generated(let content)): ["generated \(content.size) seed \(content.seed)"]
        case .content(.data(let data)): data.isEmpty ? [] : ["text \(ScriptWriter.escaped(data))"]
        case .raw(let pieces, .close): ["raw \(ScriptWriter.escaped(pieces.joined()))"]
        // A file is another one elsewhere, and what a handler returns has taken the place of `computed`.
        case .content(.file), .raw(_, .reset), .raw(_, .keepOpen), .echo, .webSocket, .stream, .upload, .computed: nil
        }
    }
}

extension ReplyTraits {
    fileprivate var headDirectives: [String]? {
        guard !respondsBeforeBody, sendsContinue, bodyGate == nil, interim.allSatisfy({ $0.fields.isEmpty }) else {
            return nil
        }
        var lines = interim.map { "interim \($0.status)" }
        if status != 200 || reason != nil {
            lines.append(["status \(status)", reason].compactMap(\.self).joined(separator: " "))
        }
        if let contentType { lines.append("field Content-Type: \(contentType)") }
        lines += fields.map { "field \($0.name): \($0.value)" }
        switch entityTag {
        case .fixed(let tag): lines.append("etag \(tag)")
        // Resolved, it is no other.
        case .none, .each, .fresh: break
        }
        if let lastModified { lines.append("modified \(lastModified)") }
        if !honoursConditions { lines.append("conditions ignored") }
        for (name, value) in replacements { lines.append(value.map { "set \(name): \($0)" } ?? "remove \(name)") }
        // Each is one line.
        return lines.contains { $0.contains(where: \.isNewline) } ? nil : lines
    }

    fileprivate var rangeDirectives: [String] {
        var lines: [String] = []
        switch ifRange {
        case .evaluated: break
        case .ignored: lines.append("if-range ignored")
        case .neverTrue: lines.append("if-range refused")
        }
        switch ranges?.value {
        case nil: break
        case .ignored: lines.append("ranges ignored")
        case .refused: lines.append("ranges refused")
        case .refusedWithoutLength: lines.append("ranges refused without length")
        case .multipart: lines.append("ranges multipart")
        }
        switch rangeFault?.value {
        case nil: break
        case .startShifted(let distance): lines.append("range shifted \(distance)")
        case .shortened(let count): lines.append("range shortened \(count)")
        case .lengthened(let count): lines.append("range lengthened \(count)")
        }
        if partialStatus != 206 { lines.append("range status \(partialStatus)") }
        switch contentRangeFault?.value {
        case nil: break
        case .shifted(let distance): lines.append("content-range shifted \(distance)")
        case .total(let total): lines.append("content-range total \(total.map { "\($0)" } ?? "*")")
        case .missing: lines.append("content-range missing")
        case .literal(let text): lines.append("content-range \(text)")
        }
        if acceptRanges != "bytes" { lines.append("accept-ranges \(acceptRanges ?? "missing")") }
        return lines
    }

    fileprivate var deliveryDirectives: [String]? {
        var lines: [String] = []
        switch delivery {
        case .length: break
        case .chunked(let chunking):
            guard chunking.chunkExtension == nil, chunking.trailers.isEmpty else { return nil }
            lines.append("chunked \(chunking.size)")
        case .untilClose: lines.append("until-close")
        }
        switch lengthFault?.value {
        case nil: break
        case .off(let difference): lines.append("length \(difference < 0 ? "" : "+")\(difference)")
        case .exactly(let length): lines.append("length \(length)")
        }
        if let bytesPerSecond { lines.append("rate \(bytesPerSecond)") }
        if let pieceSize { lines.append("pieces \(pieceSize)") }
        switch persistence {
        case .kept: break
        case .closedAsAnnounced: lines.append("close")
        case .closedUnannounced: lines += ["close", "remove Connection"]
        }
        return lines
    }
}

extension Reply.Fault {
    fileprivate var directive: String? {
        switch self {
        case .cut: "cut"
        case .reset: "reset"
        case .stall: "stall"
        case .pause(let duration): "pause \(Int(duration / .milliseconds(1)))ms"
        case .record: nil
        }
    }
}

extension Reply.Phase {
    fileprivate var directive: String? {
        switch self {
        case .beforeHead: "before head"
        case .statusLine: "in status line"
        case .field: "in field"
        case .midHead: "in head"
        case .afterBodyBytes(let count): "after \(count)"
        case .midBody: "in middle"
        case .bodyShare(let share): share % 10 == 0 ? "after \(share / 10)%" : nil
        case .beforeLastBytes(let count): "before-last \(count)"
        case .chunkSize: "in chunk size"
        case .chunk: "in chunk"
        case .trailers: "in trailers"
        }
    }
}

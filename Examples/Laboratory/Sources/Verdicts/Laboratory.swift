/// What `PurlHTTP` makes of bytes, as lines of text. The same source is compiled for the machine and for WebAssembly.
enum Laboratory {
    /// Reads `input` as `kind` says: `message` for the bytes of a response (see ``MessageVerdict``), or the name of a
    /// fuzzing target, which takes its input apart as that target does. Any other kind is read as a message.
    static func verdict(on input: [UInt8], as kind: String) -> [UInt8] {
        var transcript = Transcript()
        let probe = probes.first { $0.name == kind } ?? probes[0]
        if probe.name != "message" { transcript.line("input", probe.name, "\(input.count)") }
        probe.read(input, &transcript)
        return transcript.bytes
    }

    /// The kinds that have a reader of their own.
    private static let probes: [Probe] = [
        Probe(name: "message") { MessageVerdict.write($0, to: &$1) },
        Probe(name: "response-heads") { HeadProbes.responses($0, &$1) },
        Probe(name: "request-heads") { HeadProbes.requests($0, &$1) },
        Probe(name: "chunked-body") { BodyProbes.read($0, .chunked, &$1) },
        Probe(name: "chunk-sizes") { BodyProbes.chunkSizes($0, &$1) },
        Probe(name: "trailers") { BodyProbes.read(Array("0\r\n".utf8) + $0, .chunked, &$1) },
        Probe(name: "plain-body") { BodyProbes.plain($0, &$1) },
        Probe(name: "codings") { CodingProbes.decode($0, &$1) },
        Probe(name: "deflating") { CodingProbes.encode($0, &$1) },
        Probe(name: "field-values") { FieldProbes.values($0, &$1) },
        Probe(name: "field-lists") { FieldProbes.lists($0, &$1) },
        Probe(name: "dates") { FieldProbes.dates($0, &$1) },
        Probe(name: "challenges") { FieldProbes.challenges($0, &$1) },
        Probe(name: "cookies") { FieldProbes.cookies($0, &$1) },
        Probe(name: "file-names") { FieldProbes.fileNames($0, &$1) },
        Probe(name: "urls") { FieldProbes.urls($0, &$1) },
        Probe(name: "texts") { FieldProbes.texts($0, &$1) },
        Probe(name: "cache-rules") { RuleProbes.cache($0, &$1) },
        Probe(name: "resumability") { RuleProbes.resuming($0, &$1) },
        Probe(name: "upload-fields") { RuleProbes.uploadFields($0, &$1) },
        Probe(name: "upload-states") { RuleProbes.uploadStates($0, &$1) },
        Probe(name: "web-socket-frames") { ConversationProbes.frames($0, &$1) },
        Probe(name: "web-socket-handshakes") { ConversationProbes.handshake($0, &$1) },
        Probe(name: "socks-handshakes") { ConversationProbes.socks($0, &$1) },
    ]
}

/// A reader of one kind of input.
private struct Probe: Sendable {
    let name: String
    let read: @Sendable ([UInt8], inout Transcript) -> Void
}

/// Undoes the content codings of a body (RFC 9110 §8.4) that comes in pieces, in bounded memory whatever the ratio:
/// about 100 KiB for each coding, allocated with its first byte.
///
/// After an error the decoder cannot be used further.
package struct ContentDecoder: Sendable {
    /// The value of `Accept-Encoding` that names the supported codings.
    package static var acceptEncoding: String { "gzip, deflate" }

    /// The limit on the number of codings: each takes memory.
    private static let maximumCodings = 5
    /// How many bytes go from one coding to the next at a time.
    private static let linkSize = 16_384

    /// In the order in which they are undone: the last one applied first.
    private var stages: [CompressedStream] = []
    /// `links[i]`: the output of stage `i` that stage `i + 1` has not taken yet.
    private var links: [Link] = []
    /// Whether the last call stopped because of its limit. Then there may be more output even without more input.
    package private(set) var stoppedAtLimit = false

    private struct Link: Sendable {
        var bytes: [UInt8] = []
        var position = 0
    }

    /// A decoder for the elements of `Content-Encoding`, in their order. No element, and `identity`, leave the bytes as
    /// they are. nil when one of them is unknown or there are more than five.
    package init?(codings: [String]) {
        for coding in codings.reversed() {
            switch coding.asciiLowercased {
            // RFC 9110 §8.4.1.3: "x-gzip" is the same as "gzip".
            case "gzip", "x-gzip": stages.append(CompressedStream(.gzip))
            case "deflate": stages.append(CompressedStream(.deflate))
            case "identity", "": break
            default: return nil
            }
        }
        guard stages.count <= ContentDecoder.maximumCodings else { return nil }
        links = Array(repeating: Link(), count: max(0, stages.count - 1))
    }

    /// Whether the decoder passes bytes on unchanged.
    package var isIdentity: Bool { stages.isEmpty }

    /// Takes bytes of the coded body, appends up to `limit` bytes of the content, and returns how many bytes it took.
    /// The caller calls again with the rest as long as there is one or `stoppedAtLimit` is true.
    package mutating func decode(
        _ input: RawSpan, into output: inout [UInt8], limit: Int
    ) throws(DecodeError) -> Int {
        guard limit > 0 else {
            stoppedAtLimit = true
            return 0
        }
        let (sum, overflow) = output.count.addingReportingOverflow(limit)
        let goal = overflow ? Int.max : sum
        var position = 0
        if stages.isEmpty {
            position = min(limit, input.byteCount)
            output.append(Span(_bytes: input), 0..<position)
            stoppedAtLimit = position < input.byteCount
        } else {
            try run(stages.count - 1, input, &position, into: &output, upTo: goal)
            stoppedAtLimit = output.count >= goal
        }
        return position
    }

    /// Ends the body after all its bytes were taken and delivered. Throws when it stops before its end.
    package mutating func finish() throws(DecodeError) {
        for stage in stages.indices { try stages[stage].finish() }
        for link in links where link.position < link.bytes.count { throw .truncated }
    }

    /// Runs stage `index` and those before it until `output` has `goal` bytes or the input is used up.
    private mutating func run(
        _ index: Int, _ input: RawSpan, _ position: inout Int, into output: inout [UInt8], upTo goal: Int
    ) throws(DecodeError) {
        guard index > 0 else {
            return try stages[0].decode(input, from: &position, into: &output, upTo: goal)
        }
        var link = Link()
        swap(&link, &links[index - 1])
        while true {
            var taken = link.position
            try stages[index].decode(RawSpan(_elements: link.bytes.span), from: &taken, into: &output, upTo: goal)
            link.position = taken
            guard output.count < goal else { break }
            link.bytes.removeAll(keepingCapacity: true)
            link.position = 0
            try run(index - 1, input, &position, into: &link.bytes, upTo: ContentDecoder.linkSize)
            if link.bytes.isEmpty { break }
        }
        swap(&link, &links[index - 1])
    }
}

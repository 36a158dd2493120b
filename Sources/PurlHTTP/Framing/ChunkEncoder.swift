/// Writes the chunked transfer coding (RFC 9112 §7.1).
package enum ChunkEncoder {
    /// Appends one whole chunk: size, data and line end. Without data it appends nothing: an empty chunk would end the body.
    package static func appendChunk(_ data: RawSpan, to bytes: inout [UInt8]) {
        guard !data.isEmpty else { return }
        bytes.reserveCapacity(bytes.count + data.byteCount + 20)
        appendChunkHead(size: data.byteCount, to: &bytes)
        bytes.append(Span(_bytes: data), 0..<data.byteCount)
        bytes.appendLineEnd()
    }

    /// Appends the size line of a chunk whose data, and `CR LF` after it, the caller sends. Appends nothing for size 0.
    package static func appendChunkHead(size: Int, to bytes: inout [UInt8]) {
        guard size > 0 else { return }
        bytes.append(contentsOf: String(size, radix: 16).utf8)
        bytes.appendLineEnd()
    }

    /// Appends the last chunk, the trailers and the empty line. Throws, and appends nothing, when a trailer could
    /// break the message.
    package static func appendEnd(trailers: HeaderFields, to bytes: inout [UInt8]) throws(EncodeError) {
        try trailers.validate()
        bytes.append(0x30)
        bytes.appendLineEnd()
        trailers.encodeValidated(into: &bytes)
    }
}

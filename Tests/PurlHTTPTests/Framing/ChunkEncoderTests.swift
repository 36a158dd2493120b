import PurlHTTP
import Testing

@Suite("Encoding chunks (RFC 9112 §7.1)")
struct ChunkEncoderTests {
    @Test("Chunks, the last chunk and trailers are written byte for byte")
    func wholeBody() throws {
        var bytes: [UInt8] = []
        ChunkEncoder.appendChunk("hello".bytes.span.bytes, to: &bytes)
        ChunkEncoder.appendChunk(String(repeating: "x", count: 26).bytes.span.bytes, to: &bytes)
        try ChunkEncoder.appendEnd(trailers: ["A": "1"], to: &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "5\r\nhello\r\n1a\r\nxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n0\r\nA: 1\r\n\r\n")
    }

    @Test("The size line of a chunk is written alone")
    func chunkHead() {
        var bytes: [UInt8] = []
        ChunkEncoder.appendChunkHead(size: 65_536, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == "10000\r\n")
    }

    @Test("No chunk is written without data: an empty one would end the body")
    func emptyChunk() {
        var bytes: [UInt8] = []
        ChunkEncoder.appendChunk([UInt8]().span.bytes, to: &bytes)
        ChunkEncoder.appendChunkHead(size: 0, to: &bytes)
        ChunkEncoder.appendChunkHead(size: -1, to: &bytes)
        #expect(bytes.isEmpty)
    }

    @Test("Trailers that could break the message are not written")
    func trailerSplitting() {
        var bytes = "before".bytes
        #expect(throws: EncodeError.invalidFieldValue(name: "A")) {
            try ChunkEncoder.appendEnd(trailers: ["A": "1\r\n\r\nHTTP/1.1 200 OK"], to: &bytes)
        }
        #expect(bytes == "before".bytes)
    }

    @Test("Encoded chunks are decoded to the same bytes", arguments: [1, 15, 16, 255, 256, 4_096, 70_000])
    func roundTrip(size: Int) throws {
        let data = String(repeating: "z", count: size)
        var bytes: [UInt8] = []
        ChunkEncoder.appendChunk(data.bytes.span.bytes, to: &bytes)
        try ChunkEncoder.appendEnd(trailers: [:], to: &bytes)
        #expect(body(.chunked, [bytes]).found == [Body(content: data, trailers: [:])])
    }
}

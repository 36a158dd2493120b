import PurlHTTP
import Testing

@Suite("Hostile peers")
struct HostileInputTests {
    /// What a client makes of a whole response: the head, then the body.
    private func outcome(of response: [UInt8]) -> String {
        var parser = ResponseHeadParser()
        var offset = 0
        do throws(ParseError) {
            guard let head = try parser.parse(response.span.bytes, from: &offset) else { return "no head" }
            var decoder = BodyDecoder(try BodyFraming.ofResponse(head, to: "GET"))
            var content: [UInt8] = []
            while let event = try decoder.decode(response.span.bytes, from: &offset) {
                if case .bytes(let range) = event { content += response[range] }
            }
            return "\(decoder.isComplete ? "complete" : "open"): \(String(decoding: content, as: UTF8.self))"
        } catch {
            return "\(error.kind)"
        }
    }

    static let responses: [(String, String)] = [
        // Two ways to tell the end: the classic of response smuggling.
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", "framing"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "framing"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n ,4\r\n\r\nabcd", "framing"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n 4\r\n\r\nabcd", "framing"),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabcd", "framing"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551619\r\n\r\nabcd", "framing"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "framing"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "complete: a"),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "framing"),
        // Fields hidden from other readers.
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "malformedHead"),
        ("HTTP/1.1 200 OK\r\nX: y\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "malformedHead"),
        ("HTTP/1.1 200 OK\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "malformedHead"),
        ("HTTP/1.1 200 OK\r\n\u{0}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "malformedHead"),
        ("HTTP/1.1 200 OK\r\nX:\u{B}y\r\n\r\n", "malformedHead"),
        // Chunks that other readers cut elsewhere.
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n", "chunk"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a\rb\r\na\r\n0\r\n\r\n", "chunk"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000001\r\na\r\n0\r\n\r\n", "chunk"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\na\r\n0\r\n\r\n", "chunk"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n", "chunk"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\nabc", "open: abc"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA : b\r\n\r\n", "malformedHead"),
        // Other protocols.
        ("\u{16}\u{3}\u{1}\u{2}\u{0}\n", "malformedHead"),
        ("<html></html>\n", "malformedHead"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "malformedHead"),
        ("HTTP/3.0 200 OK\r\n\r\n", "malformedHead"),
    ]

    @Test("An ambiguous response is rejected or read in the only safe way", arguments: responses)
    func answered(text: String, expected: String) {
        #expect(outcome(of: text.bytes) == expected)
    }

    @Test("Bytes after a response without a body are not its body")
    func bodyAfterNoContent() {
        #expect(outcome(of: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello".bytes) == "complete: ")
    }

    @Test("Each error has a sentence of its own")
    func descriptions() {
        let errors: [ParseError] = [
            .malformedStartLine, .malformedVersion, .unsupportedVersion, .malformedStatus, .invalidReason,
            .invalidMethod, .invalidTarget, .invalidFieldName, .spaceBeforeColon, .missingColon, .invalidFieldValue,
            .foldWithoutField, .headTooLarge, .tooManyFields, .trailersTooLarge, .chunkExtensionTooLarge,
            .transferEncodingWithContentLength, .transferEncodingInOldVersion, .unsupportedTransferCoding,
            .invalidContentLength, .conflictingContentLengths, .invalidChunkSize, .chunkTooLarge,
            .invalidChunkExtension, .missingChunkEnd, .prematureEnd,
        ]
        #expect(Set(errors.map(\.description)).count == errors.count)
        for error in errors { #expect(error.description.hasSuffix(".")) }
    }
}

import PurlHTTP
import Testing

@Suite("Body framing (RFC 9112 §6.3)")
struct BodyFramingTests {
    static let bodiless: [(method: RequestMethod, status: Int)] = [
        ("HEAD", 200), ("HEAD", 404), ("GET", 100), ("GET", 101), ("GET", 103), ("GET", 199), ("GET", 204),
        ("GET", 304), ("POST", 204), ("CONNECT", 200), ("CONNECT", 299),
    ]

    @Test("Rules 1 and 2: the response has no body, regardless of the fields", arguments: bodiless)
    func noBody(exchange: (method: RequestMethod, status: Int)) throws {
        let sections: [HeaderFields] = [
            [:], ["Content-Length": "5"], ["Content-Length": "x"], ["Transfer-Encoding": "chunked"],
            ["Transfer-Encoding": "chunked", "Content-Length": "5"],
        ]
        for fields in sections {
            let head = ResponseHead(status: exchange.status, fields: fields)
            #expect(try BodyFraming.ofResponse(head, to: exchange.method) == .none)
        }
    }

    static let declared: [(HeaderFields, BodyFraming)] = [
        (["Transfer-Encoding": "chunked"], .chunked),
        (["transfer-encoding": "Chunked"], .chunked),
        (["Transfer-Encoding": " , chunked ,"], .chunked),
        (["Transfer-Encoding": "", "Transfer-Encoding": "chunked"], .chunked),
        (["Content-Length": "0"], .length(0)),
        (["Content-Length": "5"], .length(5)),
        (["Content-Length": "00005"], .length(5)),
        (["Content-Length": "9223372036854775807"], .length(.max)),
        (["Content-Length": "5", "content-length": "5"], .length(5)),
        (["Content-Length": "5, 5 ,\t5"], .length(5)),
        (["Content-Length": "5,05", "Content-Length": "5"], .length(5)),
    ]

    @Test("Rules 3 to 6: the fields declare the framing", arguments: declared)
    func declaredByFields(fields: HeaderFields, framing: BodyFraming) throws {
        #expect(try BodyFraming.ofResponse(ResponseHead(status: 200, fields: fields), to: "GET") == framing)
        #expect(try BodyFraming.ofResponse(ResponseHead(status: 500, fields: fields), to: "CONNECT") == framing)
        #expect(try BodyFraming.ofRequest(RequestHead(method: "POST", target: "/", fields: fields)) == framing)
    }

    @Test("Rules 7 and 8: without these fields a request has no body, and a response lasts until the close")
    func undeclared() throws {
        #expect(try BodyFraming.ofRequest(RequestHead(method: "POST", target: "/")) == .none)
        #expect(try BodyFraming.ofResponse(ResponseHead(status: 200), to: "GET") == .untilClose)
        #expect(try BodyFraming.ofResponse(ResponseHead(version: .http1_0, status: 200), to: "GET") == .untilClose)
        #expect(try BodyFraming.ofResponse(ResponseHead(status: 407), to: "CONNECT") == .untilClose)
        #expect(try BodyFraming.ofResponse(ResponseHead(status: 200), to: "head") == .untilClose)
    }

    static let doubtful: [(HeaderFields, ParseError)] = [
        (["Transfer-Encoding": "chunked", "Content-Length": "5"], .transferEncodingWithContentLength),
        (["Content-Length": "5", "Transfer-Encoding": "identity"], .transferEncodingWithContentLength),
        (["Transfer-Encoding": "", "Content-Length": "5"], .transferEncodingWithContentLength),
        (["Transfer-Encoding": ""], .unsupportedTransferCoding),
        (["Transfer-Encoding": "identity"], .unsupportedTransferCoding),
        (["Transfer-Encoding": "gzip"], .unsupportedTransferCoding),
        (["Transfer-Encoding": "gzip, chunked"], .unsupportedTransferCoding),
        (["Transfer-Encoding": "chunked, gzip"], .unsupportedTransferCoding),
        (["Transfer-Encoding": "chunked, chunked"], .unsupportedTransferCoding),
        (["Transfer-Encoding": "chunked", "Transfer-Encoding": "chunked"], .unsupportedTransferCoding),
        (["Transfer-Encoding": "gzip", "Transfer-Encoding": "chunked"], .unsupportedTransferCoding),
        (["Transfer-Encoding": "chunked;a=b"], .unsupportedTransferCoding),
        (["Transfer-Encoding": "\"chunked\""], .unsupportedTransferCoding),
        (["Transfer-Encoding": "xchunked"], .unsupportedTransferCoding),
        (["Transfer-Encoding": "chunked\u{B}"], .unsupportedTransferCoding),
        (["Content-Length": ""], .invalidContentLength),
        (["Content-Length": "+5"], .invalidContentLength),
        (["Content-Length": "-5"], .invalidContentLength),
        (["Content-Length": "0x5"], .invalidContentLength),
        (["Content-Length": "5a"], .invalidContentLength),
        (["Content-Length": "5 5"], .invalidContentLength),
        (["Content-Length": "5.0"], .invalidContentLength),
        (["Content-Length": "1e3"], .invalidContentLength),
        (["Content-Length": "٥"], .invalidContentLength),
        (["Content-Length": "\"5\""], .invalidContentLength),
        (["Content-Length": "5,"], .invalidContentLength),
        (["Content-Length": ",5"], .invalidContentLength),
        (["Content-Length": "9223372036854775808"], .invalidContentLength),
        (["Content-Length": "99999999999999999999999999"], .invalidContentLength),
        (["Content-Length": "5", "Content-Length": ""], .invalidContentLength),
        (["Content-Length": "5, 6"], .conflictingContentLengths),
        (["Content-Length": "5", "Content-Length": "6"], .conflictingContentLengths),
        (["Content-Length": "5", "Content-Length": "5, 50"], .conflictingContentLengths),
    ]

    @Test("A message whose end is ambiguous is rejected in both directions", arguments: doubtful)
    func rejects(fields: HeaderFields, error: ParseError) {
        #expect(error.kind == .framing)
        #expect(throws: error) { try BodyFraming.ofResponse(ResponseHead(status: 200, fields: fields), to: "GET") }
        #expect(throws: error) {
            try BodyFraming.ofRequest(RequestHead(method: "POST", target: "/", fields: fields))
        }
    }

    @Test("A transfer coding in HTTP/1.0 is rejected")
    func oldVersion() {
        let fields: HeaderFields = ["Transfer-Encoding": "chunked"]
        let response = ResponseHead(version: .http1_0, status: 200, fields: fields)
        let request = RequestHead(method: "POST", target: "/", version: .http1_0, fields: fields)
        #expect(throws: ParseError.transferEncodingInOldVersion) { try BodyFraming.ofResponse(response, to: "GET") }
        #expect(throws: ParseError.transferEncodingInOldVersion) { try BodyFraming.ofRequest(request) }
    }
}

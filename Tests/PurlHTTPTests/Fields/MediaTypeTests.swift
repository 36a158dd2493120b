import PurlHTTP
import Testing

@Suite("Media types (RFC 9110 §8.3.1)")
struct MediaTypeTests {
    static let accepted: [(String, essence: String, charset: String?, written: String)] = [
        ("text/html", "text/html", nil, "text/html"),
        ("Text/HTML;Charset=\"utf-8\"", "text/html", "utf-8", "text/html; charset=utf-8"),
        ("text/plain; charset=UTF-8; format=flowed", "text/plain", "UTF-8", "text/plain; charset=UTF-8; format=flowed"),
        ("text/html ; charset = utf-8 ;", "text/html", "utf-8", "text/html; charset=utf-8"),
        (#"text/x; a="b;\"c, d"; charset=x"#, "text/x", "x", #"text/x; a="b;\"c, d"; charset=x"#),
        ("application/vnd.api+json", "application/vnd.api+json", nil, "application/vnd.api+json"),
        ("text/html; charset", "text/html", nil, "text/html"),
        ("text/html; charset=\"\"", "text/html", "", "text/html; charset=\"\""),
        ("text/html; charset=a; charset=b", "text/html", "a", "text/html; charset=a; charset=b"),
    ]

    @Test("A media type is read and written", arguments: accepted)
    func accepts(text: String, essence: String, charset: String?, written: String) throws {
        let type = try #require(MediaType(text))
        #expect(type.essence == essence)
        #expect(type.charset == charset)
        #expect(type.description == written)
        #expect(MediaType(type.description) == type)
    }

    @Test(
        "Any other text is not a media type",
        arguments: [
            "", "text", "text/", "/html", "text/html/x", "te xt/html", "text /html", "text/ht ml", ";", "a/b,c/d",
        ])
    func rejects(text: String) {
        #expect(MediaType(text) == nil)
    }
}

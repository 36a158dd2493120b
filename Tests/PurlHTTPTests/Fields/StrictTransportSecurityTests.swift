import PurlHTTP
import Testing

@Suite("Strict-Transport-Security (RFC 6797 §6.1)")
struct StrictTransportSecurityTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let text: String
        let maxAge: Int64?
        let includesSubdomains: Bool

        init(_ text: String, _ maxAge: Int64?, subdomains: Bool = false) {
            (self.text, self.maxAge, includesSubdomains) = (text, maxAge, subdomains)
        }

        var testDescription: String { text }
    }

    static let rows: [Row] = [
        Row("max-age=31536000", 31_536_000),
        Row("max-age=15768000 ; includeSubDomains", 15_768_000, subdomains: true),
        Row("max-age=\"31536000\"", 31_536_000),
        Row("max-age=0", 0),
        Row("max-age=0; includeSubDomains", 0, subdomains: true),
        Row("MAX-AGE=5; INCLUDESUBDOMAINS", 5, subdomains: true),
        Row("includeSubDomains; max-age=5", 5, subdomains: true),
        Row("; max-age=5 ;; ", 5),
        Row("max-age = 5", 5),
        Row("max-age=5; preload", 5),
        Row("max-age=5; future=\"a;b\\\";c\"; includeSubDomains", 5, subdomains: true),
        Row("max-age=99999999999999999999", .max),
        Row("", nil),
        Row("includeSubDomains", nil),
        Row("max-age", nil),
        Row("max-age=", nil),
        Row("max-age=\"\"", nil),
        Row("max-age=-1", nil),
        Row("max-age=5s", nil),
        Row("max-age=5, max-age=6", nil),
        Row("max-age=5; max-age=5", nil),
        Row("max-age=5; includeSubDomains; includeSubDomains", nil),
        Row("max-age=5; includeSubDomains=1", nil),
        Row("max-age=5; =", nil),
        Row("max-age=5; a b", nil),
    ]

    @Test("The directives are read, and what is broken is ignored as a whole", arguments: rows)
    func directives(row: Row) {
        let field = StrictTransportSecurity(row.text)
        #expect(field?.maxAge == row.maxAge)
        #expect(field?.includesSubdomains ?? false == row.includesSubdomains)
    }

    @Test("The first line of the field counts")
    func lines() {
        let fields: HeaderFields = [
            "Strict-Transport-Security": "max-age=5", "strict-transport-security": "max-age=6; includeSubDomains",
        ]
        #expect(StrictTransportSecurity(fields)?.maxAge == 5)
        #expect(StrictTransportSecurity(HeaderFields()) == nil)
    }
}

import PurlHTTP
import Testing

@Suite("Request methods (RFC 9110 §9)")
struct RequestMethodTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let method: RequestMethod
        var isSafe = false
        var isIdempotent = false
        var expectsContent = false
        var allowsResponseContent = true
        var testDescription: String { method.name }
    }

    static let rows = [
        Row(method: .get, isSafe: true, isIdempotent: true),
        Row(method: .head, isSafe: true, isIdempotent: true, allowsResponseContent: false),
        Row(method: .options, isSafe: true, isIdempotent: true),
        Row(method: .trace, isSafe: true, isIdempotent: true),
        Row(method: .put, isIdempotent: true, expectsContent: true),
        Row(method: .delete, isIdempotent: true),
        Row(method: .post, expectsContent: true),
        Row(method: .patch, expectsContent: true),
        Row(method: .connect),
        Row(method: "PROPFIND"),
        Row(method: "get"),
        Row(method: "Head"),
        Row(method: "post"),
        Row(method: ""),
    ]

    @Test("A method is safe, idempotent, anticipates content and allows content in a response", arguments: rows)
    func properties(row: Row) {
        #expect(row.method.isSafe == row.isSafe)
        #expect(row.method.isIdempotent == row.isIdempotent)
        #expect(row.method.expectsContent == row.expectsContent)
        #expect(row.method.allowsResponseContent == row.allowsResponseContent)
    }

    @Test("A method compares with regard to case")
    func comparison() {
        #expect(RequestMethod("GET") == .get)
        #expect(RequestMethod("get") != .get)
        #expect(Set([RequestMethod("PUT"), .put, "put"]).count == 2)
    }

    @Test("A method keeps its name as written")
    func name() {
        #expect(RequestMethod("X-Own").name == "X-Own")
        #expect("\(RequestMethod.get) /" == "GET /")
    }
}

import PurlHTTP
import Testing

@Suite("Basic authentication (RFC 7617)")
struct BasicCredentialsTests {
    static let table: [(String, String, String)] = [
        ("Aladdin", "open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        ("test", "123£", "Basic dGVzdDoxMjPCow=="),
        ("", "", "Basic Og=="),
        ("a", "b:c", "Basic YTpiOmM="),
    ]

    @Test("User and password are sent as UTF-8 in base64", arguments: table)
    func writes(user: String, password: String, expected: String) {
        #expect(BasicCredentials(user: user, password: password)?.authorization == expected)
    }

    @Test(
        "A user or password that the server would misread is rejected",
        arguments: [("a:b", "c"), ("a\n", "b"), ("a", "b\u{0}"), ("a", "\u{7F}"), (":", "")])
    func rejects(user: String, password: String) {
        #expect(BasicCredentials(user: user, password: password) == nil)
    }
}

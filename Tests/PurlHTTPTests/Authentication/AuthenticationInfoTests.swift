import PurlHTTP
import Testing

@Suite("Authentication-Info names the next nonce")
struct AuthenticationInfoTests {
    static let cases: [(values: [String], nonce: String?)] = [
        ([], nil),
        ([""], nil),
        ([#"nextnonce="n""#], "n"),
        ([#"rspauth="a", cnonce="b", nc=00000001, qop=auth, NextNonce = "n, \"m\"""#], #"n, "m""#),
        ([#"rspauth="a""#, "nextnonce=n"], "n"),
        ([#"nextnonce="first", nextnonce="second""#], "first"),
        (["nextnonce"], nil),
        ([#"Digest nextnonce="n""#], nil),
    ]

    @Test(arguments: cases.indices)
    func reading(index: Int) {
        let (values, nonce) = Self.cases[index]
        var fields = HeaderFields()
        for value in values { fields.append(.authenticationInfo, value) }
        #expect(AuthenticationInfo(fields, .authenticationInfo).nextNonce == nonce)
        #expect(AuthenticationInfo(fields, .proxyAuthenticationInfo).nextNonce == nil)
    }
}

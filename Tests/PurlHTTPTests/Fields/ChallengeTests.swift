import PurlHTTP
import Testing

@Suite("Challenges (RFC 9110 §11.6.1)")
struct ChallengeTests {
    static func parameters(_ pairs: KeyValuePairs<String, String>) -> [FieldParameter] {
        pairs.map { FieldParameter(name: $0.key, value: $0.value) }
    }

    static let table: [([String], [Challenge])] = [
        ([], []),
        ([""], []),
        (["Basic"], [Challenge(scheme: "Basic")]),
        ([#"Basic realm="a""#], [Challenge(scheme: "Basic", parameters: parameters(["realm": "a"]))]),
        ([#"basic REALM=a"#], [Challenge(scheme: "basic", parameters: parameters(["realm": "a"]))]),
        ([#"Basic realm = "a b""#], [Challenge(scheme: "Basic", parameters: parameters(["realm": "a b"]))]),
        // The example of the rule.
        (
            [#"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#],
            [
                Challenge(scheme: "Basic", parameters: parameters(["realm": "simple"])),
                Challenge(
                    scheme: "Newauth",
                    parameters: parameters(["realm": "apps", "type": "1", "title": #"Login to "apps""#])),
            ]
        ),
        // The same spread over lines in several ways.
        (
            [#"Basic realm="a""#, #"Digest realm="b", nonce="c""#],
            [
                Challenge(scheme: "Basic", parameters: parameters(["realm": "a"])),
                Challenge(scheme: "Digest", parameters: parameters(["realm": "b", "nonce": "c"])),
            ]
        ),
        (
            [#"Digest realm="b""#, #"nonce="c", Basic realm="a""#],
            [
                Challenge(scheme: "Digest", parameters: parameters(["realm": "b", "nonce": "c"])),
                Challenge(scheme: "Basic", parameters: parameters(["realm": "a"])),
            ]
        ),
        // Commas, equals signs and schemes inside quotes.
        (
            [#"Digest qop="auth,auth-int", realm="Basic x=1, \\ é", stale=FALSE"#],
            [
                Challenge(
                    scheme: "Digest",
                    parameters: parameters(["qop": "auth,auth-int", "realm": #"Basic x=1, \ é"#, "stale": "FALSE"]))
            ]
        ),
        // Schemes without anything between others.
        (
            ["Negotiate, NTLM,Basic realm=x"],
            [
                Challenge(scheme: "Negotiate"), Challenge(scheme: "NTLM"),
                Challenge(scheme: "Basic", parameters: parameters(["realm": "x"])),
            ]
        ),
        // A token68, since no value follows the equals sign.
        (["Negotiate YIIabc=="], [Challenge(scheme: "Negotiate", token68: "YIIabc==")]),
        (["Negotiate a="], [Challenge(scheme: "Negotiate", token68: "a=")]),
        (["Negotiate a-._~+/9"], [Challenge(scheme: "Negotiate", token68: "a-._~+/9")]),
        (["X a=b"], [Challenge(scheme: "X", parameters: parameters(["a": "b"]))]),
        (["X a==b"], [Challenge(scheme: "X", parameters: parameters(["a": "=b"]))]),
        (
            [#"Negotiate abc=, Basic realm="r""#],
            [
                Challenge(scheme: "Negotiate", token68: "abc="),
                Challenge(scheme: "Basic", parameters: parameters(["realm": "r"])),
            ]
        ),
        // Empty elements and blanks.
        (
            [", ,Basic\t realm=a ,, charset =\t\"UTF-8\" ,"],
            [Challenge(scheme: "Basic", parameters: parameters(["realm": "a", "charset": "UTF-8"]))]
        ),
        (["Basic ,realm=a"], [Challenge(scheme: "Basic", parameters: parameters(["realm": "a"]))]),
        // What no rule allows.
        (["realm=a, Basic"], [Challenge(scheme: "Basic")]),
        (["\"a\", @, Basic realm=\"a"], [Challenge(scheme: "Basic", parameters: parameters(["realm": "a"]))]),
        (["Basic realm=a/b:c"], [Challenge(scheme: "Basic", parameters: parameters(["realm": "a/b:c"]))]),
        (["Basic realm=\"a\\"], [Challenge(scheme: "Basic", parameters: parameters(["realm": "a\\"]))]),
        (["Basic é"], [Challenge(scheme: "Basic")]),
        (["Negotiate abc, realm=x"], [Challenge(scheme: "Negotiate", token68: "abc")]),
    ]

    @Test("A list is divided into challenges and their parameters", arguments: table)
    func reads(lines: [String], expected: [Challenge]) {
        for name in [FieldName.wwwAuthenticate, .proxyAuthenticate] {
            var fields: HeaderFields = ["Server": "x"]
            for line in lines { fields.append(name, line) }
            #expect(Challenge.all(in: fields, name) == expected)
        }
        #expect(Challenge.all(in: ["WWW-Authenticate": "Basic"], .proxyAuthenticate).isEmpty)
    }

    @Test("Of a flood of challenges the first 16 are read, whether in one line or in many", arguments: [1, 100])
    func flood(lineCount: Int) {
        var fields = HeaderFields()
        for line in 0..<lineCount {
            let elements = (0..<(3_000 / lineCount)).map { "Basic realm=\"\(line * 100 + $0)\", charset=x" }
            fields.append(.wwwAuthenticate, elements.joined(separator: ", "))
        }
        let challenges = Challenge.all(in: fields, .wwwAuthenticate)
        #expect(challenges.count == Challenge.maximumCount)
        #expect(challenges.first?.parameters == Self.parameters(["realm": "0", "charset": "x"]))
        #expect(challenges.last?.parameters == Self.parameters(["realm": "15", "charset": "x"]))
    }

    @Test("Names compare without regard to case, and the first of two parameters counts")
    func lookup() throws {
        let challenge = try #require(
            Challenge.all(in: ["WWW-Authenticate": "bAsIc Realm=a, REALM=b"], .wwwAuthenticate).first)
        #expect(challenge.isScheme("Basic"))
        #expect(!challenge.isScheme("Digest"))
        #expect(challenge.realm == "a")
        #expect(challenge.parameter("charset") == nil)
    }

    @Test("A value that is not UTF-8 is read as Latin-1")
    func latin1() throws {
        var parser = ResponseHeadParser()
        var offset = 0
        let bytes = "HTTP/1.1 401 \r\nWWW-Authenticate: Basic realm=\"".bytes + [0xE9] + "\"\r\n\r\n".bytes
        let head = try #require(try parser.parse(bytes.span.bytes, from: &offset))
        #expect(Challenge.all(in: head.fields, .wwwAuthenticate).first?.realm == "é")
    }

    @Test("Damaged challenges are read without a trap", arguments: UInt64(0)..<8)
    func damage(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for (lines, _) in Self.table {
            for _ in 0..<20 {
                let bytes = random.mutated(lines.joined(separator: ", ").bytes)
                let fields: HeaderFields = ["WWW-Authenticate": String(decoding: bytes, as: UTF8.self)]
                for challenge in Challenge.all(in: fields, .wwwAuthenticate) {
                    #expect(!challenge.scheme.isEmpty)
                    #expect(challenge.token68 == nil || challenge.parameters.isEmpty)
                }
            }
        }
    }
}

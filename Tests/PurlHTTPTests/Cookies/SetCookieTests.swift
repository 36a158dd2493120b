import PurlHTTP
import Testing

@Suite("The Set-Cookie field (RFC 6265bis §5.6)")
struct SetCookieTests {
    static let pairs: [(String, name: String, value: String, rule: String)] = [
        ("a=b", "a", "b", "step 3"),
        ("a=b; Path=/", "a", "b", "step 2"),
        ("a=b;", "a", "b", "step 2"),
        (" \ta \t= \tb\t ", "a", "b", "step 4"),
        ("a=b=c==", "a", "b=c==", "step 3, the first ="),
        ("a=", "a", "", "step 4"),
        ("a=\"b c\"", "a", "\"b c\"", "quotes are part of the value"),
        ("a=b,c", "a", "b,c", "so are commas"),
        ("a b=c d", "a b", "c d", "and blanks inside"),
        ("a=\tb\tc", "a", "b\tc", "step 1 lets tabs be"),
        ("ä=ö", "ä", "ö", "bytes outside ASCII are bytes"),
    ]

    @Test("Name and value are divided at the first equals sign", arguments: pairs)
    func pair(text: String, name: String, value: String, rule: String) throws {
        let cookie = try #require(SetCookie(text))
        #expect(cookie.name == name, "\(rule)")
        #expect(cookie.value == value, "\(rule)")
        #expect(cookie.lifetime == .session)
    }

    static let ignored: [(String, rule: String)] = [
        ("", "§5.7 step 2"), ("=", "§5.7 step 2"), (" = ; Path=/", "§5.7 step 2"), (";a=b", "no name"),
        ("=b", "no name"), ("  =b; a=c", "no name"), ("b", "no ="), ("b; a=c", "no ="), (" ; a=c", "no ="),
        ("a=b\0", "step 1"), ("a=b\nc", "step 1"), ("a=b\rc", "step 1"), ("a=\u{1F}", "step 1"),
        ("a=\u{7F}", "step 1"), ("a=b; Path=/\u{1}", "step 1, in attributes too"),
        ("a=" + String(repeating: "x", count: 4096), "step 5, size"),
        (String(repeating: "n", count: 4096) + "=v", "step 5, size"),
        ("a=b; Domain=bücher.example", "§5.7 step 8"),
    ]

    @Test("A broken field is ignored as a whole", arguments: ignored)
    func ignores(text: String, rule: String) {
        #expect(SetCookie(text) == nil, "\(rule)")
    }

    @Test("Name and value have at most 4096 bytes together")
    func largest() {
        #expect(SetCookie("ab=" + String(repeating: "x", count: 4094))?.value.utf8.count == 4094)
        #expect(SetCookie("ab=" + String(repeating: "x", count: 4095)) == nil)
    }

    static let lifetimes: [(String, SetCookie.Lifetime, rule: String)] = [
        ("a=b", .session, "§5.7 step 6"),
        ("a=b; Max-Age=60", .seconds(60), "§5.6.2"),
        ("a=b; max-AGE = 60 ", .seconds(60), "§5.6, names have no case"),
        ("a=b; Max-Age=0", .seconds(0), "§5.6.2"),
        ("a=b; Max-Age=-60", .seconds(0), "§5.6.2, zero and less are the same"),
        ("a=b; Max-Age=99999999999999999999999", .seconds(.max), "§5.6.2"),
        ("a=b; Max-Age=-99999999999999999999999", .seconds(0), "§5.6.2"),
        ("a=b; Max-Age=+60", .session, "§5.6.2 step 1"),
        ("a=b; Max-Age=60s", .session, "§5.6.2 step 2"),
        ("a=b; Max-Age=-", .session, "§5.6.2"),
        ("a=b; Max-Age=", .session, "§5.6.2"),
        ("a=b; Max-Age", .session, "§5.6.2"),
        ("a=b; Max-Age=\"60\"", .session, "§5.6.2"),
        ("a=b; Max-Age=60; Max-Age=x", .seconds(60), "§5.6.2, an ignored attribute does not replace another"),
        ("a=b; Max-Age=60; Max-Age=61", .seconds(61), "§5.7 step 6, the last"),
        ("a=b; Expires=Sun, 06 Nov 1994 08:49:37 GMT", .until(HTTPDate(secondsSinceEpoch: 784_111_777)), "§5.6.1"),
        ("a=b; Expires=soon", .session, "§5.6.1"),
        ("a=b; Max-Age=60; Expires=Sun, 06 Nov 1994 08:49:37 GMT", .seconds(60), "§5.7 step 6"),
        ("a=b; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Max-Age=60", .seconds(60), "§5.7 step 6"),
        (
            "a=b; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Max-Age=x",
            .until(HTTPDate(secondsSinceEpoch: 784_111_777)), "§5.7 step 6"
        ),
    ]

    @Test("Max-Age and Expires give the lifetime", arguments: lifetimes)
    func lifetime(text: String, lifetime: SetCookie.Lifetime, rule: String) {
        #expect(SetCookie(text)?.lifetime == lifetime, "\(rule)")
    }

    static let domains: [(String, domain: String, rule: String)] = [
        ("a=b", "", "§5.7 step 7"),
        ("a=b; Domain=A.Example", "a.example", "§5.6.3"),
        ("a=b; Domain=.a.example", "a.example", "§5.6.3"),
        ("a=b; Domain=..a.example", ".a.example", "§5.6.3, one dot"),
        ("a=b; Domain=", "", "§5.6.3"),
        ("a=b; Domain", "", "§5.6.3"),
        ("a=b; Domain=a.example; Domain=b.example", "b.example", "§5.7 step 7, the last"),
        ("a=b; Domain=a.example; Domain=", "", "§5.7 step 7, the last"),
        ("a=b; Domain=" + String(repeating: "x", count: 1025), "", "§5.6 step 6, too long"),
    ]

    @Test("Domain is read in lower case without its leading dot", arguments: domains)
    func domain(text: String, domain: String, rule: String) {
        #expect(SetCookie(text)?.domain == domain, "\(rule)")
    }

    static let paths: [(String, path: String?, rule: String)] = [
        ("a=b", nil, "§5.7 step 11"),
        ("a=b; Path=/x y/", "/x y/", "§5.6.4"),
        ("a=b; PATH = /x ", "/x", "§5.6"),
        ("a=b; Path", "", "§5.6.4"),
        ("a=b; Path=x", "x", "§5.6.4, for the caller to judge"),
        ("a=b; Path=/x; Path=/y", "/y", "§5.7 step 11, the last"),
        ("a=b; Path=/" + String(repeating: "x", count: 1023), "/" + String(repeating: "x", count: 1023), "§5.6"),
        ("a=b; Path=/" + String(repeating: "x", count: 1024), nil, "§5.6, too long"),
    ]

    @Test("Path is read as written", arguments: paths)
    func path(text: String, path: String?, rule: String) {
        #expect(SetCookie(text)?.path == path, "\(rule)")
    }

    static let attributes: [(String, secure: Bool, httpOnly: Bool, SetCookie.SameSite, rule: String)] = [
        ("a=b", false, false, .unstated, ""),
        ("a=b; Secure", true, false, .unstated, "§5.6.5"),
        ("a=b;secure=false", true, false, .unstated, "§5.6.5, whatever the value"),
        ("a=b; HttpOnly", false, true, .unstated, "§5.6.6"),
        ("a=b; HTTPONLY=x;SECURE", true, true, .unstated, "§5.6.6"),
        ("a=b; SameSite=Lax", false, false, .lax, "§5.6.7"),
        ("a=b; samesite=STRICT", false, false, .strict, "§5.6.7"),
        ("a=b; SameSite=None", false, false, .none, "§5.6.7"),
        ("a=b; SameSite=Other", false, false, .unstated, "§5.6.7"),
        ("a=b; SameSite", false, false, .unstated, "§5.6.7"),
        ("a=b; SameSite=Lax; SameSite=Strict", false, false, .strict, "§5.7 step 17, the last"),
        ("a=b; Secured; Partitioned; =Secure; ; Priority=High", false, false, .unstated, "§5.6, unknown"),
    ]

    @Test("Secure, HttpOnly and SameSite are read", arguments: attributes)
    func flags(text: String, secure: Bool, httpOnly: Bool, sameSite: SetCookie.SameSite, rule: String) throws {
        let cookie = try #require(SetCookie(text))
        #expect(cookie.isSecure == secure, "\(rule)")
        #expect(cookie.isHTTPOnly == httpOnly, "\(rule)")
        #expect(cookie.sameSite == sameSite, "\(rule)")
    }

    static let comments: [(String, comment: String?, url: String?)] = [
        ("a=b", nil, nil),
        ("a=b; Comment=what it is for; CommentURL=http://a.example/why", "what it is for", "http://a.example/why"),
        ("a=b; comment=one, tok@en=two ;COMMENTURL = /x", "one, tok@en=two", "/x"),
        ("a=b; Comment=\"quoted\"; CommentURL=x y", "\"quoted\"", "x y"),
        ("a=b; Comment=; CommentURL=", "", ""),
        ("a=b; Comment; CommentURL", nil, nil),
        ("a=b; Comment=1;   =2; CommentURL=3", "1", "3"),
    ]

    @Test("Comment and CommentURL are read (RFC 2965 §3.2.2)", arguments: comments)
    func comment(text: String, comment: String?, url: String?) throws {
        let cookie = try #require(SetCookie(text))
        #expect(cookie.comment == comment)
        #expect(cookie.commentURL == url)
    }

    static let joined: [(String, [String])] = [
        ("a=1", ["a=1"]),
        ("a=1, b=2", ["a=1", "b=2"]),
        ("a=1,b=2 ,  c = 3", ["a=1", "b=2", "c=3"]),
        ("a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT, b=2", ["a=1", "b=2"]),
        (
            "a=1; Expires=Wed, 21-Oct-26 07:28:00 GMT; Path=/, b=2; Expires=Thu, 22 Oct 2026 07:28:00 GMT",
            ["a=1", "b=2"]
        ),
        ("a=1, 2, 3; Path=/", ["a=1, 2, 3"]),
        ("a=1; Comment=real value, tok@en=second", ["a=1"]),
        ("a=1,, b=2,", ["a=1,", "b=2,"]),
        (",", []),
        ("", []),
        ("a=1, b, c=3", ["a=1, b", "c=3"]),
        ("a=1\nb=2", ["a=1", "b=2"]),
        ("a=1; Path=/\r\nb=2; Path=/,\n c=3\n", ["a=1", "b=2", "c=3"]),
        (
            "a=1; Expires=Wed, 01 Jan 2020 12:30:00 GMT; HttpOnly,\nb=2; Expires=Wed Jan 1 12:30:00 2020",
            ["a=1", "b=2"]
        ),
        ("a=1\nno cookie\nb=2", ["a=1", "b=2"]),
    ]

    @Test("Lines joined with commas or line ends are divided where another pair begins", arguments: joined)
    func takesApart(text: String, expected: [String]) {
        #expect(SetCookie.list(joined: text).map { "\($0.name)=\($0.value)" } == expected)
    }

    @Test("Each Set-Cookie line of a head is read, in order, in any case")
    func lines() {
        var fields = HeaderFields()
        fields.append("Set-Cookie", "a=1, 2")
        fields.append("Content-Type", "text/plain")
        fields.append("set-cookie", "")
        fields.append("SET-COOKIE", "b=2; Path=/")
        #expect(fields.setCookies.map(\.name) == ["a", "b"])
        #expect(fields.setCookies.map(\.value) == ["1, 2", "2"])
    }

    @Test("Pieces of cookies in any order are read or ignored without a trap", arguments: UInt64(0)..<4)
    func anyPieces(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let pieces = [
            "a", "=", ";", ",", " ", "\t", "Expires=", "Max-Age=", "Domain=", "Path=", "Secure", "HttpOnly",
            "SameSite=", "-",
            "9", "99999999999", ":", "Nov", "1994", "08:49:37", ".", "/", "\u{0}", "é", "🍪", "__Host-", "GMT", "[",
            "::1",
        ]
        for _ in 0..<5_000 {
            let text = (0..<Int.random(in: 0..<12, using: &generator))
                .compactMap { _ in pieces.randomElement(using: &generator) }.joined()
            let cookie = SetCookie(text)
            if let cookie { #expect(!cookie.name.isEmpty) }
            _ = SetCookie.list(joined: text)
            _ = CookieDate.read(text)
            _ = CookieDomain.covers(text, host: "x." + text)
            _ = CookiePath.covers(text, request: CookiePath.standard(for: text))
        }
    }
}

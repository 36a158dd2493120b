import PurlHTTP
import Testing

@Suite("Digest authentication (RFC 7616)")
struct DigestResponseTests {
    static let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
    static let clientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
    static let opaque = "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"

    func challenge(_ text: String) throws -> DigestChallenge {
        try #require(DigestChallenge.first(in: Challenge.all(in: ["WWW-Authenticate": text], .wwwAuthenticate)))
    }

    /// RFC 7616 §3.9.1.
    func example(algorithm: String, qop: String = #"qop="auth, auth-int", "#) throws -> DigestChallenge {
        try challenge(
            #"Digest realm="http-auth@example.org", \#(qop)algorithm=\#(algorithm), nonce="\#(Self.nonce)", "#
                + #"opaque="\#(Self.opaque)""#)
    }

    static let examples: [(String, first: String, second: String)] = [
        // These are the rule's own.
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec", "4b5d595ecf2db9df612ea5b45cd97101"),
        (
            "SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
            "8c8db27f49ff1c202f9fb49fa9d2e9eabf078dcc93db40dfd6527010091d1c8e"
        ),
        ("MD5-sess", "e783283f46242139c486a698fec7211d", "6914b51e16f9459d9abc967ad41c4599"),
        (
            "SHA-256-sess", "2fd51b3a77ad75bad6afad6003e818d767133c46d9e2749e7f5232ae1ea3efd7",
            "6bb0010aa4bdf46422a798c509ea32e256f27bd37de5cc3bdf8ed51e1d77d650"
        ),
    ]

    @Test("The RFC's examples are computed with each algorithm, also for the next request", arguments: examples)
    func answers(algorithm: String, first: String, second: String) throws {
        var response = DigestResponse(
            try example(algorithm: algorithm), user: "Mufasa", password: "Circle of Life")
        for (number, proof) in [(1, first), (2, second)] {
            let value = response.authorization(
                method: "GET", uri: "/dir/index.html", clientNonce: Self.clientNonce, nonceCount: UInt32(number))
            #expect(
                value == #"Digest username="Mufasa", realm="http-auth@example.org", nonce="\#(Self.nonce)", "#
                    + #"uri="/dir/index.html", algorithm=\#(algorithm), response="\#(proof)", "#
                    + #"opaque="\#(Self.opaque)", qop=auth, nc=0000000\#(number), cnonce="\#(Self.clientNonce)""#)
        }
    }

    @Test("The example of RFC 2617 is computed: no algorithm means MD5 and is not named")
    func rfc2617() throws {
        var response = DigestResponse(
            try challenge(
                #"Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", "#
                    + #"opaque="5ccc069c403ebaf9f0171e9517f40e41""#),
            user: "Mufasa", password: "Circle Of Life")
        #expect(
            response.authorization(method: "GET", uri: "/dir/index.html", clientNonce: "0a4f113b", nonceCount: 1)
                == #"Digest username="Mufasa", realm="testrealm@host.com", "#
                + #"nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", uri="/dir/index.html", "#
                + #"response="6629fae49393a05397450978507c4ef1", opaque="5ccc069c403ebaf9f0171e9517f40e41", "#
                + #"qop=auth, nc=00000001, cnonce="0a4f113b""#)
    }

    @Test("The example of RFC 2069 is computed: without qop neither count nor client nonce is sent")
    func rfc2069() throws {
        var response = DigestResponse(
            try challenge(#"Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093""#),
            user: "Mufasa", password: "CircleOfLife")
        #expect(
            response.authorization(method: "GET", uri: "/dir/index.html", clientNonce: "x", nonceCount: 1)
                == #"Digest username="Mufasa", realm="testrealm@host.com", "#
                + #"nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", uri="/dir/index.html", "#
                + #"response="1949323746fe6a43ef61f9606e7febea""#)
    }

    static let withoutQuality: [(String, String, Bool)] = [
        ("MD5", "7b2cc3b30e75b4777ea31027084363fd", false),
        ("SHA-256", "a1306b0595a6c7fe96c448631fb5cfbd5107bd1fe1da729d978dd7446b812363", false),
        ("MD5-sess", "37a7f42db2090a3fcac4e26e747d4fc8", true),
        ("SHA-256-sess", "30bc0742357e535c85094121d22cf826b794be0667e19537beb7b28f2251c274", true),
    ]

    @Test("Without qop a session still sends its client nonce", arguments: withoutQuality)
    func noQuality(algorithm: String, proof: String, namesNonce: Bool) throws {
        var response = DigestResponse(
            try example(algorithm: algorithm, qop: ""), user: "Mufasa", password: "Circle of Life")
        let value = response.authorization(
            method: "GET", uri: "/dir/index.html", clientNonce: Self.clientNonce, nonceCount: 1)
        #expect(value.contains(#"response="\#(proof)""#))
        #expect(value.contains("cnonce=") == namesNonce)
        #expect(!value.contains("nc="))
        #expect(!value.contains("qop="))
    }

    @Test("A session keeps its first client nonce; without a session each request has its own")
    func sessionNonce() throws {
        for (algorithm, kept) in [("MD5-sess", true), ("SHA-256-sess", true), ("MD5", false), ("SHA-256", false)] {
            var response = DigestResponse(try example(algorithm: algorithm), user: "a", password: "b")
            _ = response.authorization(method: "GET", uri: "/", clientNonce: "first", nonceCount: 1)
            let second = response.authorization(method: "GET", uri: "/", clientNonce: "second", nonceCount: 2)
            #expect(second.contains(#"cnonce="first""#) == kept)
            response.use(nextNonce: "fresh")
            let third = response.authorization(method: "GET", uri: "/", clientNonce: "third", nonceCount: 1)
            #expect(third.contains(#"nonce="fresh""#))
            #expect(third.contains("nc=00000001"))
            #expect(third.contains(#"cnonce="third""#))
        }
    }

    @Test("A hidden name is sent as its hash")
    func userHash() throws {
        var response = DigestResponse(
            try challenge(
                #"Digest realm="api@example.org", qop="auth", algorithm=SHA-256, "#
                    + #"nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", charset=UTF-8, userhash=true"#),
            user: "Jäsøn Doe", password: "Secret, or not?")
        let value = response.authorization(
            method: "GET", uri: "/doe.json", clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+niz/sm", nonceCount: 1)
        #expect(value.contains(#"username="5a1a8a47df5c298551b9b42ba9b05835174a5bd7d511ff7fe9191d8e946fc4e7""#))
        #expect(value.contains(#"response="06d0c14162099f487a92ebceaf71097534ee5f90d858386449c337ab69f7f6b8""#))
        #expect(value.hasSuffix("userhash=true"))
    }

    static let names: [(String, String, String)] = [
        ("Jäsøn", "charset=UTF-8", "username*=UTF-8''J%C3%A4s%C3%B8n"),
        ("Jason", "charset=UTF-8", #"username="Jason""#),
        ("Jäsøn", "charset=x", #"username="Jäsøn""#),
        (#"a "b" \c"#, "charset=utf-8", #"username="a \"b\" \\c""#),
        ("a\r\nB: c", "stale=true", #"username="aB: c""#),
    ]

    @Test("User names that a quoted string cannot contain are escaped or extended", arguments: names)
    func userNames(user: String, parameter: String, expected: String) throws {
        var response = DigestResponse(
            try challenge("Digest realm=r, nonce=n, \(parameter)"), user: user, password: "p")
        let value = response.authorization(method: "GET", uri: "/", clientNonce: "c", nonceCount: 1)
        #expect(value.hasPrefix("Digest \(expected), realm="))
    }

    @Test("The other parameters of a challenge are read")
    func flags() throws {
        let full = try challenge(
            "Digest realm=r, nonce=n, stale=TRUE, userhash=True, charset=utf-8, qop=AUTH, opaque=\"\"")
        #expect(full.isStale && full.hidesUser && full.isUTF8 && full.offersAuth)
        #expect(full.opaque == "")
        #expect(full.algorithm == nil)
        let bare = try challenge("digest realm=\"\", nonce=n, algorithm=sha-256, qop=\"\"")
        #expect(!bare.isStale && !bare.hidesUser && !bare.isUTF8 && !bare.offersAuth)
        #expect(bare.opaque == nil)
        #expect(bare.algorithm == .sha256)
    }

    static let refused = [
        "Basic realm=r", "Digest nonce=n", "Digest realm=r", "Digest realm=r, nonce=n, algorithm=SHA-512-256",
        "Digest realm=r, nonce=n, qop=auth-int", "Digest realm=r, nonce=n, algorithm=\"\"", "Digest abc=",
    ]

    @Test("A challenge that cannot be answered is rejected", arguments: refused)
    func rejects(text: String) {
        #expect(DigestChallenge.first(in: Challenge.all(in: ["WWW-Authenticate": text], .wwwAuthenticate)) == nil)
    }

    @Test("Of several challenges the first that can be answered counts")
    func preference() throws {
        let chosen = try challenge(
            "Digest realm=r, nonce=1, algorithm=SHA-512-256, Basic realm=r, Digest realm=r, nonce=2, algorithm=SHA-256, "
                + "Digest realm=r, nonce=3, algorithm=MD5")
        #expect(chosen.nonce == "2")
    }

    static let information: [(values: [String], nonce: String?)] = [
        ([], nil),
        ([""], nil),
        ([#"nextnonce="n""#], "n"),
        ([#"rspauth="a", cnonce="b", nc=00000001, qop=auth, NextNonce = "n, \"m\"""#], #"n, "m""#),
        ([#"rspauth="a""#, "nextnonce=n"], "n"),
        ([#"nextnonce="first", nextnonce="second""#], "first"),
        (["nextnonce"], nil),
        ([#"Digest nextnonce="n""#], nil),
    ]

    @Test("Authentication-Info names the next nonce", arguments: information.indices)
    func nextNonce(index: Int) {
        let (values, nonce) = Self.information[index]
        var fields = HeaderFields()
        for value in values { fields.append(.authenticationInfo, value) }
        #expect(AuthenticationInfo(fields, .authenticationInfo).nextNonce == nonce)
        #expect(AuthenticationInfo(fields, .proxyAuthenticationInfo).nextNonce == nil)
    }
}

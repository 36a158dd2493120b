internal import Foundation
internal import PurlHTTP
internal import PurlTesting

/// What can be wrong with what a message carries.
extension Fault {
    /// Bodies in a coding that they do not keep to, or that makes much of little.
    static let codings: [Fault] = [
        coding("damaged in the middle", "gzip", spoiled(gzip, at: 15), .failure(.cannotDecodeContentData)),
        coding("cut off, in a message that is whole", "gzip", gzip.dropLast(12), .failure(.cannotDecodeContentData)),
        coding("without its last byte", "gzip", gzip.dropLast(1), .failure(.cannotDecodeContentData)),
        coding("with a wrong check", "gzip", spoiled(gzip, at: gzip.count - 8), .failure(.cannotDecodeContentData)),
        coding("with a wrong length", "gzip", spoiled(gzip, at: gzip.count - 1), .failure(.cannotDecodeContentData)),
        coding("nothing but its head", "gzip", gzip.prefix(10), .failure(.cannotDecodeContentData)),
        coding("that it is not in", "gzip", Data("plain text".utf8), .failure(.cannotDecodeContentData)),
        coding("that it is not in", "deflate", Data("plain text".utf8), .failure(.cannotDecodeContentData)),
        coding(
            "cut off, in a message that is whole", "deflate", deflated(Data("hello, hello".utf8)).dropLast(3),
            .failure(.cannotDecodeContentData)),
        coding("that only the inner one of two is in", "gzip, gzip", gzip, .failure(.cannotDecodeContentData)),
        coding(
            "a bomb, more than a thousand times as large", "deflate, deflate", deflated(deflated(Data(count: 2 << 20))),
            .success(Data(count: 2 << 20))),
        coding("that is unknown", "zstd", Data("as it came".utf8), .text("as it came")),
        Fault(
            "coding", "gzip, lost in the middle",
            .bytes(gzip).field("Content-Encoding", "gzip").cut(afterBytes: 12), .failure(.networkConnectionLost)),
    ]

    private static func coding(
        _ name: String, _ coding: String, _ body: Data, _ expectation: Expectation
    ) -> Fault {
        Fault("coding", "\(coding), \(name)", .bytes(body).field("Content-Encoding", coding), expectation)
    }

    /// "hello, hello, hello"
    private static let gzip = Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJ11HIQKIAn6HKCRMAAAA=") ?? Data()

    private static func spoiled(_ data: Data, at offset: Int) -> Data {
        var data = data
        data[offset] ^= 0x55
        return data
    }

    private static func deflated(_ data: Data) -> Data {
        var encoder = DeflateEncoder()
        var coded: [UInt8] = []
        data.withUnsafeBytes { encoder.encode($0.bytes, into: &coded) }
        encoder.finish(into: &coded)
        return Data(coded)
    }

    // MARK: Fields

    /// Field values that mean nothing, or harm: the body arrives all the same.
    static let fields: [Fault] = hostileFields.map { name, value in
        Fault("hostile field", "\(name): \(value.prefix(60))", .success()) { stage in
            stage.answer(stage.resource.field(name, value))
        }
    }

    private static let long = String(repeating: "x", count: 50_000)

    private static let hostileFields: [(String, String)] = [
        ("Content-Disposition", "attachment; filename=\"../../../../etc/passwd\""),
        ("Content-Disposition", "attachment; filename=\"/etc/passwd\""),
        ("Content-Disposition", "attachment; filename=\"..\""),
        ("Content-Disposition", "attachment; filename=\"\""),
        ("Content-Disposition", "attachment; filename=\"..\\..\\x\""),
        ("Content-Disposition", "attachment; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd"),
        ("Content-Disposition", "attachment; filename*=UTF-8''a%00b"),
        ("Content-Disposition", "attachment; filename*=UTF-8''%ff%fe"),
        ("Content-Disposition", "attachment; filename*=KOI8-R''x"),
        ("Content-Disposition", "attachment; filename=\"unfinished"),
        ("Content-Disposition", "attachment; filename=\"\(long)\""),
        ("Content-Disposition", ";;;==\"\""),
        ("Set-Cookie", ""), ("Set-Cookie", "="), ("Set-Cookie", ";;;;"), ("Set-Cookie", "=value"),
        ("Set-Cookie", "a=b; Domain=com"), ("Set-Cookie", "a=b; Domain=.other.example"),
        ("Set-Cookie", "a=b; Domain=127.0.0.1; Path=nowhere; Max-Age=99999999999999999999"),
        ("Set-Cookie", "a=b; Max-Age=-99999999999999999999; Expires=Thu, 99 Foo 99999 99:99:99 GMT"),
        ("Set-Cookie", "__Host-a=b; Domain=127.0.0.1; Path=/x"), ("Set-Cookie", "a=\(long)"),
        ("Cache-Control", "max-age=99999999999999999999"), ("Cache-Control", "max-age=-1, max-age=abc"),
        ("Cache-Control", "max-age=\"60, no-store"), ("Cache-Control", ",,,;=\""),
        ("Age", "99999999999999999999"), ("Age", "-1"), ("Expires", "0"), ("Expires", "never"),
        ("Date", "Thu, 99 Foo 99999 99:99:99 GMT"), ("Vary", "*"), ("Vary", ",,,"),
        ("Last-Modified", "yesterday"), ("Last-Modified", "Thu, 01 Jan 9999 00:00:00 GMT"),
        ("Content-Type", "text/html; charset=\"unfinished"), ("Content-Type", "///;;;"), ("Content-Type", long),
        ("Keep-Alive", "timeout=-1, max=abc"), ("Keep-Alive", "timeout=99999999999999999999"),
        ("Connection", ",,,\"close"), ("Connection", "Content-Length, Transfer-Encoding"),
        ("Upgrade", "h2c, websocket"), ("Trailer", "Content-Length, Transfer-Encoding"),
        ("Retry-After", "-1"), ("Location", "/elsewhere"), ("WWW-Authenticate", "Basic"),
        ("Proxy-Authenticate", "Digest nonce=\"\""), ("Authentication-Info", "rspauth=\"wrong"),
        ("Content-MD5", "wrong"), ("Repr-Digest", "sha-256=:wrong:"), ("X", long),
    ]

    /// A challenge that cannot be answered is the result.
    static let challenges: [Fault] = hostileChallenges.map { status, field, value in
        Fault(
            "hostile challenge", "\(status) \(field): \(value.prefix(60))",
            .text("who?").status(status).field(field, value)
        ) { kind in
            kind.isResumed ? .failure(.badServerResponse) : .text("who?", status: status)
        }
    }

    private static let hostileChallenges: [(Int, String, String)] = [
        (401, "X-Nothing", "asked"), (401, "WWW-Authenticate", ""), (401, "WWW-Authenticate", "Basic"),
        (401, "WWW-Authenticate", "Basic realm=\"unfinished"), (401, "WWW-Authenticate", "Basic realm=\"again\""),
        (401, "WWW-Authenticate", ",,,;==\"\""), (401, "WWW-Authenticate", "Bearer realm=\"x\""),
        (401, "WWW-Authenticate", "Digest"), (401, "WWW-Authenticate", "Digest realm=\"x\""),
        (401, "WWW-Authenticate", "Digest realm=\"x\", nonce=\"n\", algorithm=ROT13"),
        (401, "WWW-Authenticate", "Digest realm=\"x\", nonce=\"n\", qop=\"nothing\""),
        (401, "WWW-Authenticate", "Digest realm=\"x\", nonce=\"n\", qop=\"auth\", stale=true"),
        (401, "WWW-Authenticate", "Digest realm=\"x\", nonce=\"\(long)\", qop=\"auth\""),
        (401, "WWW-Authenticate", "Basic realm=\"\(long)\""),
        (407, "Proxy-Authenticate", "Basic realm=\"no proxy\""),
    ]
}

extension Expectation {
    fileprivate static func success(_ body: Data) -> Expectation { .success(status: 200, body) }
}

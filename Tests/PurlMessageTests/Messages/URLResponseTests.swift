import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("HTTPURLResponse")
struct HTTPURLResponseTests {
    private static func response(
        _ fields: [String: String] = [:], status: Int = 200, url: String = "http://a.example/dir/name.txt"
    ) throws -> HTTPURLResponse {
        let url = try #require(URL(string: url))
        return try #require(
            HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields))
    }

    @Test(
        "mimeType and textEncodingName are read from Content-Type, unchanged where it is not a media type",
        arguments: [
            (nil, nil, nil), ("text/html", "text/html", nil), ("Text/HTML", "text/html", nil),
            ("text/html; charset=utf-8", "text/html", "utf-8"), ("text/html;charset=\"utf-8\"", "text/html", "utf-8"),
            ("text/html; a=b; CHARSET=ISO-8859-1", "text/html", "iso-8859-1"),
            ("application/octet-stream", "application/octet-stream", nil), ("", nil, nil),
            ("; charset=utf-8", nil, nil), ("nonsense", "nonsense", nil), (" Text/ ; a=b", "text/", nil),
        ] as [(String?, String?, String?)])
    func mediaType(field: String?, type: String?, encoding: String?) throws {
        let response = try Self.response(field.map { ["content-type": $0] } ?? [:])
        #expect(response.mimeType == type)
        #expect(response.textEncodingName == encoding)
    }

    @Test(
        "expectedContentLength is the value of Content-Length whatever codings are named, and is -1 without a valid one",
        arguments: [
            ([:], -1), (["Content-Length": "0"], 0), (["content-length": "5"], 5),
            (["Content-Length": "9223372036854775807"], .max), (["Content-Length": "9223372036854775808"], -1),
            (["Content-Length": "-5"], -1), (["Content-Length": "five"], -1), (["Content-Length": ""], -1),
            (["Content-Length": "5", "Transfer-Encoding": "chunked"], 5),
            (["Content-Length": "5", "Content-Encoding": "gzip"], 5),
        ] as [([String: String], Int64)])
    func length(fields: [String: String], length: Int64) throws {
        #expect(try Self.response(fields).expectedContentLength == length)
    }

    @Test(
        "allHeaderFields has common names as they are defined, those with X- as they are, and others with capitals",
        arguments: [
            ("content-type", "Content-Type"), ("CONTENT-LANGUAGE", "Content-Language"), ("etag", "ETag"),
            ("www-authenticate", "WWW-Authenticate"), ("x-own", "x-own"), ("X-ABC-d", "X-ABC-d"),
            ("access-control-allow-origin", "Access-Control-Allow-Origin"), ("content-md5", "Content-Md5"),
            ("DNT", "Dnt"), ("foo_bar", "Foo_Bar"), ("p3p", "P3P"), ("sec-WebSocket-ACCEPT", "Sec-Websocket-Accept"),
        ])
    func spelling(name: String, key: String) throws {
        #expect(try Self.response([name: "1"]).allHeaderFields as? [String: String] == [key: "1"])
    }

    @Test("Repeated fields are joined, and are found in any case of their names")
    func fields() async throws {
        let server = try LoopbackServer()
        let url = server.route(
            "/file",
            .text("hello").field("X-Many", "1").field("x-many", "2").field("X-MANY", "3, 4").field("X-Empty", "")
                .field("Set-Cookie", "a=b; Expires=Wed, 09 Jun 2038 10:18:14 GMT").field("X-Umlaut", "ä"))
        let outcome = try await LoadForm.dataDelegate.load(url)
        let response = try #require(outcome.response)
        for name in ["X-Many", "x-many", "X-MANY"] { #expect(response.value(forHTTPHeaderField: name) == "1, 2, 3, 4") }
        #expect(response.allHeaderFields["X-Many"] as? String == "1, 2, 3, 4")
        #expect(response.allHeaderFields["x-many"] == nil)
        #expect(response.value(forHTTPHeaderField: "X-Empty") == "")
        #expect(response.value(forHTTPHeaderField: "X-Umlaut") == "ä")
        #expect(response.value(forHTTPHeaderField: "X-None") == nil)
        #expect(response.statusCode == 200)
        #expect(response.mimeType == "text/plain")
        #expect(response.textEncodingName == "utf-8")
        #expect(response.expectedContentLength == 5)
        #expect(response.suggestedFilename == "file")
        #expect(response.description.contains("200"))
        #expect(response.description.contains(url.absoluteString))
    }

    @Test(
        "localizedString is the phrase of RFC 9110, or that of the status class",
        arguments: [
            (100, "Continue"), (200, "OK"), (204, "No Content"), (206, "Partial Content"), (302, "Found"),
            (404, "Not Found"),
            (416, "Range Not Satisfiable"), (500, "Internal Server Error"), (299, "Success"), (199, "Informational"),
            (399, "Redirection"), (510, "Not Extended"), (418, "Client Error"), (599, "Server Error"),
        ])
    func localizedString(status: Int, text: String) {
        #expect(HTTPURLResponse.localizedString(forStatusCode: status) == text)
    }

    @Test("localizedString is not empty for an invalid status", arguments: [Int.min, -1, 0, 99, 600, 1000, Int.max])
    func localizedStringOfNonsense(status: Int) {
        #expect(!HTTPURLResponse.localizedString(forStatusCode: status).isEmpty)
    }

    @Test("Equality compares URL, status and fields")
    func equality() throws {
        let response = try Self.response(["A": "1"])
        #expect(response.isEqual(try Self.response(["A": "1"])))
        #expect(response.hash == (try Self.response(["A": "1"])).hash)
        #expect(!response.isEqual(try Self.response(["A": "2"])))
        #expect(!response.isEqual(try Self.response(["A": "1"], status: 201)))
        #expect(!response.isEqual(try Self.response(["A": "1"], url: "http://a.example/")))
        #expect(!response.isEqual("text"))
        #expect(!response.isEqual(nil))
        let plain = URLResponse(
            url: try #require(response.url), mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
        #expect(!response.isEqual(plain))
        #expect(!plain.isEqual(response))
    }

    @Test("A copy is the response itself")
    func copy() throws {
        let response = try Self.response()
        #expect(response.copy() as? HTTPURLResponse === response)
    }

    @Test("An unarchived HTTPURLResponse equals the archived one")
    func coding() throws {
        let fields = ["Content-Type": "text/html; charset=utf-8", "Content-Length": "5", "X-Umlaut": "ä"]
        let response = try Self.response(fields, status: 206)
        let archive = try NSKeyedArchiver.archivedData(withRootObject: response, requiringSecureCoding: true)
        let back = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: HTTPURLResponse.self, from: archive))
        #expect(back.isEqual(response))
        #expect(back.url == response.url)
        #expect(back.statusCode == 206)
        #expect(back.allHeaderFields as? [String: String] == fields)
        #expect(back.mimeType == "text/html")
        #expect(back.textEncodingName == "utf-8")
        #expect(back.expectedContentLength == 5)
        #expect(back.suggestedFilename == "name.txt")
    }
}

@Suite("URLResponse")
struct URLResponseTests {
    private func response(_ url: String, type: String? = "text/html", length: Int = 5) throws -> URLResponse {
        URLResponse(
            url: try #require(URL(string: url)), mimeType: type, expectedContentLength: length,
            textEncodingName: "utf-8")
    }

    @Test("The properties are those of the initialiser")
    func members() throws {
        let response = try response("http://a.example/dir/name.txt")
        #expect(response.url?.absoluteString == "http://a.example/dir/name.txt")
        #expect(response.mimeType == "text/html")
        #expect(response.expectedContentLength == 5)
        #expect(response.textEncodingName == "utf-8")
        #expect(response.suggestedFilename == "name.txt")
        #expect(response.copy() as? URLResponse === response)
    }

    @Test("Equality compares all properties")
    func equality() throws {
        let response = try response("http://a.example/")
        #expect(response.isEqual(try self.response("http://a.example/")))
        #expect(response.hash == (try self.response("http://a.example/")).hash)
        #expect(!response.isEqual(try self.response("http://b.example/")))
        #expect(!response.isEqual(try self.response("http://a.example/", type: nil)))
        #expect(!response.isEqual(try self.response("http://a.example/", length: 6)))
    }

    @Test("An unarchived URLResponse equals the archived one")
    func coding() throws {
        let response = try response("http://a.example/dir/name.txt", length: .max)
        let archive = try NSKeyedArchiver.archivedData(withRootObject: response, requiringSecureCoding: true)
        let back = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: URLResponse.self, from: archive))
        #expect(back.isEqual(response))
        #expect(back.expectedContentLength == Int64(Int.max))
    }
}

@Suite("suggestedFilename")
struct SuggestedFilenameTests {
    static let names: [(disposition: String?, url: String, name: String)] = [
        (nil, "http://a.example/dir/name.txt", "name.txt"), (nil, "http://a.example/dir/name.txt?q=x.y#f", "name.txt"),
        (nil, "http://a.example/dir/", "dir"), (nil, "http://a.example/", "a.example"),
        (nil, "http://a.example", "a.example"), (nil, "http://a.example/a%20b.txt", "a b.txt"),
        (nil, "http://a.example/%E4%B8%AD.txt", "中.txt"),
        (nil, "http://a.example/..%2F..%2Fetc%2Fpasswd", "_.._etc_passwd"),
        (nil, "http://a.example/%2E%2E", "a.example"), (nil, "http://a.example/a%00b", "ab"),
        ("attachment; filename=plain.txt", "http://a.example/u", "plain.txt"),
        ("attachment; filename=\"quoted name.txt\"", "http://a.example/u", "quoted name.txt"),
        ("attachment; filename=\"a\\\"b.txt\"", "http://a.example/u", "a\"b.txt"),
        ("attachment; filename*=UTF-8''%e4%b8%ad.txt", "http://a.example/u", "中.txt"),
        ("attachment; filename=old.txt; filename*=UTF-8''new.txt", "http://a.example/u", "new.txt"),
        ("inline; FileName=name.txt", "http://a.example/u", "name.txt"), ("attachment", "http://a.example/u", "u"),
        ("attachment; filename=", "http://a.example/u", "u"), ("attachment; filename=\"\"", "http://a.example/u", "u"),
        ("attachment; filename=a/b.txt", "http://a.example/u", "a_b.txt"),
        ("attachment; filename=\"../../etc/passwd\"", "http://a.example/u", "_.._etc_passwd"),
        ("attachment; filename=\"/etc/passwd\"", "http://a.example/u", "_etc_passwd"),
        ("attachment; filename=\"..\\\\..\\\\boot.ini\"", "http://a.example/u", "_.._boot.ini"),
        ("attachment; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd", "http://a.example/u", "_.._etc_passwd"),
        ("attachment; filename*=UTF-8''..%5C..%5Cboot.ini", "http://a.example/u", "_.._boot.ini"),
        ("attachment; filename=\"../..\"", "http://a.example/u", "u"),
        ("attachment; filename=\"..\"", "http://a.example/u", "u"),
        ("attachment; filename=\".\"", "http://a.example/u", "u"),
        ("attachment; filename=\"dir/\"", "http://a.example/u", "dir_"),
        ("attachment; filename=\"/\"", "http://a.example/u", "u"),
        ("attachment; filename=\"   \"", "http://a.example/u", "u"),
        ("attachment; filename*=UTF-8''a%00b.txt", "http://a.example/u", "ab.txt"),
        ("attachment; filename*=UTF-8''a%0Ab.txt", "http://a.example/u", "ab.txt"),
        ("attachment; filename*=UTF-8''%1B%5B2J.txt", "http://a.example/u", "[2J.txt"),
        ("attachment; filename*=UTF-8''..%2F%CC%81x", "http://a.example/u", "_\u{301}x"),
        ("attachment; filename*=UTF-8''%C2%9B2Ja%E2%80%AEgpj.exe", "http://a.example/u", "2Jagpj.exe"),
        ("attachment; filename=.bashrc", "http://a.example/u", "bashrc"),
        ("attachment; filename=\"--help\"", "http://a.example/u", "help"),
        (nil, "http://a.example/.profile", "profile"),
    ]

    @Test(
        "suggestedFilename is one path component with underscores for slashes, from Content-Disposition or else the URL",
        arguments: names)
    func name(disposition: String?, url: String, name: String) throws {
        let url = try #require(URL(string: url))
        let response = HTTPURLResponse(
            url: url, statusCode: 200, httpVersion: nil, headerFields: disposition.map { ["Content-Disposition": $0] })
        #expect(response?.suggestedFilename == name)
    }

    @Test("A suggested file name is cut to 255 bytes and keeps its extension", arguments: ["x", "ä", "中", "👩‍👩‍👧"])
    func longName(letter: String) throws {
        let url = try #require(URL(string: "http://a.example/u"))
        let long = String(repeating: letter, count: 300) + ".txt"
        let encoded = try #require(long.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        let response = HTTPURLResponse(
            url: url, statusCode: 200, httpVersion: nil,
            headerFields: ["Content-Disposition": "attachment; filename*=UTF-8''\(encoded)"])
        let name = try #require(response?.suggestedFilename)
        #expect((200...255).contains(name.utf8.count))
        #expect(name.hasSuffix(".txt"))
        #expect(name.dropLast(4).allSatisfy { letter == String($0) })
    }
}

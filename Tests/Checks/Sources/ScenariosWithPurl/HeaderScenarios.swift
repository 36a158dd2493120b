import Foundation
import PurlTesting

/// How the fields of a response are shown.
enum HeaderScenarios {
    static let all = [
        Scenario("header.spelling") { stage in
            let reply = Reply.text("x").field("x-lower", "1").field("X-UPPER", "2").field("ETag", "\"e\"")
                .field("CONTENT-LANGUAGE", "la").field("www-authenticate", "Basic")
                .field("access-control-allow-origin", "*").field("DNT", "1").field("foo_bar", "1")
            let response = await head(stage, reply)
            let keys = response?.allHeaderFields.keys.compactMap { $0 as? String }.sorted() ?? []
            stage.note("keys", keys)
        },
        Scenario("header.value-by-any-case") { stage in
            let response = await head(stage, .text("x").field("x-FIELD", "1"))
            for name in ["x-field", "X-FIELD", "X-Field", "content-type", "x-other"] {
                stage.note(name, response?.value(forHTTPHeaderField: name))
            }
        },
        Scenario("header.dictionary-key") { stage in
            let response = await head(stage, .text("x").field("X-Field", "1"))
            stage.note("as sent", response?.allHeaderFields["X-Field"])
            stage.note("Content-Length", response?.allHeaderFields["Content-Length"])
        },
        Scenario("header.duplicates") { stage in
            let reply = Reply.text("x").field("X-Twice", "a").field("X-Twice", "b, c")
            stage.note("joined", await head(stage, reply)?.value(forHTTPHeaderField: "X-Twice"))
        },
        Scenario("header.set-cookie-twice") { stage in
            let reply = Reply.text("x").field("Set-Cookie", "a=1").field("Set-Cookie", "b=2; Path=/")
            stage.note("joined", await head(stage, reply)?.value(forHTTPHeaderField: "Set-Cookie"))
        },
        Scenario("header.whitespace") { stage in
            let text = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nX-Space:   a  b \t\r\nX-Empty:\r\n\r\nx"
            let response = await head(stage, .raw(text))
            stage.note("X-Space", response?.value(forHTTPHeaderField: "X-Space").map { "[\($0)]" })
            stage.note("X-Empty", response?.value(forHTTPHeaderField: "X-Empty").map { "[\($0)]" })
        },
        Scenario("header.utf8") { stage in
            let response = await head(stage, .text("x").field("X-Text", "grüße"))
            stage.note("X-Text", response?.value(forHTTPHeaderField: "X-Text"))
        },
        Scenario("header.latin1") { stage in
            let bytes = Data("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nX-Text: ".utf8) + [0xE4] + Data("\r\n\r\nx".utf8)
            let response = await head(stage, .raw([bytes]))
            stage.note("X-Text", response?.value(forHTTPHeaderField: "X-Text"))
        },
        Scenario("header.folded") { stage in
            let text = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nX-Fold: a\r\n b\r\n\r\nx"
            await stage.load(stage.server.route("/file", .raw(text)))
        },
        Scenario("header.content-types") { stage in
            for type in [
                "text/html", "text/html; charset=utf-8", "TEXT/HTML;charset=ISO-8859-1",
                "text/plain; charset=\"utf-8\"",
                "application/json", "text/html; a=b; charset=UTF-8", "nonsense", "image/png;", "text/html; charset=",
            ] {
                let response = await head(stage, .bytes(Data("x".utf8), contentType: type))
                stage.note(
                    type, "\(response?.mimeType ?? "nil"), \(response?.textEncodingName ?? "nil")")
            }
        },
        Scenario("header.no-content-type") { stage in
            let response = await head(stage, .bytes(Data("x".utf8)))
            stage.note("type", response?.mimeType)
            stage.note("encoding", response?.textEncodingName)
        },
        Scenario("header.suggested-filename") { stage in
            for value in [
                "attachment; filename=\"a.txt\"", "attachment; filename=a.txt", "attachment",
                "inline; filename=\"b c.txt\"",
                "attachment; filename*=UTF-8''%e2%82%ac.txt", "attachment; FILENAME=\"a.txt\"",
                "attachment; filename=\"a.txt\"; filename*=UTF-8''b.txt", "attachment; filename=\"../../etc/passwd\"",
                "attachment; filename=\"/abs/name\"", "attachment; filename=\"\"",
            ] {
                let response = await head(stage, .text("x").field("Content-Disposition", value))
                stage.note(value, response?.suggestedFilename)
            }
        },
        Scenario("header.suggested-filename-from-url") { stage in
            for path in ["/", "/file", "/file.txt", "/dir/", "/a%20b.txt", "/file?q=1"] {
                let session = stage.session()
                stage.server.fallback(.bytes(Data("x".utf8)))
                let (_, response) = try await session.data(from: stage.server.url(path))
                stage.note(path, response.suggestedFilename)
            }
        },
        Scenario("header.expected-length") { stage in
            let replies: [(String, Reply)] = [
                ("length", .text("hello")), ("chunked", .text("hello").chunked(size: 2)),
                ("until close", .text("hello").untilClose()), ("empty", .text("")),
            ]
            for (name, reply) in replies {
                stage.note(name, await head(stage, reply)?.expectedContentLength)
            }
        },
        Scenario("header.status-line") { stage in
            for line in ["HTTP/1.1 200 All is well", "HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.1 999 Odd"] {
                let response = await head(stage, .raw("\(line)\r\nContent-Length: 1\r\n\r\nx"))
                stage.note(line, response?.statusCode)
            }
        },
    ]

    private static func head(_ stage: Stage, _ reply: Reply) async -> HTTPURLResponse? {
        let url = stage.server.route("/file", reply)
        do {
            return try await stage.session().data(from: url).1 as? HTTPURLResponse
        } catch {
            stage.noteError(error)
            return nil
        }
    }
}

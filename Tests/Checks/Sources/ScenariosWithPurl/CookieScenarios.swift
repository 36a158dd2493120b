import Foundation
import PurlTesting

/// Cookies: what is read from fields, what is stored, and what is sent.
enum CookieScenarios {
    private static let page = URL(string: "http://www.example.com/dir/page") ?? URL(fileURLWithPath: "/")

    static let all = [
        Scenario("cookie.parse") { stage in
            for field in [
                "a=1", "a=1; Path=/x", "a=1; Domain=example.com", "a=1; Domain=.example.com",
                "a=1; Domain=www.example.com",
                "a=\"quoted\"", "a=", "a=b=c", " a = 1 ; Path = /x ", "a=1; Secure", "a=1; HttpOnly",
                "a=1; SECURE; httponly",
                "a=1; Path=relative", "a=1; Path=", "a=1; Version=1", "a=1; Unknown=x", "a=1; Comment=x",
            ] {
                note(stage, field)
            }
        },
        Scenario("cookie.parse-refused") { stage in
            for field in ["", "=1", ";", "no equals sign", "a=1; Domain=other.org", "a=1; Domain=com"] {
                note(stage, field)
            }
        },
        Scenario("cookie.parse-expires") { stage in
            for field in [
                "a=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT", "a=1; Expires=Wednesday, 09-Jun-99 10:18:14 GMT",
                "a=1; Expires=Wed, 09-Jun-2100 10:18:14 GMT", "a=1; Expires=nonsense", "a=1; Max-Age=0",
                "a=1; Max-Age=nonsense",
            ] {
                let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: page)
                stage.note(field, cookies.map { "\($0.isSessionOnly) \($0.expiresDate?.timeIntervalSince1970 ?? -1)" })
            }
        },
        Scenario("cookie.parse-several") { stage in
            let cookies = HTTPCookie.cookies(
                withResponseHeaderFields: [
                    "Set-Cookie": "a=1; Path=/, b=2; Expires=Wed, 09 Jun 2100 10:18:14 GMT, c=3"
                ],
                for: page)
            stage.note("cookies", cookies.map { "\($0.name)=\($0.value)" }.sorted())
        },
        Scenario("cookie.parse-lines") { stage in
            let cookies = HTTPCookie.cookies(
                withResponseHeaderFields: [
                    "Set-Cookie": "a=1; Domain=example.com; Expires=Wed, 09 Jun 2100 10:18:14 GMT,\nb=2; Path=/, \nc=3"
                ],
                for: page)
            stage.note("cookies", cookies.map { "\($0.name)=\($0.value) \($0.domain)" })
        },
        Scenario("cookie.parse-comments") { stage in
            for field in [
                "a=1; Comment=what it is for; CommentURL=http://example.com/why",
                "a=1; Comment=one, two; CommentURL=x y",
                "a=1; Comment; CommentURL", "a=1; Comment=; CommentURL=", "a=1; Comment=x;   =y; commenturl=z",
            ] {
                let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: page)
                stage.note(field, cookies.map { "\($0.comment ?? "nil") \($0.commentURL?.absoluteString ?? "nil")" })
            }
        },
        Scenario("cookie.parse-secure-value") { stage in
            for field in ["a=1; Secure=1", "a=1; Secure=false", "a=1; HttpOnly=1"] {
                let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: page)
                stage.note(field, cookies.map { "secure \($0.isSecure) httpOnly \($0.isHTTPOnly)" })
            }
        },
        Scenario("cookie.domain-with-two-dots") { stage in
            let cookies = HTTPCookie.cookies(
                withResponseHeaderFields: ["Set-Cookie": "a=1; Domain=..example.com; Path=/"], for: page)
            stage.note("domains", cookies.map(\.domain))
            let storage = URLSessionConfiguration.ephemeral.httpCookieStorage ?? .shared
            storage.setCookies(cookies, for: page, mainDocumentURL: nil)
            stage.note("stored", storage.cookies?.count)
            for host in ["example.com", "www.example.com"] { stage.note(host, names(storage, "http://\(host)/")) }
        },
        Scenario("cookie.parse-other-case") { stage in
            let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["set-cookie": "a=1"], for: page)
            stage.note("cookies", cookies.map { "\($0.name)=\($0.value)" })
        },
        Scenario("cookie.properties") { stage in
            let table: [[HTTPCookiePropertyKey: Any]] = [
                [.name: "a", .value: "1", .domain: "example.com", .path: "/"],
                [.name: "a", .value: "1", .originURL: page],
                [.name: "a", .value: "1", .originURL: page, .path: "/"],
                [.name: "a", .value: "1"], [.name: "a", .domain: "example.com", .path: "/"],
                [.value: "1", .domain: "example.com", .path: "/"],
                [.name: "a", .value: "1", .domain: "example.com"],
                [.name: "a", .value: "1", .domain: "Example.COM", .path: "/", .secure: "TRUE"],
                [.name: "a", .value: "1", .domain: "example.com", .path: "/", .version: "1"],
                [.name: "a", .value: "1", .domain: "example.com", .path: "/", .port: "80,8080"],
                [.name: "a", .value: "1", .domain: "example.com", .path: "/", .discard: "TRUE"],
                [.name: "a", .value: "1", .domain: "example.com", .path: "/", .expires: "soon", .discard: "TRUE"],
                [.name: "a", .value: "1", .domain: "example.com", .path: "/", .version: "2", .discard: "TRUE"],
                [.name: "a", .value: "1", .domain: "example.com", .path: "/", .port: "80,x", .discard: "TRUE"],
            ]
            for (number, properties) in table.enumerated() {
                stage.note("\(number)", HTTPCookie(properties: properties).map(text))
            }
        },
        Scenario("cookie.description") { stage in
            let table: [[HTTPCookiePropertyKey: Any]] = [
                [.expires: Date(timeIntervalSince1970: 1_900_000_000)],
                [.expires: Date(timeIntervalSince1970: 1_900_000_000), .port: "80", .comment: "c c", .secure: "TRUE"],
                [.version: "1", .port: "80,81", .discard: "TRUE"],
            ]
            for changes in table {
                let properties: [HTTPCookiePropertyKey: Any] = [
                    .name: "a", .value: "1", .domain: "example.com", .path: "/",
                ]
                stage.note("cookie", HTTPCookie(properties: properties.merging(changes) { $1 }))
            }
        },
        Scenario("cookie.request-fields") { stage in
            let cookies = ["a", "b"].compactMap {
                HTTPCookie(properties: [.name: $0, .value: "1", .domain: "example.com", .path: "/"])
            }
            stage.note("fields", HTTPCookie.requestHeaderFields(with: cookies))
            stage.note("none", HTTPCookie.requestHeaderFields(with: []))
        },
        Scenario("cookie.storage-by-domain") { stage in
            let storage = storage([
                ("a", "example.com", "/"), ("b", ".example.com", "/"), ("c", "www.example.com", "/"),
            ])
            for host in ["example.com", "www.example.com", "sub.www.example.com", "other.com", "notexample.com"] {
                stage.note(host, names(storage, "http://\(host)/"))
            }
        },
        Scenario("cookie.storage-by-path") { stage in
            let storage = storage([("a", "e.com", "/"), ("b", "e.com", "/dir"), ("c", "e.com", "/dir/")])
            for path in ["", "/", "/dir", "/dir/", "/dir/x", "/dirt"] {
                stage.note(path, names(storage, "http://e.com\(path)"))
            }
        },
        Scenario("cookie.storage-secure") { stage in
            let storage = URLSessionConfiguration.ephemeral.httpCookieStorage ?? .shared
            if let cookie = HTTPCookie(
                properties: [.name: "s", .value: "1", .domain: "e.com", .path: "/", .secure: "TRUE"])
            {
                storage.setCookie(cookie)
            }
            stage.note("http", names(storage, "http://e.com/"))
            stage.note("https", names(storage, "https://e.com/"))
        },
        Scenario("cookie.storage-replaces") { stage in
            let storage = storage([("a", "e.com", "/"), ("a", "e.com", "/"), ("a", "e.com", "/dir")])
            stage.note("count", storage.cookies?.count)
            if let first = storage.cookies?.first { storage.deleteCookie(first) }
            stage.note("after delete", storage.cookies?.count)
        },
        Scenario("cookie.set-and-sent") { stage in
            let session = stage.session()
            let set = stage.server.route(
                "/set", .text("x").field("Set-Cookie", "a=1").field("Set-Cookie", "b=2; Path=/"))
            _ = try await session.data(from: set)
            _ = try await session.data(from: stage.server.route("/get", .text("x")))
            stage.note("sent", (stage.server.requests.last?.fields["Cookie"] ?? "none").split(separator: "; ").sorted())
        },
        Scenario("cookie.set-by-a-redirect") { stage in
            stage.server.route("/end", .text("x"))
            let url = stage.server.route("/start", .redirect(to: "/end").field("Set-Cookie", "a=1; Path=/"))
            _ = try await stage.session().data(from: url)
            stage.noteFields("Cookie")
        },
        Scenario("cookie.not-wanted") { stage in
            let session = stage.session { $0.httpShouldSetCookies = false }
            _ = try await session.data(from: stage.server.route("/set", .text("x").field("Set-Cookie", "a=1; Path=/")))
            _ = try await session.data(from: stage.server.route("/get", .text("x")))
            stage.noteFields("Cookie")
        },
        Scenario("cookie.request-says-no") { stage in
            let session = stage.session()
            _ = try await session.data(from: stage.server.route("/set", .text("x").field("Set-Cookie", "a=1; Path=/")))
            var request = URLRequest(url: stage.server.route("/get", .text("x")))
            request.httpShouldHandleCookies = false
            _ = try await session.data(for: request)
            stage.noteFields("Cookie")
        },
        Scenario("cookie.field-of-ones-own") { stage in
            let session = stage.session()
            _ = try await session.data(from: stage.server.route("/set", .text("x").field("Set-Cookie", "a=1; Path=/")))
            var request = URLRequest(url: stage.server.route("/get", .text("x")))
            request.setValue("mine=1", forHTTPHeaderField: "Cookie")
            _ = try await session.data(for: request)
            stage.noteFields("Cookie")
        },
        Scenario("cookie.deleted-by-server") { stage in
            let session = stage.session()
            _ = try await session.data(from: stage.server.route("/set", .text("x").field("Set-Cookie", "a=1; Path=/")))
            let old = "a=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT"
            _ = try await session.data(from: stage.server.route("/delete", .text("x").field("Set-Cookie", old)))
            _ = try await session.data(from: stage.server.route("/get", .text("x")))
            stage.noteFields("Cookie")
        },
    ]

    private static func note(_ stage: Stage, _ field: String) {
        let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": field], for: page)
        stage.note(field, cookies.map(text))
    }

    private static func text(_ cookie: HTTPCookie) -> String {
        "\(cookie.name)=\(cookie.value) \(cookie.domain) \(cookie.path) secure \(cookie.isSecure) "
            + "httpOnly \(cookie.isHTTPOnly) session \(cookie.isSessionOnly) version \(cookie.version) "
            + "ports \(cookie.portList ?? []) comment \(cookie.comment ?? "nil")"
    }

    private static func storage(_ cookies: [(name: String, domain: String, path: String)]) -> HTTPCookieStorage {
        let storage = URLSessionConfiguration.ephemeral.httpCookieStorage ?? .shared
        for cookie in cookies {
            let properties: [HTTPCookiePropertyKey: Any] = [
                .name: cookie.name, .value: "1", .domain: cookie.domain, .path: cookie.path,
            ]
            if let cookie = HTTPCookie(properties: properties) { storage.setCookie(cookie) }
        }
        return storage
    }

    private static func names(_ storage: HTTPCookieStorage, _ address: String) -> [String]? {
        URL(string: address).flatMap { storage.cookies(for: $0) }?.map(\.name).sorted()
    }
}

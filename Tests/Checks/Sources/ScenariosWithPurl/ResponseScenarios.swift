import Foundation

/// Responses as values.
enum ResponseScenarios {
    private static let url = URL(string: "http://example.com/dir/file.txt") ?? URL(fileURLWithPath: "/")

    static let all = [
        Scenario("response.plain") { stage in
            let response = URLResponse(
                url: url, mimeType: "text/plain", expectedContentLength: 5, textEncodingName: "utf-8")
            stage.note("url", response.url)
            stage.note("type", response.mimeType)
            stage.note("length", response.expectedContentLength)
            stage.note("encoding", response.textEncodingName)
            stage.note("name", response.suggestedFilename)
        },
        Scenario("response.without-anything") { stage in
            let response = URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
            stage.note("type", response.mimeType)
            stage.note("length", response.expectedContentLength)
            stage.note("encoding", response.textEncodingName)
            stage.note("name", response.suggestedFilename)
        },
        Scenario("response.http") { stage in
            for status in [0, 99, 200, 404, 999, -1] {
                let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: nil)
                stage.note("\(status)", response?.statusCode)
            }
        },
        Scenario("response.http-fields") { stage in
            let response = HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: nil,
                headerFields: [
                    "content-type": "text/html; charset=utf-8", "CONTENT-LENGTH": "12", "x-a": "1",
                    "Content-Disposition": "attachment; filename=\"n.html\"",
                ])
            stage.note("type", response?.mimeType)
            stage.note("encoding", response?.textEncodingName)
            stage.note("length", response?.expectedContentLength)
            stage.note("name", response?.suggestedFilename)
            stage.note("X-A", response?.value(forHTTPHeaderField: "X-A"))
            stage.note("keys", response?.allHeaderFields.keys.compactMap { $0 as? String }.sorted())
        },
        Scenario("response.http-lengths") { stage in
            for length in ["0", "12", "-1", "nonsense", "12, 12", " 12 ", "99999999999999999999"] {
                let response = HTTPURLResponse(
                    url: url, statusCode: 200, httpVersion: nil, headerFields: ["Content-Length": length])
                stage.note(length, response?.expectedContentLength)
            }
        },
        Scenario("response.http-codings") { stage in
            for (name, value) in [
                ("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "identity"), ("Content-Encoding", "gzip"),
            ] {
                let response = HTTPURLResponse(
                    url: url, statusCode: 200, httpVersion: nil, headerFields: ["Content-Length": "5", name: value])
                stage.note("\(name) \(value)", response?.expectedContentLength)
            }
        },
        Scenario("response.names-with-slashes") { stage in
            for name in ["a/b.txt", "../../etc/passwd", "/etc/passwd", "dir/"] {
                let response = HTTPURLResponse(
                    url: url, statusCode: 200, httpVersion: nil,
                    headerFields: ["Content-Disposition": "attachment; filename=\(name)"])
                stage.note(name, response?.suggestedFilename)
            }
        },
        Scenario("response.descriptions") { stage in
            for fields in [nil, ["content-type": "text/html", "Server": "a b", "Content-Length": "5"]] {
                let response = HTTPURLResponse(url: url, statusCode: 404, httpVersion: nil, headerFields: fields)
                if let response { stage.noteDescription(response) }
            }
        },
        Scenario("response.plain-description") { stage in
            stage.noteDescription(
                URLResponse(url: url, mimeType: "text/plain", expectedContentLength: 5, textEncodingName: nil))
        },
        Scenario("response.localized-strings") { stage in
            for status in Array(100...103) + Array(200...208) + Array(300...308) + Array(400...431) + Array(500...511)
                + [0, 99, 226, 451, 299, 600, 999]
            {
                stage.note("\(status)", HTTPURLResponse.localizedString(forStatusCode: status))
            }
        },
        Scenario("response.equality") { stage in
            let make = { URLResponse(url: url, mimeType: "a/b", expectedContentLength: 1, textEncodingName: nil) }
            stage.note("same", make() == make())
            let http = { HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: ["A": "1"]) }
            stage.note("same", http() == http())
            stage.note("kinds", http() == make())
        },
        Scenario("response.copy") { stage in
            let response = HTTPURLResponse(url: url, statusCode: 201, httpVersion: nil, headerFields: ["A": "1"])
            let copy = response?.copy() as? HTTPURLResponse
            stage.note("status", copy?.statusCode)
            stage.note("A", copy?.value(forHTTPHeaderField: "A"))
        },
        Scenario("response.archive") { stage in
            guard
                let response = HTTPURLResponse(
                    url: url, statusCode: 201, httpVersion: nil, headerFields: ["A": "1"])
            else { return }
            let data = try NSKeyedArchiver.archivedData(withRootObject: response, requiringSecureCoding: true)
            let copy = try NSKeyedUnarchiver.unarchivedObject(ofClass: HTTPURLResponse.self, from: data)
            stage.note("status", copy?.statusCode)
            stage.note("url", copy?.url)
            stage.note("A", copy?.value(forHTTPHeaderField: "A"))
        },
    ]
}

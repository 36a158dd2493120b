import Foundation

/// A running httpbin, and a session for it alone.
struct HTTPBin: Sendable {
    /// A response, as it arrived.
    struct Answer {
        let body: Data
        let response: HTTPURLResponse

        var status: Int { response.statusCode }
        var text: String { String(decoding: body, as: UTF8.self) }
        /// The path and query of the response's URL.
        var place: String { (response.url?.path ?? "") + (response.url?.query.map { "?\($0)" } ?? "") }

        func field(_ name: String) -> String? { response.value(forHTTPHeaderField: name) }

        /// What httpbin echoes of the request, at this path of keys.
        func echoed(_ keys: String...) -> String? {
            var value = try? JSONSerialization.jsonObject(with: body)
            for key in keys { value = (value as? [String: Any])?[key] }
            if let text = value as? String { return text }
            return value.map { "\($0)" }
        }
    }

    let url: URL
    let session: URLSession

    init(url: URL, _ change: (URLSessionConfiguration) -> Void = { _ in }, delegate: Recorder? = nil) {
        self.url = url
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 30
        change(configuration)
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    /// The same server with other settings.
    func changed(_ change: (URLSessionConfiguration) -> Void) -> HTTPBin {
        HTTPBin(url: url, change)
    }

    func request(_ path: String, _ method: String = "GET", user: String? = nil) throws -> URLRequest {
        guard var parts = URLComponents(string: url.absoluteString + path) else { throw URLError(.badURL) }
        parts.user = user
        parts.password = user.map { _ in "secret" }
        guard let place = parts.url else { throw URLError(.badURL) }
        var request = URLRequest(url: place)
        request.httpMethod = method
        return request
    }

    func get(_ path: String, user: String? = nil, fields: [String: String] = [:]) async throws -> Answer {
        var request = try request(path, user: user)
        for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
        return try await load(request)
    }

    func load(_ request: URLRequest) async throws -> Answer {
        let (body, response) = try await session.data(for: request)
        return try answer(body, response)
    }

    func answer(_ body: Data, _ response: URLResponse) throws -> Answer {
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        return Answer(body: body, response: response)
    }
}

/// Checks of a session against httpbin, which print a line each.
struct HTTPBinChecks: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    struct Check: Sendable {
        let title: String
        let run: @Sendable (HTTPBin) async throws -> Void

        init(_ title: String, _ run: @escaping @Sendable (HTTPBin) async throws -> Void) {
            self.title = title
            self.run = run
        }
    }

    static let all =
        HTTPBinRedirects.all + HTTPBinAuthentication.all + HTTPBinCookies.all + HTTPBinBodies.all + HTTPBinContents.all
        + HTTPBinCaching.all + HTTPBinTimes.all

    /// Runs all checks and prints how many failed.
    static func run(at url: URL) async -> Bool {
        var failures = 0
        for check in all {
            do {
                // A new session for each check: it has no state of an earlier one.
                try await check.run(HTTPBin(url: url))
                print("ok - httpbin: \(check.title)")
            } catch {
                failures += 1
                print("FAILED - httpbin: \(check.title): \(error)")
            }
        }
        return failures == 0
    }
}

/// Throws with both values unless they are equal.
func expect<Value: Equatable>(_ what: String, _ found: Value, _ expected: Value) throws {
    guard found != expected else { return }
    throw HTTPBinChecks.Failure(description: "\(what) is \(found) instead of \(expected)")
}

/// Throws unless the condition holds.
func expect(_ what: String, _ condition: Bool) throws {
    guard !condition else { return }
    throw HTTPBinChecks.Failure(description: "not so: \(what)")
}

/// Throws unless the body fails with the code.
func expectFailure(_ code: URLError.Code, _ load: () async throws -> Void) async throws {
    do {
        try await load()
    } catch {
        return try expect("error", (error as? URLError)?.code, code)
    }
    throw HTTPBinChecks.Failure(description: "it did not fail with \(code.rawValue)")
}

enum HTTPBinAuthentication {
    static let all =
        [
            HTTPBinChecks.Check("/basic-auth with the user of the URL") { bin in
                let answer = try await bin.get("/basic-auth/me/secret", user: "me")
                try expect("status", answer.status, 200)
                try expect("user", answer.echoed("user"), "me")
            },
            HTTPBinChecks.Check("/basic-auth with a delegate's credential") { bin in
                try expect("status", try await answered(bin, "/basic-auth/me/secret", "secret"), 200)
            },
            HTTPBinChecks.Check("/basic-auth with the wrong password, then none") { bin in
                try expect("status", try await answered(bin, "/basic-auth/me/secret", "wrong"), 401)
            },
            HTTPBinChecks.Check("/basic-auth with a storage's credential") { bin in
                let storage = URLCredentialStorage()
                let space = URLProtectionSpace(
                    host: bin.url.host ?? "", port: bin.url.port ?? 80, protocol: "http", realm: "Fake Realm",
                    authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
                storage.setDefaultCredential(
                    URLCredential(user: "me", password: "secret", persistence: .forSession), for: space)
                let other = bin.changed { $0.urlCredentialStorage = storage }
                try expect("status", try await other.get("/basic-auth/me/secret").status, 200)
            },
            HTTPBinChecks.Check("/basic-auth without anything is the 401") { bin in
                try expect("status", try await bin.get("/basic-auth/me/secret").status, 401)
            },
            HTTPBinChecks.Check("/hidden-basic-auth does not ask, and is a 404") { bin in
                let delegate = Recorder(challenge: { _ in
                    (.useCredential, URLCredential(user: "me", password: "secret", persistence: .forSession))
                })
                let request = try bin.request("/hidden-basic-auth/me/secret")
                let (body, response) = try await bin.session.data(for: request, delegate: delegate)
                try expect("status", try bin.answer(body, response).status, 404)
                try expect("calls", delegate.calls.filter { $0.hasPrefix("challenge") }, [])
            },
            HTTPBinChecks.Check("/hidden-basic-auth with a field of one's own") { bin in
                let fields = ["Authorization": "Basic bWU6c2VjcmV0"]
                try expect("status", try await bin.get("/hidden-basic-auth/me/secret", fields: fields).status, 200)
            },
            HTTPBinChecks.Check("/bearer with a token, and without") { bin in
                let answer = try await bin.get("/bearer", fields: ["Authorization": "Bearer abc"])
                try expect("token", answer.echoed("token"), "abc")
                try expect("status", try await bin.get("/bearer").status, 401)
            },
            HTTPBinChecks.Check("/digest-auth, nonces that go stale after every request") { bin in
                for _ in 0..<3 {
                    try expect(
                        "status", try await answered(bin, "/digest-auth/auth/me/secret/MD5/1", "secret"), 200)
                }
            },
            HTTPBinChecks.Check("/digest-auth with a wrong password is the 401") { bin in
                try expect("status", try await answered(bin, "/digest-auth/auth/me/secret/MD5/never", "wrong"), 401)
            },
        ]
        + ["MD5", "SHA-256"].map { algorithm in
            HTTPBinChecks.Check("/digest-auth with \(algorithm), qop auth, from a delegate and from the URL") { bin in
                let path = "/digest-auth/auth/me/secret/\(algorithm)/never"
                try expect("status", try await answered(bin, path, "secret"), 200)
                let other = bin.changed { _ in }
                try expect("status", try await other.get(path, user: "me").status, 200)
            }
        }

    /// The status, when a delegate gives this password once.
    private static func answered(_ bin: HTTPBin, _ path: String, _ password: String) async throws -> Int {
        let delegate = Recorder(challenge: { challenge in
            challenge.previousFailureCount == 0
                ? (.useCredential, URLCredential(user: "me", password: password, persistence: .none))
                : (.performDefaultHandling, nil)
        })
        let (body, response) = try await bin.session.data(for: bin.request(path), delegate: delegate)
        return try bin.answer(body, response).status
    }
}

enum HTTPBinBodies {
    private static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]

    static let all =
        methods.map { method in
            HTTPBinChecks.Check("/anything with \(method) and no body") { bin in
                let answer = try await bin.load(bin.request("/anything/x?a=%20b", method))
                try expect("method", answer.echoed("method"), method)
                try expect("query", answer.echoed("args", "a"), " b")
                try expect("body", answer.echoed("data"), "")
            }
        }
        + methods.dropFirst().flatMap { method in
            [
                HTTPBinChecks.Check("/anything with \(method) and data") { bin in
                    var request = try bin.request("/anything", method)
                    request.httpBody = Data("the body".utf8)
                    request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
                    try expect("body", try await bin.load(request).echoed("data"), "the body")
                },
                HTTPBinChecks.Check("/anything with \(method) and a file") { bin in
                    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
                    try Data("from a file".utf8).write(to: file)
                    defer { try? FileManager.default.removeItem(at: file) }
                    var request = try bin.request("/anything", method)
                    request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
                    let (body, response) = try await bin.session.upload(for: request, fromFile: file)
                    try expect("body", try bin.answer(body, response).echoed("data"), "from a file")
                },
                HTTPBinChecks.Check("/anything with \(method) and a stream") { bin in
                    var request = try bin.request("/anything", method)
                    request.httpBodyStream = InputStream(data: Data("from a stream".utf8))
                    request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
                    try expect("body", try await bin.load(request).echoed("data"), "from a stream")
                },
                HTTPBinChecks.Check("/anything with \(method) and a form") { bin in
                    var request = try bin.request("/anything", method)
                    request.httpBody = Data("a=1&b=%C3%A4".utf8)
                    // With POST that is what a body is called by itself.
                    if method != "POST" {
                        request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
                    }
                    let answer = try await bin.load(request)
                    try expect("a", answer.echoed("form", "a"), "1")
                    try expect("b", answer.echoed("form", "b"), "ä")
                },
            ]
        } + [
            HTTPBinChecks.Check("/get, /post, /put, /patch and /delete, each with its method") { bin in
                for method in methods {
                    try expect(method, try await bin.load(bin.request("/\(method.lowercased())", method)).status, 200)
                }
            },
            HTTPBinChecks.Check("HEAD and OPTIONS") { bin in
                let head = try await bin.load(bin.request("/bytes/100", "HEAD"))
                try expect("status", head.status, 200)
                try expect("length", head.response.expectedContentLength, 100)
                try expect("bytes", head.body.count, 0)
                let options = try await bin.load(bin.request("/get", "OPTIONS"))
                try expect("lists what is allowed", options.field("Allow")?.contains("GET") == true)
            },
            HTTPBinChecks.Check("/post with a megabyte") { bin in
                var request = try bin.request("/post", "POST")
                request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
                let (body, response) = try await bin.session.upload(
                    for: request, from: Data(repeating: 65, count: 1_000_000))
                try expect("bytes", try bin.answer(body, response).echoed("data")?.utf8.count, 1_000_000)
            },
        ]
}

/// What a session stores of httpbin's answers, and what it asks again. Metrics show where a response came from.
enum HTTPBinCaching {
    static let all = [
        HTTPBinChecks.Check("/etag with conditions") { bin in
            let answer = try await bin.get("/etag/v1")
            try expect("tag", answer.field("ETag"), "v1")
            try expect("If-None-Match", try await bin.get("/etag/v1", fields: ["If-None-Match": "v1"]).status, 304)
            try expect("If-Match", try await bin.get("/etag/v1", fields: ["If-Match": "v2"]).status, 412)
        },
        HTTPBinChecks.Check("/cache with a condition of one's own") { bin in
            try expect("status", try await bin.get("/cache").status, 200)
            let fields = ["If-Modified-Since": "Wed, 09 Jun 2021 10:18:14 GMT"]
            try expect("status", try await bin.get("/cache", fields: fields).status, 304)
            try expect("lifetime", try await bin.get("/cache/60").field("Cache-Control"), "public, max-age=60")
        },
        HTTPBinChecks.Check("/cache/60 is loaded once, and then answered from the cache") { bin in
            let found = try await Loads(bin, "/cache/60", 2)
            try expect("statuses", found.statuses, [200, 200])
            try expect("bodies are the same", found.bodies[0] == found.bodies[1])
            try expect("from", found.origins, ["networkLoad", "localCache"])
        },
        HTTPBinChecks.Check("/cache/0 is loaded each time") { bin in
            let found = try await Loads(bin, "/cache/0", 2)
            try expect("statuses", found.statuses, [200, 200])
            try expect("from the network", found.origins.allSatisfy { $0.hasPrefix("networkLoad") })
        },
        HTTPBinChecks.Check("/cache is confirmed with a 304, which is not shown") { bin in
            let found = try await Loads(bin, "/cache", 2)
            try expect("statuses", found.statuses, [200, 200])
            try expect("bodies are the same", found.bodies[0] == found.bodies[1])
            try expect("a body the second time", !found.bodies[1].isEmpty)
            try expect("bytes of bodies from the network", found.bytes[1], 0)
        },
        HTTPBinChecks.Check("/cache/60, reloaded, is loaded each time") { bin in
            let found = try await Loads(bin, "/cache/60", 2) { $0.cachePolicy = .reloadIgnoringLocalCacheData }
            try expect("from the network", found.origins.allSatisfy { $0 == "networkLoad" })
        },
        HTTPBinChecks.Check("/cache/60 without a connection: only what is stored") { bin in
            var request = try bin.request("/cache/60")
            request.cachePolicy = .returnCacheDataDontLoad
            try await expectFailure(.resourceUnavailable) { _ = try await bin.load(request) }
            let first = try await bin.get("/cache/60")
            try expect("the same", try await bin.load(request).body == first.body)
        },
        HTTPBinChecks.Check("/etag/v1, whose tag has no quotes, stays as the server sent it") { bin in
            let found = try await Loads(bin, "/etag/v1", 2)
            try expect("statuses", found.statuses, [200, 200])
            try expect("there is a body the second time", !found.bodies[1].isEmpty)
        },
        HTTPBinChecks.Check("/response-headers with a lifetime is answered from the cache") { bin in
            let path = "/response-headers?Cache-Control=max-age%3D60"
            let found = try await Loads(bin, path, 2)
            try expect("from", found.origins, ["networkLoad", "localCache"])
        },
    ]

    /// The results of several loads of one URL in turn.
    private struct Loads {
        var statuses: [Int] = []
        var bodies: [Data] = []
        /// Where the response came from.
        var origins: [String] = []
        /// How many bytes of bodies came over the network.
        var bytes: [Int64] = []

        init(_ bin: HTTPBin, _ path: String, _ count: Int, _ change: (inout URLRequest) -> Void = { _ in }) async throws
        {
            var request = try bin.request(path)
            change(&request)
            let recorder = Recorder()
            let watched = HTTPBin(url: bin.url, delegate: recorder)
            var length = 0
            for number in 1...count {
                let task = watched.session.dataTask(with: request)
                task.resume()
                await recorder.completion(of: number)
                guard let response = task.response as? HTTPURLResponse, let metrics = recorder.metrics.last else {
                    throw HTTPBinChecks.Failure(description: "no response, or no metrics")
                }
                statuses.append(response.statusCode)
                bodies.append(Data(recorder.text.utf8.dropFirst(length)))
                length = recorder.text.utf8.count
                origins.append(metrics.transactionMetrics.last.map { "\($0.resourceFetchType)" } ?? "none")
                bytes.append(metrics.transactionMetrics.map(\.countOfResponseBodyBytesReceived).reduce(0, +))
            }
        }
    }
}

enum HTTPBinContents {
    static let all = [
        HTTPBinChecks.Check("/gzip is decoded") { bin in
            let answer = try await bin.get("/gzip")
            try expect("gzipped", answer.echoed("gzipped"), "1")
            try expect("coding", answer.field("Content-Encoding"), "gzip")
        },
        HTTPBinChecks.Check("/deflate is decoded") { bin in
            try expect("deflated", try await bin.get("/deflate").echoed("deflated"), "1")
        },
        HTTPBinChecks.Check("brotli is not asked for") { bin in
            let offered = try await bin.get("/headers").echoed("headers", "Accept-Encoding")
            try expect("something is offered", offered != nil)
            try expect("no brotli is offered", offered?.contains("br") == false)
        },
        HTTPBinChecks.Check("/encoding/utf8 arrives unharmed") { bin in
            let answer = try await bin.get("/encoding/utf8")
            try expect("encoding", answer.response.textEncodingName, "utf-8")
            try expect("the text has its letters", answer.text.contains("∮ E⋅da = Q"))
        },
        HTTPBinChecks.Check("/stream/20 is 20 lines of JSON, chunked") { bin in
            let answer = try await bin.get("/stream/20")
            let lines = answer.text.split(separator: "\n")
            try expect("lines", lines.count, 20)
            try expect("length", answer.response.expectedContentLength, -1)
        },
        HTTPBinChecks.Check("/stream-bytes/100000 arrives whole, the same for the same seed") { bin in
            let one = try await bin.get("/stream-bytes/100000?seed=1&chunk_size=777")
            let other = try await bin.get("/stream-bytes/100000?seed=1&chunk_size=10000")
            try expect("bytes", one.body.count, 100_000)
            try expect("they are the same", one.body == other.body)
        },
        HTTPBinChecks.Check("/bytes/50000 arrives whole") { bin in
            let answer = try await bin.get("/bytes/50000?seed=2")
            try expect("bytes", answer.body.count, 50_000)
            try expect("length", answer.response.expectedContentLength, 50_000)
        },
        HTTPBinChecks.Check("/response-headers, one of them twice") { bin in
            let answer = try await bin.get("/response-headers?X-One=1&X-Two=a&X-Two=b")
            try expect("X-One", answer.field("x-one"), "1")
            try expect("X-Two", answer.field("X-TWO"), "a, b")
        },
        HTTPBinChecks.Check("/status, every kind") { bin in
            for status in [200, 201, 204, 205, 206, 300, 304, 400, 404, 406, 418, 429, 500, 503] {
                try expect("status", try await bin.get("/status/\(status)").status, status)
            }
        },
        HTTPBinChecks.Check("/range with a Range of one's own") { bin in
            let answer = try await bin.get("/range/1000", fields: ["Range": "bytes=10-19"])
            try expect("status", answer.status, 206)
            try expect("body", answer.text, "klmnopqrst")
        },
        HTTPBinChecks.Check("/user-agent and /headers echo what was sent") { bin in
            let answer = try await bin.get("/user-agent", fields: ["User-Agent": "mine/1"])
            try expect("agent", answer.echoed("user-agent"), "mine/1")
            let echoed = try await bin.get("/headers", fields: ["X-Own": "grüße"]).echoed("headers", "X-Own")
            try expect("there is a field", echoed != nil)
        },
        HTTPBinChecks.Check("/image/png, /html, /json and /xml have their types") { bin in
            for (path, type) in [
                ("/image/png", "image/png"), ("/html", "text/html"), ("/json", "application/json"),
                ("/xml", "application/xml"),
            ] {
                try expect(path, try await bin.get(path).response.mimeType, type)
            }
        },
        HTTPBinChecks.Check("/base64 decodes, and /uuid differs") { bin in
            try expect("text", try await bin.get("/base64/aGVsbG8=").text, "hello")
            let one = try await bin.get("/uuid").text
            try expect("they differ", try await bin.get("/uuid").text != one)
        },
    ]
}

enum HTTPBinCookies {
    static let all = [
        HTTPBinChecks.Check("/cookies/set is kept across its redirect") { bin in
            let answer = try await bin.get("/cookies/set?a=1&b=2")
            try expect("place", answer.place, "/cookies")
            try expect("a", answer.echoed("cookies", "a"), "1")
            try expect("b", answer.echoed("cookies", "b"), "2")
        },
        HTTPBinChecks.Check("/cookies/set/NAME/VALUE, then sent with the next request") { bin in
            _ = try await bin.get("/cookies/set/a/1")
            try expect("a", try await bin.get("/cookies").echoed("cookies", "a"), "1")
            try expect("stored", bin.session.configuration.httpCookieStorage?.cookies?.map(\.name), ["a"])
        },
        HTTPBinChecks.Check("/cookies/delete deletes one, and leaves the other") { bin in
            _ = try await bin.get("/cookies/set?a=1&b=2")
            let answer = try await bin.get("/cookies/delete?a")
            try expect("a", answer.echoed("cookies", "a"), nil)
            try expect("b", answer.echoed("cookies", "b"), "2")
        },
        HTTPBinChecks.Check("no cookies where none are wanted") { bin in
            let other = bin.changed { $0.httpShouldSetCookies = false }
            try expect("a", try await other.get("/cookies/set?a=1").echoed("cookies", "a"), nil)
        },
        HTTPBinChecks.Check("a policy of never keeps none") { bin in
            let other = bin.changed { $0.httpCookieAcceptPolicy = .never }
            try expect("a", try await other.get("/cookies/set?a=1").echoed("cookies", "a"), nil)
            try expect("stored", other.session.configuration.httpCookieStorage?.cookies?.count, 0)
        },
    ]
}

enum HTTPBinRedirects {
    static let all =
        [
            HTTPBinChecks.Check("/redirect/5 is followed to /get") { bin in
                try expect("place", try await bin.get("/redirect/5").place, "/get")
            },
            HTTPBinChecks.Check("/relative-redirect/3 is followed to /get") { bin in
                try expect("place", try await bin.get("/relative-redirect/3").place, "/get")
            },
            HTTPBinChecks.Check("/absolute-redirect/3 is followed to /get") { bin in
                try expect("place", try await bin.get("/absolute-redirect/3").place, "/get")
            },
            HTTPBinChecks.Check("/redirect/20 is followed") { bin in
                try expect("status", try await bin.get("/redirect/20").status, 200)
            },
            HTTPBinChecks.Check("/redirect/21 are too many") { bin in
                try await expectFailure(.httpTooManyRedirects) { _ = try await bin.get("/redirect/21") }
            },
            HTTPBinChecks.Check("a delegate that returns nil gets the redirect") { bin in
                let (body, response) = try await bin.session.data(
                    for: bin.request("/redirect/1"), delegate: Recorder(redirect: { _ in nil }))
                try expect("status", try bin.answer(body, response).status, 302)
            },
        ]
        + [301, 302, 303, 307, 308].flatMap { status in
            ["GET", "POST", "PUT", "DELETE"].map { method in
                HTTPBinChecks.Check("/redirect-to with \(status) and \(method)") { bin in
                    try await redirected(bin, status, method)
                }
            }
        }

    private static func redirected(_ bin: HTTPBin, _ status: Int, _ method: String) async throws {
        var request = try bin.request("/redirect-to?url=/anything&status_code=\(status)", method)
        let hasBody = method != "GET"
        if hasBody { request.httpBody = Data("the body".utf8) }
        request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
        let answer = try await bin.load(request)
        let becomesGet = status == 303 || method == "POST" && (status == 301 || status == 302)
        try expect("place", answer.place, "/anything")
        try expect("method", answer.echoed("method"), becomesGet ? "GET" : method)
        try expect("body", answer.echoed("data"), hasBody && !becomesGet ? "the body" : "")
    }
}

/// Answers that take their time, and downloads that resume.
enum HTTPBinTimes {
    static let all = [
        HTTPBinChecks.Check("/drip arrives drop by drop, and whole") { bin in
            let answer = try await bin.get("/drip?numbytes=10&duration=1&delay=0")
            try expect("body", answer.text, "**********")
        },
        HTTPBinChecks.Check("/delay/1 is waited for") { bin in
            try expect("status", try await bin.get("/delay/1").status, 200)
        },
        HTTPBinChecks.Check("/delay/5 is longer than a second's time-out") { bin in
            try await expectFailure(.timedOut) {
                var request = try bin.request("/delay/5")
                request.timeoutInterval = 1
                _ = try await bin.load(request)
            }
        },
        HTTPBinChecks.Check("/drip does not outlive the limit for the whole resource") { bin in
            let other = bin.changed { $0.timeoutIntervalForResource = 1 }
            try await expectFailure(.timedOut) {
                _ = try await other.get("/drip?numbytes=10&duration=5&delay=0")
            }
        },
        HTTPBinChecks.Check("/range piece by piece is the whole") { bin in
            var pieces = ""
            for range in ["bytes=0-9999", "bytes=10000-19999", "bytes=20000-"] {
                let answer = try await bin.get("/range/30000", fields: ["Range": range])
                try expect("status", answer.status, 206)
                pieces += answer.text
            }
            try expect("it is the same", try await bin.get("/range/30000").text == pieces)
        },
        HTTPBinChecks.Check("/range, cancelled: without quotes its ETag is none, and nothing to resume from") { bin in
            let (kept, keep) = AsyncStream<Data?>.makeStream()
            let recorder = Recorder(onData: { task in
                (task as? URLSessionDownloadTask)?.cancel { keep.yield($0) }
            })
            let slow = HTTPBin(url: bin.url, delegate: recorder)
            slow.session.downloadTask(with: try bin.request("/range/30000?duration=2&chunk_size=1000")).resume()
            await recorder.completion()
            var results = kept.makeAsyncIterator()
            try expect("there is no resume data", await results.next() ?? nil == nil)
            try expect("last call", recorder.calls.last, "completed -999")
        },
    ]
}

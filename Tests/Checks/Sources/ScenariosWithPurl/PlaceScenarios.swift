import Foundation
import PurlTesting

/// Avoids the compiler's warning that pipelining is discouraged.
private protocol Pipelining {
    var httpShouldUsePipelining: Bool { get set }
}

extension URLRequest: Pipelining {}

/// Responses that come from elsewhere than the URL's server, and their metrics.
enum PlaceScenarios {
    static let all =
        dataURLs.map { name, address in
            Scenario("data-url.\(name)") { stage in
                guard let url = URL(string: address) else { return stage.note("URL", nil) }
                let task = await stage.load(url)
                stage.note("type", task.response?.mimeType)
                stage.note("encoding", task.response?.textEncodingName)
                stage.note("length", task.response?.expectedContentLength)
            }
        } + [
            Scenario("data-url.async") { stage in
                guard let url = URL(string: "data:,hello") else { return }
                let (data, _) = try await stage.session().data(from: url)
                stage.note("body", String(decoding: data, as: UTF8.self))
            },
            Scenario("file-url.file") { stage in
                let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).txt")
                try Data("hello".utf8).write(to: file)
                defer { try? FileManager.default.removeItem(at: file) }
                do {
                    let (data, response) = try await stage.session().data(from: file)
                    stage.note("body", String(decoding: data, as: UTF8.self))
                    stage.note("type", response.mimeType)
                    stage.note("length", response.expectedContentLength)
                } catch {
                    stage.note("error", (error as NSError).code)
                }
            },
            Scenario("file-url.refused") { stage in
                for address in ["file:///nowhere/file", "file:///", "file:///dev/zero"] {
                    guard let url = URL(string: address) else { continue }
                    await stage.load(url)
                }
            },
            Scenario("proxy.dictionary") { stage in
                await loadThroughProxy(stage, ["HTTPEnable": 1, "HTTPPort": Int(stage.server.port)])
            },
            Scenario("proxy.not-enabled") { stage in
                await loadThroughProxy(stage, ["HTTPEnable": 0, "HTTPPort": Int(stage.server.port)])
            },
            Scenario("proxy.exception") { stage in
                let port = Int(stage.server.port)
                await loadThroughProxy(
                    stage, ["HTTPEnable": 1, "HTTPPort": port, "ExceptionsList": ["*.invalid"]])
            },
            Scenario("proxy.environment") { stage in
                for name in ["http_proxy", "all_proxy"] {
                    await loadInEnvironment(stage, [name: "http://127.0.0.1:\(stage.server.port)"])
                }
            },
            Scenario("proxy.environment-user") { stage in
                await loadInEnvironment(stage, ["http_proxy": "http://me:a%40b@127.0.0.1:\(stage.server.port)"])
            },
            Scenario("proxy.environment-exceptions") { stage in
                let proxy = "127.0.0.1:\(stage.server.port)"
                for exceptions in [
                    "invalid", ".invalid", "NOWHERE.invalid", "a.org, nowhere.invalid", "a nowhere.invalid", "*",
                ] {
                    await loadInEnvironment(stage, ["http_proxy": proxy, "no_proxy": exceptions])
                }
                for exceptions in ["where.invalid", "nowhere", "a.org"] {
                    await loadInEnvironment(stage, ["http_proxy": proxy, "no_proxy": exceptions])
                }
            },
            Scenario("proxy.environment-capitals") { stage in
                await loadInEnvironment(stage, ["HTTP_PROXY": "http://127.0.0.1:\(stage.server.port)"])
            },
            Scenario("proxy.environment-unreadable") { stage in
                await loadInEnvironment(stage, ["http_proxy": "a b c"])
            },
            Scenario("proxy.environment-this-machine") { stage in
                let proxy = ["http_proxy": "http://127.0.0.1:\(stage.server.port)"]
                await loadInEnvironment(stage, proxy, stage.server.url("/file"))
            },
            Scenario("proxy.environment-switched-off") { stage in
                let proxy = ["http_proxy": "http://127.0.0.1:\(stage.server.port)"]
                await loadInEnvironment(stage, proxy) { $0.connectionProxyDictionary = [:] }
            },
            Scenario("proxy.configuration") { stage in
                let configuration = URLSessionConfiguration.default
                stage.note("default", configuration.connectionProxyDictionary)
                configuration.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "example.com"]
                stage.note("host", configuration.connectionProxyDictionary?["HTTPProxy"])
            },
            Scenario("metrics.plain") { stage in
                try await noteMetrics(stage, [stage.server.route("/file", .text("hello"))])
            },
            Scenario("metrics.redirect") { stage in
                _ = stage.server.route("/file", .text("hello"))
                try await noteMetrics(stage, [stage.server.route("/old", .redirect(to: "/file"))])
            },
            Scenario("metrics.reused") { stage in
                let url = stage.server.route("/file", .text("hello"))
                try await noteMetrics(stage, [url, url])
            },
            Scenario("metrics.cached") { stage in
                let url = stage.server.route("/file", .text("hello").field("Cache-Control", "max-age=60"))
                try await noteMetrics(stage, [url, url])
            },
            Scenario("metrics.refused") { stage in
                let recorder = Recorder()
                let session = stage.session(recorder)
                stage.server.stop()
                session.dataTask(with: stage.server.url("/file")).resume()
                await recorder.completion()
                note(stage, recorder)
            },
            Scenario("setting.pipelining") { stage in
                var request = URLRequest(url: stage.server.route("/file", .text("hello")))
                stage.note("kept", pipelined(&request))
                await stage.load(request)
            },
            Scenario("setting.service") { stage in
                var request = URLRequest(url: stage.server.route("/file", .text("hello")))
                for service in [URLRequest.NetworkServiceType.video, .background] {
                    request.networkServiceType = service
                    stage.note("kept", request.networkServiceType.rawValue)
                    await stage.load(request)
                }
            },
            Scenario("setting.one-connection") { stage in
                let session = stage.session { $0.httpMaximumConnectionsPerHost = 1 }
                let url = stage.server.route("/file", .text("hello"))
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 { group.addTask { _ = try? await session.data(from: url) } }
                }
                stage.note("connections", stage.server.acceptedConnections)
            },
        ]

    private static let dataURLs = [
        ("plain", "data:,hello%20there"), ("base64", "data:text/plain;base64,aGVsbG8="),
        ("type", "data:text/html;charset=UTF-8,%3Cp%3E"), ("bad-base64", "data:;base64,%"),
        ("no-comma", "data:hello"), ("malformed-type", "data:text%2Fplain,hello"),
        ("charset-without-type", "data:;charset=utf-8,%C3%A4"), ("no-type", "data:nothing,hello"),
    ]

    private static func pipelined(_ request: inout some Pipelining) -> Bool {
        request.httpShouldUsePipelining = true
        return request.httpShouldUsePipelining
    }

    private static func loadThroughProxy(_ stage: Stage, _ settings: [String: Any]) async {
        guard let url = URL(string: "http://nowhere.invalid/file") else { return }
        stage.server.fallback(.text("by the proxy"))
        let recorder = Recorder()
        let session = stage.session(recorder) { configuration in
            configuration.connectionProxyDictionary = settings.merging(["HTTPProxy": "127.0.0.1"]) { $1 }
        }
        await stage.run(session.dataTask(with: url), recorder)
        stage.noteRequests()
    }

    /// Loads with these proxy variables in the environment, and no others.
    private static func loadInEnvironment(
        _ stage: Stage, _ variables: [String: String], _ address: URL? = URL(string: "http://nowhere.invalid/file"),
        _ change: @escaping (URLSessionConfiguration) -> Void = { _ in }
    ) async {
        guard let address else { return }
        for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "no_proxy"] {
            if let value = variables[name] { setenv(name, value, 1) } else { unsetenv(name) }
        }
        stage.note("variables", variables.map { "\($0)=\($1)" }.sorted().joined(separator: " "))
        stage.server.fallback(.text("by the proxy"))
        let recorder = Recorder()
        let session = stage.session(recorder, change)
        await stage.run(session.dataTask(with: address), recorder)
        stage.noteRequests()
    }

    /// Loads one after the other, and notes what of the metrics is the same every time.
    private static func noteMetrics(_ stage: Stage, _ urls: [URL]) async throws {
        let recorder = Recorder()
        let session = stage.session(recorder)
        for (index, url) in urls.enumerated() {
            session.dataTask(with: url).resume()
            await recorder.completion(of: index + 1)
        }
        note(stage, recorder)
    }

    private static func note(_ stage: Stage, _ recorder: Recorder) {
        for metrics in recorder.metrics {
            stage.note("redirects", metrics.redirectCount)
            stage.note("takes time", metrics.taskInterval.duration > 0)
            for part in metrics.transactionMetrics { note(stage, part) }
        }
    }

    private static func note(_ stage: Stage, _ part: URLSessionTaskTransactionMetrics) {
        stage.note("transaction", "\(part.request.url?.path ?? "nil") \(part.resourceFetchType)")
        stage.note("status", (part.response as? HTTPURLResponse)?.statusCode)
        stage.note("protocol", part.networkProtocolName)
        stage.note("addresses", "\(part.localAddress ?? "nil") \(part.remoteAddress ?? "nil")")
        stage.note("remote port is the server's", part.remotePort == "\(stage.server.port)")
        stage.note("reused", part.isReusedConnection)
        stage.note("proxy", part.isProxyConnection)
        stage.note("body", "\(part.countOfRequestBodyBytesSent) \(part.countOfResponseBodyBytesReceived)")
        stage.note("decoded", part.countOfResponseBodyBytesAfterDecoding)
        stage.note("heads", "\(part.countOfRequestHeaderBytesSent > 0) \(part.countOfResponseHeaderBytesReceived > 0)")
        stage.note("TLS", part.negotiatedTLSProtocolVersion)
        let dates = [
            part.fetchStartDate, part.domainLookupStartDate, part.domainLookupEndDate, part.connectStartDate,
            part.connectEndDate, part.requestStartDate, part.requestEndDate, part.responseStartDate,
            part.responseEndDate,
        ]
        stage.note("has dates", dates.map { $0 == nil ? "no" : "yes" }.joined(separator: " "))
        let known = dates.compactMap { $0 }
        stage.note("dates in order", known == known.sorted())
    }
}

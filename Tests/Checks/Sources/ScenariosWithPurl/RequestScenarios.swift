import Foundation

/// `URLRequest` as a value.
enum RequestScenarios {
    private static let url = URL(string: "http://example.com/a?b=c#d") ?? URL(fileURLWithPath: "/")

    static let all = [
        Scenario("request.defaults") { stage in
            let request = URLRequest(url: url)
            stage.note("method", request.httpMethod)
            stage.note("policy", request.cachePolicy.rawValue)
            stage.note("timeout", request.timeoutInterval)
            stage.note("body", request.httpBody)
            stage.note("stream", request.httpBodyStream)
            stage.note("fields", request.allHTTPHeaderFields)
            stage.note("cookies", request.httpShouldHandleCookies)
            stage.note("cellular", request.allowsCellularAccess)
            stage.note("service", request.networkServiceType.rawValue)
            stage.note("document", request.mainDocumentURL)
        },
        Scenario("request.description") { stage in
            var request = URLRequest(url: url)
            stage.note("description", request.description)
            stage.note("debugDescription", request.debugDescription)
            request.url = nil
            stage.note("without a URL", request.description)
        },
        Scenario("request.methods") { stage in
            var request = URLRequest(url: url)
            for method in ["post", "Post", "get", "custom", "delete", "head", "put", "patch", "options"] {
                request.httpMethod = method
                stage.note(method, request.httpMethod)
            }
            request.httpMethod = nil
            stage.note("nil", request.httpMethod)
        },
        Scenario("request.fields") { stage in
            var request = URLRequest(url: url)
            request.setValue("1", forHTTPHeaderField: "x-one")
            request.addValue("2", forHTTPHeaderField: "X-One")
            request.setValue("3", forHTTPHeaderField: "X-Two")
            stage.note(
                "fields", request.allHTTPHeaderFields?.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })
            stage.note("X-ONE", request.value(forHTTPHeaderField: "X-ONE"))
            request.setValue("4", forHTTPHeaderField: "X-ONE")
            stage.note(
                "fields", request.allHTTPHeaderFields?.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })
            request.setValue(nil, forHTTPHeaderField: "x-TWO")
            stage.note("X-Two", request.value(forHTTPHeaderField: "X-Two"))
            request.allHTTPHeaderFields = ["A": "1"]
            stage.note("count", request.allHTTPHeaderFields?.count)
            request.allHTTPHeaderFields = nil
            stage.note("none", request.allHTTPHeaderFields)
        },
        Scenario("request.equality") { stage in
            let one = URLRequest(url: url)
            var other = URLRequest(url: url)
            stage.note("same", "\(one == other) \(one.hashValue == other.hashValue)")
            let changes: [(String, (inout URLRequest) -> Void)] = [
                ("method", { $0.httpMethod = "PUT" }), ("body", { $0.httpBody = Data([1]) }),
                ("field", { $0.setValue("1", forHTTPHeaderField: "A") }), ("timeout", { $0.timeoutInterval = 1 }),
                ("policy", { $0.cachePolicy = .reloadIgnoringLocalCacheData }),
                ("document", { $0.mainDocumentURL = url }), ("cookies", { $0.httpShouldHandleCookies = false }),
                ("cellular", { $0.allowsCellularAccess = false }),
                ("URL", { $0.url = URL(string: "http://example.com/b") }),
                ("no URL", { $0.url = nil }), ("service", { $0.networkServiceType = .video }),
            ]
            for (name, change) in changes {
                other = one
                change(&other)
                stage.note(name, "\(one == other) \(one.hashValue == other.hashValue)")
            }
        },
        Scenario("request.relative-url") { stage in
            let relative = URL(string: "c?d", relativeTo: url)
            guard let relative else { return }
            var request = URLRequest(url: relative)
            stage.note(
                "made", "\(request.url?.relativeString ?? "nil") \(request.url?.baseURL?.absoluteString ?? "nil")")
            request.url = relative
            stage.note(
                "set", "\(request.url?.relativeString ?? "nil") \(request.url?.baseURL?.absoluteString ?? "nil")")
            stage.note("description", request.description)
            stage.note("object", NSURLRequest(url: relative).url?.baseURL)
        },
        Scenario("request.spelling") { stage in
            var request = URLRequest(url: url)
            request.setValue("1", forHTTPHeaderField: "X-Own")
            request.setValue("2", forHTTPHeaderField: "X-OWN")
            request.addValue("3", forHTTPHeaderField: "x-own")
            stage.note("fields", request.allHTTPHeaderFields)
            request.setValue(nil, forHTTPHeaderField: "x-own")
            stage.note("fields", request.allHTTPHeaderFields)
        },
        Scenario("request.unsafe-values") { stage in
            for value in ["a\r\nb", "a\rb", "a\nb", "a\0b", "a\n", "a\n b", "a\r\n b", "a\r\n\tb", "a\u{1}"] {
                var request = URLRequest(url: url)
                request.setValue(value, forHTTPHeaderField: "A")
                stage.note("set", request.allHTTPHeaderFields)
                request.setValue("1", forHTTPHeaderField: "A")
                request.addValue(value, forHTTPHeaderField: "A")
                stage.note("added", request.value(forHTTPHeaderField: "A"))
            }
        },
        Scenario("request.unsafe-values-at-once") { stage in
            var request = URLRequest(url: url)
            request.allHTTPHeaderFields = ["A": "1\nB: 2", "C": "3"]
            stage.note("A", request.value(forHTTPHeaderField: "A"))
            stage.note("C", request.value(forHTTPHeaderField: "C"))
        },
        Scenario("request.empty-body") { stage in
            let target = stage.server.route("/file", .text("hello"))
            await stage.load(stage.request(target, "POST", body: ""))
            await stage.load(stage.request(target, "POST", body: "a"))
            stage.noteFields("Content-Type", "Content-Length")
        },
        Scenario("request.dot-segments") { stage in
            stage.server.route("/", .text("hello"))
            for path in ["/a/./b/../c?x=/../y", "/..", "/a/.", "/a//../b", "/.hidden", "/a/%2e%2e/b"] {
                guard let target = URL(string: "http://127.0.0.1:\(stage.server.port)\(path)") else { continue }
                await stage.load(URLRequest(url: target))
            }
            stage.noteRequests()
        },
        Scenario("request.objects-descriptions") { stage in
            let object = NSMutableURLRequest(url: url)
            stage.noteDescription(object)
            object.url = nil
            stage.noteDescription(object)
        },
        Scenario("request.body-or-stream") { stage in
            var request = URLRequest(url: url)
            request.httpBody = Data([1])
            request.httpBodyStream = InputStream(data: Data([2]))
            stage.note("body", request.httpBody)
            stage.note("stream", request.httpBodyStream != nil)
            request.httpBody = Data([3])
            stage.note("body", request.httpBody)
            stage.note("stream", request.httpBodyStream != nil)
        },
        Scenario("request.configuration-defaults") { stage in
            for (name, configuration) in [("default", URLSessionConfiguration.default), ("ephemeral", .ephemeral)] {
                stage.note(name, "identifier \(configuration.identifier ?? "nil")")
                stage.note(name, "policy \(configuration.requestCachePolicy.rawValue)")
                stage.note(name, "request \(configuration.timeoutIntervalForRequest)")
                stage.note(name, "resource \(configuration.timeoutIntervalForResource)")
                stage.note(name, "service \(configuration.networkServiceType.rawValue)")
                stage.note(name, "cellular \(configuration.allowsCellularAccess)")
                stage.note(name, "sets cookies \(configuration.httpShouldSetCookies)")
                stage.note(name, "cookie policy \(configuration.httpCookieAcceptPolicy.rawValue)")
                stage.note(name, "fields \(configuration.httpAdditionalHeaders?.count ?? -1)")
                stage.note(name, "connections \(configuration.httpMaximumConnectionsPerHost)")
                stage.note(name, "cookie storage \(configuration.httpCookieStorage != nil)")
                stage.note(name, "credentials \(configuration.urlCredentialStorage != nil)")
            }
        },
        Scenario("request.configuration-is-copied") { stage in
            let configuration = URLSessionConfiguration.ephemeral
            let session = URLSession(configuration: configuration)
            configuration.timeoutIntervalForRequest = 1
            stage.note("session's", session.configuration.timeoutIntervalForRequest)
            session.configuration.timeoutIntervalForRequest = 2
            stage.note("changed through the session", session.configuration.timeoutIntervalForRequest)
        },
        Scenario("request.of-a-task") { stage in
            let session = stage.session { $0.httpAdditionalHeaders = ["X-Session": "1"] }
            let task = session.dataTask(with: url)
            stage.note("original", task.originalRequest?.url)
            stage.note("current", task.currentRequest?.url)
            stage.note("fields", task.originalRequest?.allHTTPHeaderFields)
            stage.note("fields", task.currentRequest?.allHTTPHeaderFields)
        },
    ]
}

/// The raw values of enumerations, which programs store.
enum RawValueScenarios {
    static let all = [
        Scenario("raw.request") { stage in
            note(stage, URLRequest.CachePolicy.self)
            note(stage, URLRequest.NetworkServiceType.self)
        },
        Scenario("raw.session") { stage in
            note(stage, URLSession.AuthChallengeDisposition.self)
            note(stage, URLSession.ResponseDisposition.self)
            note(stage, URLSessionTask.State.self)
            stage.note("low", URLSessionTask.lowPriority)
            stage.note("default", URLSessionTask.defaultPriority)
            stage.note("high", URLSessionTask.highPriority)
        },
        Scenario("raw.storage") { stage in
            note(stage, URLCache.StoragePolicy.self)
            note(stage, URLCredential.Persistence.self)
            note(stage, HTTPCookie.AcceptPolicy.self)
        },
        Scenario("raw.metrics") { stage in
            note(stage, URLSessionTaskMetrics.ResourceFetchType.self)
            note(stage, URLSessionTaskMetrics.DomainResolutionProtocol.self)
        },
    ]

    private static func note<Value: RawRepresentable>(_ stage: Stage, _ type: Value.Type)
    where Value.RawValue: BinaryInteger {
        for number in 0..<20 {
            guard let value = Value(rawValue: Value.RawValue(number)) else { continue }
            stage.note("\(type) \(number)", value)
        }
    }
}

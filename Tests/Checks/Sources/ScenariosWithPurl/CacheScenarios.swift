import Foundation
import PurlTesting

/// What a session stores, and which requests it answers from its cache.
enum CacheScenarios {
    static let all =
        [
            Scenario("cache.fresh") { stage in
                await twice(stage, .text("kept").field("Cache-Control", "max-age=60"))
            },
            Scenario("cache.fresh-by-date") { stage in
                let date = "Tue, 01 Jan 2030 00:00:00 GMT"
                await twice(stage, .text("kept").field("Date", date).field("Expires", "Wed, 01 Jan 2031 00:00:00 GMT"))
            },
            Scenario("cache.no-store") { stage in
                await twice(stage, .text("secret").field("Cache-Control", "no-store"))
            },
            Scenario("cache.no-cache") { stage in
                await twice(stage, .text("asked for").field("Cache-Control", "no-cache").entityTag("\"v1\""))
            },
            Scenario("cache.nothing-said") { stage in
                await twice(stage, .text("plain"))
            },
            Scenario("cache.validated") { stage in
                await twice(stage, .text("tagged").field("Cache-Control", "max-age=0").entityTag("\"v1\""))
            },
            Scenario("cache.private") { stage in
                await twice(stage, .text("mine").field("Cache-Control", "private, max-age=60"))
            },
            Scenario("cache.vary") { stage in
                let reply = Reply.text("letters").field("Cache-Control", "max-age=60").field("Vary", "X-Letters")
                let url = stage.server.route("/file", reply)
                let session = session(stage)
                for letters in ["latin", "greek", "latin"] {
                    var request = URLRequest(url: url)
                    request.setValue(letters, forHTTPHeaderField: "X-Letters")
                    _ = try await session.data(for: request)
                }
                stage.noteFields("X-Letters")
            },
            Scenario("cache.other-methods") { stage in
                let url = stage.server.route("/file", .text("kept").field("Cache-Control", "max-age=60"))
                let session = session(stage)
                for method in ["POST", "POST", "HEAD", "HEAD"] {
                    _ = try await session.data(for: stage.request(url, method))
                }
                stage.noteRequests()
            },
            Scenario("cache.forgotten-after-post") { stage in
                let url = stage.server.route("/file", .text("kept").field("Cache-Control", "max-age=60"))
                let session = session(stage)
                for method in ["GET", "POST", "GET"] {
                    _ = try await session.data(for: stage.request(url, method))
                }
                stage.noteRequests()
            },
            Scenario("cache.without-one") { stage in
                let url = stage.server.route("/file", .text("kept").field("Cache-Control", "max-age=60"))
                let session = stage.session { $0.urlCache = nil }
                for _ in 0..<2 { _ = try await session.data(from: url) }
                stage.noteRequests()
            },
            Scenario("cache.handler") { stage in
                let url = stage.server.route("/file", .text("kept").field("Cache-Control", "max-age=60"))
                let session = session(stage)
                for _ in 0..<2 {
                    let (data, response) = try await session.data(from: url)
                    stage.note("body", String(decoding: data, as: UTF8.self))
                    stage.noteResponse(response)
                }
                stage.noteRequests()
            },
            Scenario("cache.delegate-refuses") { stage in
                let recorder = Recorder(keeping: { _ in nil })
                await twice(stage, .text("kept").field("Cache-Control", "max-age=60"), recorder)
            },
            Scenario("cache.delegate-changes") { stage in
                let recorder = Recorder(keeping: { proposed in
                    CachedURLResponse(
                        response: proposed.response, data: Data("other".utf8), userInfo: nil,
                        storagePolicy: .allowedInMemoryOnly)
                })
                await twice(stage, .text("kept").field("Cache-Control", "max-age=60"), recorder)
            },
        ]
        + policies.map { name, policy in
            Scenario("cache.policy-\(name)") { stage in await stored(stage, policy) }
        }
        + policies.map { name, policy in
            Scenario("cache.policy-\(name)-empty") { stage in
                var request = URLRequest(url: stage.server.route("/file", .text("from the server")))
                request.cachePolicy = policy
                let recorder = Recorder()
                await stage.load(request, recorder, in: session(stage, recorder))
                stage.noteRequests()
            }
        }
        + [
            Scenario("cache.policy-of-the-session") { stage in
                let url = stage.server.route("/file", .text("from the server"))
                let recorder = Recorder()
                let session = session(stage, recorder) { $0.requestCachePolicy = .returnCacheDataDontLoad }
                await stage.run(session.dataTask(with: url), recorder)
                stage.noteRequests()
            }
        ]

    private static let policies: [(String, URLRequest.CachePolicy)] = [
        ("protocol", .useProtocolCachePolicy), ("reload", .reloadIgnoringLocalCacheData),
        ("else-load", .returnCacheDataElseLoad), ("dont-load", .returnCacheDataDontLoad),
    ]

    /// A session with its own cache.
    private static func session(
        _ stage: Stage, _ recorder: Recorder? = nil, _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        stage.session(recorder) { configuration in
            configuration.urlCache = URLCache(memoryCapacity: 4 << 20, diskCapacity: 0, diskPath: nil)
            change(configuration)
        }
    }

    /// Loads the same URL twice with a delegate.
    private static func twice(_ stage: Stage, _ reply: Reply, _ recorder: Recorder = Recorder()) async {
        let url = stage.server.route("/file", reply)
        let session = session(stage, recorder)
        for count in 1...2 {
            session.dataTask(with: url).resume()
            await recorder.completion(of: count)
        }
        stage.note("calls", recorder.calls.joined(separator: ", "))
        stage.note("body", recorder.text)
        stage.noteRequests()
        stage.noteFields("If-None-Match")
    }

    /// Loads, with this policy, a stored response that is stale, and of which the server has a newer version.
    private static func stored(_ stage: Stage, _ policy: URLRequest.CachePolicy) async {
        let url = stage.server.route("/file", .text("from the server"))
        let recorder = Recorder()
        let session = session(stage, recorder)
        var request = URLRequest(url: url)
        if let response = HTTPURLResponse(
            url: url, statusCode: 200, httpVersion: "HTTP/1.1",
            headerFields: ["Cache-Control": "max-age=0", "Date": "Wed, 09 Jun 2021 10:18:14 GMT"])
        {
            let kept = CachedURLResponse(response: response, data: Data("from the cache".utf8))
            session.configuration.urlCache?.storeCachedResponse(kept, for: request)
        }
        request.cachePolicy = policy
        await stage.load(request, recorder, in: session)
        stage.noteRequests()
    }
}

import Foundation

/// What a session stores of httpbin's answers, and what it asks again. Where a response came from is what metrics say.
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
        HTTPBinChecks.Check("/cache/0 is asked for each time") { bin in
            let found = try await Loads(bin, "/cache/0", 2)
            try expect("statuses", found.statuses, [200, 200])
            try expect("from the network", found.origins.allSatisfy { $0.hasPrefix("networkLoad") })
        },
        HTTPBinChecks.Check("/cache is confirmed with a 304, which nobody sees") { bin in
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
        HTTPBinChecks.Check("/etag/v1, whose tag has no quotes, stays what the server says") { bin in
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

    /// What several loads of the same, one after the other, have brought.
    private struct Loads {
        var statuses: [Int] = []
        var bodies: [Data] = []
        /// Where the response came from.
        var origins: [String] = []
        /// Of bodies, over the network.
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

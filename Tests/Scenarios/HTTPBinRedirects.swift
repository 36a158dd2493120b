import Foundation

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
            HTTPBinChecks.Check("a delegate that says nil gets the redirect") { bin in
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
        try expect("method", answer.told("method"), becomesGet ? "GET" : method)
        try expect("body", answer.told("data"), hasBody && !becomesGet ? "the body" : "")
    }
}

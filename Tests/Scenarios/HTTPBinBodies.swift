import Foundation

enum HTTPBinBodies {
    private static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]

    static let all =
        methods.map { method in
            HTTPBinChecks.Check("/anything with \(method) and no body") { bin in
                let answer = try await bin.load(bin.request("/anything/x?a=%20b", method))
                try expect("method", answer.told("method"), method)
                try expect("query", answer.told("args", "a"), " b")
                try expect("body", answer.told("data"), "")
            }
        }
        + methods.dropFirst().flatMap { method in
            [
                HTTPBinChecks.Check("/anything with \(method) and data") { bin in
                    var request = try bin.request("/anything", method)
                    request.httpBody = Data("the body".utf8)
                    request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
                    try expect("body", try await bin.load(request).told("data"), "the body")
                },
                HTTPBinChecks.Check("/anything with \(method) and a file") { bin in
                    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
                    try Data("from a file".utf8).write(to: file)
                    defer { try? FileManager.default.removeItem(at: file) }
                    var request = try bin.request("/anything", method)
                    request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
                    let (body, response) = try await bin.session.upload(for: request, fromFile: file)
                    try expect("body", try bin.answer(body, response).told("data"), "from a file")
                },
                HTTPBinChecks.Check("/anything with \(method) and a stream") { bin in
                    var request = try bin.request("/anything", method)
                    request.httpBodyStream = InputStream(data: Data("from a stream".utf8))
                    request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
                    try expect("body", try await bin.load(request).told("data"), "from a stream")
                },
                HTTPBinChecks.Check("/anything with \(method) and a form") { bin in
                    var request = try bin.request("/anything", method)
                    request.httpBody = Data("a=1&b=%C3%A4".utf8)
                    let answer = try await bin.load(request)
                    try expect("a", answer.told("form", "a"), "1")
                    try expect("b", answer.told("form", "b"), "ä")
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
                try expect("says what is allowed", options.field("Allow")?.contains("GET") == true)
            },
            HTTPBinChecks.Check("/post with a megabyte") { bin in
                var request = try bin.request("/post", "POST")
                request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
                let (body, response) = try await bin.session.upload(
                    for: request, from: Data(repeating: 65, count: 1_000_000))
                try expect("bytes", try bin.answer(body, response).told("data")?.utf8.count, 1_000_000)
            },
        ]
}

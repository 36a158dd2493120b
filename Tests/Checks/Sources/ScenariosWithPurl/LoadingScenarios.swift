import Foundation
import PurlTesting

/// Responses of every shape, through every form of loading.
enum LoadingScenarios {
    static let all = [
        Scenario("loading.delegate") { stage in
            await stage.load(stage.server.route("/file", .text("hello")))
        },
        Scenario("loading.handler") { stage in
            await handled(stage, stage.server.route("/file", .text("hello")))
        },
        Scenario("loading.async") { stage in
            let url = stage.server.route("/file", .text("hello"))
            let (data, response) = try await stage.session().data(from: url)
            stage.note("body", String(decoding: data, as: UTF8.self))
            stage.noteResponse(response)
        },
        Scenario("loading.async-failure") { stage in
            let url = stage.server.route("/file", .text("hello").cut(at: .midHead))
            do {
                _ = try await stage.session().data(from: url)
            } catch {
                stage.noteError(error)
            }
        },
        Scenario("loading.handler-404") { stage in
            await handled(stage, stage.server.url("/nothing"))
        },
        Scenario("loading.empty") { stage in
            await stage.load(stage.server.route("/file", .text("")))
        },
        Scenario("loading.handler-empty") { stage in
            await handled(stage, stage.server.route("/file", .text("")))
        },
        Scenario("loading.statuses") { stage in
            for status in [200, 201, 203, 299, 300, 400, 401, 402, 403, 404, 410, 418, 500, 503, 599, 600] {
                await stage.load(stage.server.route("/\(status)", .text("body").status(status)))
            }
        },
        Scenario("loading.no-content") { stage in
            for status in [204, 205, 304] {
                await stage.load(stage.server.route("/\(status)", .status(status)))
            }
        },
        Scenario("loading.head") { stage in
            let url = stage.server.route("/file", .text("hello"))
            let task = await stage.load(stage.request(url, "HEAD"))
            stage.note("expected", task.response?.expectedContentLength)
        },
        Scenario("loading.until-close") { stage in
            await stage.load(stage.server.route("/file", .text("hello").untilClose()))
        },
        Scenario("loading.http-1.0") { stage in
            await stage.load(stage.server.route("/file", .raw("HTTP/1.0 200 OK\r\n\r\nhello")))
        },
        Scenario("loading.chunked") { stage in
            let task = await stage.load(stage.server.route("/file", .text("hello there").chunked(size: 4)))
            stage.note("expected", task.response?.expectedContentLength)
        },
        Scenario("loading.trailers") { stage in
            let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"
            await stage.load(stage.server.route("/file", .raw(chunks, then: .keepOpen)))
        },
        Scenario("loading.early-hints") { stage in
            await stage.load(
                stage.server.route("/file", .text("hello").interim(103, fields: ["Link": "</a>; rel=preload"])))
        },
        Scenario("loading.large") { stage in
            let recorder = Recorder()
            let task = stage.session(recorder).dataTask(
                with: stage.server.route("/file", .generated(size: 3_000_000)))
            task.resume()
            await recorder.completion()
            stage.note("calls", recorder.calls.joined(separator: ", "))
            stage.note("bytes", recorder.byteCount)
            stage.note("received", task.countOfBytesReceived)
        },
        Scenario("loading.cancelled-by-disposition") { stage in
            await stage.load(stage.server.route("/file", .text("hello")), Recorder(disposition: .cancel))
        },
        Scenario("loading.two-one-after-the-other") { stage in
            let recorder = Recorder()
            let session = stage.session(recorder)
            for path in ["/one", "/two"] {
                session.dataTask(with: stage.server.route(path, .text(path))).resume()
                await recorder.completion(of: path == "/one" ? 1 : 2)
            }
            stage.note("calls", recorder.calls.joined(separator: ", "))
            stage.note("body", recorder.text)
            stage.note("connections", stage.server.acceptedConnections)
        },
        Scenario("loading.methods") { stage in
            let url = stage.server.route("/file", .text("hello"))
            for method in ["GET", "DELETE", "OPTIONS", "PATCH", "PUT", "POST", "PROPFIND"] {
                await stage.load(stage.request(url, method))
            }
            stage.noteRequests()
            stage.noteFields("Content-Length", "Content-Type", "Transfer-Encoding")
        },
        Scenario("loading.request-fields") { stage in
            let session = stage.session { $0.httpAdditionalHeaders = ["X-Session": "s", "X-Both": "session"] }
            var request = URLRequest(url: stage.server.route("/file?a=b%20c", .text("hello")))
            request.setValue("request", forHTTPHeaderField: "X-Both")
            request.addValue("one", forHTTPHeaderField: "X-Added")
            request.addValue("two", forHTTPHeaderField: "x-added")
            _ = try await session.data(for: request)
            stage.noteRequests()
            stage.noteFields("Host", "Accept", "X-Session", "X-Both", "X-Added", "Connection")
        },
        Scenario("loading.gzip") { stage in
            // "hello" by gzip.
            let body = Data(base64Encoded: "H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA==") ?? Data()
            let reply = Reply.bytes(body, contentType: "text/plain").field("Content-Encoding", "gzip")
            let task = await stage.load(stage.server.route("/file", reply))
            stage.note("encoding", (task.response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Encoding"))
            stage.note("expected", task.response?.expectedContentLength)
        },
        Scenario("loading.gzip-broken") { stage in
            let reply = Reply.text("this is not gzip at all").field("Content-Encoding", "gzip")
            await stage.load(stage.server.route("/file", reply))
        },
    ]

    /// Loads with a completion handler and notes its three arguments.
    static func handled(_ stage: Stage, _ url: URL) async {
        await withCheckedContinuation { continuation in
            stage.session().dataTask(with: url) { data, response, error in
                stage.note("data", data.map { String(decoding: $0, as: UTF8.self) })
                stage.noteResponse(response)
                if let error { stage.noteError(error) }
                continuation.resume()
            }.resume()
        }
    }
}

import Foundation
import Purl
import PurlTesting
import Testing

@Suite("A data task becomes a stream", .timeLimit(.minutes(5)))
struct StreamUpgradeTests {
    private func load(
        _ stage: StreamStage, upgrade: String? = "raw", _ change: (inout URLRequest) -> Void = { _ in }
    ) -> URLSessionDataTask {
        var request = URLRequest(url: stage.server.url("/stream"))
        if let upgrade { request.setValue(upgrade, forHTTPHeaderField: "Upgrade") }
        change(&request)
        let task = stage.session.dataTask(with: request)
        task.resume()
        return task
    }

    @Test("After 101, bytes that came with the head are the first")
    func upgraded() async throws {
        let stage = try await StreamStage(nil)
        stage.server.route("/stream", .stream(.echo.send("welcome")))
        let data = load(stage)
        await stage.witness.wait(for: .becameStream)
        let task = try #require(stage.witness.streamTask)
        #expect(try await task.text(7) == "welcome")
        try await task.write("hello")
        #expect(try await task.text(5) == "hello")
        let request = try #require(stage.server.requests.first)
        #expect(request.fields["Upgrade"] == "raw")
        #expect(request.fields["Connection"] == "upgrade")
        #expect((task.response as? HTTPURLResponse)?.statusCode == 101)
        #expect(task.originalRequest == data.originalRequest)
        #expect(task.taskIdentifier == 2)
        #expect(data.state == .completed)
        #expect(task.state == .running)
        task.closeWrite()
        #expect(try await task.rest() == Data())
        await stage.witness.completion()
        #expect(
            stage.witness.events == [
                .response(101), .becameStream, .writeClosed, .readClosed, .metrics(transactions: 1), .completed(nil),
            ])
    }

    @Test("After any other response as well: what follows the head comes as it is on the wire")
    func plain() async throws {
        let stage = try await StreamStage(nil)
        stage.server.route(
            "/stream", .stream(.echo, after: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab"))
        _ = load(stage, upgrade: nil)
        await stage.witness.wait(for: .becameStream)
        let task = try #require(stage.witness.streamTask)
        #expect(try await task.text(5) == "2\r\nab")
        try await task.write("\r\n0\r\n\r\n")
        #expect(try await task.text(7) == "\r\n0\r\n\r\n")
        stage.session.invalidateAndCancel()
    }

    @Test("An ordinary body of a kept connection becomes the stream's, and the connection leaves the pool")
    func ordinary() async throws {
        let stage = try await StreamStage(nil)
        stage.server.route("/stream", .text("abc"))
        _ = load(stage, upgrade: nil)
        await stage.witness.wait(for: .becameStream)
        let task = try #require(stage.witness.streamTask)
        #expect(try await task.text(3) == "abc")
        // It can be used for what the server understands.
        try await task.write("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await task.text(15) == "HTTP/1.1 200 OK")
        _ = try await stage.session.data(from: stage.server.url("/stream"))
        #expect(stage.server.acceptedConnections == 2)
        stage.session.invalidateAndCancel()
    }

    @Test(
        "A data task that does not want the connection gets a response without a body",
        arguments: [
            URLSession.ResponseDisposition.allow, .cancel, .becomeDownload,
        ])
    func unwanted(disposition: URLSession.ResponseDisposition) async throws {
        let stage = try await StreamStage(nil, disposition)
        stage.server.route("/stream", .stream())
        let task = load(stage)
        await stage.witness.completion()
        #expect(stage.witness.error?.code == (disposition == .cancel ? .cancelled : nil))
        #expect((task.response as? HTTPURLResponse)?.statusCode == 101)
        await stage.server.waitUntilDisconnected()
    }

    @Test("A switch that the request did not ask for is still an error", arguments: [nil, ""])
    func unasked(upgrade: String?) async throws {
        let stage = try await StreamStage(nil)
        stage.server.route("/stream", .stream())
        _ = load(stage, upgrade: nil)
        await stage.witness.completion()
        #expect(stage.witness.error?.code == .badServerResponse)
        #expect(stage.server.requests.first?.fields["Upgrade"] == nil)
    }

    @Test("A task that nobody could answer for does not ask for another protocol")
    func handler() async throws {
        let stage = try await StreamStage(nil)
        stage.server.route("/stream", .text("plain"))
        var request = URLRequest(url: stage.server.url("/stream"))
        request.setValue("raw", forHTTPHeaderField: "Upgrade")
        let session = stage.sandbox.session()
        _ = try await session.data(for: request)
        #expect(stage.server.requests.first?.fields["Upgrade"] == nil)
        session.invalidateAndCancel()
    }

    @Test("A server that does not switch answers as ever")
    func declined() async throws {
        let stage = try await StreamStage(nil, .allow)
        stage.server.route("/stream", .text("no"))
        _ = load(stage)
        await stage.witness.completion()
        #expect(stage.witness.events == [.response(200), .metrics(transactions: 1), .completed(nil)])
    }

    @Test("A response that comes from here has no connection")
    func local() async throws {
        let stage = try await StreamStage(nil)
        let url = try #require(URL(string: "data:,hello"))
        stage.session.dataTask(with: url).resume()
        await stage.witness.completion()
        #expect(stage.witness.error?.code == .resourceUnavailable)
    }

    @Test("A cancel of the data task that comes too late means the stream")
    func cancelled() async throws {
        let stage = try await StreamStage(nil)
        stage.server.route("/stream", .stream())
        let task = load(stage)
        await stage.witness.wait(for: .becameStream)
        stage.witness.streamTask?.cancel()
        task.cancel()
        await stage.witness.completion()
        #expect(stage.witness.events.suffix(1) == [.completed(.cancelled)])
        await stage.server.waitUntilDisconnected()
    }
}

import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("A data task that becomes a stream task", .timeLimit(.minutes(5)))
struct StreamUpgradeTests {
    private func load(
        _ stage: StreamStage, upgrade: String? = "raw", _ change: (inout URLRequest) -> Void = { _ in }
    ) -> URLSessionDataTask {
        var request = URLRequest(url: stage.server.url("/stream"))
        if let upgrade { request.setValue(upgrade, forHTTPHeaderField: "Upgrade") }
        change(&request)
        let task = stage.session.dataTask(with: request).resumed()
        return task
    }

    @Test("After a 101 the bytes behind the head are the stream's first")
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

    @Test("After any other response the body is the stream's as it is on the wire")
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
    }

    @Test("A response on a persistent connection gives the connection to the stream")
    func ordinary() async throws {
        let stage = try await StreamStage(nil)
        stage.server.route("/stream", .text("abc"))
        _ = load(stage, upgrade: nil)
        await stage.witness.wait(for: .becameStream)
        let task = try #require(stage.witness.streamTask)
        #expect(try await task.text(3) == "abc")
        // The stream can send another request to the server.
        try await task.write("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await task.text(15) == "HTTP/1.1 200 OK")
        _ = try await stage.session.data(from: stage.server.url("/stream"))
        #expect(stage.server.acceptedConnections == 2)
    }

    @Test(
        "Without becomeStream an upgraded data task receives a response without a body",
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

    @Test("A 101 without an Upgrade field in the request is an error", arguments: [nil, ""])
    func unasked(upgrade: String?) async throws {
        let stage = try await StreamStage(nil)
        stage.server.route("/stream", .stream())
        _ = load(stage, upgrade: nil)
        await stage.witness.completion()
        #expect(stage.witness.error?.code == .badServerResponse)
        #expect(stage.server.requests.first?.fields["Upgrade"] == nil)
    }

    @Test("A task with a completion handler sends no Upgrade field")
    func handler() async throws {
        let stage = try await StreamStage(nil)
        stage.server.route("/stream", .text("plain"))
        var request = URLRequest(url: stage.server.url("/stream"))
        request.setValue("raw", forHTTPHeaderField: "Upgrade")
        let session = stage.sandbox.session()
        _ = try await session.data(for: request)
        #expect(stage.server.requests.first?.fields["Upgrade"] == nil)
    }

    @Test("A response that declines the upgrade is an ordinary one")
    func declined() async throws {
        let stage = try await StreamStage(nil, .allow)
        stage.server.route("/stream", .text("no"))
        _ = load(stage)
        await stage.witness.completion()
        #expect(stage.witness.events == [.response(200), .metrics(transactions: 1), .completed(nil)])
    }

    @Test("The response of a data: URL cannot become a stream")
    func local() async throws {
        let stage = try await StreamStage(nil)
        let url = try #require(URL(string: "data:,hello"))
        stage.session.dataTask(with: url).resume()
        await stage.witness.completion()
        #expect(stage.witness.error?.code == .resourceUnavailable)
    }

    @Test("Cancelling the data task after becomeStream does not affect the stream")
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

import Synchronization
import Testing

@testable import PurlTesting

@Suite("The server's record")
struct RecordTests {
    @Test("Forgotten requests are dropped, and numbers continue")
    func forgetting() async throws {
        let server = try LoopbackServer()
        let client = try RawClient(to: server)
        await client.get("/a")
        _ = await client.readResponse()
        server.forgetRequests()
        #expect(server.requests.isEmpty)
        await client.get("/b")
        _ = await client.readResponse()
        #expect(await server.waitForRequests(1).map(\.path) == ["/b"])
        #expect(server.requests.map(\.number) == [1])
    }

    @Test("A server that records no requests counts them")
    func countingOnly() async throws {
        let server = try LoopbackServer(recordsRequests: false)
        server.fallback(.echo)
        let client = try RawClient(to: server)
        await client.send("PUT / HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\nhi")
        #expect(String(await client.readResponse().body).hasSuffix("hi"))
        await server.waitUntilIdle()
        #expect(server.requests.isEmpty)
        #expect(server.record.completeRequests == 1)
    }

    @Test("An observer is called about any number of events, on a small stack, too")
    func manyEvents() {
        let recorder = Recorder(keepsRequests: false)
        let count = Atomic(0)
        recorder.observe { _ in count.add(1, ordering: .relaxed) }
        for _ in 1...100_000 { _ = recorder.addConnection() }
        #expect(count.load(ordering: .relaxed) == 100_000)
    }

    @Test("waitForRequests returns when the last of them has arrived")
    func waiting() async throws {
        let server = try LoopbackServer()
        async let requests = server.waitForRequests(2)
        let client = try RawClient(to: server)
        await client.get("/a")
        await client.get("/b")
        #expect(await requests.map(\.path) == ["/a", "/b"])
    }

    @Test("wait returns when its task is cancelled")
    func cancelled() async throws {
        let server = try LoopbackServer()
        let waiting = Task { await server.wait { $0.requests.count == 9 } }
        waiting.cancel()
        await waiting.value
        #expect(server.requests.isEmpty)
    }

    @Test("A printed request is its line, what was sent to it, and how that ended")
    func printed() async throws {
        let server = try LoopbackServer()
        server.route("/a", .text("hello").status(404))
        let client = try RawClient(to: server)
        await client.get("/a?b")
        _ = await client.readResponse()
        await server.waitUntilIdle()
        #expect(server.requests.map(\.description) == ["GET /a?b: 404, 5 bytes sent, complete"])
    }

    @Test("A printed conversation is its text")
    func printedConversation() throws {
        let text = "> GET /a HTTP/1.1\n>\n< HTTP/1.1 204 No Content\n<\n"
        let conversation = try Conversation(text)
        #expect(conversation.exchanges.count == 1)
        #expect("\(conversation)" == conversation.text)
        #expect("\(conversation)" == text)
    }
}

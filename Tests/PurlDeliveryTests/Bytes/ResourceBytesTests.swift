import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("URL.resourceBytes and URL.lines", .timeLimit(.minutes(5)))
struct ResourceBytesTests {
    private let sandbox = Sandbox()
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    @Test("URL.resourceBytes delivers the bytes of the resource, anew for each iteration")
    func bytes() async throws {
        let content = GeneratedContent(size: 300_000, seed: 61)
        let url = server.route("/file", .generated(content))
        let bytes = url.resourceBytes
        #expect(server.requests.isEmpty)
        for _ in 0..<2 {
            var received = Data()
            for try await byte in bytes { received.append(byte) }
            #expect(content.matches(received))
        }
        #expect(server.requests.count == 2)
    }

    @Test("URL.lines delivers the lines of the resource")
    func lines() async throws {
        let url = server.route("/file", .text("one\r\n\ntwo\u{2028}drei ü\nlast"))
        var lines: [String] = []
        for try await line in url.lines { lines.append(line) }
        #expect(lines == ["one", "two", "drei ü", "last"])
    }

    @Test("The end, and an error, of a resource are final")
    func ends() async throws {
        var iterator = server.route("/file", .text("a")).resourceBytes.makeAsyncIterator()
        #expect(try await iterator.next() == UInt8(ascii: "a"))
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
        var failing = try #require(URL(string: "https://a.example/")).resourceBytes.makeAsyncIterator()
        let error = await #expect(throws: URLError.self) { try await failing.next() }
        #expect(error?.code == .unsupportedURL)
        #expect(try await failing.next() == nil)
        #expect(server.requests.count == 1)
    }

    #if !canImport(Darwin)
        @Test("The transfer of a resource ends with its iterator")
        func abandoned() async throws {
            let gate = ServerGate()
            let url = server.route("/file", .text("ab").stalled(afterBytes: 1, until: gate))
            let session = sandbox.session()
            for try await byte in URL.AsyncBytes(url, in: session) {
                #expect(byte == UInt8(ascii: "a"))
                break
            }
            await server.waitUntilDisconnected()
            gate.open()
        }
    #endif
}

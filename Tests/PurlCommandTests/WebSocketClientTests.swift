import Foundation
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("purl ws", .timeLimit(.minutes(5)))
struct WebSocketClientTests {
    let folder = TemporaryFolder()
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    private func run(
        _ script: WebSocketScript, _ options: [String] = [], input: String = ""
    ) async throws -> (exitCode: Int32, lines: [String]) {
        server.route("/ws", .webSocket(script))
        return try await PurlProcess.run(
            ["ws", "ws://127.0.0.1:\(server.port)/ws"] + options, in: folder, input: input)
    }

    @Test("sends lines, prints messages, and closes at the end of the input")
    func echo() async throws {
        let (code, lines) = try await run(.echo, input: "one\ntwo\n")
        #expect(code == 0)
        #expect(lines == ["one", "two"])
        #expect(server.webSockets.first?.messages == [.text("one"), .text("two")])
        #expect(server.webSockets.first?.closeCode == 1000)
    }

    @Test("sends header fields and subprotocols with the handshake, and prints it with -v")
    func options() async throws {
        let options = ["--protocol", "a", "--protocol", "b", "-H", "X-Own: 1", "-v"]
        let (code, lines) = try await run(.listening.subprotocols(["b"]).text("hi").close(1001), options)
        #expect(code == 0)
        #expect(Set(lines) == ["* open, subprotocol b", "hi", "* closed with 1001"])
        #expect(server.requests.first?.fields["Sec-WebSocket-Protocol"] == "a, b")
        #expect(server.requests.first?.fields["X-Own"] == "1")
    }

    @Test("prints the length of a binary message")
    func bytes() async throws {
        #expect(try await run(.listening.data(Data(count: 7)).close()).lines == ["(7 bytes)"])
    }

    @Test("exits with the code of the close status")
    func endings() async throws {
        let (failed, lines) = try await run(.listening.close(1011, reason: "broken"))
        #expect(failed == 1)
        #expect(lines == ["purl: The server closed the connection with 1011: broken"])
        // A reason is one line, and does not look like another message.
        let forged = try await run(.listening.close(3001, reason: "bye\r\npurl: verified"), ["-v"])
        #expect(
            forged.lines == [
                "* open", "* closed with 3001: bye\u{FFFD}\u{FFFD}purl: verified",
                "purl: The server closed the connection with 3001: bye\u{FFFD}\u{FFFD}purl: verified",
            ])
        #expect(try await run(.listening.cut()).exitCode == 1)
        server.route("/none", .status(404))
        let refused = try await PurlProcess.run(["ws", "ws://127.0.0.1:\(server.port)/none"], in: folder)
        #expect(refused.exitCode == 22)
    }

    @Test("closes with 1000 on Ctrl-C")
    func interrupt() async throws {
        // It waits for an answer to its ping before it closes by itself, which does not come.
        server.route("/ws", .webSocket(.listening.withoutPongs().text("ready")))
        let process = try PurlProcess(["ws", "ws://127.0.0.1:\(server.port)/ws"], in: folder)
        for await line in process.lines where line == "ready" { process.signal(SIGINT) }
        #expect(await process.exitCode == 130)
        await server.wait { $0.webSockets.first?.ending == .complete }
        #expect(server.webSockets.first?.closeCode == 1000)
    }

    static let refusals: [(String, String)] = [
        ("ws", "The URL is missing."),
        ("ws|ftp://a/", "“ftp://a/” begins with “ftp”. What purl loads: “ws”, “wss”, “http”, “https”."),
        ("ws|ws://a/|ws://b/", "“ws” takes one URL."),
        ("ws|ws://a/|-x", "There is no option “-x”."),
        ("ws|ws://a/|--protocol", "“--protocol” needs a value."),
        ("ws|ws://a/|--max-size|0", "“--max-size” needs a number of bytes, not “0”."),
        ("ws|ws://a/|-H|x", "“-H” needs a header field such as 'Name: value', not “x”."),
    ]

    @Test("is refused with a sentence when its arguments are invalid", arguments: refusals)
    func refusal(words: String, sentence: String) {
        let error = #expect(throws: UsageError.self) { try Command(arguments: words.components(separatedBy: "|")) }
        #expect(error?.sentence == sentence)
        #expect(error?.command == "ws")
    }
}

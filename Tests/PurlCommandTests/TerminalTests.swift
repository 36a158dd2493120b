import Foundation
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("purl in a terminal", .timeLimit(.minutes(5)))
struct TerminalTests {
    let folder = TemporaryFolder()
    let server: LoopbackServer
    let gate = ServerGate()

    init() throws {
        server = try LoopbackServer()
        for (path, count) in Self.files { server.route(path, Self.reply(count, gate)) }
    }

    /// What the server has, and how many bytes of it are sent before the gate opens.
    private static let files = [("/a.bin", 500_000), ("/b-of-a-long-name-that-has-no-room.bin", 250_000)]

    private static func reply(_ count: Int, _ gate: ServerGate) -> Reply {
        .generated(size: 1_000_000).stalled(afterBytes: count, until: gate)
    }

    private var words: [String] {
        ["get"] + Self.files.map { server.url($0.0).absoluteString }
    }

    /// Runs `get` on a terminal, and lets the server send the rest as soon as both files are as far as it lets them be.
    ///
    /// - Returns: What the terminal showed then, and at the end.
    private func run(
        width: Int, environment: [String: String] = [:], options: [String] = [], _ isReached: ([String]) -> Bool
    ) async throws -> (during: [String], end: TerminalScreen) {
        let terminal = try PurlTerminal(words + options, in: folder, width: width, environment: environment)
        var screen = TerminalScreen(width: width)
        var during: [String] = []
        for await text in terminal.output {
            screen.write(text)
            if during.isEmpty, isReached(screen.lines) {
                during = screen.lines
                gate.open()
            }
        }
        #expect(await terminal.exitCode == 0)
        return (during, screen)
    }

    @Test(
        "shows a bar for each file and one for all, which leave no trace",
        arguments: [
            (
                40, ["a.bin           50% [=======>       ]", "b-of-a…om.bin   25% [===>           ]"],
                "all files       37% [=====>         ]"
            ),
            (
                80, ["a.bin", "b-of-a-long-n…-no-room.bin "], "all files"
            ),
            (
                200, ["a.bin", "b-of-a-long-name-that-has-no-room.bin"], "all files"
            ),
        ])
    func bars(width: Int, files: [String], all: String) async throws {
        // The servers are waited for until that is shown.
        let answers = ServerGate()
        for (path, count) in Self.files {
            server.route(path, Self.reply(count, gate).delayed(until: answers))
        }
        let (during, end) = try await run(width: width) { lines in
            if lines.contains(where: { $0.contains("waiting for the server") }) { answers.open() }
            return lines.contains { $0.hasPrefix("a.bin") && $0.contains(" 50% [") }
                && lines.contains { $0.hasPrefix("b-of") && $0.contains(" 25% [") }
                && lines.contains { $0.hasPrefix("all files") && $0.contains(" 37% [") }
        }
        for (line, start) in zip(during.suffix(3), files + [all]) { #expect(line.hasPrefix(start), "\(during)") }
        #expect(during.suffix(3).allSatisfy { $0.count < width })
        #expect(end.colours == ["32", "33", "39"])
        // A long message fills several rows.
        let text = end.lines.joined(separator: " ")
        #expect(text.contains("2 files complete, 2.00 MB"))
        #expect(!text.contains("%") && !text.contains("all files"))
    }

    @Test("has no colour with NO_COLOR")
    func noColour() async throws {
        let (_, end) = try await run(width: 80, environment: ["NO_COLOR": "1"]) { lines in
            lines.contains { $0.hasPrefix("all files") && $0.contains(" 37% [") }
        }
        #expect(end.colours.isEmpty)
    }

    @Test("a terminal that cannot move its cursor gets lines")
    func dumb() async throws {
        let (_, end) = try await run(width: 80, environment: ["TERM": "dumb"]) { lines in
            lines.contains { $0.hasPrefix("a.bin: 50 %") }
        }
        #expect(end.colours.isEmpty)
        #expect(end.lines.contains { $0.hasPrefix("a.bin: 100 %") })
    }

    @Test("follows the width of the terminal")
    func resizing() async throws {
        let terminal = try PurlTerminal(words, in: folder, width: 120)
        var wide: TerminalScreen? = TerminalScreen(width: 120)
        var narrow = TerminalScreen(width: 40)
        for await text in terminal.output {
            wide?.write(text)
            if wide == nil {
                narrow.write(text)
                if narrow.lines.contains(where: { $0.contains(" 37% [=====>         ]") }) { gate.open() }
            } else if wide?.lines.contains(where: { $0.hasPrefix("all files") && $0.contains(" 37% [") }) == true {
                wide = nil
                terminal.resize(width: 40)
            }
        }
        #expect(await terminal.exitCode == 0)
        #expect(gate.isOpen)
    }

    @Test("prints lines, and nothing that moves, where there is none")
    func noTerminal() async throws {
        gate.open()
        let (code, lines) = try await PurlProcess.run(words, in: folder)
        #expect(code == 0)
        #expect(!lines.joined().contains("\u{1B}"))
        #expect(lines.contains { $0.hasPrefix("a.bin: 100 %  1.00 MB of 1.00 MB") })
    }

    @Test("asks for the passphrase of a key, and does not show what is typed", .enabled(if: TestAuthority.isAvailable))
    func passphrase() async throws {
        let authority = TestAuthority()
        try authority.writeRoot(to: folder.file("root.pem"))
        var tls = ServerTLS(authority, .valid)
        tls.clientCertificate = .required
        let secure = try LoopbackServer(tls: tls)
        secure.route("/film", .text("film"))
        guard try await folder.seal(authority.issueClient(name: "me"), passphrase: "correct horse") else { return }
        let words = ["get", secure.url("/film").absoluteString, "--cacert", "root.pem", "--cert", "me.pem"]
        for (typed, code) in [("wrong\n", 1), ("\u{3}", 1), ("correct horsf\u{7F}e\n", 0)] as [(String, Int32)] {
            let terminal = try PurlTerminal(words + ["--key", "sealed.pem"], in: folder, width: 200)
            var shown = ""
            var hasTyped = false
            for await text in terminal.output {
                shown += text
                guard !hasTyped, shown.contains("Passphrase of sealed.pem: ") else { continue }
                hasTyped = true
                terminal.type(typed)
            }
            #expect(await terminal.exitCode == code, "\(shown)")
            #expect(hasTyped && !shown.contains("hors") && !shown.contains("wrong"))
        }
        #expect(folder.contents("film") == Data("film".utf8))
    }

    @Test(
        "a line is typed byte by byte",
        arguments: [
            ("abc\n", .complete("abc")), ("ab\u{7F}\u{7F}x\r", .complete("x")), ("é\u{8}e\n", .complete("e")),
            ("abc\u{15}d\n", .complete("d")), ("\u{4}", .cancelled), ("a\u{4}", .complete("a")), ("a\u{3}", .cancelled),
            ("abc", .more), ("\u{7F}\n", .complete("")),
        ] as [(String, TypedLine.Step)])
    func typing(text: String, end: TypedLine.Step) {
        var line = TypedLine()
        let steps = text.utf8.map { line.type($0) }
        #expect(steps.last == end)
        #expect(steps.dropLast().allSatisfy { $0 == .more })
    }

    @Test(
        "the environment tells whether lines are redrawn, and in colour",
        arguments: [
            (nil, nil, true, true), ("xterm", "", true, true), ("xterm", "1", true, false), ("dumb", nil, false, false),
        ] as [(String?, String?, Bool, Bool)])
    func environment(terminal: String?, noColour: String?, movesCursor: Bool, hasColour: Bool) {
        let environment = TerminalEnvironment(terminal: terminal, noColour: noColour)
        #expect((environment.movesCursor, environment.hasColour) == (movesCursor, hasColour))
    }
}

extension TemporaryFolder {
    /// Writes a client's certificate, and its key under a passphrase, in PEM and in PKCS #12: `me.pem`, `sealed.pem`, `me.p12`.
    /// `false` where the program `openssl` is missing.
    func seal(_ identity: TestIdentity, passphrase: String) async throws -> Bool {
        try write(identity.certificatesPEM, to: "me.pem")
        try write(try identity.privateKeyPEM, to: "plain.pem")
        try write(passphrase + "\nanother line\n", to: "passphrase")
        let process = try PurlProcess(
            shell: """
                command -v openssl >/dev/null || exit 3
                openssl pkcs8 -topk8 -in plain.pem -out sealed.pem -passout file:passphrase &&
                openssl pkcs12 -export -in me.pem -inkey plain.pem -out me.p12 -passout file:passphrase && rm plain.pem
                """, [], in: self)
        for await _ in process.lines {}
        let code = await process.exitCode
        #expect([0, 3].contains(code))
        return code == 0
    }
}

import Foundation
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("purl over TLS", .timeLimit(.minutes(5)), .enabled(if: TestAuthority.isAvailable))
struct SecureTransferTests {
    let folder = TemporaryFolder()
    let authority = TestAuthority()

    init() throws {
        try authority.writeRoot(to: folder.file("root.pem"))
    }

    private static let pinOfNobody = "sha256//" + Data(count: 32).base64EncodedString()

    private func run(
        _ words: [String], input: String = "", environment: [String: String] = [:]
    ) async throws -> (code: Int32, text: String) {
        let (code, lines) = try await PurlProcess.run(words, in: folder, input: input, environment: environment)
        return (code, lines.joined(separator: "\n"))
    }

    private func get(_ server: LoopbackServer, _ options: [String]) async throws -> (code: Int32, text: String) {
        try await run(["get", server.url("/film").absoluteString] + options)
    }

    private func server(
        _ certificate: TestCertificate = .valid, _ change: (inout ServerTLS) -> Void = { _ in }
    ) throws -> LoopbackServer {
        var tls = ServerTLS(authority, certificate)
        change(&tls)
        let server = try LoopbackServer(tls: tls)
        server.route("/film", .text("film"))
        return server
    }

    /// Sends a file, and interrupts that as soon as it can be resumed.
    private func interruptUpload(to server: LoopbackServer) async throws {
        let target = UploadTarget()
        target.fault(.connection(.stall(until: ServerGate())), at: .offset(2_500_000))
        server.route("/up", .upload(to: target))
        try Data(count: 6_000_000).write(to: folder.file("film"))
        let upload = try PurlProcess(
            ["put", "film", server.url("/up").absoluteString, "--cacert", "root.pem", "-v"], in: folder)
        for await line in upload.lines where line.hasPrefix("* observeResumeData: saved as ") { upload.signal(SIGINT) }
        #expect(await upload.exitCode == 130)
    }

    // MARK: Transfers

    @Test("get resumes what was cut off")
    func download() async throws {
        let server = try server()
        let content = GeneratedContent(size: 300_000)
        server.route("/film", .generated(content).entityTag("\"v1\"").cut(afterBytes: 100_000, times: 1))
        let first = try await get(server, ["--cacert", "root.pem"])
        #expect(first.code == 1)
        #expect(first.text.contains("The connection was lost"))
        let second = try await get(server, ["--cacert", "root.pem"])
        #expect(second.code == 0, "\(second.text)")
        #expect(second.text.contains("film: resuming at"))
        #expect(content.matches(folder.contents("film")) && folder.contents("film").count == 300_000)
        #expect(server.requests.last?.fields["Range"]?.hasPrefix("bytes=") == true)
    }

    @Test("put sends a file")
    func upload() async throws {
        let server = try server()
        server.route("/up", .text("thanks"))
        try folder.write("film", to: "film")
        let url = server.url("/up").absoluteString
        let (code, text) = try await run(["put", "film", url, "--cacert", "root.pem"])
        #expect(code == 0, "\(text)")
        #expect(text.contains("thanks"))
        #expect(server.requests.first?.body == Data("film".utf8))
    }

    @Test("ws exchanges messages, and -v prints the handshake")
    func webSocket() async throws {
        let server = try server()
        server.route("/ws", .webSocket(.echo))
        let url = "wss://127.0.0.1:\(server.port)/ws"
        let (code, text) = try await run(["ws", url, "--cacert", "root.pem", "-v"], input: "one\n")
        #expect(code == 0, "\(text)")
        #expect(text.contains("* TLS with 127.0.0.1:\(server.port): TLS 1.3"))
        #expect(text.contains("\none\n"))
    }

    @Test("get, put and ws pass through a proxy's tunnel, which is asked for the server by its name")
    func proxy() async throws {
        let server = try server(.valid(for: ["server.test"]))
        server.route("/up", .text("thanks"))
        server.route("/ws", .webSocket(.echo))
        try folder.write("film", to: "new")
        let proxy = try TunnelProxy(to: server.port)
        let options = ["--cacert", "root.pem", "--proxy", "http://127.0.0.1:\(proxy.port)"]
        let loaded = try await run(["get", "https://server.test/film"] + options)
        #expect(loaded.code == 0, "\(loaded.text)")
        #expect(folder.contents("film") == Data("film".utf8))
        let sent = try await run(["put", "new", "https://server.test:8443/up"] + options)
        #expect(sent.code == 0, "\(sent.text)")
        #expect(server.requests.last?.body == Data("film".utf8))
        let spoken = try await run(["ws", "wss://server.test/ws"] + options, input: "one\n")
        #expect(spoken.code == 0, "\(spoken.text)")
        #expect(spoken.text.contains("one"))
        #expect(
            proxy.lines == [
                "CONNECT server.test:443 HTTP/1.1", "CONNECT server.test:8443 HTTP/1.1",
                "CONNECT server.test:443 HTTP/1.1",
            ])
        #expect(server.handshakes.map(\.serverName) == ["server.test", "server.test", "server.test"])
    }

    @Test("a proxy's tunnel to another server changes nothing about who is trusted")
    func misledProxy() async throws {
        let server = try server(.valid(for: ["other.test"]))
        let proxy = try TunnelProxy(to: server.port)
        let (code, text) = try await run([
            "get", "https://server.test/film", "--cacert", "root.pem", "--proxy", "http://127.0.0.1:\(proxy.port)",
        ])
        #expect(code == 1)
        #expect(text.contains("is not one for “server.test”"), "\(text)")
        #expect(server.requests == [])
    }

    @Test("clean asks a secure server to delete its part")
    func clean() async throws {
        let server = try server()
        try await interruptUpload(to: server)
        let (code, text) = try await run(["clean", "--cacert", "root.pem"])
        #expect(code == 0)
        #expect(text.contains("the server has deleted its part"), "\(text)")
    }

    // MARK: Who is trusted

    @Test(
        "a server that is not trusted gets no request; the error says why, and what to do where an option helps",
        arguments: [
            (TestCertificate.unknownRoot, "leads to no root that is known", "“--cacert FILE” names the root to trust"),
            (.selfSigned, "leads to no root that is known", "“--cacert FILE” names the root to trust"),
            (.expired, "has expired", ""), (.notYetValid, "is not valid yet", ""),
            (.otherHost, "is not one for “127.0.0.1”", ""), (.revoked, "has been revoked", ""),
        ])
    func refusals(certificate: TestCertificate, fact: String, advice: String) async throws {
        let server = try server(certificate)
        let (code, text) = try await get(server, ["--cacert", "root.pem", "--retry", "2"])
        #expect(code == 1)
        #expect(text.hasPrefix("purl: The "))
        #expect(text.contains(fact), "\(text)")
        #expect(!text.contains("has expired: "), "what the sentence says is said again")
        if advice.isEmpty { #expect(!text.contains("--cacert")) } else { #expect(text.contains(advice)) }
        #expect(server.requests == [])
        #expect(folder.names == ["root.pem"])
    }

    @Test("without --cacert the system's roots count")
    func systemRoots() async throws {
        let server = try server()
        let (code, text) = try await get(server, [])
        #expect(code == 1)
        #expect(text.contains("leads to no root that is known"), "\(text)")
        let other = try await run(
            ["get", server.url("/film").absoluteString],
            environment: ["SSL_CERT_FILE": folder.file("root.pem").path])
        #expect(other.code == 0, "\(other.text)")
    }

    @Test("SSL_CERT_DIR names folders of roots, of which those that cannot be used are passed over")
    func rootFolders() async throws {
        let server = try server()
        let roots = folder.file("roots")
        try FileManager.default.createDirectory(at: roots, withIntermediateDirectories: true)
        try authority.writeRoot(to: roots.appendingPathComponent("root.crt"))
        let words = ["get", server.url("/film").absoluteString]
        func environment(_ folders: String) -> [String: String] { ["SSL_CERT_DIR": folders, "SSL_CERT_FILE": ""] }
        let found = try await run(words, environment: environment("/nowhere:\(roots.path)"))
        #expect(found.code == 0, "\(found.text)")
        let empty = folder.file("empty")
        try FileManager.default.createDirectory(at: empty, withIntermediateDirectories: true)
        for (path, fact) in [
            ("/nowhere", "“/nowhere” does not exist, which SSL_CERT_DIR names"),
            (empty.path, "“\(empty.path)” contains no certificates, which SSL_CERT_DIR names"),
        ] {
            let refused = try await run(words, environment: environment(path))
            #expect(refused.code == 1)
            #expect(refused.text.contains(fact), "\(refused.text)")
        }
        #expect(server.requests.count == 1)
    }

    @Test("--insecure loads from any server, and prints a warning each time, also with -q")
    func insecure() async throws {
        let server = try server(.expired)
        for _ in 0..<2 {
            let (code, text) = try await get(server, ["-q", "--insecure", "-o", "copy"])
            #expect(code == 0)
            #expect(text.hasPrefix("purl: --insecure: who the servers are is not checked"))
        }
    }

    @Test("--pin accepts one key, whatever the roots, and with --insecure too")
    func pins() async throws {
        let server = try server()
        let digest = try authority.issue(.valid).publicKeyDigest.base64EncodedString()
        let right = "sha256//\(digest)"
        for options in [["--cacert", "root.pem"], ["--insecure"]] {
            let refused = try await get(server, options + ["--pin", Self.pinOfNobody])
            #expect(refused.code == 1)
            #expect(refused.text.contains("its public key is none of those that are pinned"), "\(refused.text)")
            #expect(server.requests == [])
        }
        let unknown = try await get(server, ["--pin", right])
        #expect(unknown.code == 1)
        #expect(server.requests == [])
        let pins = "\(Self.pinOfNobody);\(right)"
        let (code, text) = try await get(server, ["--cacert", "root.pem", "--pin", pins])
        #expect(code == 0, "\(text)")
    }

    @Test("a server that requires a certificate gets that of --cert and --key")
    func identity() async throws {
        let server = try server { $0.clientCertificate = .required }
        let identity = try authority.issueClient(name: "me")
        try folder.write(identity.certificatesPEM, to: "me.pem")
        try folder.write(try identity.privateKeyPEM, to: "me.key")
        try folder.write(identity.certificatesPEM + (try identity.privateKeyPEM), to: "both.pem")
        let without = try await get(server, ["--cacert", "root.pem"])
        #expect(without.code == 1)
        #expect(without.text.contains("“--cert FILE” shows one"), "\(without.text)")
        for options in [["--cert", "me.pem", "--key", "me.key"], ["--cert", "both.pem"]] {
            let (code, text) = try await get(server, ["--cacert", "root.pem", "-o", "copy"] + options)
            #expect(code == 0, "\(text)")
        }
        #expect(server.handshakes.compactMap(\.clientName) == ["me", "me"])
    }

    @Test(
        "a file that cannot be used is named before a connection is made, whatever the URL's scheme",
        arguments: [
            (["--cacert", "missing"], "purl: --cacert: “missing” does not exist."),
            (["--cacert", "."], "purl: --cacert: “.” is a folder."),
            (["--cacert", "text"], "purl: --cacert: “text” contains no certificate"),
            (["--capath", "missing"], "purl: --capath: “missing” does not exist."),
            (["--capath", "text"], "purl: --capath: “text” is not a folder."),
            (["--cert", "missing"], "purl: --cert: “missing” does not exist."),
            (["--cert", "root.pem"], "purl: --cert: “root.pem” contains no private key."),
            (["--cert", "root.pem", "--key", "missing"], "purl: --key: “missing” does not exist."),
            (["--cert", "root.pem", "--key", "text"], "purl: --key: “text” contains no private key."),
        ], ["https", "http"])
    func unusableFiles(file: (options: [String], sentence: String), scheme: String) async throws {
        try folder.write("text", to: "text")
        let server = try server()
        let words = ["get", "\(scheme)://127.0.0.1:\(server.port)/film"] + file.options
        let (code, text) = try await run(words)
        #expect(code == 1)
        #expect(text.hasPrefix(file.sentence), "\(text)")
        #expect(server.acceptedConnections == 0)
    }

    // MARK: What is printed

    @Test("-v prints what was agreed upon and the server's certificate, with a pin that --pin takes")
    func verbose() async throws {
        let server = try server(.valid(for: ["127.0.0.1", "film.test"]))
        let (code, text) = try await get(server, ["--cacert", "root.pem", "-v"])
        #expect(code == 0)
        let lines = text.components(separatedBy: "\n").filter { $0.hasPrefix("*") }
        #expect(lines.count > 5)
        #expect(lines[0] == "* TLS with 127.0.0.1:\(server.port): TLS 1.3, AES_256_GCM_SHA384, http/1.1")
        #expect(lines[1] == "*   subject: CN=127.0.0.1")
        #expect(lines[2].hasPrefix("*   issuer: CN=Purl Test Root"))
        #expect(lines[3].wholeMatch(of: /\*   valid: \d{4}-\d\d-\d\dT\S+ to \d{4}-\d\d-\d\dT\S+/) != nil, "\(lines[3])")
        #expect(lines[4] == "*   names: 127.0.0.1, film.test")
        let pin = try #require(lines[5].firstMatch(of: /^\*   pin: (\S+)$/)?.1)
        let pinned = try await get(server, ["--cacert", "root.pem", "--pin", String(pin), "-o", "copy"])
        #expect(pinned.code == 0)
    }

    @Test("-v says why a server is not trusted")
    func verboseRefusal() async throws {
        let (_, text) = try await get(try server(.expired), ["--cacert", "root.pem", "-v"])
        #expect(text.contains("*   not trusted: certificate has expired"), "\(text)")
    }

    @Test("a redirect that leaves TLS is printed, without -v and with -q as well", arguments: [[], ["-q"], ["-v"]])
    func downgrade(options: [String]) async throws {
        let plain = try LoopbackServer()
        let target = plain.route("/film", .text("film"))
        let server = try server()
        server.route("/film", .redirect(to: target.absoluteString))
        let (code, text) = try await get(server, ["--cacert", "root.pem"] + options)
        #expect(code == 0)
        #expect(text.contains("purl: redirected to \(target.absoluteString), which is neither encrypted nor checked."))
    }

    @Test("what a redirect out of TLS has brought is resumed only by way of such a redirect, and starts over otherwise")
    func downgradedBytes() async throws {
        let content = GeneratedContent(size: 300_000)
        let plain = try LoopbackServer()
        let film = Reply.generated(content).entityTag("\"v1\"")
        let target = plain.route("/film", film.cut(afterBytes: 100_000, times: 2))
        let server = try server()
        server.route("/film", .redirect(to: target.absoluteString))
        let options = ["--cacert", "root.pem"]
        let first = try await get(server, options)
        #expect(first.code == 1)
        #expect(!first.text.contains("unchecked"), "\(first.text)")
        let second = try await get(server, options + ["-v"])
        #expect(second.text.contains("film: resuming at 100 kB of 300 kB"), "\(second.text)")
        #expect(plain.requests.last?.fields["Range"] == "bytes=100000-")
        // Now the server has the file itself.
        server.route("/film", film)
        let third = try await get(server, options)
        #expect(third.code == 0)
        #expect(third.text.contains("film: starting over (300 kB): who has sent the received bytes was not checked"))
        #expect(server.requests.last?.fields["Range"] == nil)
        #expect(content.matches(folder.contents("film")))
    }

    @Test("-N asks for the file anew that a redirect out of TLS has brought, unless there is one again")
    func downgradedUpdate() async throws {
        let plain = try LoopbackServer()
        let film = Reply.text("film").entityTag("\"v1\"")
        let target = plain.route("/film", film)
        let server = try server()
        server.route("/film", .redirect(to: target.absoluteString))
        for text in ["film: complete", "film: up to date"] {
            let again = try await get(server, ["-N", "--cacert", "root.pem"])
            #expect(again.code == 0 && again.text.contains(text), "\(again.text)")
        }
        server.route("/film", film)
        let checked = try await get(server, ["-N", "--cacert", "root.pem"])
        #expect(checked.code == 0 && checked.text.contains("film: complete"), "\(checked.text)")
        #expect(server.requests.last?.fields["If-None-Match"] == nil)
    }

    @Test("-v prints a request only if it was sent")
    func unsent() async throws {
        let server = try server(.selfSigned)
        let refused = try await get(server, ["--cacert", "root.pem", "-v"])
        #expect(!refused.text.contains("> GET"), "\(refused.text)")
        #expect(refused.text.contains("* not sent: GET \(server.url("/film").absoluteString)"))
        try folder.write("film", to: "f")
        let put = try await run(["put", "f", server.url("/film").absoluteString, "--cacert", "root.pem", "-v"])
        #expect(!put.text.contains("> PUT") && put.text.contains("* not sent: PUT"), "\(put.text)")
        let plain = try LoopbackServer()
        plain.route("/film", .text("film").fault(.cut, at: .beforeHead))
        let lost = try await get(plain, ["-v"])
        #expect(lost.text.contains("> GET \(plain.url("/film").absoluteString)"), "\(lost.text)")
    }

    @Test("the passphrase of a key is in a file, for PEM and PKCS #12, and in nothing that is printed or recorded")
    func passphrase() async throws {
        let server = try server { $0.clientCertificate = .required }
        guard try await folder.seal(authority.issueClient(name: "me"), passphrase: "correct horse") else { return }
        for identity in [["--cert", "me.pem", "--key", "sealed.pem"], ["--cert", "me.p12"]] {
            let options = ["--cacert", "root.pem", "-o", "film", "-v", "--trace", "film.json"] + identity
            let (code, text) = try await get(server, options + ["--passphrase-file", "passphrase"])
            #expect(code == 0, "\(text)")
            #expect(!text.contains("horse"))
            #expect(!String(decoding: folder.contents("film.json"), as: UTF8.self).contains("horse"))
            let wrong = try await get(server, options + ["--passphrase-file", "root.pem"])
            #expect(wrong.code == 1 && wrong.text.contains("another passphrase."), "\(wrong.text)")
            let missing = try await get(server, options + ["--passphrase-file", "none"])
            #expect(missing.text.contains("There is no file “none”."))
        }
        let words = ["get", server.url("/film").absoluteString, "--cert", "me.pem", "--key", "sealed.pem"]
        // Without a terminal there is nothing to ask.
        let process = try PurlProcess(shell: "setsid \"$0\" \"$@\"", words, in: folder)
        var text = ""
        for await line in process.lines { text += line }
        #expect(text.contains("needs its passphrase. “--passphrase-file FILE” names a file that has it."), "\(text)")
    }

    @Test("put and ws do not follow a redirect that leaves TLS", arguments: ["put", "ws"])
    func refusedDowngrade(command: String) async throws {
        let plain = try LoopbackServer()
        let target = plain.route("/film", .text("film"))
        let server = try server()
        server.route("/film", .redirect(307, to: target.absoluteString))
        try folder.write("film", to: "film")
        let url = server.url("/film").absoluteString
        let words = command == "put" ? ["put", "film", url] : ["ws", "wss" + url.dropFirst("https".count)]
        let (code, text) = try await run(words + ["--cacert", "root.pem", "-H", "X-Secret: 1"])
        #expect(code == 1)
        #expect(text.contains("which is neither encrypted nor checked. Nothing was sent there."), "\(text)")
        #expect(plain.acceptedConnections == 0)
    }

    @Test("--pin refuses what has no key: URLs, mirrors, and redirects")
    func pinsInTheOpen() async throws {
        let plain = try LoopbackServer()
        let target = plain.route("/film", .text("film")).absoluteString
        let server = try server()
        server.route("/film", .redirect(to: target))
        try folder.write("film", to: "up")
        let pin = "sha256//" + (try authority.issue(.valid).publicKeyDigest.base64EncodedString())
        let secure = server.url("/film").absoluteString
        for words in [
            ["get", target], ["get", secure, "--mirror", target], ["get", secure], ["put", "up", target],
            ["ws", "ws" + target.dropFirst("http".count)],
        ] {
            let (code, text) = try await run(words + ["--cacert", "root.pem", "--pin", pin])
            #expect(code == 1)
            #expect(text.contains("--pin needs https: the server of "), "\(text)")
        }
        #expect(plain.acceptedConnections == 0)
        #expect(!folder.names.contains("film"))
    }

    @Test("what came with --insecure is not resumed without it, nor the other way round")
    func unchecked() async throws {
        let server = try server()
        let content = GeneratedContent(size: 300_000)
        for (first, second) in [("--insecure", "--cacert=root.pem"), ("--cacert=root.pem", "--insecure")] {
            server.route("/film", .generated(content).entityTag("\"v1\"").cut(afterBytes: 100_000, times: 1))
            let before = try await get(server, [first, "--retry", "0"])
            #expect(before.code == 1, "\(before.text)")
            #expect(!before.text.contains("unchecked"), "\(before.text)")
            let after = try await get(server, [second, "--retry", "0"])
            #expect(after.code == 0, "\(after.text)")
            #expect(after.text.contains("film: starting over"), "\(after.text)")
            #expect(server.requests.last?.fields["Range"] == nil)
            try FileManager.default.removeItem(at: folder.file("film"))
        }
        server.route("/film", .generated(content).entityTag("\"v1\"").cut(afterBytes: 100_000, times: 1))
        _ = try await get(server, ["-k", "--retry", "0"])
        let (code, text) = try await get(server, ["-k"])
        #expect(code == 0 && text.contains("film: resuming at"), "\(text)")
    }

    @Test("-N does not take the file of an unchecked server for the current version")
    func uncheckedUpdate() async throws {
        let server = try server()
        server.route("/film", .text("film").entityTag("\"v1\""))
        _ = try await get(server, ["-N", "-k"])
        for options in [["-o", "film"], []] {
            _ = try await get(server, ["-N", "-k"] + options)
            let (code, text) = try await get(server, ["-N", "--cacert", "root.pem"] + options)
            #expect(code == 0 && text.contains("film: complete"), "\(text)")
            #expect(server.requests.last?.fields["If-None-Match"] == nil)
            let current = try await get(server, ["-N", "--cacert", "root.pem"] + options)
            #expect(current.text.contains("film: up to date"), "\(current.text)")
        }
    }

    @Test("-N finds a file that an unchecked server has named")
    func uncheckedName() async throws {
        let server = try server()
        let disposition = "attachment; filename=other.bin"
        server.route("/film", .text("film").entityTag("\"v1\"").field("Content-Disposition", disposition))
        _ = try await get(server, ["-N", "-k"])
        let (code, text) = try await get(server, ["-N", "--cacert", "root.pem"])
        #expect(code == 0 && text.contains("other.bin: complete"), "\(text)")
    }

    @Test("-v prints that a URL is loaded over TLS because its host has asked for that")
    func strictTransport() async throws {
        let server = try server(.valid(for: ["localhost"]))
        server.route("/film", .text("film").field("Strict-Transport-Security", "max-age=600"))
        let secure = try #require(URL(string: "https://localhost:\(server.port)/film"))
        let plain = "http://localhost:\(server.port)/other"
        server.route("/other", .text("other"))
        let (code, text) = try await run(
            ["get", secure.absoluteString, plain, "-P1", "--cacert", "root.pem", "-v"])
        #expect(code == 0, "\(text)")
        #expect(
            text.contains(
                "\(plain) is loaded over TLS, as its host has asked for (Strict-Transport-Security)"), "\(text)")
    }

    @Test("clean keeps the record of a server that could not be asked because of trust")
    func untrustedClean() async throws {
        let server = try server()
        try await interruptUpload(to: server)
        let (code, text) = try await run(["clean"])
        #expect(code == 1)
        #expect(text.contains("“film.upload” was kept, since the server could not be asked"), "\(text)")
        #expect(folder.names.contains("film.upload"))
    }

    @Test("a redirect to a secure server is followed without a word")
    func upgrade() async throws {
        let server = try server()
        let plain = try LoopbackServer()
        plain.route("/film", .redirect(to: server.url("/film").absoluteString))
        let (code, text) = try await get(plain, ["--cacert", "root.pem"])
        #expect(code == 0)
        #expect(!text.contains("redirected"))
        #expect(folder.contents("film") == Data("film".utf8))
    }

    @Test("--trace records the handshake, and nothing of the client's key")
    func trace() async throws {
        let server = try server { $0.clientCertificate = .required }
        let identity = try authority.issueClient(name: "me")
        let key = try identity.privateKeyPEM
        try folder.write(identity.certificatesPEM + key, to: "me.pem")
        for file in ["film.txt", "film.json", "film.svg"] {
            let options = ["--cacert", "root.pem", "--cert", "me.pem", "-o", "film", "--trace", file]
            let (code, text) = try await get(server, options)
            #expect(code == 0, "\(text)")
            let trace = String(decoding: folder.contents(file), as: UTF8.self)
            #expect(trace.contains("TLS 1.3"))
            let secret = try #require(key.components(separatedBy: "\n").dropFirst().first)
            #expect(!trace.contains(secret) && !trace.contains("me.pem"))
        }
    }
}

extension SecureTransferTests {
    @Test(
        "serve --tls prints the file of the root that its clients trust, and removes it at the end",
        arguments: [SIGINT, SIGTERM, SIGHUP])
    func serve(signal: Int32) async throws {
        struct Start: Decodable {
            let urls: [String]
            let root: String
        }
        try folder.write("route /film\n  text 0123\n", to: "x.script")
        let process = try PurlProcess(shell: "umask 077; exec \"$0\" serve x.script --tls", [], in: folder)
        func mode(of path: String) throws -> Int {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            return attributes[.posixPermissions] as? Int ?? -1
        }
        var root: String?
        var lines: [String] = []
        for await line in process.lines {
            lines.append(line)
            guard let start = try? JSONDecoder().decode(Start.self, from: Data(line.utf8)) else { continue }
            root = start.root
            let modes = [try mode(of: start.root), try mode(of: (start.root as NSString).deletingLastPathComponent)]
            #expect(modes == [0o644, 0o755])
            #expect(start.urls.allSatisfy { $0.hasPrefix("https://127.0.0.1:") })
            let (code, text) = try await run(["get", "--cacert", start.root] + start.urls)
            #expect(code == 0, "\(text)")
            #expect(folder.contents("film") == Data("0123".utf8))
            process.signal(signal)
        }
        let path = try #require(root)
        #expect(lines.contains("purl: the root to trust is in \(path)"))
        #expect(!FileManager.default.fileExists(atPath: (path as NSString).deletingLastPathComponent))
        #expect(await process.exitCode == 0)
    }
}

@Suite("purl and OpenSSL", .timeLimit(.minutes(5)))
struct OpenSSLTests {
    let folder = TemporaryFolder()

    /// A folder without it.
    private var hidden: [String: String] { ["PURL_OPENSSL": folder.url.path] }

    @Test(
        "without it https and wss fail with what to install, and nothing is sent",
        arguments: [["get"], ["get", "--cacert", "none.pem"], ["put", "film"], ["ws"]])
    func missing(words: [String]) async throws {
        try folder.write("film", to: "film")
        let server = try LoopbackServer()
        let url = "\(words[0] == "ws" ? "wss" : "https")://127.0.0.1:\(server.port)/new"
        let (code, lines) = try await PurlProcess.run(words + [url], in: folder, environment: hidden)
        #expect(code == 1)
        #expect(lines.joined().contains("install “libssl3”"), "\(lines)")
        #expect(server.requests == [])
        #expect(!folder.names.contains("new"))
    }

    @Test("without it http is loaded")
    func plain() async throws {
        let server = try LoopbackServer()
        server.route("/film", .text("film"))
        let (code, _) = try await PurlProcess.run(
            ["get", server.url("/film").absoluteString], in: folder, environment: hidden)
        #expect(code == 0)
        #expect(folder.contents("film") == Data("film".utf8))
    }

    #if os(Linux)
        @Test(
            "it is loaded for https, and not for http", .enabled(if: TestAuthority.isAvailable),
            arguments: ["http", "https"])
        func loading(scheme: String) async throws {
            let server = try LoopbackServer()
            server.fallback(.text("film"))
            let (_, lines) = try await PurlProcess.run(
                ["get", "\(scheme)://127.0.0.1:\(server.port)/film"], in: folder, environment: ["LD_DEBUG": "libs"])
            try #require(lines.contains { $0.contains("libc.so") })
            #expect(lines.contains { $0.contains("libcrypto.so") } == (scheme == "https"))
        }
    #endif
}

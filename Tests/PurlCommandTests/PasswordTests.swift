import Foundation
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("A URL's password", .timeLimit(.minutes(5)))
struct PasswordTests {
    let folder = TemporaryFolder()
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    /// - Parameter host: Of the server, unless another is given.
    private func address(_ path: String, host: String? = nil) -> String {
        "http://u:secret@\(host ?? "127.0.0.1:\(server.port)")\(path)?token=1"
    }

    private func shown(_ path: String) -> String { "http://u:•••@127.0.0.1:\(server.port)\(path)?token=1" }

    private func purl(_ words: String...) async throws -> [String] {
        let lines = try await PurlProcess.run(words, in: folder).lines
        let basic = Data("u:secret".utf8).base64EncodedString()
        #expect(!lines.contains { $0.contains("secret") || $0.contains(basic) }, "\(lines)")
        return lines
    }

    @Test("is hidden in requests, responses and their fields with -v")
    func verbose() async throws {
        let redirect = Reply.redirect(302, to: "http://v:secret@127.0.0.1:\(server.port)/moved")
        let challenge = Reply.text("who?").status(401).field("WWW-Authenticate", "Basic realm=\"x\"")
        server.route("/film", .computed { $0.fields["Authorization"] == nil ? challenge : redirect })
        server.route("/moved", .text("content"))
        let lines = try await purl("get", "-v", address("/film"), "-o", "film")
        #expect(lines.contains("> GET \(shown("/film"))"))
        #expect(lines.contains("> Authorization: Basic •••"))
        #expect(lines.contains("< Location: http://v:•••@127.0.0.1:\(server.port)/moved"))
        #expect(lines.contains("> GET http://v:•••@127.0.0.1:\(server.port)/moved"))
    }

    @Test("is hidden in the errors of one and of several downloads")
    func errors() async throws {
        server.route("/nowhere", Reply.text("").status(302).field("Location", "http://u:secret@[bad"))
        _ = try await purl("get", "-v", address("/missing"))
        _ = try await purl("get", "-v", address("/nowhere"))
        _ = try await purl("get", address("", host: "nobody.invalid"))
        let lines = try await purl("get", address("/missing"), address("/other"))
        #expect(lines.contains { $0.hasPrefix("purl: \(shown("/missing")): The server answered 404") })
        #expect(
            try await purl("get", "u:secret@host/film").first
                == "purl: “u:•••@host/film” is not a URL such as http://host/file. See “purl get --help”.")
        try folder.write("\(address("/a")) out=a\n\(address("/a")) out=b", to: "urls")
        #expect(
            try await purl("get", "--input-file", "urls").first
                == "purl: Line 2 of “urls”: \(shown("/a")) is listed already with another name, checksum or mirror.")
        try folder.write("\(address("/a")) out=a\n\(address("/b")) out=a", to: "urls")
        #expect(try await purl("get", "--input-file", "urls").contains { $0.contains("is used for \(shown("/a")).") })
        _ = try await purl("get", address("/missing"), "--proxy", "http://u:secret@[bad")
        _ = try await purl("ws", "http://u:secret@host/")
        _ = try await purl("ws", "ws://u:secret@127.0.0.1:\(server.port)/")
    }

    @Test("is hidden in the lists of unfinished downloads")
    func lists() async throws {
        try folder.leaveParts(of: "http://u:secret@host/film?a=1&amp;b=2", named: "film", bytes: 500)
        #expect(
            try await purl("list") == ["film  500 B of 1.00 kB  50 %  http://u:•••@host/film?a=1&b=2"])
        #expect(
            try await purl("clean").first == "film: removed, 500 B of 1.00 kB, http://u:•••@host/film?a=1&b=2")
    }
}

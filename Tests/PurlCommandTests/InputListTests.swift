import Foundation
import Testing

@testable import PurlCommand

@Suite("An input file")
struct InputListTests {
    static let digest = String(repeating: "0F", count: 32)

    private func orders(_ text: String, after first: [Order] = []) throws(CommandFailure) -> [Order] {
        try InputList.orders(text: text, name: "“list”", after: first)
    }

    @Test("has a URL in each line, and behind it a checksum and a name; the rest is skipped")
    func lines() throws {
        let text = """
            # Films
            http://host/a

              http://host/b   out=b.mkv\tsha256=\(Self.digest)
            http://host/c#part # the third
            http://host/d sha256=\(Self.digest) #out=x\r\nhttp://host/e
            """
        let checksum = try #require(Checksum(Self.digest))
        let urls = try ["a", "b", "c#part", "d", "e"].map { try #require(URL(string: "http://host/\($0)")) }
        #expect(
            try orders(text) == [
                Order(url: urls[0]), Order(url: urls[1], output: "b.mkv", checksum: checksum), Order(url: urls[2]),
                Order(url: urls[3], checksum: checksum), Order(url: urls[4]),
            ])
        #expect(checksum.hexadecimal == Self.digest.lowercased())
    }

    @Test("comes after the URLs of the command line; what is there twice is loaded once")
    func twice() throws {
        let url = try #require(URL(string: "http://host/a"))
        let text = "http://host/b\nhttp://host/a\nhttp://host/b\n"
        #expect(
            try orders(text, after: [Order(url: url)]).map(\.url.absoluteString) == ["http://host/a", "http://host/b"])
    }

    @Test(
        "is refused with the line that is wrong",
        arguments: [
            ("", "There is no URL in “list”."),
            ("# nothing", "There is no URL in “list”."),
            ("http://a/b\nfile", "Line 2 of “list”: “file” is not a URL such as http://host/file."),
            (
                "\nhttp://a/b name",
                "Line 2 of “list”: “name” is neither sha256=HEX nor out=NAME, or it is there twice."
            ),
            (
                "http://a/b out=x out=y",
                "Line 1 of “list”: “out=y” is neither sha256=HEX nor out=NAME, or it is there twice."
            ),
            ("http://a/b sha256=12", "Line 1 of “list”: “sha256=” needs 64 hexadecimal digits, not “12”."),
            ("http://a/b out=../x", "Line 1 of “list”: “out=” needs the plain name of a file, not “../x”."),
            ("http://a/b out=/x", "Line 1 of “list”: “out=” needs the plain name of a file, not “/x”."),
            ("http://a/b out=..", "Line 1 of “list”: “out=” needs the plain name of a file, not “..”."),
            ("http://a/b out=", "Line 1 of “list”: “out=” needs the plain name of a file, not “”."),
            (
                "http://a/b out=x\nhttp://a/b out=y",
                "Line 2 of “list”: http://a/b is wanted already, under another name or checksum."
            ),
        ])
    func refusals(text: String, sentence: String) {
        let error = #expect(throws: CommandFailure.self) { try orders(text) }
        #expect(error?.sentence == sentence)
    }

    @Test("has to be there, and to be text")
    func unreadable() throws {
        let folder = TemporaryFolder()
        let missing = #expect(throws: CommandFailure.self) {
            try InputList.orders(in: folder.file("none").path, after: [])
        }
        #expect(missing?.sentence.hasSuffix("that can be read.") == true)
        try Data([0xFF, 0xFE]).write(to: folder.file("list"))
        let strange = #expect(throws: CommandFailure.self) {
            try InputList.orders(in: folder.file("list").path, after: [])
        }
        #expect(strange?.sentence.hasSuffix("is not a text in UTF-8.") == true)
        try Data("\u{FEFF}http://host/a".utf8).write(to: folder.file("list"))
        #expect(try InputList.orders(in: folder.file("list").path, after: []).count == 1)
    }
}

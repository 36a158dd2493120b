import Foundation
import Testing

@testable import PurlCommand

@Suite("An input file")
struct InputFileTests {
    static let digest = String(repeating: "0F", count: 32)

    private func requests(
        _ text: String, after first: [DownloadRequest] = []
    ) throws(CommandFailure) -> [DownloadRequest] {
        try InputFile.requests(text: text, name: "“list”", after: first)
    }

    @Test("has a URL in each line, with an optional checksum and name; the rest is skipped")
    func lines() throws {
        let text = """
            # Films
            http://host/a

              http://host/b   out=b.mkv\tsha256=\(Self.digest)
            http://host/c#part mirror=http://host/d mirror=http://host/e # the third
            http://host/d sha256=\(Self.digest) #out=x\r\nhttp://host/e
            """
        let checksum = try #require(Checksum(Self.digest))
        let urls = try ["a", "b", "c#part", "d", "e"].map { try #require(URL(string: "http://host/\($0)")) }
        #expect(
            try requests(text) == [
                DownloadRequest(url: urls[0]), DownloadRequest(url: urls[1], output: "b.mkv", checksum: checksum),
                DownloadRequest(url: urls[2], mirrors: [urls[3], urls[4]]),
                DownloadRequest(url: urls[3], checksum: checksum), DownloadRequest(url: urls[4]),
            ])
        #expect(checksum.hexadecimal == Self.digest.lowercased())
    }

    @Test("follows the URLs of the command line; a URL that is given twice is downloaded once")
    func twice() throws {
        let url = try #require(URL(string: "http://host/a"))
        let text = "http://host/b\nhttp://host/a\nhttp://host/b\n"
        #expect(
            try requests(text, after: [DownloadRequest(url: url)]).map(\.url.absoluteString) == [
                "http://host/a", "http://host/b",
            ])
    }

    @Test(
        "is refused with the number of the invalid line",
        arguments: [
            ("", "There is no URL in “list”."),
            ("# nothing", "There is no URL in “list”."),
            ("http://a/b\nfile", "Line 2 of “list”: “file” is not a URL such as http://host/file."),
            (
                "\nhttp://a/b name",
                "Line 2 of “list”: “name” is not sha256=HEX, out=NAME or mirror=URL, or is given twice."
            ),
            (
                "http://a/b out=x out=y",
                "Line 1 of “list”: “out=y” is not sha256=HEX, out=NAME or mirror=URL, or is given twice."
            ),
            ("http://a/b sha256=12", "Line 1 of “list”: “sha256=” needs 64 hexadecimal digits, not “12”."),
            ("http://a/b out=../x", "Line 1 of “list”: “out=” needs the plain name of a file, not “../x”."),
            ("http://a/b out=/x", "Line 1 of “list”: “out=” needs the plain name of a file, not “/x”."),
            ("http://a/b out=..", "Line 1 of “list”: “out=” needs the plain name of a file, not “..”."),
            ("http://a/b out=", "Line 1 of “list”: “out=” needs the plain name of a file, not “”."),
            ("http://a/b mirror=c", "Line 1 of “list”: “mirror=” needs a URL such as http://host/file, not “c”."),
            (
                "http://a/b out=x\nhttp://a/b out=y",
                "Line 2 of “list”: http://a/b is listed already with another name, checksum or mirror."
            ),
        ])
    func refusals(text: String, sentence: String) {
        let error = #expect(throws: CommandFailure.self) { try requests(text) }
        #expect(error?.sentence == sentence)
    }

    @Test("is refused when it cannot be read or is not text")
    func unreadable() throws {
        let folder = TemporaryFolder()
        let missing = #expect(throws: CommandFailure.self) {
            try InputFile.requests(in: folder.file("none").path, after: [])
        }
        #expect(missing?.sentence.hasPrefix("There is no file “") == true)
        let isFolder = #expect(throws: CommandFailure.self) {
            try InputFile.requests(in: folder.url.path, after: [])
        }
        #expect(isFolder?.sentence.hasSuffix("cannot be read: Is a directory.") == true)
        try Data([0xFF, 0xFE]).write(to: folder.file("list"))
        let strange = #expect(throws: CommandFailure.self) {
            try InputFile.requests(in: folder.file("list").path, after: [])
        }
        #expect(strange?.sentence.hasSuffix("is not UTF-8 text.") == true)
        try Data("\u{FEFF}http://host/a".utf8).write(to: folder.file("list"))
        #expect(try InputFile.requests(in: folder.file("list").path, after: []).count == 1)
    }
}

import Foundation
import Testing

@testable import PurlCommand

@Suite("Where a download is saved")
struct DestinationTests {
    let folder = TemporaryFolder()

    private func destination(for url: URL, output: String? = nil) throws(CommandFailure) -> Destination {
        try Destination(
            for: DownloadRequest(url: url, output: output), in: folder.url, after: EarlierAttempts(in: folder.url))
    }

    @Test(
        "is named after the URL until the server has answered",
        arguments: [
            ("http://host/dir/film.mkv", "film.mkv"),
            ("http://host/dir/film.mkv?x=1#y", "film.mkv"),
            ("http://host/a%20b.txt", "a b.txt"),
            ("http://host/dir/", "index.html"),
            ("http://host/", "index.html"),
            ("http://127.0.0.1:8090", "index.html"),
            ("http://host/?a=b", "index.html"),
            ("http://host/.profile", "profile"),
            ("http://host/-rf", "rf"),
        ])
    func nameFromURL(url: String, name: String) throws {
        let url = try #require(URL(string: url))
        let destination = try destination(for: url)
        #expect(destination.name == name)
        #expect(destination.choice == .url)
    }

    @Test(
        "gets a name that is safe to save under, and not that of a partial file or a record",
        arguments: [
            ("film.mkv", "film.mkv"), (".bashrc", "bashrc"), ("...", "download"), ("--help", "help"), ("", "download"),
            ("film.mkv.part", "film.mkv_part"), ("film.mkv.RESUME", "film.mkv_RESUME"),
            ("film.resume.new", "film_resume_new"),
        ])
    func safeNames(suggestion: String, name: String) {
        #expect(FileName.safe(suggestion) == name)
    }

    @Test("leaves room for the suffixes of the partial files")
    func longNames() {
        let name = FileName.safe(String(repeating: "é", count: 200) + ".mkv")
        #expect(name.hasSuffix("é.mkv"))
        #expect((name + ".resume.new").utf8.count <= 255)
    }

    @Test("is the user's choice if there is one, whatever the server suggests")
    func userChoice() throws {
        let url = try #require(URL(string: "http://host/film.mkv"))
        let destination = try destination(for: url, output: "mine.mkv")
        #expect(destination.choice == .user)
        #expect(destination.mayReplace)
        #expect(destination.file.path == folder.url.appendingPathComponent("mine.mkv").path)
        #expect(destination.following(suggestion: "theirs.mkv") == destination)
    }

    @Test("follows the server's suggestion instead of the URL")
    func serverChoice() throws {
        let url = try #require(URL(string: "http://host/download?id=1"))
        let destination = try destination(for: url)
        let suggested = destination.following(suggestion: "film.mkv")
        #expect(suggested.name == "film.mkv")
        #expect(suggested.choice == .server)
        #expect(!suggested.mayReplace)
        #expect(destination.following(suggestion: "download") == destination)
        #expect(destination.following(suggestion: nil) == destination)
    }

    @Test("is that of an earlier attempt at the same URL; of several, the one with the most bytes")
    func earlierAttempt() throws {
        let url = try #require(URL(string: "http://host/download?id=1"))
        try folder.leaveParts(of: url.absoluteString, named: "a.mkv", bytes: 10)
        try folder.leaveParts(of: url.absoluteString, named: "b.mkv", bytes: 20)
        try folder.leaveParts(of: "http://host/other", named: "c.mkv", bytes: 30)
        // A record without all of its bytes does not count.
        try folder.leaveParts(of: url.absoluteString, named: "d.mkv", bytes: 40, onDisk: 39)
        let destination = try destination(for: url)
        #expect(destination.name == "b.mkv")
        #expect(destination.choice == .earlierAttempt)
        #expect(destination.following(suggestion: "film.mkv") == destination)
    }

    @Test("tells partial files of this URL from those of another, useless ones and none")
    func partContents() throws {
        let url = try #require(URL(string: "http://host/film"))
        func content(_ name: String) -> PartFiles.Content {
            PartFiles(for: folder.url.appendingPathComponent(name)).content(for: [url])
        }
        #expect(content("none") == .nothing)
        try folder.write("", to: "empty.part")
        #expect(content("empty") == .nothing)
        let short = try folder.leaveParts(of: url.absoluteString, named: "short", bytes: 10, onDisk: 9)
        #expect(content("short") == .useless(short))
        let changed = try folder.leaveParts(of: url.absoluteString, named: "changed", bytes: 10)
        try folder.write("0123456789", to: "changed.part")
        #expect(content("changed") == .useless(changed))
        let begun = try folder.leaveParts(of: url.absoluteString, named: "begun", bytes: 0, onDisk: 10)
        #expect(content("begun") == .useless(begun))
        let mine = try folder.leaveParts(of: url.absoluteString, named: "mine", bytes: 10)
        #expect(content("mine") == .unfinished(mine))
        let other = try folder.leaveParts(of: "http://host/other", named: "other", bytes: 10)
        #expect(content("other") == .ofAnotherURL(other))
    }

    @Test("is refused where saving would replace a file or is impossible")
    func refusals() throws {
        let url = try #require(URL(string: "http://host/film"))
        func refusal(output: String?) -> String? {
            do throws(CommandFailure) {
                let destination = try destination(for: url, output: output)
                try destination.validatePlace()
                if let parts = destination.parts { try destination.check(parts, for: [url]) }
                return nil
            } catch {
                return error.sentence
            }
        }
        #expect(refusal(output: nil) == nil)
        #expect(refusal(output: "new") == nil)
        #expect(refusal(output: "missing/film") == "There is no folder “missing”.")
        #expect(refusal(output: ".") == "“.” is a folder. Choose a name in it, “-o ./NAME”, or another one with -o.")
        try folder.leaveParts(of: "http://host/other", named: "film", bytes: 10)
        #expect(
            refusal(output: nil)
                == "“film.part” is an unfinished download of http://host/other. Choose another name with -o.")
        #expect(refusal(output: "film") == nil)
        try folder.leaveParts(of: url.absoluteString, named: "mine", bytes: 10)
        try folder.write("old", to: "mine")
        #expect(
            refusal(output: nil)
                == "“mine” exists already. Choose a name with -o, or “-o mine” to replace it.")
        #expect(refusal(output: "mine") == nil)
    }

    @Test("becomes the file by a rename, and the record is removed")
    func finishing() throws {
        let parts = PartFiles(for: folder.url.appendingPathComponent("film"))
        try folder.leaveParts(of: "http://host/film", named: "film", bytes: 10)
        try folder.write("old", to: "film")
        #expect(throws: CommandFailure.self) { try parts.finish(replacing: false, keepsRecord: false) }
        #expect(folder.names == ["film", "film.part", "film.resume"])
        try parts.finish(replacing: true, keepsRecord: false)
        #expect(folder.names == ["film"])
        #expect(folder.contents("film").count == 10)
    }

    @Test("is recognised as complete while the record is kept beside the file")
    func keptRecord() throws {
        let url = try #require(URL(string: "http://host/film"))
        let parts = PartFiles(for: folder.url.appendingPathComponent("film"))
        try folder.leaveParts(of: url.absoluteString, named: "film", bytes: 1000)
        #expect(parts.lengthOfFinishedFile(for: [url]) == nil)
        try parts.finish(replacing: false, keepsRecord: true)
        #expect(folder.names == ["film", "film.resume"])
        #expect(parts.lengthOfFinishedFile(for: [url]) == 1000)
        let other = try #require(URL(string: "http://host/other"))
        #expect(parts.lengthOfFinishedFile(for: [other]) == nil)
        #expect(try destination(for: url).choice == .earlierAttempt)
        // The file has been changed since.
        try folder.write("short", to: "film")
        #expect(parts.lengthOfFinishedFile(for: [url]) == nil)
        parts.removeRecord()
        #expect(folder.names == ["film"])
    }

    @Test("keeps a record file that is not purl's")
    func foreignRecord() throws {
        try folder.write("Jane's life so far", to: "jane.resume")
        PartFiles(for: folder.url.appendingPathComponent("jane")).removeRecord()
        #expect(folder.names == ["jane.resume"])
    }

    @Test("is reserved for one download of a command, with its partial files")
    func reservations() throws {
        let reservations = PathReservations()
        let first = try #require(URL(string: "http://host/a/film"))
        let second = try #require(URL(string: "http://host/b/film"))
        let settled = try reservations.reserveOrDisplace(destination(for: first), for: first)
        #expect(settled.file.lastPathComponent == "film")
        // The server may suggest another name: nothing is written before it has answered.
        let waiting = try reservations.reserveOrDisplace(destination(for: second), for: second)
        #expect(waiting.name == "film")
        #expect(waiting.file.lastPathComponent == "film.2")
        #expect(throws: CommandFailure.self) {
            try reservations.reserve(waiting.following(suggestion: "film"), for: second)
        }
        try reservations.reserve(waiting.following(suggestion: "movie"), for: second)
        let third = try #require(URL(string: "http://host/c"))
        for name in ["film", "film.part", "film.resume", "film.resume.new", "movie"] {
            #expect(throws: CommandFailure.self) {
                try reservations.reserveOrDisplace(try destination(for: third, output: name), for: third)
            }
        }
        #expect(
            try reservations.reserveOrDisplace(try destination(for: third, output: "film.2"), for: third).name
                == "film.2")
    }
}

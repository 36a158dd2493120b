import Foundation
import PurlHTTP
import Testing

@testable import PurlTesting

/// A line below a route, and what it sets.
private let goodLines: [(String, ScriptStep)] = [
    ("generated 4M seed 2", .always(.generated(size: 4 << 20, seed: 2))),
    ("generated 1000", .always(.generated(size: 1000, seed: nil))),
    (#"text a\tb\n\\ \xC3\xA9 # no comment"#, .always(.text(Data("a\tb\n\\ é # no comment".utf8)))),
    ("text", .always(.text(Data()))),
    (#"raw HTTP/1.1 200\r\n"#, .always(.raw(Data("HTTP/1.1 200\r\n".utf8)))),
    ("file films/a b.bin", .always(.file("films/a b.bin"))),
    ("status 503", .always(.status(503, reason: nil))),
    ("status 503 Come back later", .always(.status(503, reason: "Come back later"))),
    ("redirect /b", .always(.redirect(302, to: "/b"))),
    ("redirect 308 http://localhost:{port}/b", .always(.redirect(308, to: "http://localhost:{port}/b"))),
    ("interim 103", .always(.interim(103))),
    ("field Retry-After: 1", .always(.field("Retry-After", "1"))),
    ("field X:", .always(.field("X", ""))),
    ("set Content-Length: 7", .always(.replacing("Content-Length", "7"))),
    ("remove ETag", .always(.replacing("ETag", nil))),
    (#"etag W/"a b""#, .always(.entityTag(#"W/"a b""#))),
    ("etag none", .always(.entityTag(nil))),
    ("etag fresh", .always(.freshEntityTags)),
    (
        "modified Sun, 06 Nov 1994 08:49:37 GMT",
        .always(.lastModified(HTTPDate(secondsSinceEpoch: 784_111_777)))
    ),
    ("modified none", .always(.lastModified(nil))),
    ("conditions ignored", .always(.conditionsIgnored)),
    ("if-range refused", .always(.ifRange(.refused))),
    ("ranges multipart", .always(.ranges(.multipart))),
    ("ranges refused", .always(.ranges(.refused))),
    ("ranges refused without length", .always(.ranges(.refusedWithoutLength))),
    ("range shifted -50K", .always(.range(.startShifted(by: -51200)))),
    ("range shortened 200", .always(.range(.shortened(to: 200)))),
    ("range lengthened 1K", .always(.range(.lengthened(by: 1024)))),
    ("range status 200", .always(.partialStatus(200))),
    ("content-range shifted +3", .always(.contentRange(.shifted(by: 3)))),
    ("content-range total 2M", .always(.contentRange(.total(2 << 20)))),
    ("content-range total *", .always(.contentRange(.total(nil)))),
    ("content-range missing", .always(.contentRange(.missing))),
    ("content-range bytes all of it", .always(.contentRange(.literal("bytes all of it")))),
    ("accept-ranges none", .always(.acceptRanges("none"))),
    ("accept-ranges missing", .always(.acceptRanges(nil))),
    ("length +1K", .always(.contentLength(.off(by: 1024)))),
    ("length -1", .always(.contentLength(.off(by: -1)))),
    ("length 7", .always(.contentLength(.exactly(7)))),
    ("chunked", .always(.chunked(64 << 10))),
    ("chunked 100", .always(.chunked(100))),
    ("until-close", .always(.untilClose)),
    ("rate 1M", .always(.rate(1 << 20))),
    ("pieces 7", .always(.pieces(7))),
    ("close", .always(.close)),
    ("cut after 1M", .always(.fault(.cut, at: .at(.afterBodyBytes(1 << 20))))),
    ("cut after 25%", .always(.fault(.cut, at: .at(.bodyShare(perMille: 250))))),
    ("cut before-last 100", .always(.fault(.cut, at: .at(.beforeLastBytes(100))))),
    ("reset before head", .always(.fault(.reset, at: .at(.beforeHead)))),
    ("stall at random", .always(.fault(.stall, at: .anywhere))),
    ("uploads", .always(.upload(.versions([6, 8])))),
    ("uploads 6", .always(.upload(.versions([6])))),
    ("upload-limit max-append-size 1M", .always(.upload(.limit(.maximumAppendSize, 1 << 20)))),
    ("upload-fault cut at 1M", .always(.upload(.fault(.connection(.cut), at: .offset(1 << 20), times: 1)))),
    (
        "upload-fault reset after 104 times 3",
        .always(.upload(.fault(.connection(.reset), at: .announcement, times: 3)))
    ),
    ("upload-fault status 503 at HEAD", .always(.upload(.fault(.status(503, []), at: .offsetRetrieval, times: 1)))),
    (
        "upload-fault status 409 Upload-Offset:x Upload-Complete:?0 at PATCH times 2",
        .always(
            .upload(
                .fault(
                    .status(
                        409,
                        [.init(name: "Upload-Offset", value: "x"), .init(name: "Upload-Complete", value: "?0")]),
                    at: .append, times: 2)))
    ),
    ("upload-fault offset 1K at HEAD", .always(.upload(.fault(.offset(1024), at: .offsetRetrieval, times: 1)))),
    ("upload-fault offset none at PATCH", .always(.upload(.fault(.offset(nil), at: .append, times: 1)))),
    ("upload-fault location none before 104", .always(.upload(.fault(.location(nil), at: .creation, times: 1)))),
    (
        "upload-fault location http://localhost:{port}/b before 104",
        .always(.upload(.fault(.location("http://localhost:{port}/b"), at: .creation, times: 1)))
    ),
    ("upload-fault version 7 before 104", .always(.upload(.fault(.interimVersion(7), at: .creation, times: 1)))),
    (
        "upload-fault truncation 2M at HEAD",
        .always(.upload(.fault(.truncation(2 << 20), at: .offsetRetrieval, times: 1)))
    ),
    ("upload-fault expiry at PATCH", .always(.upload(.fault(.expiry, at: .append, times: 1)))),
    (
        "upload-fault pause 2s before response",
        .always(.upload(.fault(.connection(.pause(milliseconds: 2000)), at: .completion, times: 1)))
    ),
    ("websocket", .always(.webSocket(.accept(echoes: false)))),
    ("websocket echo", .always(.webSocket(.accept(echoes: true)))),
    ("websocket text a\\x21", .always(.webSocket(.text("a!")))),
    ("websocket binary \\xFF", .always(.webSocket(.binary(Data([0xFF]))))),
    ("websocket close", .always(.webSocket(.close(nil, reason: "")))),
    ("websocket close 4000 good bye", .always(.webSocket(.close(4000, reason: "good bye")))),
    ("websocket subprotocols a b", .always(.webSocket(.subprotocols(["a", "b"])))),
    ("websocket max-size 1K", .always(.webSocket(.maximumMessageSize(1024)))),
    ("2: websocket cut", ScriptStep(selector: .init(turns: .numbers(2...2)), directive: .webSocket(.cut))),
    ("pause 200ms in middle", .always(.fault(.pause(milliseconds: 200), at: .at(.midBody)))),
    ("pause 3s in chunk size", .always(.fault(.pause(milliseconds: 3000), at: .at(.chunkSize)))),
    ("2: close", ScriptStep(selector: .init(turns: .numbers(2...2)), directive: .close)),
    ("2-4: close", ScriptStep(selector: .init(turns: .numbers(2...4)), directive: .close)),
    ("3-: close", ScriptStep(selector: .init(turns: .numbers(3...Int.max)), directive: .close)),
    ("every 2: close", ScriptStep(selector: .init(turns: .every(2)), directive: .close)),
    ("ranged: close", ScriptStep(selector: .init(kind: .ranged), directive: .close)),
    ("plain 1: close", ScriptStep(selector: .init(kind: .plain, turns: .numbers(1...1)), directive: .close)),
    (
        "connection 2: close",
        ScriptStep(selector: .init(connections: 2...2), directive: .close)
    ),
    (
        "connection 2-3 every 2: close",
        ScriptStep(selector: .init(connections: 2...3, turns: .every(2)), directive: .close)
    ),
    ("from 1M: close", ScriptStep(selector: .init(starts: 1 << 20...1 << 20), directive: .close)),
    (
        "from 1K-2K 2-: close",
        ScriptStep(selector: .init(starts: 1024...2047, turns: .numbers(2...Int.max)), directive: .close)
    ),
    (
        "ranged from 1K- connection 4-: close",
        ScriptStep(
            selector: .init(kind: .ranged, connections: 4...Int.max, starts: 1024...Int.max), directive: .close)
    ),
    (
        "ranged every 3 chance 30%: close",
        ScriptStep(selector: .init(kind: .ranged, turns: .every(3), percent: 30), directive: .close)
    ),
]

/// A script that is wrong, and the error.
private let badScripts: [(String, String)] = [
    ("", "1:1: The script has no route."),
    ("# nothing\n", "2:1: The script has no route."),
    ("close", "1:1: “close” stands before the first route."),
    ("route", "1:6: Here should be a path."),
    ("route file", "1:7: A path begins with “/”."),
    ("route /a?b", "1:7: A route has no query: it matches any."),
    ("route /a GET POST", "1:14: “POST” is one word too many."),
    ("route /a\nroute /a", "2:7: There is a route for “/a” already."),
    ("route /a\n2: uploads", "2:1: What is said about uploads holds for all requests."),
    ("route /a\nuploads x", "2:9: “x” is not a number."),
    (
        "route /a\nupload-limit size 1",
        "2:14: “size” should be “max-size”, “min-size”, “max-append-size”, “min-append-size”, “max-age”."
    ),
    ("route /a\nwebsocket close 1005", "2:17: “1005” is not a close code that may be sent."),
    ("route /a\nwebsocket without ends", "2:19: “ends” should be “pongs” or “close”."),
    ("route /a\nwebsocket echo echo", "2:16: “echo” is one word too many."),
    ("route /a\nupload-fault cut on 1M", "2:18: “on 1M” is not a place in an upload such as “at 1M” or “after 104”."),
    ("route /a\nupload-fault cut at 1M 2", "2:24: “2” should be “times”."),
    (
        "route /a\nupload-fault burn at 1M",
        "2:14: “burn” should be “cut”, “reset”, “stall”, “pause”, “status”, “expiry”, “version”, “location”, “offset” or “truncation”."
    ),
    ("route /a\nupload-fault status 200 :x at HEAD", "2:25: “:x” is not a field such as Name:value."),
    ("route /a\nupload-fault offset x at HEAD", "2:21: “x” is not a number of bytes such as 1000, 64K or 2M."),
    ("title a\ntitle b", "2:1: “title” is given twice."),
    ("route /a\ntitle b", "2:1: “title” stands before the first route."),
    ("seed x", "1:6: “x” is not a number."),
    ("route /a\n  cutt after 3", "2:3: There is no directive “cutt”."),
    ("route /a\n  cut", "2:6: Here should be where, such as “after 1M”."),
    (
        "route /a\n  cut in the end",
        "2:7: “in the end” is not a place in a response such as “after 1M” or “before head”."
    ),
    (
        "route /a\n  cut after 101%",
        "2:7: “after 101%” is not a place in a response such as “after 1M” or “before head”."
    ),
    ("route /a\n  1:", "2:5: Here should be a directive."),
    ("route /a\n  0: close", "2:3: “0” is not a selector such as 1, 2-4 or 3-."),
    ("route /a\n  3-2: close", "2:3: “3-2” is not a selector such as 1, 2-4 or 3-."),
    ("route /a\n  ranged 2", "2:11: Here should be a selector’s “:”."),
    ("route /a\n  connection: close", "2:15: Here should be a number before the “:”."),
    ("route /a\n  connection x: close", "2:14: “x” is not a selector such as 1, 2-4 or 3-."),
    ("route /a\n  from: close", "2:9: Here should be a number of bytes before the “:”."),
    ("route /a\n  from 2M-1M: close", "2:8: “2M-1M” is not where a range begins, such as 1M, 1M-2M or 1M-."),
    ("route /a\n  every 0: close", "2:9: “0” is not a number from 1."),
    ("route /a\n  chance 101%: close", "2:10: “101%” is not a number from 1 to 100."),
    ("route /a\n  every: close", "2:10: Here should be a number before the “:”."),
    ("route /a\n  generated", "2:12: Here should be a size."),
    ("route /a\n  generated 4X", "2:13: “4X” is not a number of bytes such as 1000, 64K or 2M."),
    ("route /a\n  generated 99999999999G", "2:13: “99999999999G” is not a number of bytes such as 1000, 64K or 2M."),
    ("route /a\n  generated 4 sead 1", "2:15: “sead” should be “seed”."),
    ("route /a\n  text a\\q", "2:9: A “\\” is followed by n, r, t, another “\\”, or x and two hexadecimal digits."),
    ("route /a\n  status 700", "2:10: “700” is not a status from 200 to 599."),
    ("route /a\n  field Retry-After", "2:9: “Retry-After” is not a field such as Name: value."),
    ("route /a\n  modified today", "2:12: “today” is not a date such as Sun, 06 Nov 1994 08:49:37 GMT."),
    ("route /a\n  ranges sometimes", "2:10: “sometimes” should be “honoured”, “ignored”, “multipart”, “refused”."),
    ("route /a\n  range moved 3", "2:9: “moved” should be “shifted”, “shortened”, “lengthened” or “status”."),
    ("route /a\n  pause 3 in middle", "2:9: “3” is not a duration such as 200ms or 3s."),
    ("route /a\n  close now", "2:9: “now” is one word too many."),
]

@Suite("Server scripts")
struct ServerScriptTests {
    @Test("A line sets one thing", arguments: goodLines)
    func goodLine(line: String, step: ScriptStep) throws {
        let script = try ServerScript("route /a\n  \(line)  \n")
        #expect(script.routes.map(\.steps) == [[step]])
    }

    @Test("A mistake is reported with its line and column", arguments: badScripts)
    func badScript(text: String, message: String) {
        #expect {
            _ = try ServerScript(text)
        } throws: {
            "\($0)" == message
        }
    }

    @Test("Notes, the seed, comments and line ends are read; a route may be for one method")
    func wholeScript() throws {
        let script = try ServerScript(
            "# for the test\r\ntitle  A film, cut \r\nseed 9\r\n\r\nroute /a PUT\r\n\ttext x\r\nroute /a\r\n  # y\r\n")
        #expect(script.notes == ["title": "A film, cut"])
        #expect(script.paths == ["/a", "/a"])
        #expect(script.routes.map(\.method) == ["PUT", nil])
        #expect(script.routes.map(\.seed) == [9, 9])
        #expect(script.routes.map(\.steps.count) == [1, 0])
    }

    @Test("Every ready script is right, and has a title", arguments: ServerScript.ready)
    func ready(_ ready: ServerScript.Ready) throws {
        let script = try ServerScript(ready.text)
        #expect(script.notes["title"]?.isEmpty == false)
    }

    @Test("Every script of the resume torture is right, and says where it is from and what it expects")
    func torture() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../Torture", isDirectory: true)
        let scripts = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "script" }
        #expect(scripts.count >= 105)
        for file in scripts {
            let script = try ServerScript(contentsOf: file)
            let names = Set(script.notes.keys).subtracting(["mirrors", "digest", "disk", "kill"])
            #expect(names == ["title", "source", "expect", "budget"], "\(file.lastPathComponent)")
        }
    }

    @Test(
        "A selector holds for the requests that it names",
        arguments: [
            ("1", [1]), ("2-3", [2, 3]), ("4-", [4, 5, 6]), ("every 2", [2, 4, 6]), ("plain 2-", [3, 5]),
            ("ranged", [2, 4, 6]), ("ranged 2", [4]), ("ranged every 2", [4]), ("chance 100%", [1, 2, 3, 4, 5, 6]),
            ("connection 2", [3, 4]), ("connection 2- 2", [4]), ("ranged connection 1-2", [2, 4]), ("from 4K", [4]),
            ("from 3K-", [4, 6]), ("from 1K-5K 2", [4]), ("from 9K-", []),
        ])
    func selector(words: String, numbers: [Int]) throws {
        let script = try ServerScript("route /a\n  \(words): close")
        let selector = try #require(script.routes.first?.steps.first?.selector)
        var counted = 0
        let matching = (1...6).filter { number in
            // Every second request has a range, and each connection has two.
            let isRanged = number.isMultiple(of: 2)
            let request = RequestProperties(
                connection: (number + 1) / 2, isRanged: isRanged, start: isRanged ? number << 10 : nil)
            if selector.counts(request) { counted += 1 }
            return selector.holds(for: request, number: counted, random: 99)
        }
        #expect(matching == numbers)
    }
}

extension ScriptStep {
    /// A step for all requests.
    fileprivate static func always(_ directive: ScriptDirective) -> ScriptStep {
        ScriptStep(selector: RequestSelector(), directive: directive)
    }
}

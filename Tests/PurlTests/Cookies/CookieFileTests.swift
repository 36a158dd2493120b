import Foundation
import PurlIO
import Testing

@testable import Purl

@Suite("Cookies on disk", .timeLimit(.minutes(5)))
struct CookieFileTests {
    private let sandbox: Sandbox
    private var folder: URL { sandbox.file("Cookies") }
    private var path: String { folder.appendingPathComponent("cookies.v1").path }

    init() throws {
        sandbox = try Sandbox()
    }

    private func storage(_ files: any FileLayer = SystemFiles()) -> HTTPCookieStorage {
        HTTPCookieStorage(file: CookieFile(in: folder, files: files))
    }

    /// A storage with these lines taken and written.
    @discardableResult
    private func written(_ lines: String...) -> HTTPCookieStorage {
        let storage = storage()
        for line in lines { storage.storeCookies(in: line, from: "https://a.example/x/") }
        storage.file?.flush()
        return storage
    }

    @Test("What has a date comes back as it was; what ends with the session does not")
    func comesBack() throws {
        let old = written(
            "a=ö; Max-Age=1000; Domain=a.example; Secure; HttpOnly; SameSite=Lax", "b=2", "c=3; Max-Age=500; Path=/y")
        old.setCookie(
            try #require(HTTPCookie.made("d", [.version: "1", .maximumAge: "50", .port: "80", .comment: "c"])))
        old.file?.flush()
        let new = storage()
        #expect(new.names == ["a", "c", "d"])
        let kept = (old.cookies ?? []).filter { !$0.isSessionOnly }
        #expect(new.cookies == kept)
        #expect(new.header(for: "https://www.a.example/x/") == "a=ö")
    }

    @Test("What was removed, replaced by a session's cookie, or is over, is gone")
    func removed() throws {
        let old = written("a=1; Max-Age=1000", "b=1; Max-Age=1000", "c=1; Max-Age=1000", "d=1; Max-Age=1000")
        old.deleteCookie(try #require(old.cookies?.first))
        old.storeCookies(in: "b=1", "c=1; Max-Age=0", from: "https://a.example/x/")
        old.file?.flush()
        #expect(old.names == ["b", "d"])
        #expect(storage().names == ["d"])
        old.removeCookies(since: .distantPast)
        old.file?.flush()
        #expect(storage().names == [])
    }

    @Test("What has been over since it was written does not come back")
    func over() {
        let clock = StoppedClock()
        let old = HTTPCookieStorage(file: CookieFile(in: folder, clock: { clock.now }), clock: { clock.now })
        old.storeCookies(in: "a=1; Max-Age=5", "b=1; Max-Age=6", from: "http://a.example/")
        old.file?.flush()
        clock.advance(by: 5)
        let new = HTTPCookieStorage(file: CookieFile(in: folder), clock: { clock.now })
        #expect(new.names == ["b"])
    }

    @Test("Order and the moment of setting come back as well")
    func orderAndMoment() {
        let clock = StoppedClock()
        func open() -> HTTPCookieStorage {
            HTTPCookieStorage(file: CookieFile(in: folder, clock: { clock.now }), clock: { clock.now })
        }
        let old = open()
        old.storeCookies(in: "a=1; Max-Age=1000", "b=1; Max-Age=1000", from: "http://a.example/")
        clock.advance(by: 10)
        old.storeCookies(in: "a=2; Max-Age=1000", "c=1; Max-Age=1000", from: "http://a.example/")
        old.file?.flush()
        let new = open()
        #expect(new.header(for: "http://a.example/") == "a=2; b=1; c=1")
        new.removeCookies(since: clock.now - 1)
        #expect(new.names == ["b"])
    }

    @Test("The owner alone can read them")
    func permissions() throws {
        written("a=1; Max-Age=1000")
        let manager = FileManager.default
        #expect(try manager.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        #expect(try manager.attributesOfItem(atPath: folder.path)[.posixPermissions] as? Int == 0o700)
    }

    @Test("A session's cookies alone make no file")
    func noFile() {
        written("a=1")
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    static let damages: [(String, @Sendable (inout Data) -> Void)] = [
        ("cut short", { $0.removeLast() }), ("empty", { $0.removeAll() }), ("longer", { $0.append(0x20) }),
        (
            "another value",
            { $0 = Data(String(decoding: $0, as: UTF8.self).replacingOccurrences(of: "one", with: "two").utf8) }
        ),
        ("another digest", { $0[0] ^= 1 }), ("zeros", { $0 = Data(count: $0.count) }),
        ("random bytes", { $0 = Data((0..<500).map { UInt8(truncatingIfNeeded: $0 &* 97) }) }),
        ("no line break", { $0 = Data("no line break".utf8) }),
        ("another version", { $0 = Self.signed(#"{"cookies":[],"version":2}"#) }),
        ("no version", { $0 = Self.signed(#"{"cookies":[]}"#) }),
        ("not JSON", { $0 = Self.signed("cookies") }), ("another kind", { $0 = Self.signed("[1,2]") }),
        ("a header field in a value", { $0 = Self.signed(Self.contents(name: "a", value: #"v\r\nX: y"#)) }),
        ("a name with a =", { $0 = Self.signed(Self.contents(name: "a=b", value: "v")) }),
        ("no domain", { $0 = Self.signed(Self.contents(name: "a", value: "v", domain: "")) }),
        (
            "a date that is none",
            { $0 = Self.signed(Self.contents(name: "a", value: "v").replacing("1e9", with: "1e999")) }
        ),
    ]

    private static func signed(_ json: String) -> Data {
        Data((Data(json.utf8).sha256 + "\n" + json).utf8)
    }

    private static func contents(name: String, value: String, domain: String = "a.example") -> String {
        #"{"cookies":[{"content":{"name":"\#(name)","value":"\#(value)","domain":"\#(domain)","path":"/","#
            + #""expires":4e9,"isSecure":false,"isHTTPOnly":false,"version":0},"set":1e9}],"version":1}"#
    }

    @Test("The file is what the tests above say it is")
    func format() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Self.signed(Self.contents(name: "a", value: "v")).write(to: URL(fileURLWithPath: path))
        #expect(storage().header(for: "http://a.example/") == "a=v")
    }

    @Test("A damaged file is never trusted, and moved aside when there is something to write", arguments: damages)
    func damaged(name: String, damage: @Sendable (inout Data) -> Void) throws {
        written("a=one; Max-Age=1000")
        let url = URL(fileURLWithPath: path)
        var data = try Data(contentsOf: url)
        damage(&data)
        try data.write(to: url)
        let storage = storage()
        #expect(storage.names == [])
        #expect(try Data(contentsOf: url) == data)
        storage.storeCookies(in: "b=1; Max-Age=1000", from: "http://a.example/")
        storage.file?.flush()
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".damaged")) == data)
        #expect(self.storage().names == ["b"])
    }

    @Test("A link in the file's place is not followed")
    func link() throws {
        let target = sandbox.file("target")
        try Self.signed(Self.contents(name: "a", value: "v")).write(to: target)
        let before = try Data(contentsOf: target)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(at: URL(fileURLWithPath: path), withDestinationURL: target)
        let storage = storage()
        #expect(storage.names == [])
        storage.storeCookies(in: "b=1; Max-Age=1000", from: "http://a.example/")
        storage.file?.flush()
        #expect(self.storage().names == ["b"])
        #expect(try Data(contentsOf: target) == before)
    }

    @Test("Where nothing can be written, cookies live in memory")
    func nowhere() throws {
        try Data("a file".utf8).write(to: folder)
        let storage = written("a=1; Max-Age=1000")
        #expect(storage.header(for: "https://a.example/x/") == "a=1")
    }

    @Test("What could not be written is written with the next change")
    func nextChange() throws {
        try Data("a file".utf8).write(to: folder)
        let storage = written("a=1; Max-Age=1000", "b=1; Max-Age=1000")
        try FileManager.default.removeItem(at: folder)
        storage.storeCookies(in: "b=2; Max-Age=1000", "c=1; Max-Age=1000", from: "https://a.example/x/")
        storage.file?.flush()
        #expect(self.storage().header(for: "https://a.example/x/") == "a=1; b=2; c=1")
    }

    @Test("A write is a new file, brought to the disk before it takes the old one's place")
    func steps() {
        let files = MortalFiles()
        let storage = storage(files)
        storage.storeCookies(in: "a=1; Max-Age=1000", from: "http://a.example/")
        storage.file?.flush()
        #expect(
            files.steps == [
                "open lock", "remove", "open cookies.v1.new", "write half of cookies.v1.new", "write cookies.v1.new",
                "synchronize cookies.v1.new", "move to cookies.v1", "synchronize folder",
            ])
    }

    @Test("A crash at any moment leaves the old cookies or the new ones", arguments: 0...8)
    func crash(after steps: Int) {
        written("old=1; Max-Age=1000", "gone=1; Max-Age=1000")
        let doomed = storage(MortalFiles(steps: steps))
        doomed.storeCookies(in: "new=1; Max-Age=1000", "gone=1; Max-Age=0", from: "https://a.example/x/")
        doomed.file?.flush()
        #expect(storage().names == (steps < 7 ? ["old", "gone"] : ["old", "new"]))
        // And what it left behind is in nobody's way.
        written("next=1; Max-Age=1000")
        #expect(storage().names == (steps < 7 ? ["old", "gone", "next"] : ["old", "new", "next"]))
    }

    @Test("Two that have the file both keep what they change")
    func twoOwners() {
        written("a=1; Max-Age=1000", "b=1; Max-Age=1000")
        let (one, other) = (storage(), storage())
        #expect(one.names == other.names)
        one.storeCookies(in: "c=1; Max-Age=1000", "a=1; Max-Age=0", from: "https://a.example/x/")
        one.file?.flush()
        other.storeCookies(in: "d=1; Max-Age=1000", "b=2; Max-Age=1000", from: "https://a.example/x/")
        other.file?.flush()
        #expect(storage().header(for: "https://a.example/x/") == "b=2; c=1; d=1")
    }

    @Test("Many changes at once, from many threads, are all written")
    func manyThreads() {
        let storage = storage()
        DispatchQueue.concurrentPerform(iterations: 200) { number in
            storage.storeCookies(in: "c=1; Max-Age=1000", from: "http://h\(number).example/")
            if number.isMultiple(of: 4) {
                storage.storeCookies(in: "c=1; Max-Age=0", from: "http://h\(number).example/")
            }
            _ = storage.header(for: "http://h\(number).example/")
        }
        storage.file?.flush()
        #expect(storage.cookies?.count == 150)
        #expect(self.storage().cookies.map(Set.init) == storage.cookies.map(Set.init))
    }

    @Test("Someone can wait for the disk")
    func waiting() async {
        let storage = storage()
        storage.storeCookies(in: "a=1; Max-Age=1000", from: "http://a.example/")
        await withCheckedContinuation { continuation in storage.flush { continuation.resume() } }
        #expect(self.storage().names == ["a"])
        let inMemory = HTTPCookieStorage()
        await withCheckedContinuation { continuation in inMemory.flush { continuation.resume() } }
    }
}

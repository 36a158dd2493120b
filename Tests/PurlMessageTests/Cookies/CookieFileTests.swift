import Foundation
import PurlIO
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("The cookie file", .timeLimit(.minutes(5)))
struct CookieFileTests {
    private let sandbox = Sandbox()
    private var folder: URL { sandbox.file("Cookies") }
    private var path: String { folder.appendingPathComponent("cookies.v1").path }

    private func storage(_ files: any FileLayer = SystemFiles()) -> HTTPCookieStorage {
        HTTPCookieStorage(file: CookieFile(in: folder, files: files))
    }

    /// A storage that stored these `Set-Cookie` lines and wrote its file.
    @discardableResult
    private func written(_ lines: String...) -> HTTPCookieStorage {
        let storage = storage()
        for line in lines { storage.receive(line, from: "https://a.example/x/") }
        storage.file?.flush()
        return storage
    }

    @Test("Cookies with a date are read as they were; session cookies are not written")
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

    @Test("Removed and expired cookies, and those replaced by session cookies, are not in the file")
    func removed() throws {
        let old = written("a=1; Max-Age=1000", "b=1; Max-Age=1000", "c=1; Max-Age=1000", "d=1; Max-Age=1000")
        old.deleteCookie(try #require(old.cookies?.first))
        old.receive("b=1", "c=1; Max-Age=0", from: "https://a.example/x/")
        old.file?.flush()
        #expect(old.names == ["b", "d"])
        #expect(storage().names == ["d"])
        old.removeCookies(since: .distantPast)
        old.file?.flush()
        #expect(storage().names == [])
    }

    @Test("A cookie that expired after it was written is not read")
    func expired() {
        let clock = StoppedClock()
        let old = HTTPCookieStorage(file: CookieFile(in: folder, clock: { clock.now }), clock: { clock.now })
        old.receive("a=1; Max-Age=5", "b=1; Max-Age=6", from: "http://a.example/")
        old.file?.flush()
        clock.advance(by: 5)
        let new = HTTPCookieStorage(file: CookieFile(in: folder), clock: { clock.now })
        #expect(new.names == ["b"])
    }

    @Test("The order and creation times of cookies are read as they were")
    func order() {
        let clock = StoppedClock()
        func open() -> HTTPCookieStorage {
            HTTPCookieStorage(file: CookieFile(in: folder, clock: { clock.now }), clock: { clock.now })
        }
        let old = open()
        old.receive("a=1; Max-Age=1000", "b=1; Max-Age=1000", from: "http://a.example/")
        clock.advance(by: 10)
        old.receive("a=2; Max-Age=1000", "c=1; Max-Age=1000", from: "http://a.example/")
        old.file?.flush()
        let new = open()
        #expect(new.header(for: "http://a.example/") == "a=2; b=1; c=1")
        new.removeCookies(since: clock.now - 1)
        #expect(new.names == ["b"])
    }

    @Test("Only the owner can read the file")
    func permissions() throws {
        written("a=1; Max-Age=1000")
        let manager = FileManager.default
        #expect(try manager.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        #expect(try manager.attributesOfItem(atPath: folder.path)[.posixPermissions] as? Int == 0o700)
    }

    @Test("Session cookies alone make no file")
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

    @Test("The file has the format that the damaged ones are made in")
    func format() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Self.signed(Self.contents(name: "a", value: "v")).write(to: URL(fileURLWithPath: path))
        #expect(storage().header(for: "http://a.example/") == "a=v")
    }

    @Test("A damaged file is not read, and is moved aside by the next write", arguments: damages)
    func damaged(name: String, damage: @Sendable (inout Data) -> Void) throws {
        written("a=one; Max-Age=1000")
        let url = URL(fileURLWithPath: path)
        var data = try Data(contentsOf: url)
        damage(&data)
        try data.write(to: url)
        let storage = storage()
        #expect(storage.names == [])
        #expect(try Data(contentsOf: url) == data)
        storage.receive("b=1; Max-Age=1000", from: "http://a.example/")
        storage.file?.flush()
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".damaged")) == data)
        #expect(self.storage().names == ["b"])
    }

    @Test("A symbolic link in the file's place is not followed")
    func link() throws {
        let target = sandbox.file("target")
        try Self.signed(Self.contents(name: "a", value: "v")).write(to: target)
        let before = try Data(contentsOf: target)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(at: URL(fileURLWithPath: path), withDestinationURL: target)
        let storage = storage()
        #expect(storage.names == [])
        storage.receive("b=1; Max-Age=1000", from: "http://a.example/")
        storage.file?.flush()
        #expect(self.storage().names == ["b"])
        #expect(try Data(contentsOf: target) == before)
    }

    @Test("Without a writable folder cookies are kept in memory")
    func nowhere() throws {
        try Data("a file".utf8).write(to: folder)
        let storage = written("a=1; Max-Age=1000")
        #expect(storage.header(for: "https://a.example/x/") == "a=1")
    }

    @Test("A cookie change that could not be written is written with the next one")
    func nextChange() throws {
        try Data("a file".utf8).write(to: folder)
        let storage = written("a=1; Max-Age=1000", "b=1; Max-Age=1000")
        try FileManager.default.removeItem(at: folder)
        storage.receive("b=2; Max-Age=1000", "c=1; Max-Age=1000", from: "https://a.example/x/")
        storage.file?.flush()
        #expect(self.storage().header(for: "https://a.example/x/") == "a=1; b=2; c=1")
    }

    @Test("A write makes a new file and synchronises it before it replaces the old one")
    func steps() {
        let files = CrashingFiles()
        let storage = storage(files)
        storage.receive("a=1; Max-Age=1000", from: "http://a.example/")
        storage.file?.flush()
        #expect(
            files.steps == [
                "open lock", "remove", "open cookies.v1.new", "write half of cookies.v1.new", "write cookies.v1.new",
                "synchronize cookies.v1.new", "move to cookies.v1", "synchronize folder",
            ])
    }

    @Test("A crash at any step leaves the old cookies or the new ones", arguments: 0...8)
    func crash(after steps: Int) {
        written("old=1; Max-Age=1000", "gone=1; Max-Age=1000")
        let doomed = storage(CrashingFiles(steps: steps))
        doomed.receive("new=1; Max-Age=1000", "gone=1; Max-Age=0", from: "https://a.example/x/")
        doomed.file?.flush()
        #expect(storage().names == (steps < 7 ? ["old", "gone"] : ["old", "new"]))
        // The remains of the write do not prevent the next one.
        written("next=1; Max-Age=1000")
        #expect(storage().names == (steps < 7 ? ["old", "gone", "next"] : ["old", "new", "next"]))
    }

    @Test("Two storages on the same file keep the changes of both")
    func twoOwners() {
        written("a=1; Max-Age=1000", "b=1; Max-Age=1000")
        let (one, other) = (storage(), storage())
        #expect(one.names == other.names)
        one.receive("c=1; Max-Age=1000", "a=1; Max-Age=0", from: "https://a.example/x/")
        one.file?.flush()
        other.receive("d=1; Max-Age=1000", "b=2; Max-Age=1000", from: "https://a.example/x/")
        other.file?.flush()
        #expect(storage().header(for: "https://a.example/x/") == "b=2; c=1; d=1")
    }

    @Test("Changes from many threads are all written")
    func manyThreads() {
        let storage = storage()
        DispatchQueue.concurrentPerform(iterations: 200) { number in
            storage.receive("c=1; Max-Age=1000", from: "http://h\(number).example/")
            if number.isMultiple(of: 4) { storage.receive("c=1; Max-Age=0", from: "http://h\(number).example/") }
            _ = storage.header(for: "http://h\(number).example/")
        }
        storage.file?.flush()
        #expect(storage.cookies?.count == 150)
        #expect(self.storage().cookies.map(Set.init) == storage.cookies.map(Set.init))
    }

    @Test("A task can await the write to disk")
    func waiting() async {
        let storage = storage()
        storage.receive("a=1; Max-Age=1000", from: "http://a.example/")
        await withCheckedContinuation { continuation in storage.flush { continuation.resume() } }
        #expect(self.storage().names == ["a"])
        let inMemory = HTTPCookieStorage()
        await withCheckedContinuation { continuation in inMemory.flush { continuation.resume() } }
    }
}

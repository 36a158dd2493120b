import Foundation
import PurlIO
import PurlTesting
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("Cookies that FoundationNetworking has stored", .timeLimit(.minutes(5)))
struct FoundationCookieTests {
    /// What FoundationNetworking 6.3 writes.
    private static let list = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        <dict>
        	<key>.h.example/m</key>
        	<dict>
        		<key>Domain</key>
        		<string>.h.example</string>
        		<key>Expires</key>
        		<real>4095440239.5759006</real>
        		<key>Name</key>
        		<string>m</string>
        		<key>Path</key>
        		<string>/</string>
        		<key>Secure</key>
        		<true/>
        		<key>Value</key>
        		<string>n</string>
        		<key>Version</key>
        		<integer>1</integer>
        	</dict>
        	<key>old.example/o</key>
        	<dict>
        		<key>Domain</key>
        		<string>old.example</string>
        		<key>Expires</key>
        		<real>1139722880</real>
        		<key>Name</key>
        		<string>o</string>
        		<key>Path</key>
        		<string>/</string>
        		<key>Secure</key>
        		<false/>
        		<key>Value</key>
        		<string>gone</string>
        		<key>Version</key>
        		<integer>0</integer>
        	</dict>
        	<key>damaged</key>
        	<dict>
        		<key>Name</key>
        		<string>d</string>
        	</dict>
        	<key>nothing</key>
        	<integer>5</integer>
        	<key>.uk.example/w</key>
        	<dict>
        		<key>Domain</key>
        		<string>.uk.example</string>
        		<key>Expires</key>
        		<real>4139722880</real>
        		<key>Name</key>
        		<string>w</string>
        		<key>Path</key>
        		<string>/</string>
        		<key>Value</key>
        		<string>wide</string>
        	</dict>
        	<key>h.example/k</key>
        	<dict>
        		<key>Domain</key>
        		<string>h.example</string>
        		<key>Expires</key>
        		<real>4139722880</real>
        		<key>Name</key>
        		<string>k</string>
        		<key>Path</key>
        		<string>/x</string>
        		<key>Secure</key>
        		<false/>
        		<key>Value</key>
        		<string>v</string>
        		<key>Version</key>
        		<integer>0</integer>
        	</dict>
        </dict>
        </plist>
        """

    private let sandbox = Sandbox()
    private let predecessor: FoundationCookieFile

    init() throws {
        predecessor = try #require(
            FoundationCookieFile(of: "shared", data: sandbox.folder, bundlePath: "/opt/tools/program.bundle"))
        try FileManager.default.createDirectory(
            at: sandbox.file("program"), withIntermediateDirectories: true)
        try Data(Self.list.utf8).write(to: sandbox.file("program/.cookies.shared"))
    }

    private func storage() -> HTTPCookieStorage {
        HTTPCookieStorage(file: CookieFile(in: sandbox.file("Cookies"), after: predecessor))
    }

    @Test("They are taken over as they were; what has expired or cannot be read is left out")
    func taken() {
        let suffixes = PublicSuffixList { Data("uk.example\n".utf8) }
        let cookies = predecessor.read(with: SystemFiles(), at: Date(), suffixes: suffixes).map(\.content)
        #expect(cookies.map(\.name) == ["m", "k"])
        #expect(cookies.map(\.value) == ["n", "v"])
        #expect(cookies.map(\.domain) == [".h.example", "h.example"])
        #expect(cookies.map(\.path) == ["/", "/x"])
        #expect(cookies.map(\.isSecure) == [true, false])
        #expect(cookies.first?.expires == Date(timeIntervalSince1970: 4_095_440_239.5759006))
    }

    @Test("A storage sends them, and keeps them in its own file once it is written")
    func kept() throws {
        let first = storage()
        #expect(first.header(for: "https://h.example/x") == "k=v; m=n")
        #expect(first.header(for: "http://h.example/x") == "k=v")
        first.receive("k=2; Path=/x; Max-Age=1000", "new=1; Max-Age=1000", from: "https://h.example/x")
        first.file?.flush()
        try FileManager.default.removeItem(at: sandbox.file("program"))
        #expect(storage().header(for: "https://h.example/x") == "k=2; m=n; new=1")
    }

    @Test("Once Purl has a file, they are not read again: a cookie that was removed stays removed")
    func once() throws {
        let first = storage()
        first.removeCookies(since: .distantPast)
        first.file?.flush()
        #expect(storage().names == [])
    }

    @Test("A group's file is the one with its identifier; a name that leads elsewhere has none")
    func names() {
        let data = URL(fileURLWithPath: "/data", isDirectory: true)
        func path(_ name: String, _ bundle: String) -> String? {
            FoundationCookieFile(of: name, data: data, bundlePath: bundle)?.path
        }
        #expect(path("shared", "/opt/program") == "/data/program/.cookies.shared")
        #expect(path("my.group", "/opt/my.program.app/") == "/data/my.program/.cookies.my.group")
        #expect(path("../x", "/opt/program") == nil)
    }

    @Test(
        "What is not a list of cookies is none",
        arguments: ["", "<?xml", "<?xml version=\"1.0\"?><plist><array/></plist>"])
    func damaged(_ content: String) throws {
        try Data(content.utf8).write(to: sandbox.file("program/.cookies.shared"))
        #expect(storage().names == [])
    }
}

@Suite("The cookie file and the network thread", .timeLimit(.minutes(5)))
struct CookieFileThreadTests {
    private let sandbox = Sandbox()

    /// The system's files, which record whether they were opened on the network thread.
    private final class WatchedFiles: FileLayer {
        private let log = Mutex<[Bool]>([])

        /// For each file opened, whether that was on the network thread.
        var openings: [Bool] { log.withLock { $0 } }

        func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile {
            log.withLock { $0.append(NetworkActor.isCurrent) }
            return try SystemFiles().open(path, opening)
        }

        func move(_ path: String, to newPath: String) throws(SystemError) {
            try SystemFiles().move(path, to: newPath)
        }

        func entry(_ path: String) -> FileEntry { SystemFiles().entry(path) }

        func removeExisting(_ path: String) throws(SystemError) -> Bool { try SystemFiles().removeExisting(path) }

        func synchronizeFolder(_ path: String) throws(SystemError) { try SystemFiles().synchronizeFolder(path) }
    }

    @Test("The file is read on another thread, and its cookies are sent with the first request")
    func asking() async throws {
        let server = try LoopbackServer(.memory)
        server.route("/file", .text("content").field("Set-Cookie", "b=2; Max-Age=1000"))
        let host = try #require(server.url("/file").host())
        let old = HTTPCookieStorage(file: CookieFile(in: sandbox.file("Cookies")))
        old.receive("a=1; Max-Age=1000; Path=/", from: "http://\(host)/")
        old.file?.flush()
        let files = WatchedFiles()
        let session = sandbox.session {
            $0.connector = server.connector
            $0.httpCookieStorage = HTTPCookieStorage(file: CookieFile(in: sandbox.file("Cookies"), files: files))
        }
        for _ in 0..<2 { _ = try await session.data(from: server.url("/file")) }
        #expect(server.requests.map { $0.fields["Cookie"] } == ["a=1", "a=1; b=2"])
        #expect(!files.openings.isEmpty)
        #expect(!files.openings.contains(true))
    }

    @Test("It is read on another thread for a response's cookies, too, where requests carry none")
    func storing() async throws {
        let server = try LoopbackServer(.memory)
        server.route("/file", .text("content").field("Set-Cookie", "b=2; Max-Age=1000"))
        let files = WatchedFiles()
        let storage = HTTPCookieStorage(file: CookieFile(in: sandbox.file("Cookies"), files: files))
        let session = sandbox.session {
            $0.connector = server.connector
            $0.httpCookieStorage = storage
            $0.httpShouldSetCookies = false
        }
        _ = try await session.data(from: server.url("/file"))
        #expect(storage.names == ["b"])
        #expect(!files.openings.contains(true))
    }
}

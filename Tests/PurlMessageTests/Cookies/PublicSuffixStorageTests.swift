import Foundation
import PurlTesting
import Synchronization
import Testing

@testable import Purl
@testable import PurlIO
@testable import SessionFixtures

@Suite("Cookies for public suffixes (RFC 6265bis §5.7 step 9)", .timeLimit(.minutes(5)))
struct PublicSuffixStorageTests {
    private let sandbox = Sandbox()
    private static let list = Data("uk\nco.uk\n*.ck\n!www.ck\nlan\nhome.lan\n".utf8)

    private func storage(_ list: Data? = PublicSuffixStorageTests.list) -> HTTPCookieStorage {
        HTTPCookieStorage(file: nil, publicSuffixes: PublicSuffixList { list })
    }

    @Test(
        "Where there is a list of public suffixes, its domains get no cookies from the hosts below",
        arguments: [
            ("a=1; Domain=co.uk", "http://www.a.co.uk/", "http://b.co.uk/", nil),
            ("a=1; Domain=.co.uk", "http://www.a.co.uk/", "http://www.a.co.uk/", nil),
            ("a=1; Domain=CO.UK", "http://a.co.uk/", "http://a.co.uk/", nil),
            ("a=1; Domain=a.co.uk", "http://www.a.co.uk/", "http://b.a.co.uk/", "a=1"),
            ("a=1; Domain=b.ck", "http://a.b.ck/", "http://c.b.ck/", nil),
            ("a=1; Domain=www.ck", "http://a.www.ck/", "http://b.www.ck/", "a=1"),
            ("a=1; Domain=unknown.example", "http://a.unknown.example/", "http://b.unknown.example/", "a=1"),
            ("a=1", "http://a.co.uk/", "http://a.co.uk/", "a=1"),
            // The host with a suffix's own name keeps its cookie to itself.
            ("a=1; Domain=co.uk", "http://co.uk/", "http://co.uk/", "a=1"),
            ("a=1; Domain=co.uk", "http://co.uk/", "http://a.co.uk/", nil),
        ])
    func refusal(line: String, url: String, other: String, sent: String?) {
        let storage = storage()
        storage.receive(line, from: url)
        #expect(storage.header(for: other) == sent)
    }

    @Test("Without a list of public suffixes a cookie for co.uk is stored", arguments: [nil, Data()])
    func withoutList(list: Data?) {
        let storage = storage(list)
        storage.receive("a=1; Domain=co.uk", from: "http://a.co.uk/")
        #expect(storage.header(for: "http://b.co.uk/") == "a=1")
    }

    @Test("setCookies(_:for:mainDocumentURL:) leaves out cookies for public suffixes")
    func setCookies() throws {
        let storage = storage()
        let url = try #require(URL(string: "http://a.co.uk/"))
        let cookies = [".co.uk", ".a.co.uk"].compactMap { HTTPCookie.made($0, [.domain: $0]) }
        storage.setCookies(cookies, for: url, mainDocumentURL: nil)
        #expect(storage.names == [".a.co.uk"])
    }

    /// What a session with a storage of its own list sends to a second path, and how often the list was read on which
    /// thread.
    private func load(_ lines: String...) async throws -> (sent: [String?], readsOnNetworkThread: [Bool]) {
        let reads = Mutex<[Bool]>([])
        let suffixes = PublicSuffixList {
            reads.withLock { $0.append(NetworkActor.shared.executor.isCurrent) }
            return Self.list
        }
        let server = try LoopbackServer()
        let first = lines.reduce(Reply.redirect(to: "/second")) { $0.field("Set-Cookie", $1) }
        server.route("/first", first)
        server.route("/second", .text("end"))
        let session = sandbox.session {
            $0.httpCookieStorage = HTTPCookieStorage(file: nil, publicSuffixes: suffixes)
            // Names that the server's address has.
            $0.connectionProxyDictionary = Proxy.dictionary(server)
        }
        defer { session.invalidateAndCancel() }
        for host in ["www.a.co.uk", "nas.home.lan"] {
            let url = try #require(URL(string: "http://\(host)/first"))
            let (data, _) = try await session.data(from: url)
            #expect(data == Data("end".utf8))
        }
        return (
            server.requests.filter { $0.target.hasSuffix("/second") }.map { $0.fields["Cookie"] }, reads.withLock { $0 }
        )
    }

    @Test("The list is read once, away from the network thread, before a response's cookie for a domain is stored")
    func reading() async throws {
        let (sent, reads) = try await load(
            "a=1; Domain=a.co.uk; Path=/", "b=1; Domain=co.uk; Path=/", "c=1; Domain=home.lan; Path=/", "d=1; Path=/")
        #expect(sent == ["a=1; d=1", "d=1"])
        #expect(reads == [false])
    }

    @Test("The list is not read for cookies without a domain")
    func notRead() async throws {
        let (sent, reads) = try await load("d=1; Path=/")
        #expect(sent == ["d=1", "d=1"])
        #expect(reads == [])
    }
}

import Foundation
import Testing

@testable import Purl
@testable import PurlConnections
@testable import PurlHTTP
@testable import SessionFixtures

/// The head that a request becomes, without a connection.
@Suite("The head of a request")
struct RequestCompositionTests {
    private func head(
        _ url: String = "http://a.example/x?q", framing: BodyFraming = .none,
        with change: (inout RequestComposer) -> Void = { _ in }
    ) throws -> RequestHead {
        var composer = RequestComposer(request: URLRequest(url: URL(string: url)!))
        change(&composer)
        return composer.head(at: try TargetURI(URL(string: url)), framing: framing)
    }

    /// The session's fields that may go with the request.
    private func additional(_ fields: [String: String], mayCarryCredentials: Bool = true) -> [AdditionalFields.Field] {
        AdditionalFields(fields).fields(mayCarryCredentials: mayCarryCredentials)
    }

    private func lines(_ head: RequestHead) -> [String] { head.fields.map { "\($0.name): \($0.value)" } }

    @Test("A request has the default fields")
    func plain() throws {
        let head = try head()
        #expect("\(head.method)" == "GET")
        #expect(head.target == "/x?q")
        #expect(
            lines(head) == [
                "Host: a.example", "Accept: */*", "Accept-Encoding: \(ContentDecoder.acceptEncoding)",
                "User-Agent: \(HeaderFields.standardUserAgent)",
            ])
    }

    @Test(
        "The target has no dot segments, neither as the path's first URL of a server nor as a later one",
        arguments: [
            ("/a/./b/../c?x=/../y", "/a/c?x=/../y"), ("/..", "/"), ("/../../x", "/x"), ("/a/..", "/"), ("/a/.", "/a/"),
            ("/a/b/../", "/a/"), ("/a//../b", "/a/b"), ("/a/../?q", "/?q"), ("/./", "/"), ("/..//x", "//x"),
            ("/.hidden", "/.hidden"), ("/a/..b/.../c", "/a/..b/.../c"), ("/.?q", "/?q"), ("?q=/./", "/?q=/./"),
            ("/a/%2e%2e/b", "/a/%2e%2e/b"), ("/a/../b#/../c", "/b"), ("", "/"), ("/a./b.", "/a./b."),
        ])
    func dotSegments(path: String, target: String) throws {
        let base = "http://a.example"
        #expect(try head(base + path).target == target)
        let known = try TargetURI(base + "/")
        #expect(try TargetURI(base + path, like: known).originForm == target)
        #expect(try TargetURI(base + path).absoluteForm == base + target)
    }

    @Test("A proxy receives the absolute URL, and only a proxy receives the proxy's fields")
    func proxy() throws {
        let fields = ["Proxy-Authorization": "Basic eDp5"]
        #expect(
            try head {
                $0.isForProxy = true
                $0.additionalFields = additional(fields)
            }.target == "http://a.example/x?q")
        #expect(
            try head {
                $0.isForProxy = true
                $0.additionalFields = additional(fields)
            }.fields["Proxy-Authorization"] == "Basic eDp5")
        #expect(try head { $0.additionalFields = additional(fields) }.fields["Proxy-Authorization"] == nil)
    }

    @Test("The request's fields take precedence over the session's, and stored cookies over the session's Cookie")
    func precedence() throws {
        let head = try head {
            $0.request.setValue("own", forHTTPHeaderField: "X-A")
            $0.additionalFields = additional(["X-A": "session", "X-B": "session", "Cookie": "session=1"])
            $0.cookies = "stored=1"
        }
        #expect(head.fields["X-A"] == "own")
        #expect(head.fields["X-B"] == "session")
        #expect(head.fields["Cookie"] == "stored=1")
    }

    @Test("The session's credentials are dropped once a redirect has left the first origin")
    func credentials() throws {
        let fields = ["Authorization": "Basic eDp5", "X-A": "session"]
        let head = try head {
            $0.additionalFields = additional(fields, mayCarryCredentials: false)
        }
        #expect(head.fields["Authorization"] == nil)
        #expect(head.fields["X-A"] == "session")
    }

    static let framings: [(method: String, framing: BodyFraming, length: String?, coding: String?)] = [
        ("GET", .none, nil, nil),
        ("POST", .none, "0", nil),
        ("PUT", .none, "0", nil),
        ("PATCH", .none, "0", nil),
        ("DELETE", .none, nil, nil),
        ("POST", .length(4), "4", nil),
        ("POST", .chunked, nil, "chunked"),
    ]

    @Test("The body's framing decides on the length fields, not the request's own", arguments: framings)
    func framing(method: String, framing: BodyFraming, length: String?, coding: String?) throws {
        let head = try head(framing: framing) {
            $0.request.httpMethod = method
            $0.request.setValue("99", forHTTPHeaderField: "Content-Length")
            $0.request.setValue("gzip", forHTTPHeaderField: "Transfer-Encoding")
        }
        #expect(head.fields["Content-Length"] == length)
        #expect(head.fields["Transfer-Encoding"] == coding)
    }

    @Test("A storage asks for its missing range, and for identity")
    func storage() throws {
        let point = ResumePoint(offset: 7, total: nil, validator: "\"v1\"")
        for isOfSession in [false, true] {
            let own = ["Range": "bytes=0-1", "If-Range": "\"mine\""]
            let resumed = try head {
                if isOfSession { $0.additionalFields = additional(own) } else { $0.request.allHTTPHeaderFields = own }
                $0.storage = .open(isDownload: true, point: point, holdsResumeData: true)
            }
            #expect(Array(resumed.fields.values(of: .range)) == ["bytes=7-"])
            #expect(Array(resumed.fields.values(of: .ifRange)) == ["\"v1\""])
            #expect(resumed.fields["Accept-Encoding"] == "identity")
        }
        #expect(try head { $0.storage = .newFile }.fields["Accept-Encoding"] == "identity")
    }

    @Test(
        "An entity tag is sent back as the bytes it came in",
        arguments: [[0xE9], [0xC3, 0xA9], [0x80, 0xFF], [0x61]] as [[UInt8]])
    func tagBytes(tag: [UInt8]) throws {
        let text = Array("HTTP/1.1 206 x\r\nETag: \"".utf8) + tag + Array("\"\r\n\r\n".utf8)
        var parser = ResponseHeadParser()
        var position = 0
        let response = try #require(try parser.parse(text.span.bytes, from: &position))
        let request = URLRequest(url: try #require(URL(string: "http://a.example/x")))
        let validator = try #require(Resumability.validator(for: request, response: response))
        for (condition, name) in [(ResumePoint.Condition.ifRange, "If-Range"), (.ifMatch, "If-Match")] {
            let point = ResumePoint(offset: 7, total: nil, validator: validator, condition: condition)
            let head = try head { $0.storage = .open(isDownload: true, point: point, holdsResumeData: true) }
            var sent: [UInt8] = []
            try head.encode(into: &sent)
            let line = Array("\r\n\(name): \"".utf8) + tag + Array("\"\r\n".utf8)
            #expect(Data(sent).range(of: Data(line)) != nil)
        }
    }

    @Test("Expect is sent only with content, and Upgrade only where the delegate can become a stream")
    func expectationsAndUpgrades() throws {
        let change = { (composer: inout RequestComposer) in
            composer.request.setValue("100-continue", forHTTPHeaderField: "Expect")
            composer.request.setValue("chat", forHTTPHeaderField: "Upgrade")
        }
        #expect(try head(with: change).fields["Expect"] == nil)
        #expect(try head(framing: .length(4), with: change).fields["Expect"] == "100-continue")
        #expect(try head(with: change).fields["Upgrade"] == nil)
        let upgrading = try head {
            change(&$0)
            $0.mayUpgrade = true
        }
        #expect(upgrading.fields["Upgrade"] == "chat")
        #expect(upgrading.fields.hasToken("upgrade", in: .connection))
    }
}

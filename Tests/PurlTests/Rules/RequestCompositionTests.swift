import Foundation
import Testing

@testable import Purl
@testable import PurlHTTP

/// The head that a request becomes, without a connection.
@Suite("The composition of a request's head")
struct RequestCompositionTests {
    private func head(
        _ url: String = "http://a.example/x?q", framing: BodyFraming = .none,
        _ change: (inout RequestComposer) -> Void = { _ in }
    ) throws -> RequestHead {
        var composer = RequestComposer(request: URLRequest(url: URL(string: url)!))
        change(&composer)
        return composer.head(at: try TargetURI(URL(string: url)), framing: framing)
    }

    private func lines(_ head: RequestHead) -> [String] { head.fields.map { "\($0.name): \($0.value)" } }

    @Test("A plain request carries the fields that every request has")
    func plain() throws {
        let head = try head()
        #expect("\(head.method)" == "GET")
        #expect(head.target == "/x?q")
        #expect(
            lines(head) == [
                "Host: a.example", "Accept: */*", "Accept-Encoding: \(ContentDecoder.acceptEncoding)",
                "User-Agent: \(RequestComposer.userAgent)",
            ])
    }

    @Test("A proxy receives the whole URL, and only a proxy the fields that are meant for it")
    func proxy() throws {
        let fields = ["Proxy-Authorization": "Basic eDp5"]
        #expect(
            try head {
                $0.isForProxy = true
                $0.additionalFields = fields
            }.target == "http://a.example/x?q")
        #expect(
            try head {
                $0.isForProxy = true
                $0.additionalFields = fields
            }.fields["Proxy-Authorization"] == "Basic eDp5")
        #expect(try head { $0.additionalFields = fields }.fields["Proxy-Authorization"] == nil)
    }

    @Test("The request's fields come before the session's, and cookies of the storage before the session's")
    func precedence() throws {
        let head = try head {
            $0.request.setValue("own", forHTTPHeaderField: "X-A")
            $0.additionalFields = ["X-A": "session", "X-B": "session", "Cookie": "session=1"]
            $0.cookies = "stored=1"
        }
        #expect(head.fields["X-A"] == "own")
        #expect(head.fields["X-B"] == "session")
        #expect(head.fields["Cookie"] == "stored=1")
    }

    @Test("The session's credentials stay behind once a redirect has left the first origin")
    func credentials() throws {
        let fields = ["Authorization": "Basic eDp5", "X-A": "session"]
        let head = try head {
            $0.additionalFields = fields
            $0.mayCarryCredentials = false
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

    @Test("The framing decides about the length's fields, not the user", arguments: framings)
    func framing(method: String, framing: BodyFraming, length: String?, coding: String?) throws {
        let head = try head(framing: framing) {
            $0.request.httpMethod = method
            $0.request.setValue("99", forHTTPHeaderField: "Content-Length")
            $0.request.setValue("gzip", forHTTPHeaderField: "Transfer-Encoding")
        }
        #expect(head.fields["Content-Length"] == length)
        #expect(head.fields["Transfer-Encoding"] == coding)
    }

    @Test("A storage asks for the rest by itself, and for plain bytes")
    func storage() throws {
        let point = ResumePoint(offset: 7, total: nil, validator: "\"v1\"")
        let resumed = try head {
            $0.request.setValue("bytes=0-1", forHTTPHeaderField: "Range")
            $0.storage = .open(isDownload: true, point: point, holdsResumeData: true)
        }
        #expect(resumed.fields["Range"] == "bytes=7-")
        #expect(resumed.fields["If-Range"] == "\"v1\"")
        #expect(resumed.fields["Accept-Encoding"] == "identity")
        #expect(try head { $0.storage = .newFile }.fields["Accept-Encoding"] == "identity")
    }

    @Test("Without content a request expects nothing, and Upgrade goes only where a delegate can speak the protocol")
    func expectationsAndUpgrades() throws {
        let change = { (composer: inout RequestComposer) in
            composer.request.setValue("100-continue", forHTTPHeaderField: "Expect")
            composer.request.setValue("chat", forHTTPHeaderField: "Upgrade")
        }
        #expect(try head(change).fields["Expect"] == nil)
        #expect(try head(framing: .length(4), change).fields["Expect"] == "100-continue")
        #expect(try head(change).fields["Upgrade"] == nil)
        let upgrading = try head {
            change(&$0)
            $0.mayUpgrade = true
        }
        #expect(upgrading.fields["Upgrade"] == "chat")
        #expect(upgrading.fields.hasToken("upgrade", in: .connection))
    }
}

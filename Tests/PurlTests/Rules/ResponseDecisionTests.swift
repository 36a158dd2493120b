import Foundation
import Testing

@testable import Purl
@testable import PurlHTTP
@testable import PurlIO
@testable import SessionFixtures

/// What a response means, without a connection.
@Suite("ResponseDecision")
struct ResponseDecisionTests {
    typealias Circumstances = ResponseDecision.Circumstances

    /// A decision in words that can be compared.
    private func decide(
        _ status: Int, _ fields: HeaderFields = [:], framing: BodyFraming = .length(10),
        when change: (inout Circumstances) -> Void = { _ in }
    ) -> String {
        var circumstances = Circumstances(
            request: URLRequest(url: URL(string: "http://a.example/x")!), provenance: .server)
        change(&circumstances)
        let head = ResponseHead(status: status, fields: fields)
        return Self.words(ResponseDecision(head, framing: framing, in: circumstances))
    }

    private static func words(_ decision: ResponseDecision) -> String {
        switch decision {
        case .sendWithoutExpectation: "send without Expect"
        case .authenticate(let peer): "authenticate to \(peer.role)"
        case .useStored(_, let age, let isConfirmed): "use stored, age \(age ?? -1), confirmed \(isConfirmed)"
        case .sendWithoutConditions: "send without conditions"
        case .redirect(let next): "redirect to \(next.httpMethod ?? "") \(next.url?.absoluteString ?? "")"
        case .append(let part):
            "append \(part.overlap > 0 ? "after \(part.overlap) " : "")up to \(part.end) of \(part.total)"
        case .requestRestOfSame: "request rest of same"
        case .requestRestWithOverlap: "request rest with overlap"
        case .replace: "replace"
        case .complete: "complete"
        case .requestWhole: "request whole"
        case .continueUpload(let turn): "continue upload, \(turn.step)"
        case .deliver: "deliver"
        case .fail(let failure): "fail \(failure.urlError(for: nil).code.rawValue)"
        }
    }

    // MARK: Expectations and challenges

    @Test("A 417 repeats a request with an expectation if its body can be sent again")
    func expectation() {
        let expecting = { (circumstances: inout Circumstances) in
            circumstances.request.setValue("100-continue", forHTTPHeaderField: "Expect")
        }
        #expect(decide(417, when: expecting) == "send without Expect")
        #expect(
            decide(417) {
                expecting(&$0)
                $0.canSendBodyAgain = false
            } == "deliver")
        #expect(
            decide(417) {
                expecting(&$0)
                $0.mayExpect = false
            } == "deliver")
        #expect(decide(417) == "deliver")
        #expect(
            decide(417) { $0.additionalFields = AdditionalFields(["Expect": "100-continue"]) } == "send without Expect")
    }

    @Test("A 401 is a server's challenge and a 407 a proxy's, and TRACE is not authenticated")
    func challenges() {
        let throughProxy = { (circumstances: inout Circumstances) in
            circumstances.proxy = .proxy(.host("proxy.example", port: 3128))
        }
        #expect(decide(401) == "authenticate to server")
        #expect(decide(407) == "deliver")
        #expect(decide(407, when: throughProxy) == "authenticate to proxy")
        #expect(decide(401) { $0.request.httpMethod = "TRACE" } == "deliver")
        #expect(decide(401) { $0.provenance = .cache } == "deliver")
        #expect(decide(401) { $0.provenance = .local } == "deliver")
    }

    // MARK: The cache

    private static let stored = CachedURLResponse(
        response: URLResponse(
            url: URL(string: "http://a.example/x")!, mimeType: nil, expectedContentLength: 0, textEncodingName: nil),
        data: Data())

    @Test("A 304 uses a matching stored response, else the request is repeated; a 503 may use a stale response")
    func cache() {
        #expect(decide(304) { $0.cache = .confirmed(Self.stored) } == "use stored, age -1, confirmed true")
        #expect(decide(304) { $0.cache = .mismatched } == "send without conditions")
        #expect(decide(503) { $0.cache = .replaced(Self.stored, age: 7) } == "use stored, age 7, confirmed false")
    }

    @Test("A challenge takes precedence over the cache")
    func order() {
        #expect(decide(401) { $0.cache = .replaced(Self.stored, age: 7) } == "authenticate to server")
    }

    // MARK: Redirects

    @Test("A server's or cached redirect is followed up to the limit, a protocol's is not")
    func redirects() {
        let location: HeaderFields = ["Location": "/y"]
        #expect(decide(302, location) == "redirect to GET http://a.example/y")
        #expect(decide(302, location) { $0.provenance = .cache } == "redirect to GET http://a.example/y")
        #expect(decide(302, location) { $0.provenance = .local } == "deliver")
        #expect(decide(302) == "deliver")
        #expect(decide(302, location) { $0.redirects = 19 } == "redirect to GET http://a.example/y")
        #expect(
            decide(302, location) { $0.redirects = 20 } == "fail \(URLError.Code.httpTooManyRedirects.rawValue)")
        #expect(
            decide(302, ["Location": "http://"])
                == "fail \(URLError.Code.redirectToNonExistentLocation.rawValue)")
    }

    @Test("A refused upgrade fails, unless it is a redirect or a challenge")
    func refusal() {
        let asking = { (circumstances: inout Circumstances) in
            circumstances.refusal = { .webSocket(.refused(status: $0)) }
        }
        #expect(decide(200, when: asking).hasPrefix("fail"))
        #expect(decide(404, when: asking).hasPrefix("fail"))
        #expect(decide(302, ["Location": "/y"], when: asking) == "redirect to GET http://a.example/y")
        #expect(decide(401, when: asking) == "authenticate to server")
    }

    // MARK: Storage

    static let ofNewFiles: [(status: Int, asksForRange: Bool, decision: String)] = [
        (200, false, "replace"),
        (404, false, "replace"),
        (206, true, "replace"),
        (206, false, "fail \(URLError.Code.badServerResponse.rawValue)"),
    ]

    @Test("A new download stores any response but an unrequested part", arguments: ofNewFiles)
    func newFile(status: Int, asksForRange: Bool, decision: String) {
        for isOfSession in [false, true] {
            let fields = asksForRange ? ["Range": "bytes=0-9"] : [:]
            let decided = decide(status) {
                $0.storage = .newFile
                if isOfSession {
                    $0.additionalFields = AdditionalFields(fields)
                } else {
                    $0.request.allHTTPHeaderFields = fields
                }
            }
            #expect(decided == decision)
        }
    }

    private static let point = ResumePoint(offset: 4, total: 10, validator: "\"v1\"")
    private static let part: HeaderFields = ["Content-Range": "bytes 4-9/10", "ETag": "\"v1\""]

    static let ofResumedBodies: [(status: Int, HeaderFields, isDownload: Bool, decision: String)] = [
        (206, part, true, "append up to 10 of 10"),
        (206, part, false, "append up to 10 of 10"),
        (200, ["ETag": "\"v1\""], true, "request rest of same"),
        (200, ["ETag": "\"v1\""], false, "request rest of same"),
        (206, ["Content-Range": "bytes 4-9/10"], true, "request whole"),
        (206, ["Content-Range": "bytes 5-9/10", "ETag": "\"v1\""], true, "request whole"),
        (206, ["Content-Range": "bytes 4-9/10", "ETag": "\"v2\""], true, "request whole"),
        (206, ["Content-Range": "bytes 4-10/11"], true, "request whole"),
        (206, [:], false, "request whole"),
        (200, [:], true, "replace"),
        (200, [:], false, "replace"),
        (416, ["Content-Range": "bytes */4"], true, "request whole"),
        (404, [:], true, "fail \(URLError.Code.badServerResponse.rawValue)"),
        (404, [:], false, "deliver"),
    ]

    @Test("A resumed body is appended to, started over or failed by the response", arguments: ofResumedBodies)
    func resumed(status: Int, fields: HeaderFields, isDownload: Bool, decision: String) {
        let decided = decide(status, fields, framing: .length(status == 206 ? 6 : 10)) {
            $0.storage = .open(isDownload: isDownload, point: Self.point, holdsResumeData: isDownload)
        }
        #expect(decided == decision)
    }

    @Test("A 416 with the body's length completes it")
    func complete() {
        let decided = decide(416, ["Content-Range": "bytes */10"]) {
            $0.storage = .open(
                isDownload: false, point: ResumePoint(offset: 10, total: nil, validator: "\"v1\""),
                holdsResumeData: false)
        }
        #expect(decided == "complete")
    }

    static let ofOpenStorage: [(status: Int, isDownload: Bool, holdsResumeData: Bool, decision: String)] = [
        (200, false, false, "replace"),
        (404, false, false, "deliver"),
        (404, true, false, "replace"),
        (200, true, true, "replace"),
        (500, true, true, "fail \(URLError.Code.badServerResponse.rawValue)"),
        (206, false, false, "fail \(URLError.Code.badServerResponse.rawValue)"),
    ]

    @Test(
        "A response to the request for the whole resource replaces the open storage, is delivered, or fails",
        arguments: ofOpenStorage)
    func open(status: Int, isDownload: Bool, holdsResumeData: Bool, decision: String) {
        let decided = decide(status) {
            $0.storage = .open(isDownload: isDownload, point: nil, holdsResumeData: holdsResumeData)
        }
        #expect(decided == decision)
    }

    @Test("Without a storage every other response is delivered", arguments: [200, 204, 206, 300, 304, 404, 416, 500])
    func delivered(status: Int) {
        #expect(decide(status) == "deliver")
    }
}

import Foundation
import Purl
import PurlTesting
import PurlTrace
import Testing

@Suite("What delegate methods were called with", .timeLimit(.minutes(5)))
struct ArgumentsTests {
    @Test("A data task shows its response, its bytes and its end")
    func dataTask() async throws {
        let traced = try TracedSession()
        let url = traced.server.route("/note", .text("hello"))
        _ = await traced.run(URLRequest(url: url))
        let difference = traced.trace.difference(from: [
            .anything,
            .delegate(.didReceiveResponse, .response(status: 200, type: nil, expected: 5)),
            .anything,
            .delegate(.didReceiveData, .bytes(5)),
            .anything,
            .delegate(.didFinishCollecting, .metrics(requests: 1)),
            .anything,
            .delegate(.didComplete, .success(bytes: nil)),
            .returned(.didComplete),
        ])
        #expect(difference == nil)
        let svg = Diagram(traced.trace).svg
        #expect(svg.contains(">didReceive response: 200 OK</text>"))
        #expect(svg.contains("<title>begins didReceive response (200 OK, 5 bytes expected)</title>"))
        #expect(svg.contains(">didReceive data: 5 bytes</text>"))
    }

    @Test("A download that is cut off and resumed shows its progress, its failure and where it is resumed")
    func download() async throws {
        let recording = try await Film().run()
        let loss = "The connection was lost in the middle of the response."
        let pattern: TracePattern = [
            .anything,
            .delegate(.willPerformHTTPRedirection, .redirect(status: 302, url: "/reel")),
            .anything,
            .delegate(.didWriteData, .progress(bytes: 1000, total: 1000, expected: 3000)),
            .anything,
            .delegate(.didComplete, .failure(code: "URLError.networkConnectionLost", sentence: loss)),
            .anything,
            .delegate(.didResumeAtOffset, .position(offset: 1000, expected: 3000)),
            .anything,
            .delegate(.didFinishDownloading),
            .anything,
            .delegate(.didComplete, .success(bytes: nil)),
            .anything,
        ]
        #expect(pattern.difference(from: recording) == nil)
        let svg = Diagram(recording).svg
        #expect(svg.contains("didWriteData: 1,000 of 3,000</text>"))
        #expect(svg.contains("<title>begins didWriteData (1,000 bytes, 1,000 of 3,000)</title>"))
    }

    @Test("An upload shows what is sent, and a handler what it receives")
    func upload() async throws {
        let traced = try TracedSession()
        let url = traced.server.route("/note", .text("hello"))
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        let task = traced.session.uploadTask(with: request, from: Data(count: 1234))
        task.resume()
        await traced.trace.waits { $0.kind.ends(.didComplete) }
        #expect(
            traced.trace.matches([
                .anything, .delegate(.didSendBodyData, .progress(bytes: 1234, total: 1234, expected: 1234)), .anything,
            ]))
        traced.trace.removeAll()
        traced.session.dataTask(with: url) { _, _, _ in }.resume()
        await traced.trace.waits { $0.kind.ends(.completionHandler) }
        #expect(traced.trace.matches([.anything, .delegate(.completionHandler, .success(bytes: 5)), .anything]))
        traced.trace.removeAll()
        _ = try await traced.session.data(from: url)
        await traced.trace.waits { $0.kind.ends(.continuation) }
        #expect(traced.trace.matches([.anything, .delegate(.continuation, .success(bytes: 5)), .anything]))
    }

    @Test("A challenge shows its scheme, its realm and how often it has failed; a redirect elsewhere shows no user")
    func challenge() async throws {
        let traced = try TracedSession()
        let other = try LoopbackServer()
        let secret = other.route("/secret", .status(401).field("WWW-Authenticate", "Basic realm=\"x\""))
        let next = secret.absoluteString.replacing("//", with: "//carol@", maxReplacements: 1)
        let url = traced.server.route("/a", .redirect(to: next))
        _ = await traced.run(URLRequest(url: url))
        let challenge = TransferTrace.Arguments.challenge(scheme: "Basic", realm: "x", failures: 0)
        #expect(traced.trace.matches([.anything, .delegate(.didReceiveChallenge, challenge), .anything]))
        let shown = next.replacing("carol", with: TransferTrace.redacted)
        let redirect = TransferTrace.Arguments.redirect(status: 302, url: shown)
        #expect(traced.trace.matches([.anything, .delegate(.willPerformHTTPRedirection, redirect), .anything]))
    }

    static let table: [(TransferTrace.Arguments, String)] = [
        (.bytes(1), "1 byte"),
        (.progress(bytes: 1000, total: 2000, expected: -1), "1,000 bytes, 2,000 of an unknown number"),
        (.position(offset: 1000, expected: 3000), "at 1,000 of 3,000"), (.offset(1_234_567), "from 1,234,567"),
        (.response(status: 200, type: nil, expected: 5), "200 OK, 5 bytes expected"),
        (.response(status: 404, type: nil, expected: -1), "404 Not Found, length unknown"),
        (.response(status: 103, type: nil, expected: -1), "103 Early Hints"),
        (.response(status: nil, type: "text/plain", expected: 5), "text/plain, 5 bytes expected"),
        (.caching(status: 200, type: nil, bytes: 5), "200 OK, 5 bytes"),
        (.redirect(status: 302, url: "/b"), "302, to /b"), (.request(url: "http://a.example"), "http://a.example"),
        (.challenge(scheme: "Basic", realm: nil, failures: 1), "Basic, failed 1 time"),
        (.challenge(scheme: "Digest", realm: "x", failures: 0), "Digest, realm \"x\", failed 0 times"),
        (.serverTrust(host: "a.example"), "ServerTrust, a.example"), (.metrics(requests: 2), "2 requests"),
        (.task(2), "task 2"), (.resumeData(isThere: false), "nil"), (.opened(subprotocol: nil), "no protocol"),
        (.closed(code: 1000, reason: ""), "1000"), (.closed(code: 1001, reason: "bye"), "1001, \"bye\""),
        (.success(bytes: nil), "no error"), (.success(bytes: 5), "no error, 5 bytes"),
        (.failure(code: "URLError.timedOut", sentence: "Too late."), "URLError.timedOut: Too late."),
        (.failure(code: "URLError.timedOut", sentence: String(repeating: "x", count: 81)), "URLError.timedOut"),
    ]

    @Test("Arguments are values, which are saved, and have words", arguments: table)
    func words(arguments: TransferTrace.Arguments, words: String) throws {
        #expect(arguments.words == words)
        let data = try JSONEncoder().encode(arguments)
        #expect(try JSONDecoder().decode(TransferTrace.Arguments.self, from: data) == arguments)
    }

    @Test("A label has bytes where they fit, else larger units")
    func labels() {
        func svg(_ total: Int64, of expected: Int64) -> String {
            let lanes = TransferTrace.Lane.allCases.map { lane in
                TransferTrace.Event(nanoseconds: 0, lane: lane, kind: .note("x"))
            }
            let call = TransferTrace.DelegateCall(
                number: 1, method: .didWriteData, arguments: .progress(bytes: 1, total: total, expected: expected))
            let event = TransferTrace.Event(nanoseconds: 0, lane: .delegateQueue, task: 1, kind: .began(call))
            let recording = TransferTrace.Recording(startDate: Date(timeIntervalSince1970: 0), events: lanes + [event])
            return Diagram(recording).svg
        }
        #expect(svg(2, of: 3).contains(">didWriteData: 2 of 3</text>"))
        let long = svg(20_000_000_000, of: 30_000_000_000)
        #expect(long.contains(">didWriteData: 20.0 GB of 30.0 GB</text>"))
        #expect(long.contains("<title>begins didWriteData (1 byte, 20,000,000,000 of 30,000,000,000)</title>"))
    }
}

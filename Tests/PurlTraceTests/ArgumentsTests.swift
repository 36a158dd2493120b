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
        let difference = traced.trace.difference(
            from: """
                …
                delegate  begins didReceive response (200 OK, 5 bytes expected)
                …
                delegate  begins didReceive data (5 bytes)
                …
                delegate  begins didFinishCollecting (1 request)
                …
                delegate  begins didComplete (no error)
                delegate  ends didComplete
                """)
        #expect(difference == nil)
        let svg = Diagram(traced.trace).svg
        #expect(svg.contains(">didReceive response: 200 OK</text>"))
        #expect(svg.contains("<title>begins didReceive response (200 OK, 5 bytes expected)</title>"))
        #expect(svg.contains(">didReceive data: 5 bytes</text>"))
    }

    @Test("A download that is cut off and resumed shows its progress, its failure and where it is resumed")
    func download() async throws {
        let recording = try await Film().run()
        let pattern: TracePattern = """
            …
            delegate  begins willPerformHTTPRedirection (302, to /reel)
            …
            delegate  begins didWriteData (1,000 bytes, 1,000 of 3,000)
            …
            delegate  begins didComplete (URLError.networkConnectionLost: The connection was lost in the middle of the response.)
            …
            delegate  begins didResumeAtOffset (at 1,000 of 3,000)
            …
            delegate  begins didFinishDownloading
            …
            delegate  begins didComplete (no error)
            …
            """
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
        #expect(traced.trace.matches("…\ndelegate begins didSendBodyData (1,234 bytes, 1,234 of 1,234)\n…"))
        traced.trace.removeAll()
        traced.session.dataTask(with: url) { _, _, _ in }.resume()
        await traced.trace.waits { $0.kind.ends(.completionHandler) }
        #expect(traced.trace.matches("…\ndelegate begins completion handler (no error, 5 bytes)\n…"))
        traced.trace.removeAll()
        _ = try await traced.session.data(from: url)
        await traced.trace.waits { $0.kind.ends(.continuation) }
        #expect(traced.trace.matches("…\ncode begins async result (no error, 5 bytes)\n…"))
    }

    @Test("A challenge shows its scheme, its realm and how often it has failed; a redirect elsewhere shows no user")
    func challenge() async throws {
        let traced = try TracedSession()
        let other = try LoopbackServer()
        let secret = other.route("/secret", .status(401).field("WWW-Authenticate", "Basic realm=\"x\""))
        let next = secret.absoluteString.replacing("//", with: "//carol@", maxReplacements: 1)
        let url = traced.server.route("/a", .redirect(to: next))
        _ = await traced.run(URLRequest(url: url))
        #expect(traced.trace.matches("…\ndelegate begins didReceive challenge (Basic, realm \"x\", failed 0 times)\n…"))
        let shown = next.replacing("carol", with: TransferTrace.redacted)
        let redirect = TracePattern("…\ndelegate begins willPerformHTTPRedirection (302, to \(shown))\n…")
        #expect(traced.trace.matches(redirect))
    }

    @Test("Arguments are saved as text; a recording that was saved without them can be read")
    func saved() throws {
        let call = TransferTrace.DelegateCall(number: 1, method: .didWriteData, arguments: "1 byte, 2 of 3")
        let data = try JSONEncoder().encode(call)
        #expect(try JSONDecoder().decode(TransferTrace.DelegateCall.self, from: data) == call)
        let old = Data("{\"number\":1,\"method\":\"didWriteData\"}".utf8)
        #expect(try JSONDecoder().decode(TransferTrace.DelegateCall.self, from: old).arguments == "")
    }

    @Test("A label has bytes where they fit, else larger units")
    func labels() {
        func svg(_ arguments: String) -> String {
            let lanes = TransferTrace.Lane.allCases.map { lane in
                TransferTrace.Event(nanoseconds: 0, lane: lane, kind: .note("x"))
            }
            let call = TransferTrace.DelegateCall(number: 1, method: .didWriteData, arguments: arguments)
            let event = TransferTrace.Event(nanoseconds: 0, lane: .delegateQueue, task: 1, kind: .began(call))
            let recording = TransferTrace.Recording(startDate: Date(timeIntervalSince1970: 0), events: lanes + [event])
            return Diagram(recording).svg
        }
        #expect(svg("1 byte, 2 of 3").contains(">didWriteData: 2 of 3</text>"))
        let long = svg("1 byte, 20,000,000,000 of 30,000,000,000")
        #expect(long.contains(">didWriteData: 20.0 GB of 30.0 GB</text>"))
        #expect(long.contains("<title>begins didWriteData (1 byte, 20,000,000,000 of 30,000,000,000)</title>"))
    }

    @Test("A pattern need not name the arguments, but those that it names count")
    func patterns() {
        let recording = TransferTrace.Recording(
            startDate: Date(timeIntervalSince1970: 0),
            events: (1...2).map { number in
                TransferTrace.Event(
                    nanoseconds: 0, lane: .delegateQueue, task: 1,
                    kind: .began(.init(number: number, method: .didWriteData, arguments: "1 byte, \(number) of 2")))
            })
        func matches(_ pattern: TracePattern) -> Bool { pattern.difference(from: recording) == nil }
        #expect(matches("delegate begins didWriteData, 2 times"))
        #expect(matches("delegate begins didWriteData, 2 times (last: 1 byte, 2 of 2)"))
        #expect(matches("delegate begins didWriteData, 2 times (…, 2 of 2)"))
        #expect(!matches("delegate begins didWriteData, 2 times (last: 1 byte, 1 of 2)"))
    }
}

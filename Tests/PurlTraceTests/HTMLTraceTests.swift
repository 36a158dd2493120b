import Foundation
import Purl
import PurlTrace
import Testing

/// What a page shows is looked at in a browser, by `.ci/pages`.
@Suite("Pages", .timeLimit(.minutes(5)))
struct HTMLTraceTests {
    /// The data of a page's script.
    private struct Page: Decodable {
        struct Step: Decodable {
            var t: Int64
            var w: String
            var h: String?
            var f: Data?
            var s: [Int64]?
            var p: [[Int]]?
        }

        var lanes: [String]
        var phases: [String]
        var steps: [Step]

        init(_ html: String) throws {
            let start = "<script type=\"application/json\" id=\"trace\">"
            let json = html.split(separator: start).last?.split(separator: "</script>").first ?? ""
            self = try JSONDecoder().decode(Page.self, from: Data(json.utf8))
        }
    }

    @Test("Its steps are the lines of the text")
    func steps() async throws {
        let recording = try await Film().run()
        let page = try Page(HTMLTrace(recording).html)
        #expect(page.steps.count == TextTrace(recording).lines.count)
        for (step, line) in zip(page.steps, TextTrace(recording).lines) { #expect(line.hasSuffix(step.w)) }
        #expect(page.lanes == ["your code", "delegate queue", "network thread", "file worker", "server"])
    }

    @Test("A step has the head that was sent, redacted, and the first bytes of a body")
    func contents() throws {
        let head = TransferTrace.RequestHead(
            url: "http://example.com/", method: "GET", target: "/",
            fields: [.init("Host", "example.com"), .init("Cookie", TransferTrace.redacted)], byteCount: 60)
        let content = Data((0...255).map { UInt8($0) } + [1, 2, 3])
        let page = try Page(
            HTMLTrace(recording([.requestHead(head), .bodyReceived(.init(count: 1000, content: content))])).html)
        #expect(page.steps.map(\.h) == ["GET / HTTP/1.1\nHost: example.com\nCookie: (redacted)", nil])
        #expect(page.steps.map(\.f) == [nil, content.prefix(256)])
    }

    @Test("The state of the task: its phase, what was sent and received, what is written, what the record vouches for")
    func states() throws {
        let rows: [(TransferTrace.Kind, String, [Int64])] = [
            (.made(method: "GET", url: "http://example.com/"), "made, not begun", [0, 0, -1, -1]),
            (.message(.resume), "running", [0, 0, -1, -1]),
            (.bodySent(.init(count: 5)), "running", [5, 0, -1, -1]),
            (.held(.deciding), "waits for the delegate’s answer", [5, 0, -1, -1]),
            (.released(.deciding), "running", [5, 0, -1, -1]),
            (.storing(offset: 100), "running", [5, 0, 100, -1]),
            (.bodyReceived(.init(count: 70)), "running", [5, 70, 100, -1]),
            (.file(.write(70)), "running", [5, 70, 170, -1]),
            (.file(.record(bytes: 150)), "running", [5, 70, 170, 150]),
            (.message(.suspend), "suspended", [5, 70, 170, 150]),
            (.message(.resume), "running", [5, 70, 170, 150]),
            (.file(.truncate), "running", [5, 70, 0, 150]),
            (.message(.cancel), "about to be cancelled", [5, 70, 0, 150]),
            (.completed(error: "cancelled"), "failed", [5, 70, 0, 150]),
        ]
        let page = try Page(HTMLTrace(recording(rows.map(\.0))).html)
        #expect(page.steps.map { step in step.s.map { page.phases[Int($0[0])] } } == rows.map(\.1))
        #expect(page.steps.map { Array($0.s?.dropFirst() ?? []) } == rows.map(\.2))
    }

    /// Texts, and how an element has them.
    static let texts = [
        ("</script><script>alert(1)</script>", "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("<!--<script>", "&lt;!--&lt;script&gt;"), ("]]>", "]]&gt;"), ("&lt;img&gt;", "&amp;lt;img&amp;gt;"),
        ("\u{2028}\u{0}\u{202E}\"'\\", "\u{FFFD}\u{FFFD}\u{FFFD}&quot;'\\"),
        // One `Character` with the letter before it.
        ("\u{600}</title\u{600}>\u{600}<img \u{600}&>", "\u{600}&lt;/title\u{600}&gt;\u{600}&lt;img \u{600}&amp;&gt;"),
    ]

    @Test("Texts of servers end no element and begin none", arguments: texts)
    func markup(text: String, shown: String) throws {
        let head = TransferTrace.ResponseHead(
            status: 200, reason: text, fields: [.init("X-Text", text)], byteCount: 60)
        let html = HTMLTrace(recording([.responseHead(head), .note(text), .completed(error: text)]), title: text).html
        let page = try Page(html)
        #expect(page.steps.map(\.w) == ["receives 200 \(text)", text, "completes with an error: \(text)"])
        #expect(html.contains("<title>\(shown)</title>") && html.contains("<h1>\(shown)</h1>"))
        // The page's own: title, style, data and script, each with its end.
        let elements = /<\/?(script|style|title|img|!--)/.matchingSemantics(.unicodeScalar)
        #expect(html.matches(of: elements).count == 8)
    }

    private static let source = """
        func start() {
            task = session.dataTask(with: url)
            task.resume()
        }
        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data
        ) {
            if data.isEmpty {
                // It may be cancelled here: dataTask.cancel()
            }
        }
        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {}
        func `continue`() {
            let task = session.downloadTask(withResumeData: data)
            task.resume()
        }
        func pause() {
            task.cancel(byProducingResumeData: { data in
                self.data = data
            })
        }
        func stop() { task.cancel() }
        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse) {
            completionHandler(.allow)
        }
        func also() { other.suspend() }
        func suspend() { task.suspend() }
        """

    /// What happens, in which task, and the lines that are marked, counted from 0.
    private static let marks: [(TransferTrace.Kind, task: Int, lines: [ClosedRange<Int>])] = [
        (.made(method: "GET", url: "http://example.com/"), 1, [1...1]),
        (.call(.resume), 1, [2...2]),
        (.made(method: "GET", url: "http://example.com/"), 2, [13...13]),
        (.call(.resume), 2, [14...14]),
        (.call(.resume), 3, [2...2, 14...14]),
        (.message(.resume), 1, []),
        (.queued(.init(number: 1, method: .didReceiveData)), 1, []),
        (.began(.init(number: 1, method: .didReceiveData)), 1, [4...10]),
        (.ended(.init(number: 1, method: .didReceiveData)), 1, [4...10]),
        (.began(.init(number: 2, method: .didReceiveResponse)), 1, [22...24]),
        (.answer(.didReceiveResponse), 1, [23...23]),
        (.began(.init(number: 3, method: .didWriteData)), 1, []),
        (.call(.cancelByProducingResumeData), 1, [17...17]),
        (.began(.init(number: 4, method: .resumeDataHandler)), 1, [17...19]),
        (.call(.cancel), 1, [21...21]),
        (.call(.suspend), 1, [25...25, 26...26]),
        (.began(.init(number: 5, method: .didComplete)), 1, [11...11]),
        (.storing(offset: 100), 2, []),
    ]

    @Test("A step marks the method of the delegate that is called, or the line that calls a task")
    func program() throws {
        var recording = recording(Self.marks.map(\.0))
        for position in recording.events.indices { recording.events[position].task = Self.marks[position].task }
        var trace = HTMLTrace(recording)
        trace.program = TracedProgram([.init(name: "Loader.swift", text: Self.source)])
        let page = try Page(trace.html)
        try #require(page.steps.count == Self.marks.count)
        for (step, mark) in zip(page.steps, Self.marks) {
            #expect(step.p ?? [] == mark.lines.map { [0, $0.lowerBound, $0.upperBound] }, "\(mark.0)")
        }
    }

    @Test("The source of a program is text as well")
    func programMarkup() throws {
        var trace = HTMLTrace(recording([]))
        trace.program = TracedProgram([.init(name: "</script>.swift", text: "// </script><script>alert(1)</script>")])
        #expect(trace.html.matches(of: /<\/?script/).count == 4)
    }

    @Test("Script and style are no more than 60 KB")
    func size() {
        let html = HTMLTrace(recording([])).html
        #expect(html.utf8.count <= 60_000)
    }

    @Test("The policy allows the one script and the one style that are in the page, and nothing else")
    func policy() throws {
        let html = HTMLTrace(recording([.note("</script>")])).html
        let policy = try #require(html.firstMatch(of: /http-equiv="Content-Security-Policy" content="([^"]*)"/)).1
        let digest = "'sha256-[A-Za-z0-9+/]{43}='"
        let wanted = try Regex(
            "default-src 'none'; script-src \(digest); style-src \(digest); img-src data:; base-uri 'none'; form-action 'none'"
        )
        #expect(policy.wholeMatch(of: wanted) != nil, "\(policy)")
        // No attribute is a script or a style, which the policy would not allow.
        #expect(html.firstMatch(of: /<[a-z]+[^>]* (?:on[a-z]+|style)=/) == nil)
    }

    @Test("An event that stands for several has the time from its first to its last, calls of the delegate too")
    func periods() throws {
        let call = TransferTrace.DelegateCall(number: 1, method: .didReceiveData)
        let kinds: [TransferTrace.Kind] = [
            .made(method: "GET", url: "http://example.com/"), .bodyReceived(.init(count: 10)), .began(call),
            .ended(call),
            .bodyReceived(.init(count: 10)), .began(call), .ended(call),
        ]
        var events = recording(kinds).events
        let times: [Int64] = [0, 5_500_000, 5_600_000, 5_700_000, 156_000_000, 157_000_000, 158_000_000]
        for (position, time) in times.enumerated() {
            events[position].nanoseconds = time
        }
        // A pause of a twentieth of the whole would part them.
        events.append(
            .init(nanoseconds: 4_000_000_000, lane: .network, task: 1, exchange: 1, connection: 1, kind: .note("end")))
        let folded = TransferTrace.Recording(
            startDate: Date(timeIntervalSince1970: 0), events: events, droppedEvents: 0, droppedBytes: 0)
        let words = try Page(HTMLTrace(folded).html).steps.map(\.w)
        #expect(
            words.dropFirst().dropLast() == [
                "receives 2 pieces, 20 bytes, 5.5 to 156 ms", "begins didReceive data, 2 times, 5.6 to 157 ms",
                "ends didReceive data, 2 times, 5.7 to 158 ms",
            ])
        #expect(TextTrace(folded).lines.dropFirst().dropLast().map { $0.contains(" to ") } == [true, true, true])
        var options = TextTrace.Options()
        options.showsTimes = false
        #expect(TextTrace(folded, options: options).lines.dropFirst().dropLast().allSatisfy { !$0.contains(" ms") })
        #expect(Diagram(folded).svg.contains("2 times, 5.6 to 157 ms"))
    }

    @Test("Words and heads that are longer than any server may send are shortened")
    func lengths() throws {
        let field = String(repeating: "v\u{301}", count: 500_000)
        let head = TransferTrace.ResponseHead(
            status: 200, reason: "OK", fields: [.init("X-Long", field)], byteCount: 1_000_000)
        let html = HTMLTrace(recording([.responseHead(head), .note(field), .note("short")])).html
        #expect(html.utf8.count < 300_000)
        let steps = try Page(html).steps
        #expect(steps[0].h?.hasSuffix("v\u{301} … (1000024 letters)") == true)
        #expect(steps.map { $0.w.unicodeScalars.count < 2_100 } == [true, true, true])
        #expect(steps[1].w.hasSuffix("v\u{301} … (1000000 letters)"))
        #expect(steps[2].w == "short")
    }

    @Test("An empty trace makes a page")
    func empty() throws {
        #expect(try Page(HTMLTrace(recording([])).html).steps.isEmpty)
    }

    /// Events of one task, a millisecond apart.
    private func recording(_ kinds: [TransferTrace.Kind]) -> TransferTrace.Recording {
        let events = kinds.enumerated().map { position, kind in
            TransferTrace.Event(
                nanoseconds: Int64(position) * 1_000_000, lane: .network, task: 1, exchange: 1, connection: 1,
                kind: kind)
        }
        return TransferTrace.Recording(
            startDate: Date(timeIntervalSince1970: 0), events: events, droppedEvents: 0, droppedBytes: 0)
    }
}

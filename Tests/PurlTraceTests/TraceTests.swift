import Foundation
import Purl
import PurlTesting
import PurlTrace
import Testing

/// A session with a trace, and a server for it.
struct TracedSession {
    let server: LoopbackServer
    let trace: TransferTrace
    let session: URLSession
    let delegate = FilmDelegate()

    init(
        _ options: TransferTrace.Options = .init(), change: (URLSessionConfiguration) -> Void = { _ in }
    ) throws {
        server = try LoopbackServer()
        trace = TransferTrace(options: options)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.connectionProxyDictionary = [:]
        configuration.trace = trace
        change(configuration)
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    /// Runs a data task to its last call.
    func run(_ request: URLRequest) async -> URLSessionDataTask {
        let task = session.dataTask(with: request)
        task.resume()
        await trace.waits { $0.task == task.taskIdentifier && $0.kind.ends(.didComplete) }
        return task
    }
}

@Suite("Recording a transfer", .timeLimit(.minutes(5)))
struct TraceTests {
    @Test("A printed event is its line in the text of its trace")
    func printedEvent() {
        let event = TransferTrace.Event(
            nanoseconds: 1_500_000, lane: .caller, task: 1, kind: .made(method: "GET", url: "http://a.test/\nfilm"))
        #expect("\(event)" == "1.500 ms  task 1  code  made GET http://a.test/ film")
    }

    @Test("A line of text controls no terminal, and does not turn the direction of writing")
    func controls() {
        let event = TransferTrace.Event(
            nanoseconds: 0, lane: .network, task: 1,
            kind: .note("a\u{1B}[31m\u{0}\u{202E}\u{2066}\u{9B}b\r\nc\u{2028}d é"))
        #expect("\(event)" == "0.000 ms  task 1  network  a\u{FFFD}[31m\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}b c d é")
    }

    @Test("Tasks of several sessions that share a trace have different numbers")
    func severalSessions() async throws {
        let traced = try TracedSession()
        let url = traced.server.route("/a", .text("one"))
        _ = await traced.run(URLRequest(url: url))
        let configuration = URLSessionConfiguration.ephemeral
        configuration.connectionProxyDictionary = [:]
        configuration.trace = traced.trace
        let other = URLSession(configuration: configuration)
        let task = other.dataTask(with: url)
        // It is this trace already.
        task.trace = traced.trace
        #expect(task.taskIdentifier == 1)
        _ = try await other.data(from: url)
        await traced.trace.waits { $0.kind.ends(.continuation) }
        let made = traced.trace.events.filter { if case .made = $0.kind { true } else { false } }
        #expect(made.map(\.task) == [1, 2, 2, 3])
        traced.trace.removeAll()
        task.trace = nil
        task.trace = traced.trace
        #expect(traced.trace.events.map(\.task) == [1])
    }

    /// Many tasks of which something is left open, and one whose connection is held again and again.
    private static let open: [(String, @Sendable (Int) -> (task: Int, kind: TransferTrace.Kind))] = [
        (
            "pieces of many tasks",
            { ($0, $0 % 2 == 0 ? .bodyReceived(.init(count: 1)) : .made(method: "GET", url: "u")) }
        ),
        ("holds", { (1, $0 % 3 == 0 ? .held(.full) : $0 % 3 == 1 ? .note("n") : .released(.full)) }),
        ("holds of many tasks", { ($0, $0 % 2 == 0 ? .held(.full) : .note("n")) }),
    ]

    @Test("The time for a page grows with the number of events, not with its square", arguments: open)
    func manyEvents(name: String, event: @Sendable (Int) -> (task: Int, kind: TransferTrace.Kind)) {
        let few = Self.secondsForPage(of: (0..<1_000).map(event))
        let many = Self.secondsForPage(of: (0..<8_000).map(event))
        // 8 times as long, or 64 times.
        #expect(many < 24 * few)
    }

    /// How long the processor works for a page: the least of three times, since what else the machine does only adds to it.
    private static func secondsForPage(of kinds: [(task: Int, kind: TransferTrace.Kind)]) -> Double {
        let events = kinds.enumerated().map { number, event in
            TransferTrace.Event(
                nanoseconds: Int64(number) * 1_000, lane: .network, task: event.task, kind: event.kind)
        }
        let page = HTMLTrace(
            .init(startDate: Date(timeIntervalSince1970: 0), events: events, droppedEvents: 0, droppedBytes: 0))
        return (0..<3).map { _ -> Double in
            let start = threadSeconds()
            #expect(page.html.utf8.count > events.count)
            return threadSeconds() - start
        }.min() ?? 0
    }

    private static func threadSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    @Test("A data task is recorded from its making to its last call, in order")
    func dataTask() async throws {
        let traced = try TracedSession()
        let url = traced.server.route("/note", .text("hello"))
        _ = await traced.run(URLRequest(url: url))
        let host = "127.0.0.1:\(traced.server.port)"
        let difference = traced.trace.difference(from: [
            .event(.made(method: "GET", url: url.absoluteString), in: .caller),
            .event(.call(.resume), in: .caller),
            .event(.message(.resume), in: .network),
            .event(.cache(.miss)),
            .event(.waiting(host: host)),
            .event(.dialling(host: host)),
            .event(named: "connects") { if case .connected = $0.kind { true } else { false } },
            .sent(method: "GET", target: "/note"),
            .event(.requestEnd),
            .received(status: 200),
            .anything,
            .event(named: "queues didReceive response") {
                if case .queued(let call) = $0.kind { call.method == .didReceiveResponse } else { false }
            },
            .anything,
            .delegate(.didReceiveResponse),
            .anything,
            .event(.bodyReceived(TransferTrace.Piece(count: 5))),
            .anything,
            .delegate(.didReceiveData),
            .anything,
            .delegate(.didComplete),
            .returned(.didComplete),
        ])
        #expect(difference == nil)
    }

    @Test("A step that the trace does not have is shown with its number and its place")
    func difference() async throws {
        let traced = try TracedSession()
        let url = traced.server.route("/note", .text("hello"))
        _ = await traced.run(URLRequest(url: url))
        let made = TracePattern.Step.event(.made(method: "GET", url: url.absoluteString))
        let found = traced.trace.difference(from: [made, .event(.call(.suspend))])
        #expect(found?.hasPrefix("Step 2 of the pattern, “suspend()”, is not in the trace here:\n") == true)
        #expect(found?.contains("\n→ code      resume()\n") == true)
        #expect(!traced.trace.matches([made]))
        #expect(traced.trace.matches([made, .anything]))
        #expect(traced.trace.matches([.anything, .returned(.didComplete)]))
        #expect(!traced.trace.matches([.anything, .delegate(.didComplete)]))
    }

    @Test("A task has a trace of its own, and one without has none")
    func ofTask() async throws {
        let traced = try TracedSession { $0.trace = nil }
        let url = traced.server.route("/note", .text("hello"))
        let silent = traced.session.dataTask(with: url)
        #expect(silent.trace == nil)
        silent.resume()
        let task = traced.session.dataTask(with: url)
        task.trace = traced.trace
        #expect(task.trace === traced.trace)
        task.resume()
        await traced.trace.waits { $0.kind.ends(.didComplete) }
        #expect(Set(traced.trace.events.compactMap(\.task)) == [task.taskIdentifier])
    }

    @Test(
        "Credentials, cookies and the users in URLs are redacted, unless they are asked for", arguments: [false, true])
    func secrets(areKept: Bool) async throws {
        var options = TransferTrace.Options()
        options.keepsSecrets = areKept
        let traced = try TracedSession(options)
        let next = traced.server.route("/next", .text("x"))
        let secretNext = next.absoluteString.replacing("//", with: "//carol:opensesame@", maxReplacements: 1)
        let url = traced.server.route("/a", .redirect(to: secretNext).field("Set-Cookie", "id=topsecret; Path=/"))
        var request = URLRequest(
            url: try #require(
                URL(string: url.absoluteString.replacing("//", with: "//bob:hunter2@", maxReplacements: 1))))
        request.setValue("Bearer abracadabra", forHTTPHeaderField: "Authorization")
        request.setValue("sid=cookiesecret", forHTTPHeaderField: "Cookie")
        _ = await traced.run(request)
        let json = String(decoding: try traced.trace.recording.json, as: UTF8.self)
        let svg = Diagram(traced.trace).svg
        let har = String(decoding: try HTTPArchive(traced.trace).data, as: UTF8.self)
        let packets = String(decoding: PacketCapture(traced.trace).data, as: UTF8.self)
        for secret in ["hunter2", "abracadabra", "cookiesecret", "topsecret", "opensesame"] {
            #expect(json.contains(secret) == areKept, "\(secret)")
            if !areKept {
                #expect(!svg.contains(secret))
                #expect(!har.contains(secret))
                #expect(!packets.contains(secret))
            }
        }
        #expect(json.contains(TransferTrace.redacted) != areKept)
    }

    @Test(
        "Users and passwords are redacted in every field, in the request line and in remarks, in every form of the trace"
    )
    func usersOfURLs() async throws {
        let traced = try TracedSession()
        let reply = Reply.text("x").interim(103, fields: ["Link": "<http://mallory:secret1@a.example/>; rel=preload"])
            .field("Refresh", "0;url=http://mallory:secret2@a.example/")
            .field("Link", "<http://a.example/>,<//mallory:secret3@b.example/>; rel=next")
            .field("X-Next", "see http://mallory:secret4@a.example/ there")
            .field("Location", "/a?next=http://mallory:secret5@a.example/")
        let url = traced.server.route("/a", reply)
        let query = "?next=http://mallory:secret6@a.example/&then=http%3A%2F%2Fmallory%3Asecret7%40b.example"
        var request = URLRequest(url: try #require(URL(string: url.absoluteString + query)))
        request.setValue("http://mallory:secret8@a.example/", forHTTPHeaderField: "Referer")
        request.setValue("from=\"http://mallory:secret9@a.example/\"", forHTTPHeaderField: "X-From")
        traced.server.observe { traced.trace.note("\($0)", in: .server) }
        _ = await traced.run(request)
        traced.trace.note("went to http://mallory:secret0@a.example/")
        for format in TraceFormat.allCases {
            let text = String(decoding: try format.data(of: traced.trace.recording), as: UTF8.self)
            #expect(!text.contains("secret") && !text.contains("mallory"), "\(format)")
        }
        let json = String(decoding: try traced.trace.recording.json, as: UTF8.self)
        #expect(json.contains("0;url=http://(redacted)@a.example/"))
        #expect(json.contains("<http://a.example/>,<//(redacted)@b.example/>; rel=next"))
        #expect(json.contains("then=http%3A%2F%2F(redacted)%40b.example"))
    }

    @Test("Heads, remarks and arguments have bounds in bytes, and the end of the transfer is there")
    func boundedTexts() async throws {
        var options = TransferTrace.Options()
        options.maximumTotalText = 100_000
        let traced = try TracedSession(options)
        let padding = String(repeating: "x", count: 8_000)
        let reply = (0..<50).reduce(Reply.text("hello")) { reply, _ in reply.interim(103, fields: ["X-Pad": padding]) }
        let url = traced.server.route("/a", reply)
        _ = await traced.run(URLRequest(url: url))
        let recording = traced.trace.recording
        #expect(recording.droppedEvents > 30)
        let interim = recording.events.filter { if case .interimHead = $0.kind { true } else { false } }
        #expect((1...9).contains(interim.count))
        #expect(recording.events.contains { if case .responseHead = $0.kind { true } else { false } })
        #expect(recording.events.last?.kind.ends(.didComplete) == true)
        traced.trace.note(padding)
        traced.trace.note(String(repeating: "x", count: 100_000))
        traced.trace.note("the end")
        #expect(traced.trace.recording.droppedEvents == recording.droppedEvents + 1)
        #expect(traced.trace.events.last?.kind == .note("the end"))
    }

    @Test("What has no room is counted, and the end of the transfer is there")
    func bounded() async throws {
        var options = TransferTrace.Options()
        options.maximumEvents = 60
        options.maximumContent = 100_000
        options.maximumTotalContent = 1000
        let traced = try TracedSession(options)
        let url = traced.server.route("/big", .generated(size: 4 << 20))
        let task = traced.session.dataTask(with: url)
        task.resume()
        await traced.trace.waits { $0.kind.ends(.didComplete) }
        let recording = traced.trace.recording
        #expect(recording.events.count <= 60)
        #expect(recording.droppedEvents > 0)
        #expect(recording.droppedBytes >= 99_000)
        let kept = recording.events.reduce(0) { sum, event in
            if case .bodyReceived(let piece) = event.kind { sum + (piece.content?.count ?? 0) } else { sum }
        }
        #expect(kept <= 1000)
        #expect(TextTrace(recording).text.contains("\(recording.droppedEvents) events were not kept"))
        traced.trace.removeAll()
        #expect(traced.trace.events == [])
    }

    @Test("A recording is the same after it was saved")
    func saved() async throws {
        var options = TransferTrace.Options()
        options.maximumContent = 1000
        options.startDate = Date(timeIntervalSince1970: 1_000_000)
        let recording = try await Film().run(options)
        #expect(try TransferTrace.Recording(json: recording.json) == recording)
    }

    @Test("An event is one line of the text, whatever is said in it")
    func lineBreaks() {
        let trace = TransferTrace()
        trace.note("one\ntwo\r\nthree\u{2028}four\u{85}five", in: .server)
        #expect("\(TextTrace(trace))" == TextTrace(trace).lines.joined(separator: "\n"))
        #expect(TextTrace(trace).lines.map { $0.hasSuffix("server    one two three four five") } == [true])
    }

    @Test("A suspended task holds the connection until it is resumed")
    func suspension() async throws {
        let recording = try await Film().run()
        let pattern: TracePattern = [
            .anything,
            .event(.call(.suspend), in: .caller),
            .event(.message(.suspend), in: .network),
            .event(.held(.suspended)),
            .event(.call(.resume), in: .caller),
            .event(.message(.resume), in: .network),
            .event(.released(.suspended)),
            .event(.exchangeFailed(reason: "The connection was lost in the middle of the response.")),
            .anything,
            .sent(method: "GET", target: "/reel", range: "bytes=1000-"),
            .anything,
            .received(status: 206),
            .anything,
        ]
        #expect(pattern.difference(from: recording) == nil)
    }

    @Test("Remarks of a test's server are in the same trace, on a lane of their own")
    func bothSides() async throws {
        let traced = try TracedSession()
        let url = traced.server.route("/note", .text("hello"))
        let trace = traced.trace
        traced.server.observe { trace.note("\($0)", in: .server) }
        _ = await traced.run(URLRequest(url: url))
        await trace.waits { $0.kind == .note("response 1 has ended: complete") }
        let difference = trace.difference(from: [
            .anything,
            .sent(method: "GET", target: "/note"),
            .anything,
            .event(.note("receives GET /note"), in: .server),
            .anything,
            .event(.note("sends 200 OK"), in: .server),
            .anything,
            .received(status: 200),
            .anything,
        ])
        #expect(difference == nil)
        #expect(Diagram(trace).svg.contains("receives GET /note"))
    }
}

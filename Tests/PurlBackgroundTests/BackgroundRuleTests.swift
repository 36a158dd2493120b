import Faults
import Foundation
import PurlIO
import PurlTesting
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("The rules of a background session", .timeLimit(.minutes(5)))
struct BackgroundRuleTests {
    private let witness = Witness()
    private let clock = ManualClock()
    private let home = BackgroundHome()
    private let server: LoopbackServer
    /// For requests that only take time.
    private let other: LoopbackServer
    private let content = GeneratedContent(size: 300_000, seed: 7)

    init() throws {
        server = try LoopbackServer()
        other = try LoopbackServer()
    }

    /// - Parameter limit: The resource's.
    private func session(
        _ delegate: any URLSessionDelegate, requestLimit: TimeInterval = 60, limit: TimeInterval = 604_800
    ) -> URLSession {
        home.makeSession(delegate) { configuration in
            configuration.clock = clock
            configuration.timeoutIntervalForRequest = requestLimit
            configuration.timeoutIntervalForResource = limit
        }
    }

    /// Returns when the network thread has handled all that has reached the client, and so begun to wait at the present time
    /// of the clock: a response that came later has passed through it.
    private func settle() async throws {
        _ = try await home.sandbox.session().data(from: other.url("/file"))
    }

    enum Kind: CaseIterable, Sendable {
        case data, upload, download
    }

    private func makeTask(_ kind: Kind, _ url: URL, in session: URLSession) throws -> URLSessionTask {
        switch kind {
        case .data: return session.dataTask(with: url)
        case .upload:
            let file = home.sandbox.file("upload")
            try Data("upload".utf8).write(to: file)
            return session.uploadTask(with: Upload.request(url), fromFile: file)
        case .download: return session.downloadTask(with: url)
        }
    }

    // MARK: Connectivity

    @Test(
        "A task always waits for connectivity, without taskIsWaitingForConnectivity, until the resource's limit",
        arguments: Kind.allCases)
    func connectivity(kind: Kind) async throws {
        let port = try DeadPort()
        let witness = TaskWitness()
        let session = session(witness, requestLimit: 0, limit: 3600)
        #expect(!session.configuration.waitsForConnectivity)
        try makeTask(kind, port.url("/file"), in: session).resume()
        await clock.passTime { await witness.completion() }
        #expect(witness.events.last == .completed(.timedOut))
        #expect(!witness.events.contains(.waiting))
        #expect(clock.now.offset >= .seconds(3600))
    }

    // MARK: Time-outs

    /// How far the first response comes, and the range that is requested then.
    static let stalls: [(name: String, phase: Reply.Phase, tag: String?, received: Int64?, range: String?)] = [
        ("before the head", .beforeHead, nil, nil, nil), ("in the head", .midHead, nil, nil, nil),
        ("in a body that can be resumed", .afterBodyBytes(100_000), "\"v1\"", 100_000, "bytes=100000-"),
        ("in a body without a validator", .afterBodyBytes(100_000), nil, 100_000, nil),
    ]

    @Test("A download that times out is requested again, from where it stopped if it can be", arguments: stalls)
    func download(name: String, phase: Reply.Phase, tag: String?, received: Int64?, range: String?) async throws {
        let reply = Reply.generated(content)
        let gate = ServerGate()
        let url = server.route(
            "/file", (tag.map { reply.entityTag($0) } ?? reply).stalled(at: phase, until: gate, times: 1))
        let session = session(witness)
        let task = session.downloadTask(with: url).resumed()
        await gate.reached()
        if let received { await witness.hasWritten(received) }
        try await settle()
        clock.advance(by: .seconds(60))
        await witness.completion()
        #expect(witness.hasFile(of: task, content))
        #expect(witness.events.last == .completed(nil))
        #expect(witness.events.contains(.wrote(300_000, of: 300_000)))
        #expect(!witness.events.contains { if case .resumed = $0 { true } else { false } })
        #expect(server.requests.map { $0.fields["Range"] } == [nil, range])
        #expect(task.countOfBytesReceived == 300_000)
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        #expect(home.partialNames == [])
    }

    @Test("An upload that times out is sent again")
    func upload() async throws {
        let gate = ServerGate()
        let url = server.route("/file", method: "POST", .text("taken").stalled(at: .beforeHead, until: gate, times: 2))
        let session = session(witness)
        let task = try makeTask(.upload, url, in: session).resumed()
        for count in 1...2 {
            await gate.reached(times: count)
            try await settle()
            clock.advance(by: .seconds(60))
        }
        await witness.completion()
        #expect(witness.events.last == .completed(nil))
        #expect(witness.data(of: task) == Data("taken".utf8))
        #expect(server.requests.map(\.body) == Array(repeating: Data("upload".utf8), count: 3))
    }

    @Test("Requests are repeated until the resource's limit, which they do not extend")
    func limit() async throws {
        let url = server.route("/file", .generated(content).entityTag("\"v1\"").stalled(afterBytes: 0))
        let session = session(witness, limit: 150)
        session.downloadTask(with: url).resume()
        await server.wait { $0.requests.count == 1 }
        await clock.passTime { await witness.completion() }
        #expect(witness.events.last == .completed(.timedOut))
        #expect(clock.now.offset >= .seconds(150) && clock.now.offset < .seconds(210))
    }

    @Test("A response that the delegate has begun to receive is not requested again", arguments: [Kind.data, .upload])
    func begunResponse(kind: Kind) async throws {
        let url = server.route("/file", .generated(content).stalled(afterBytes: 1000))
        let session = session(witness)
        try makeTask(kind, url, in: session).resume()
        await witness.wait { $0.contains(.data(1000)) }
        await clock.passTime { await witness.completion() }
        #expect(witness.events.last == .completed(.timedOut))
        #expect(server.requests.count == 1)
    }

    @Test("A download can be cancelled while it begins again")
    func cancelling() async throws {
        let url = server.route("/file", .generated(content).entityTag("\"v1\"").stalled(afterBytes: 100_000))
        let session = session(witness)
        let task = session.downloadTask(with: url).resumed()
        await witness.hasWritten(100_000)
        clock.advance(by: .seconds(60))
        let resumeData = await task.cancelByProducingResumeData()
        #expect(resumeData != nil)
        await witness.completion()
        #expect(witness.events.last == .completed(.cancelled))
    }

    @Test("A download that ends while it begins again leaves no file")
    func endWhileBeginningAgain() async throws {
        let url = server.route("/file", .generated(content).stalled(afterBytes: 100_000))
        let left = Mutex<[String]?>(nil)
        let witness = Witness(hook: { [home] _, event in
            if case .completed = event { left.withLock { $0 = home.partialNames } }
        })
        let files = WatchedRemovals()
        let session = home.makeSession(witness) { configuration in
            configuration.clock = clock
            configuration.files = files
            configuration.timeoutIntervalForResource = 150
        }
        files.beforeRemoval { [clock] in
            clock.advance(by: .seconds(150))
            // Calls are handed over at the end of a turn.
            for _ in 0..<2 { NetworkThread.waitUntilSettled() }
            session.delegateQueue.waitUntilAllOperationsAreFinished()
        }
        session.downloadTask(with: url).resume()
        await witness.hasWritten(100_000)
        try await settle()
        clock.advance(by: .seconds(60))
        await witness.completion()
        #expect(witness.events.last == .completed(.timedOut))
        #expect(left.withLock { $0 } == [])
    }

    // MARK: Questions

    @Test("Redirects are followed without a question", arguments: Kind.allCases)
    func redirects(kind: Kind) async throws {
        server.route("/file", .text("hello"))
        let url = server.route("/moved", .redirect(307, to: "/file"))
        let witness = Witness(redirect: { _ in nil })
        let session = session(witness)
        let task = try makeTask(kind, url, in: session).resumed()
        await witness.completion()
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(task.currentRequest?.url == server.url("/file"))
        #expect(!witness.events.contains { if case .redirect = $0 { true } else { false } })
    }

    @Test("didReceive response is not called for an upload, whose body is delivered", arguments: [Kind.upload, .data])
    func response(kind: Kind) async throws {
        let url = server.route("/file", .text("hello"))
        let witness = Witness(disposition: kind == .upload ? .cancel : .allow)
        let session = session(witness)
        let task = try makeTask(kind, url, in: session).resumed()
        await witness.completion()
        #expect(witness.events.contains(.response(200)) == (kind == .data))
        #expect(witness.data(of: task) == Data("hello".utf8))
        #expect(witness.events.last == .completed(nil))
    }
}

extension Witness {
    /// Returns when so many bytes of a download have been written.
    fileprivate func hasWritten(_ count: Int64) async {
        await wait { events in events.contains { if case .wrote(count, _) = $0 { true } else { false } } }
    }
}

/// The system's files. What is to happen before a partial file is removed happens once, on the thread that removes it.
private final class WatchedRemovals: FileLayer {
    private let action = Mutex<(@Sendable () -> Void)?>(nil)

    func beforeRemoval(_ action: @escaping @Sendable () -> Void) {
        self.action.withLock { $0 = action }
    }

    func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile {
        try SystemFiles().open(path, opening)
    }

    func move(_ path: String, to newPath: String) throws(SystemError) {
        try SystemFiles().move(path, to: newPath)
    }

    func entry(_ path: String) -> FileEntry { SystemFiles().entry(path) }

    func removeExisting(_ path: String) throws(SystemError) -> Bool {
        if path.hasSuffix(".partial") {
            let action = action.withLock { action in
                defer { action = nil }
                return action
            }
            action?()
        }
        return try SystemFiles().removeExisting(path)
    }

    func synchronizeFolder(_ path: String) throws(SystemError) {
        try SystemFiles().synchronizeFolder(path)
    }
}

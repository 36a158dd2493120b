import Foundation
import Purl
import Testing

@testable import PurlDownloads

@Suite("A download's status")
struct StatusTests {
    typealias Event = Downloader.Event

    /// A step of a download's life. Its name is that of the method.
    enum Step: CaseIterable, Sendable {
        case start, pause, cancel, delete, replaceURL, invalidate, admit, retry, wake, move, fail, reject, find, finish

        func make(_ status: inout DownloadStatus) -> [Event]? {
            switch self {
            case .start: status.start()
            case .pause: status.pause()
            case .cancel: status.cancel()
            case .delete: status.delete()
            case .replaceURL: status.replaceURL(with: StatusTests.otherURL)
            case .invalidate: status.invalidate()
            case .admit: status.apply(.admit)
            case .retry: status.retry(after: .seconds(1))
            case .wake: status.apply(.wake)
            case .move: status.apply(.move)
            case .fail: status.fail(URLError(.badServerResponse))
            case .reject: status.reject(found: StatusTests.a, keepsBytes: false)
            case .find: status.find(StatusTests.file, size: 100)
            case .finish: status.finish(StatusTests.file, size: 100, sha256: nil)
            }
        }
    }

    static let url = URL(fileURLWithPath: "/resource")
    static let otherURL = URL(fileURLWithPath: "/other")
    static let file = URL(fileURLWithPath: "/finished/file")
    static let (a, b, c) = (
        String(repeating: "a", count: 64), String(repeating: "b", count: 64), String(repeating: "c", count: 64)
    )

    private func status(
        _ intent: DownloadItem.Intent = .wanted, expecting digests: [String] = [], server: String? = nil
    ) -> DownloadStatus {
        var item = DownloadItem(url: Self.url, currentURL: Self.url, sha256: digests, intent: intent, order: 1)
        item.serverSHA256 = server
        return DownloadStatus(item, record: nil)
    }

    /// A status after steps that are all accepted.
    private func status(after steps: [Step], expecting digests: [String] = []) throws -> DownloadStatus {
        var status = status(expecting: digests)
        for step in steps {
            let events = step.make(&status)
            try #require(events != nil)
        }
        return status
    }

    private func kind(_ status: DownloadStatus, _ expected: ExpectedDigest = .unspecified) -> Downloader.State.Kind {
        status.state(for: expected).kind
    }

    // MARK: States and events

    @Test(
        "The intent in the item decides the first state",
        arguments: [
            (DownloadItem.Intent.wanted, Downloader.State.Kind.waiting), (.paused, .paused), (.cancelled, .failed),
        ])
    func opening(intent: DownloadItem.Intent, state: Downloader.State.Kind) {
        #expect(kind(status(intent)) == state)
        let texts = status(intent).openingEvents.map(\.text)
        #expect(texts == [state.rawValue, "progress 0/?"] + (state == .failed ? ["failed for good"] : []))
    }

    static let stories: [([Step], events: [String]?, state: Downloader.State.Kind, intent: DownloadItem.Intent)] = [
        ([.start], [], .waiting, .wanted),
        ([.start, .start], nil, .waiting, .wanted),
        ([.start, .admit], ["downloading"], .downloading, .wanted),
        ([.start, .admit, .retry], ["waiting"], .waiting, .wanted),
        ([.start, .admit, .retry, .wake], [], .waiting, .wanted),
        ([.start, .admit, .retry, .start], [], .waiting, .wanted),
        ([.start, .admit, .pause], ["paused"], .paused, .paused),
        ([.start, .admit, .pause, .start], ["waiting"], .waiting, .wanted),
        ([.start, .admit, .replaceURL], ["waiting"], .waiting, .wanted),
        ([.start, .admit, .cancel], ["failed", "failed for good"], .failed, .cancelled),
        ([.start, .admit, .cancel, .start], ["waiting"], .waiting, .wanted),
        ([.start, .admit, .delete], ["failed", "failed for good"], .failed, .wanted),
        ([.start, .admit, .delete, .start], nil, .failed, .wanted),
        ([.start, .admit, .delete, .delete], nil, .failed, .wanted),
        ([.start, .admit, .delete, .find], nil, .failed, .wanted),
        ([.start, .admit, .invalidate], ["failed", "failed for good"], .failed, .wanted),
        ([.start, .admit, .fail], ["failed", "failed for good"], .failed, .wanted),
        ([.start, .admit, .reject], ["failed", "failed for good"], .failed, .wanted),
        ([.start, .admit, .fail, .cancel], nil, .failed, .wanted),
        ([.start, .admit, .move], [], .downloading, .wanted),
        ([.start, .admit, .move, .pause], nil, .downloading, .wanted),
        (
            [.start, .admit, .move, .finish],
            ["total 100", "progress 100/100", "finished", "succeeded 100"], .finished, .wanted
        ),
        ([.start, .admit, .move, .finish, .start], nil, .finished, .wanted),
        ([.start, .admit, .move, .finish, .delete], nil, .finished, .wanted),
        ([.find], ["total 100", "progress 100/100", "finished", "succeeded 100"], .finished, .wanted),
        ([.pause, .find], ["total 100", "progress 100/100", "finished", "succeeded 100"], .finished, .paused),
        ([.finish], nil, .waiting, .wanted),
        ([.start, .find], nil, .waiting, .wanted),
    ]

    @Test("The last step yields these events, or is refused, and leads to this state", arguments: stories)
    func story(
        steps: [Step], events: [String]?, state: Downloader.State.Kind, intent: DownloadItem.Intent
    ) throws {
        var status = try status(after: steps.dropLast())
        let last = try #require(steps.last).make(&status)
        #expect(last?.map(\.text) == events)
        #expect(kind(status) == state)
        #expect(status.item.intent == intent)
        #expect(status.isOver == [.finished, .failed].contains(state))
        #expect(status.isClosed == (state == .finished || steps.contains(.delete)))
    }

    static let lives: [[Step]] = [
        [], [.start], [.start, .admit], [.start, .admit, .retry], [.start, .admit, .move], [.pause], [.cancel],
        [.start, .admit, .move, .finish], [.delete],
    ]

    @Test("A refused step changes nothing", arguments: lives, Step.allCases)
    func refused(steps: [Step], step: Step) throws {
        let before = try status(after: steps)
        var after = before
        guard step.make(&after) == nil else { return }
        #expect(after.phase == before.phase)
        #expect(after.item == before.item)
        #expect(after.received == before.received)
        #expect(after.isDeletionPending == before.isDeletionPending)
        #expect(after.openingEvents.map(\.text) == before.openingEvents.map(\.text))
    }

    @Test("A deletion forgets the version, and is taken once")
    func deletion() throws {
        var status = try status(after: [.start, .admit])
        _ = status.beginVersion(total: 100, received: 10, digest: Self.a, isStartingOver: true)
        _ = status.delete()
        #expect(status.received == 0)
        #expect(status.item.totalBytes == nil)
        #expect(status.item.serverSHA256 == nil)
        let wasTaken = [status.takeDeletion(), status.takeDeletion()]
        #expect(wasTaken == [true, false])
    }

    // MARK: Progress

    @Test("Only what is new is an event")
    func progress() throws {
        var status = try status(after: [.start, .admit])
        let events = [
            status.beginVersion(total: 100, received: 0, digest: nil, isStartingOver: true),
            status.setReceived(10), status.setReceived(10),
            status.beginVersion(total: 100, received: 10, digest: nil, isStartingOver: false),
        ]
        #expect(
            events.map { $0.map(\.text) }
                == [["total 100", "progress 0/100"], ["progress 10/100"], [], ["progress 10/100"]])
    }

    @Test("The server's digest stays for the same version, and is dropped for another", arguments: [true, false])
    func serverDigest(isStartingOver: Bool) throws {
        var status = try status(after: [.start, .admit])
        _ = status.beginVersion(total: 100, received: 0, digest: Self.a, isStartingOver: true)
        _ = status.beginVersion(total: 100, received: 10, digest: nil, isStartingOver: isStartingOver)
        #expect(status.item.serverSHA256 == (isStartingOver ? nil : Self.a))
    }

    @Test(
        "Failures in a row are those without a byte more than ever before",
        arguments: [
            ([10, 5, 10], [.backingOff, .backingOff, .failed]),
            ([10, 5, 11, 11, 11], [.backingOff, .backingOff, .backingOff, .backingOff, .failed]),
        ] as [([Int64], [DownloadPhase])])
    func failures(received: [Int64], phases: [DownloadPhase]) throws {
        var status = try status(after: [.start])
        var policy = RetryPolicy()
        policy.maximumRetries = 2
        var found: [DownloadPhase] = []
        for received in received {
            _ = status.apply(.wake)
            _ = status.apply(.admit)
            _ = status.setReceived(0)
            _ = status.setReceived(received)
            _ = status.attemptEnded(URLError(.networkConnectionLost), nil, policy)
            found.append(status.phase)
        }
        #expect(found == phases)
    }

    @Test("At another server the count of failures begins anew, with the bytes that come from there")
    func failuresElsewhere() throws {
        var status = try status(after: [.start])
        _ = status.expect(.sha256(Self.a))
        status.add([Self.otherURL])
        var policy = RetryPolicy()
        policy.maximumRetries = 1
        _ = status.apply(.admit)
        _ = status.setReceived(100)
        _ = status.setReceived(0)
        _ = status.attemptEnded(withMismatch: false, policy)
        #expect(status.phase == .queued && status.item.currentURL == Self.otherURL)
        for received in [10, 20, 30] as [Int64] {
            _ = status.apply(.wake)
            _ = status.apply(.admit)
            _ = status.setReceived(received)
            _ = status.attemptEnded(URLError(.networkConnectionLost), nil, policy)
            #expect(status.phase == .backingOff)
        }
    }

    @Test(
        "The end of an attempt changes nothing that the user has asked for since",
        arguments: [[.replaceURL], [.pause], [.pause, .start], [.cancel], [.cancel, .start], [.delete]] as [[Step]])
    func late(steps: [Step]) throws {
        var status = try status(after: [.start, .admit] + steps)
        _ = status.expect(.sha256(Self.a))
        status.add([Self.file])
        let (phase, item) = (status.phase, status.item)
        #expect(status.attemptEnded(URLError(.cannotFindHost), nil, RetryPolicy()) == nil)
        #expect(status.attemptEnded(withMismatch: true, RetryPolicy()) == nil)
        #expect(status.phase == phase)
        #expect(status.item == item)
    }

    @Test("Each server is asked once after a start, in turn, also those that come meanwhile")
    func eachSourceOnce() throws {
        let urls = ["/b", "/c", "/d"].map { URL(fileURLWithPath: $0) }
        func fail(_ status: inout DownloadStatus) -> URL? {
            _ = status.apply(.admit)
            _ = status.attemptEnded(URLError(.fileDoesNotExist), nil, RetryPolicy())
            return status.phase == .failed ? nil : status.item.currentURL
        }
        var status = try status(after: [])
        _ = status.expect(.sha256(Self.a))
        status.add([urls[0]])
        _ = status.start()
        #expect([fail(&status), fail(&status)] == [urls[0], nil])
        // The last one asked is the first.
        _ = status.start()
        let first = fail(&status)
        status.add([urls[1]])
        #expect([first, fail(&status), fail(&status)] == [Self.url, urls[1], nil])
        _ = status.start()
        _ = status.replaceURL(with: urls[2])
        #expect((0..<4).map { _ in fail(&status) } == [Self.url, urls[0], urls[1], nil])
    }

    @Test("Servers and digests that come during an attempt count at its end")
    func lateMirrors() throws {
        var status = try status(after: [.start, .admit])
        status.add([Self.otherURL])
        _ = status.expect(.sha256(Self.a))
        _ = status.attemptEnded(URLError(.fileDoesNotExist), nil, RetryPolicy())
        #expect(status.phase == .queued)
        #expect(status.item.currentURL == Self.otherURL)
        _ = status.apply(.admit)
        _ = status.attemptEnded(URLError(.fileDoesNotExist), nil, RetryPolicy())
        #expect(status.phase == .failed)
    }

    // MARK: Digests

    static let verdicts:
        [(
            callers: [String], server: String?, found: String?, received: DownloadStatus.Verdict,
            finished: DownloadStatus.Verdict
        )] = [
            ([], nil, nil, .accepted, .accepted),
            ([], a, nil, .needsDigest, .accepted),
            ([], a, a, .accepted, .accepted),
            ([], a, b, .mismatched, .accepted),
            ([a], nil, nil, .needsDigest, .needsDigest),
            ([a], nil, a, .accepted, .accepted),
            ([a], nil, b, .mismatched, .mismatched),
            ([a], b, a, .accepted, .accepted),
            ([a], b, b, .mismatched, .mismatched),
            ([a, b], nil, b, .accepted, .accepted),
            ([a, b], c, c, .mismatched, .mismatched),
        ]

    @Test("A file needs one of the callers' digests; a received one otherwise the server's", arguments: verdicts)
    func verdict(
        callers: [String], server: String?, found: String?, received: DownloadStatus.Verdict,
        finished: DownloadStatus.Verdict
    ) {
        let status = status(expecting: callers, server: server)
        #expect(status.verdict(onReceivedFile: found) == received)
        #expect(status.verdict(onFinishedFile: found) == finished)
    }

    @Test("Without the digest that a caller expects a download does not finish, at whatever moment the caller came")
    func unknownDigest() throws {
        var status = try status(after: [.start, .admit, .move])
        let isExpected = status.expect(.sha256(Self.a))
        #expect(isExpected)
        let refused = status.finish(Self.file, size: 100, sha256: nil)
        #expect(refused == nil)
        #expect(status.phase == .moving)
        _ = status.finish(Self.file, size: 100, sha256: Self.b)
        #expect(kind(status) == .finished)
        #expect(kind(status, .sha256(Self.a)) == .failed)
        var idle = self.status(expecting: [Self.a])
        let found = idle.find(Self.file, size: 100)
        #expect(found == nil)
    }

    @Test("A closed download expects no other digest", arguments: [[Step.delete], [.find]])
    func closed(steps: [Step]) throws {
        var status = try status(after: steps)
        let wereExpected = [status.expect(.sha256(Self.a)), status.expect(.unspecified)]
        #expect(wereExpected == [false, false])
        #expect(status.item.sha256.isEmpty)
    }

    @Test("A digest is expected once")
    func expected() {
        var status = status(expecting: [Self.a])
        for digest in [Self.b, Self.a, Self.b] {
            let isExpected = status.expect(.sha256(digest))
            #expect(isExpected)
        }
        #expect(status.item.sha256 == [Self.a, Self.b])
    }

    @Test(
        "A finished file is an error for a caller that expects another digest, with both in its description",
        arguments: [(ExpectedDigest.unspecified, true), (.sha256(a), true), (.sha256(b), false)])
    func finished(expected: ExpectedDigest, isFinished: Bool) throws {
        var status = try status(after: [.start, .admit, .move], expecting: [Self.a, Self.b])
        let events = status.finish(Self.file, size: 100, sha256: Self.a) ?? []
        #expect(status.hasFinished(for: expected) == isFinished)
        let texts = status.events(events, for: expected).map(\.text)
        #expect(texts.prefix(2) == ["total 100", "progress 100/100"])
        #expect(
            texts.dropFirst(2) == (isFinished ? ["finished", "succeeded 100"] : ["failed", "failed for good"]))
        if case .failed(let error) = status.state(for: expected) {
            #expect([Self.a, Self.b].allSatisfy(error.failureSentence.contains))
        }
    }

    @Test(
        "A rejected file's error names the digest of the caller, otherwise all that were expected",
        arguments: [(ExpectedDigest.unspecified, [a, b]), (.sha256(a), [a]), (.sha256(b), [b])], [true, false])
    func rejected(row: (ExpectedDigest, [String]), keepsBytes: Bool) throws {
        var status = try status(after: [.start, .admit], expecting: [Self.a, Self.b])
        _ = status.beginVersion(total: 100, received: 100, digest: nil, isStartingOver: true)
        let events = status.reject(found: Self.c, keepsBytes: keepsBytes) ?? []
        #expect(events.map(\.text) == (keepsBytes ? [] : ["progress 0/?"]) + ["failed", "failed for good"])
        #expect(status.received == (keepsBytes ? 100 : 0))
        guard case .failed(let error) = status.state(for: row.0) else {
            Issue.record("\(status.state(for: row.0))")
            return
        }
        let named = [Self.a, Self.b, Self.c].filter(error.failureSentence.contains)
        #expect(named == row.1 + [Self.c])
    }
}

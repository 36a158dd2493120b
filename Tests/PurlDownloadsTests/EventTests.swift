import Foundation
import PurlTesting
import Synchronization
import Testing

@testable import PurlDownloads

@Suite("Buffered events")
struct EventBufferTests {
    private func take(_ buffer: inout EventBuffer) -> [String] {
        var texts: [String] = []
        while let event = buffer.take() { texts.append(event.text) }
        return texts
    }

    @Test("Progress replaces progress; all other events are kept")
    func merging() {
        var buffer = EventBuffer()
        buffer.put([.state(.downloading), .totalSize(9)], isLast: false)
        for count in 1...1000 { buffer.put([.progress(received: Int64(count), total: 9)], isLast: false) }
        buffer.put([.state(.paused)], isLast: false)
        for count in 1...3 { buffer.put([.progress(received: Int64(count), total: nil)], isLast: false) }
        #expect(take(&buffer) == ["downloading", "total 9", "progress 1000/9", "paused", "progress 3/?"])
        #expect(!buffer.isExhausted)
    }

    @Test("No event is accepted after the last ones")
    func closing() {
        var buffer = EventBuffer()
        buffer.put([.state(.paused)], isLast: true)
        buffer.put([.state(.downloading)], isLast: false)
        #expect(!buffer.isExhausted)
        #expect(take(&buffer) == ["paused"])
        #expect(buffer.isExhausted)
    }
}

@Suite("Listening", .timeLimit(.minutes(3)))
struct EventTests {
    let fixture: DownloadFixture
    let gate = ServerGate()
    let content = GeneratedContent(size: 100_000, seed: 12)

    init() throws { fixture = try DownloadFixture() }

    private func downloader() -> Downloader {
        let reply = Reply.generated(content).entityTag("\"v1\"").stalled(afterBytes: 40_000, until: gate)
        return fixture.downloader(fixture.server.route("/f", reply))
    }

    @Test("A listener receives every event from the first state to the end")
    func story() async throws {
        let downloader = downloader()
        let events = downloader.events
        downloader.start()
        await gate.reached()
        await downloader.hasReceived(40_000)
        downloader.pause()
        await downloader.waitUntilIdle()
        gate.open()
        downloader.resume()
        var texts: [String] = []
        for await event in events {
            if case .progress = event { continue }
            texts.append(event.text)
        }
        #expect(
            texts == [
                "waiting", "downloading", "total 100000", "paused", "waiting", "downloading", "finished",
                "succeeded 100000",
            ])
    }

    @Test(
        "A printed event says what it means",
        arguments: [
            (Downloader.Event.totalSize(12), "12 bytes in all"), (.progress(received: 5, total: 12), "5 of 12 bytes"),
            (.progress(received: 5, total: nil), "5 bytes"), (.state(.paused), "paused"),
            (.state(.finished(URL(filePath: "/f/film"))), "finished: /f/film"),
            (.succeeded(URL(filePath: "/f/film"), size: 12), "12 bytes in /f/film"),
            (.failed(DownloadFailure.cancelled.urlError(for: URL(filePath: "/"))), "The download was cancelled."),
        ])
    func printed(event: Downloader.Event, text: String) {
        #expect("\(event)" == text)
    }

    @Test("A late listener receives the current state first; after the end, only how the download ended")
    func late() async throws {
        let downloader = downloader()
        downloader.start()
        await gate.reached()
        await downloader.hasReceived(40_000)
        var iterator = downloader.events.makeAsyncIterator()
        #expect(await iterator.next()?.text == "downloading")
        #expect(await iterator.next()?.text == "progress 40000/100000")
        downloader.cancel()
        var texts: [String] = []
        for await event in downloader.events { texts.append(event.text) }
        #expect(texts == ["failed", "progress 40000/100000", "failed for good"])
    }

    @Test("A listener that reads nothing does not delay the download")
    func slow() async throws {
        let downloader = downloader()
        let never = downloader.events
        downloader.start()
        gate.open()
        _ = try await downloader.file()
        var texts: [String] = []
        for await event in never { texts.append(event.text) }
        #expect(texts.first == "waiting")
        #expect(texts.suffix(3) == ["progress 100000/100000", "finished", "succeeded 100000"])
        #expect(texts.count < 12)
    }

    @Test("Observers are called in order, one at a time, on a concurrent queue too", arguments: [true, false])
    func observers(hasQueue: Bool) async throws {
        let downloader = downloader()
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 8
        let heard = Mutex<[String]>([])
        let (ends, end) = AsyncStream<Void>.makeStream()
        downloader.observe(on: hasQueue ? queue : nil) { event in
            heard.withLock { $0.append(event.text) }
            if case .succeeded = event { end.finish() }
        }
        let never = Mutex(0)
        let cancelled = downloader.observe { _ in never.withLock { $0 += 1 } }
        cancelled.cancel()
        let before = never.withLock { $0 }
        gate.open()
        downloader.start()
        _ = try await downloader.file()
        for await _ in ends {}
        let texts = heard.withLock { $0 }.filter { !$0.hasPrefix("progress") }
        #expect(texts == ["waiting", "downloading", "total 100000", "finished", "succeeded 100000"])
        #expect(never.withLock { $0 } <= before + 1)
    }

    @Test("Observers may control the download they observe")
    func reentrant() async throws {
        let downloader = downloader()
        downloader.observe { [weak downloader] event in
            guard case .progress(40_000, _) = event else { return }
            downloader?.pause()
            downloader?.observe { _ in }
            downloader?.resume()
        }
        gate.open()
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
    }

    @Test("Cancelling a waiting task does not cancel the download")
    func cancelledWaiting() async throws {
        let downloader = downloader()
        downloader.start()
        await gate.reached()
        let waiting = Task { try await downloader.file() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        gate.open()
        #expect(try content.matches(fileAt: try await downloader.file()))
    }

    @Test("A running download without references continues")
    func letGo() async throws {
        let reply = Reply.generated(content).stalled(afterBytes: 40_000, until: gate)
        let url = fixture.server.route("/f", reply)
        let events = {
            let downloader = fixture.downloader(url)
            downloader.start()
            return downloader.events
        }()
        await gate.reached()
        gate.open()
        var last: String?
        for await event in events { last = event.text }
        #expect(last == "succeeded 100000")
    }
}

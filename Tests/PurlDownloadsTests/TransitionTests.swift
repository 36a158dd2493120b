import Foundation
import PurlTesting
import Testing

@testable import PurlDownloads

@Suite("The transition table")
struct TransitionTableTests {
    static let users:
        [(DownloadPhase, start: DownloadPhase?, pause: DownloadPhase?, cancel: DownloadPhase?, delete: DownloadPhase?)] =
            [
                (.idle, .queued, .paused, .failed, .failed),
                (.queued, nil, .paused, .failed, .failed),
                (.backingOff, .queued, .paused, .failed, .failed),
                (.downloading, nil, .paused, .failed, .failed),
                (.moving, nil, nil, nil, nil),
                (.paused, .queued, nil, .failed, .failed),
                (.finished, nil, nil, nil, nil),
                (.failed, .queued, nil, nil, .failed),
            ]

    @Test("Controls lead to these phases", arguments: users)
    func whatUsersAskFor(
        phase: DownloadPhase, start: DownloadPhase?, pause: DownloadPhase?, cancel: DownloadPhase?,
        delete: DownloadPhase?
    ) {
        #expect(phase.after(.start) == start)
        #expect(phase.after(.pause) == pause)
        #expect(phase.after(.cancel) == cancel)
        #expect(phase.after(.delete) == delete)
    }

    @Test(
        "A finished file is found by a start, when no attempt is queued or under way", arguments: DownloadPhase.allCases
    )
    func found(phase: DownloadPhase) {
        let isFindable = [.idle, .backingOff, .paused, .failed].contains(phase)
        #expect(phase.after(.find) == (isFindable ? .finished : nil))
    }

    @Test("A finished download stays finished", arguments: DownloadAction.allCases)
    func finished(action: DownloadAction) {
        #expect(DownloadPhase.finished.after(action) == nil)
    }

    @Test(
        "Scheduler actions are accepted in one phase each", arguments: DownloadPhase.allCases)
    func transfers(phase: DownloadPhase) {
        #expect((phase.after(.admit) != nil) == (phase == .queued))
        #expect((phase.after(.retry) != nil) == (phase == .downloading))
        #expect((phase.after(.tryElsewhere) != nil) == (phase == .downloading))
        #expect((phase.after(.wake) != nil) == (phase == .backingOff))
        #expect((phase.after(.move) != nil) == (phase == .downloading))
        #expect((phase.after(.finish) != nil) == (phase == .moving))
    }
}

@Suite("Controls in every state", .timeLimit(.minutes(3)))
struct ControlTests {
    enum Control: CaseIterable, Sendable {
        case start, pause, cancel, cancelAndDelete
    }

    let fixture: DownloadFixture
    let gate = ServerGate()
    let content = GeneratedContent(size: 100_000, seed: 11)

    init() throws { fixture = try DownloadFixture() }

    private func use(_ control: Control, _ downloader: Downloader) {
        switch control {
        case .start: downloader.start()
        case .pause: downloader.pause()
        case .cancel: downloader.cancel()
        case .cancelAndDelete: downloader.cancelAndDelete()
        }
    }

    /// A download in the state.
    private func downloader(_ kind: Downloader.State.Kind, _ manager: DownloadManager) async throws -> Downloader {
        let reply = Reply.generated(content).entityTag("\"v1\"")
        let url = fixture.server.route("/f", reply.stalled(afterBytes: 40_000, until: gate))
        switch kind {
        case .waiting:
            // Another download has the only slot.
            let other = fixture.server.route("/other", reply.stalled(afterBytes: 1000, until: gate))
            manager.download(other)
            await gate.reached()
            return manager.download(url)
        case .downloading, .paused:
            let downloader = manager.download(url)
            await gate.reached()
            await downloader.hasReceived(40_000)
            if kind == .paused { downloader.pause() }
            return downloader
        case .finished:
            gate.open()
            let downloader = manager.download(url)
            _ = try await downloader.file()
            return downloader
        case .failed:
            let downloader = manager.download(url)
            await gate.reached()
            await downloader.hasReceived(40_000)
            downloader.cancel()
            return downloader
        }
    }

    private func expected(_ control: Control, _ kind: Downloader.State.Kind) -> [Downloader.State.Kind] {
        switch (control, kind) {
        case (_, .finished): [.finished]
        case (.start, .downloading): [.downloading]
        // The free slot is assigned at once, perhaps before the state is read.
        case (.start, _): [.waiting, .downloading]
        case (.pause, .failed): [.failed]
        case (.pause, _): [.paused]
        case (.cancel, _), (.cancelAndDelete, _): [.failed]
        }
    }

    @Test(
        "A control has its effect or none, and the file can be downloaded afterwards", arguments: Control.allCases,
        Downloader.State.Kind.allCases)
    func control(control: Control, kind: Downloader.State.Kind) async throws {
        let manager = fixture.manager(limit: 1)
        let downloader = try await downloader(kind, manager)
        #expect(downloader.state.kind == kind)
        use(control, downloader)
        #expect(expected(control, kind).contains(downloader.state.kind))
        let remains = control != .cancelAndDelete && kind != .finished
        #expect((manager.downloader(for: downloader.url) === downloader) == remains)
        gate.open()
        #expect(try content.matches(fileAt: try await manager.download(downloader.url).file()))
        await manager.waitUntilIdle()
        #expect(!fixture.names(in: fixture.unfinished).contains { $0.hasPrefix(downloader.key) })
    }

    @Test("After quick calls the last one decides", arguments: 0..<20)
    func quickly(seed: Int) async throws {
        let manager = fixture.manager(limit: 1)
        let downloader = try await downloader(.downloading, manager)
        for round in 0..<20 { use(Control.allCases[(seed &* 7 &+ round &* round) % 4], downloader) }
        gate.open()
        downloader.pause()
        let file = try await manager.download(downloader.url).file()
        #expect(try content.matches(fileAt: file))
    }
}

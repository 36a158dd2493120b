import Foundation
import Purl
import PurlTesting
import Testing

@testable import PurlDownloads

/// A file is not divided into parts of less.
private let share = 128 << 10

@Suite("What several connections have brought, after a relaunch", .timeLimit(.minutes(5)))
struct RangeRelaunchTests {
    /// How the manager ends that has begun the download.
    enum Departure: CaseIterable {
        case paused, invalidated, released
    }

    /// The session that makes the requests.
    enum SessionKind: CaseIterable {
        case usual, background
    }

    let fixture: DownloadFixture
    let content = GeneratedContent(size: 8 * share, seed: 7)

    init() throws { fixture = try DownloadFixture() }

    private func configuration(
        _ kind: SessionKind, _ connections: ConnectionCount
    ) -> DownloadConfiguration {
        var configuration = fixture.configuration()
        configuration.connections = connections
        configuration.connections.leastShare = Int64(share)
        if kind == .background {
            configuration.session = .background(withIdentifier: fixture.folder.lastPathComponent)
            configuration.session.backgroundSessionsDirectory = fixture.folder.appendingPathComponent("sessions")
        }
        return configuration
    }

    /// Every response stalls: that for a part in its middle.
    private func held(by gate: ServerGate) -> Reply {
        DownloadFixture.held(.generated(content).entityTag("\"v1\""), by: gate) {
            $0.stalled(at: .midBody, until: gate)
        }
    }

    /// Begins a download whose responses stall, and ends the manager.
    ///
    /// - Returns: What it has left.
    private func leave(
        _ departure: Departure, _ kind: SessionKind, of url: URL, stalledAt gate: ServerGate
    ) async throws -> [Range<Int64>] {
        var manager: DownloadManager? = DownloadManager(configuration: configuration(kind, 4))
        let download = try #require(manager?.download(url))
        await gate.reached(times: 4)
        // Half of three shares of a quarter.
        await download.hasReceived(Int64(content.size) / 3)
        switch departure {
        case .paused:
            manager?.pauseAll()
            await manager?.waitUntilIdle()
        case .invalidated: manager?.invalidate()
        case .released: break
        }
        manager = nil
        await download.waitUntilIdle()
        let record = try #require(ResumeRecord(contentsOf: fixture.record(download), of: fixture.partial(download)))
        let parts = try #require(record.ranges(inFileAt: fixture.partial(download)))
        fixture.server.forgetRequests()
        gate.open()
        return parts
    }

    /// The bytes that requests have asked for.
    private var requested: [Range<Int64>] {
        fixture.server.requests.map { $0.bytes(ofContentOf: content.size) }
    }

    private static let departures = Departure.allCases.flatMap { departure in
        SessionKind.allCases.map { (departure, $0) }
    }

    @Test(
        "The next manager has all of it in its list before any request, and requests none of it again",
        arguments: departures, [1, 4] as [ConnectionCount])
    func manager(departure: (Departure, SessionKind), connections: ConnectionCount) async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", held(by: gate))
        let parts = try await leave(departure.0, departure.1, of: url, stalledAt: gate)
        let count = parts.reduce(0) { $0 + Int64($1.count) }
        #expect(parts.count > 1)
        #expect(count >= Int64(content.size) / 3)

        let second = DownloadManager(configuration: configuration(departure.1, connections))
        let download = try #require(second.downloader(for: url))
        #expect(download.bytesReceived == count)
        #expect(download.totalBytes == Int64(content.size))
        #expect(fixture.server.requests.isEmpty)
        second.resumeAll()
        #expect(try content.matches(fileAt: try await download.file()))
        for range in requested { #expect(!parts.contains { $0.overlaps(range) }) }
        if connections == 1 {
            let sent = await fixture.server.waitUntilIdle().reduce(0) { $0 + Int64($1.bytesSent) }
            #expect(sent == Int64(content.size) - count)
        }
        second.invalidate()
        await second.waitUntilIdle()
    }

    @Test("An invalidated manager that is idle has left its background session to the next one", arguments: 1...3)
    func backgroundSession(round: Int) async throws {
        let gate = ServerGate()
        let url = fixture.server.route("/f", held(by: gate))
        let first = DownloadManager(configuration: configuration(.background, 4))
        let download = first.download(url)
        await gate.reached(times: 4)
        await download.hasReceived(Int64(content.size) / 3)
        first.invalidate()
        await first.waitUntilIdle()
        let second = DownloadManager(configuration: configuration(.background, 4))
        gate.open()
        #expect(try content.matches(fileAt: try await second.download(url).file()))
        second.invalidate()
        await second.waitUntilIdle()
    }
}

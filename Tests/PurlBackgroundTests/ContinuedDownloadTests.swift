import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Downloads of a background session with continuesDownloadsAfterRelaunch", .timeLimit(.minutes(5)))
struct ContinuedDownloadTests {
    private let content = KilledDownload.content
    private let total = Int64(KilledDownload.content.size)

    @Test("A running download continues after a relaunch without a call of the program")
    func running() async throws {
        let killed = try await KilledDownload(prepare: { $0.taskDescription = "the film" })
        let launch = await Launch(killed.home, continuing: true)
        let task = try #require(launch.downloads.first)
        #expect(launch.tasks.count == 1)
        #expect(task.taskIdentifier == 1)
        #expect(task.taskDescription == "the film")
        let ranges = await launch.events()
        let offset = try #require(killed.ranges.first??.dropFirst("bytes=".count).dropLast().description)
        let received = try #require(Int64(offset))
        #expect(received > 0)
        #expect(killed.server.requests.map { $0.fields["If-Range"] } == [KilledDownload.tag])
        #expect(
            ranges == [
                .resumed(at: received, of: total), .wrote(total, of: total), .file(content.size), .completed(nil),
                .eventsFinished,
            ])
        #expect(launch.witness.hasFile(of: task, content))
        #expect(task.state == .completed && task.error == nil)
        await launch.end()
        #expect(killed.home.partialNames == [])
    }

    @Test("A suspended download stays suspended after a relaunch")
    func suspended() async throws {
        let killed = try await KilledDownload(finally: { $0.suspend() })
        let launch = await Launch(killed.home, continuing: true)
        let task = try #require(launch.downloads.first)
        #expect(task.state == .suspended)
        #expect(task.countOfBytesReceived > 0)
        #expect(killed.server.requests.isEmpty)
        // None was running, whose end could be waited for.
        await launch.witness.wait { $0 == [.eventsFinished] }
        task.resume()
        await launch.witness.completion()
        #expect(launch.witness.events.count { $0 == .eventsFinished } == 1)
        #expect(launch.witness.hasFile(of: task, content))
        await launch.end()
        #expect(!killed.ranges.contains(nil))
    }

    @Test("A suspended download stays suspended after two relaunches")
    func suspendedTwice() async throws {
        let killed = try await KilledDownload(finally: { $0.suspend() })
        let second = await Launch(killed.home, continuing: true)
        let after = try killed.home.afterCrash(named: "again")
        await second.end()
        let third = await Launch(after, continuing: true)
        let task = try #require(third.downloads.first)
        #expect(task.state == .suspended)
        #expect(killed.server.requests.isEmpty)
        task.resume()
        await third.witness.completion()
        #expect(third.witness.hasFile(of: task, content))
    }

    @Test("A download that was suspended and resumed continues after a relaunch")
    func suspendedAndResumed() async throws {
        let killed = try await KilledDownload(finally: { task in
            task.suspend()
            task.suspend()
            task.resume()
            task.resume()
        })
        let launch = await Launch(killed.home, continuing: true)
        let task = try #require(launch.downloads.first)
        #expect(await launch.events().suffix(2) == [.completed(nil), .eventsFinished])
        #expect(launch.witness.hasFile(of: task, content))
    }

    @Test("Resuming a download that already continues has no effect")
    func resumedAgain() async throws {
        let killed = try await KilledDownload()
        let launch = await Launch(killed.home, continuing: true)
        let task = try #require(launch.downloads.first)
        task.resume()
        task.resume()
        _ = await launch.events()
        #expect(launch.witness.hasFile(of: task, content))
        #expect(killed.server.requests.count == 1)
    }

    enum Obstacle: CaseIterable, Sendable {
        case noValidator, noRanges, changed, partialGone, partialDamaged, partialsGone
    }

    @Test("A download that cannot be resumed starts over after a relaunch", arguments: Obstacle.allCases)
    func startsOver(_ obstacle: Obstacle) async throws {
        let killed = try await KilledDownload(
            recorded: obstacle == .partialDamaged ? .checkpoint : .beginning,
            reply: { reply in
                switch obstacle {
                case .noValidator: reply
                case .noRanges: reply.entityTag(KilledDownload.tag).acceptRanges("none").ignoringRange()
                default: reply.entityTag(KilledDownload.tag)
                }
            })
        var content = content
        let partial = killed.home.partials.appendingPathComponent(try #require(killed.home.partialNames.first))
        switch obstacle {
        case .noValidator, .noRanges: break
        case .changed:
            content = GeneratedContent(size: 1_400_000, seed: 99)
            killed.server.route(KilledDownload.path, .generated(content).entityTag("\"v2\""))
        case .partialGone: try FileManager.default.removeItem(at: partial)
        case .partialDamaged: try Data(count: content.size).write(to: partial)
        case .partialsGone: try FileManager.default.removeItem(at: killed.home.partials)
        }
        let launch = await Launch(killed.home, continuing: true)
        let events = await launch.events()
        #expect(events.suffix(3) == [.file(content.size), .completed(nil), .eventsFinished])
        let task = try #require(launch.downloads.first)
        #expect(launch.witness.hasFile(of: task, content))
        #expect(killed.ranges.count == 1)
        #expect((killed.ranges.first == .some(nil)) == (obstacle != .changed))
    }

    @Test("A POST download starts over with its body after a relaunch")
    func post() async throws {
        let body = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
        let killed = try await KilledDownload(request: { url in
            var request = URLRequest(url: url)
            request.httpMethod = "POST"
            request.httpBody = body
            request.setValue("application/x-numbers", forHTTPHeaderField: "Content-Type")
            return request
        })
        let launch = await Launch(killed.home, continuing: true)
        let task = try #require(launch.downloads.first)
        #expect(task.originalRequest?.httpBody == body)
        _ = await launch.events()
        #expect(launch.witness.hasFile(of: task, content))
        let request = try #require(killed.server.requests.first)
        #expect(killed.server.requests.count == 1)
        #expect(request.method == "POST")
        #expect(request.body == body)
        #expect(request.fields["Content-Type"] == "application/x-numbers")
        #expect(request.fields["Range"] == nil)
    }

    @Test("A continued download whose server stays down fails with resume data when the resource's limit is used up")
    func serverDown() async throws {
        let killed = try await KilledDownload()
        killed.server.stop()
        let launch = await Launch(killed.home, continuing: true, limit: 0.2)
        let task = try #require(launch.downloads.first)
        #expect(await launch.events() == [.completed(.timedOut), .eventsFinished])
        let error = try #require(launch.witness.error(of: task))
        #expect(error.backgroundTaskCancelledReason == nil)
        #expect(error.downloadTaskResumeData.flatMap { ResumeRecord($0) }?.bytesReceived == task.countOfBytesReceived)
    }

    @Test("A continued download that is cancelled leaves no file and no task")
    func cancelled() async throws {
        let killed = try await KilledDownload(finally: { $0.suspend() })
        let launch = await Launch(killed.home, continuing: true)
        let task = try #require(launch.downloads.first)
        task.cancel()
        await launch.witness.completion()
        #expect(launch.witness.events == [.eventsFinished, .completed(.cancelled)])
        #expect(launch.witness.error(of: task)?.downloadTaskResumeData == nil)
        await launch.end()
        #expect(killed.home.partialNames == [])
        let next = await Launch(killed.home, continuing: true)
        #expect(next.tasks == [])
    }

    @Test("A continued download that is cancelled for resume data returns the journal's")
    func cancelledForResumeData() async throws {
        let killed = try await KilledDownload(finally: { $0.suspend() })
        let launch = await Launch(killed.home, continuing: true)
        let task = try #require(launch.downloads.first)
        let received = task.countOfBytesReceived
        let blob = try #require(await task.cancelByProducingResumeData())
        #expect(ResumeRecord(blob)?.bytesReceived == received)
        let next = launch.session.downloadTask(withResumeData: blob).resumed()
        await launch.witness.completion(of: 2)
        #expect(launch.witness.hasFile(of: next, content))
        #expect(killed.ranges == ["bytes=\(received)-"])
    }

    @Test(
        "A kill loses no byte, however soon it comes", arguments: [1, 1000, 1_000_000, 1_499_999],
        KilledDownload.Recorded.allCases)
    func nothingIsLost(count: Int, recorded: KilledDownload.Recorded) async throws {
        let killed = try await KilledDownload(at: count, recorded: recorded)
        let launch = await Launch(killed.home, continuing: true)
        let task = try #require(launch.downloads.first)
        _ = await launch.events()
        #expect(killed.ranges == ["bytes=\(count)-"])
        #expect(launch.witness.hasFile(of: task, content))
    }

    @Test(
        "After a power loss only the bytes count that had reached the disk", arguments: KilledDownload.Recorded.allCases
    )
    func powerLoss(recorded: KilledDownload.Recorded) async throws {
        let killed = try await KilledDownload(recorded: recorded)
        try killed.home.changeBoot()
        let launch = await Launch(killed.home, continuing: true)
        let task = try #require(launch.downloads.first)
        _ = await launch.events()
        #expect(killed.ranges == [recorded == .checkpoint ? "bytes=1000000-" : nil])
        #expect(launch.witness.hasFile(of: task, content))
    }

    @Test("A chain of relaunches completes the file and requests no byte twice")
    func chain() async throws {
        let content = GeneratedContent(size: 5_000_000, seed: 12)
        let server = try LoopbackServer()
        var home = BackgroundHome()
        var received: Int64 = 0
        for (number, count) in [1_000_000, 1_900_000, 3_000_000, 4_000_000].enumerated() {
            // The server counts the bytes of each answer.
            let reply = Reply.generated(content).entityTag("\"v1\"")
            let url = server.route("/file", reply.stalled(afterBytes: count - Int(received)))
            let witness = Witness()
            let session = home.makeSession(witness) { $0.continuesDownloadsAfterRelaunch = true }
            if number == 0 {
                session.downloadTask(with: url).resume()
            } else {
                let task = await session.allTasks.first
                #expect(task?.taskIdentifier == 1)
                #expect(task.map { $0.countOfBytesReceived >= received } == true)
            }
            await witness.wait { $0.last == .wrote(Int64(count), of: 5_000_000) }
            let after = try home.afterCrash(named: "after \(number)")
            session.invalidateAndCancel()
            await witness.wait { $0.last == .invalid }
            home = after
            received = Int64(count)
        }
        server.route("/file", .generated(content).entityTag("\"v1\""))
        server.forgetRequests()
        let launch = await Launch(home, continuing: true)
        _ = await launch.events()
        let task = try #require(launch.downloads.first)
        #expect(launch.witness.hasFile(of: task, content))
        #expect(server.requests.map { $0.fields["Range"] } == ["bytes=\(received)-"])
        await launch.end()
        #expect(home.partialNames == [])
    }
}

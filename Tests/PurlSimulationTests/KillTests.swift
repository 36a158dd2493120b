import Foundation
import Purl
import PurlDownloads
import PurlSimulation
import PurlTesting
import Synchronization
import Testing

@Suite struct KillTests {
    /// Keeps the file of a download at a place, and says when its task is over.
    private final class Keeper: NSObject, URLSessionDownloadDelegate, Sendable {
        private let place: URL
        private let ends: AsyncStream<(any Error)?>
        private let end: AsyncStream<(any Error)?>.Continuation

        init(_ place: URL) {
            self.place = place
            (ends, end) = AsyncStream.makeStream()
            super.init()
        }

        /// The error of the next task that completes; `nil` for one that has its file.
        func completion() async -> (any Error)? {
            var iterator = ends.makeAsyncIterator()
            return await iterator.next() ?? nil
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            try? FileManager.default.removeItem(at: place)
            try? FileManager.default.moveItem(at: location, to: place)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            end.yield(error)
        }
    }

    private static let content = GeneratedContent(size: 50_000, seed: 9)

    /// A program that has its film in the end, however often it is begun.
    private static func loadFilm(_ url: URL, to film: URL) async throws {
        if try FileManager.default.fileExists(atPath: film.path) && content.matches(fileAt: film) { return }
        let keeper = Keeper(film)
        let configuration = URLSessionConfiguration.background(withIdentifier: "com.example.player")
        configuration.continuesDownloadsAfterRelaunch = true
        let session = URLSession(configuration: configuration, delegate: keeper, delegateQueue: nil)
        let tasks = await session.allTasks
        if tasks.isEmpty { session.downloadTask(with: url).resume() }
        // With the power the record that it was resumed may have been lost.
        for task in tasks { task.resume() }
        while let error = await keeper.completion() {
            // What the process before has left cannot always be continued.
            if let data = (error as? URLError)?.downloadTaskResumeData {
                session.downloadTask(withResumeData: data).resume()
            } else {
                session.downloadTask(with: url).resume()
            }
        }
        session.finishTasksAndInvalidate()
    }

    @Test(arguments: Seeds.some(10))
    func aBackgroundDownloadArrivesHoweverOftenItsProgramIsKilled(seed: Seed) throws {
        try Simulation(seed).run { world in
            let server = world.server("mirror.example")
            let url = server.route(
                "/film", .generated(size: Self.content.size, seed: 9).entityTag("\"v1\"").inPieces(of: 4_000))
            let laptop = world.computer("laptop")
            let film = laptop.home.appendingPathComponent("film")
            try await laptop.run("player", surprises: .init(kills: 4)) { try await Self.loadFilm(url, to: film) }
            #expect(try Self.content.matches(fileAt: film))
        }
    }

    /// What suspends its caller until something else has happened.
    private static let waits: [@Sendable (URLSession, Server) async throws -> Void] = [
        { session, server in
            let task = session.dataTask(with: server.url("/page"))
            _ = await session.allTasks
            _ = await session.tasks
            _ = await HTTPCookieStorage.shared.cookies(for: task)
            _ = await URLCache.shared.cachedResponse(for: task)
        },
        { session, _ in
            await session.flush()
            await session.reset()
        },
        { session, server in _ = try await session.data(from: server.url("/page")) },
        { session, server in _ = try await session.download(from: server.url("/page")) },
        { session, server in
            for try await byte in try await session.bytes(from: server.url("/page")).0 where byte == 0 { continue }
        },
        { session, server in
            let task = session.downloadTask(with: server.url("/page"))
            task.resume()
            _ = await task.cancelByProducingResumeData()
        },
        { _, server in
            let downloader = Downloader(url: server.url("/page"), configuration: DownloadConfiguration())
            downloader.start()
            _ = try await downloader.file()
        },
        { session, server in
            let task = session.webSocketTask(with: server.url("/chat"))
            task.resume()
            try await task.send(.string("hello"))
            try await task.sendPing()
            _ = try await task.receive()
            task.cancel(with: .normalClosure, reason: nil)
        },
        { session, _ in
            let task = session.streamTask(withHostName: "mirror.example", port: 80)
            task.resume()
            try await task.write(Data("GET /page HTTP/1.1\r\nHost: mirror.example\r\n\r\n".utf8), timeout: 0)
            _ = try await task.readData(ofMinLength: 4_000, maxLength: 5_000, timeout: 0)
            task.cancel()
        },
    ]

    @Test("What a killed process waited for is not reported as a continuation's misuse")
    func abandonedWaits() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            for (index, wait) in Self.waits.enumerated() {
                for seed in UInt64(1)...40 {
                    try Simulation(Seed(seed)).run { world in
                        let server = world.server("mirror.example")
                        server.route("/page", .generated(size: 5_000))
                        server.route("/chat", .webSocket(.echo))
                        try await world.computer("laptop").run("player \(index)", surprises: .init(kills: 5)) {
                            let session = URLSession(configuration: .default)
                            try await wait(session, server)
                            session.invalidateAndCancel()
                        }
                    }
                }
            }
        }
        let errors = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(!errors.contains("CONTINUATION MISUSE"), "\(errors.prefix(2_000))")
    }

    @Test(arguments: Seeds.some(10))
    func aBackgroundDownloadIsRightAfterPowerLosses(seed: Seed) throws {
        try Simulation(seed).run { world in
            let server = world.server("mirror.example")
            let url = server.route(
                "/film", .generated(size: Self.content.size, seed: 9).entityTag("\"v1\"").inPieces(of: 4_000))
            let laptop = world.computer("laptop")
            let film = laptop.home.appendingPathComponent("film")
            try await laptop.run("player", surprises: .init(kills: 1, powerLosses: 3)) {
                try await Self.loadFilm(url, to: film)
            }
            #expect(try Self.content.matches(fileAt: film))
        }
    }

    /// What a process finds of a file when it begins.
    private struct Finding: Sendable {
        /// How many requests the server has had.
        let requests: Int
        let parts: [Range<Int64>]
    }

    private static func parts(_ download: Downloader, in folder: URL) -> [Range<Int64>] {
        let file = folder.appendingPathComponent("\(download.key).part")
        let record = folder.appendingPathComponent("\(download.key).resume")
        guard let record = ResumeRecord(contentsOf: record, of: file) else { return [] }
        return record.ranges(inFileAt: file) ?? [0..<record.bytesReceived]
    }

    @Test(arguments: Seeds.some(6))
    func whatSeveralConnectionsHaveBroughtIsThereAfterAKillAndIsNotRequestedAgain(seed: Seed) throws {
        let content = GeneratedContent(size: 512 << 10, seed: 9)
        try Simulation(seed).run { world in
            world.network.latency = .milliseconds(1) ... .milliseconds(20)
            let server = world.server("mirror.example")
            let url = server.route("/film", .generated(content).entityTag("\"v1\"").inPieces(of: 10_000))
            let laptop = world.computer("laptop")
            let home = laptop.home
            let findings = Mutex<[Finding]>([])
            try await laptop.run("center", surprises: .init(kills: 3)) {
                var configuration = DownloadConfiguration(
                    finishedDirectory: home.appendingPathComponent("Films", isDirectory: true),
                    unfinishedDirectory: home.appendingPathComponent("Unfinished", isDirectory: true))
                configuration.connections = 4
                configuration.connections.leastShare = 64 << 10
                let manager = DownloadManager(configuration: configuration)
                if let download = manager.downloader(for: url) {
                    let parts = Self.parts(download, in: configuration.unfinishedDirectory)
                    #expect(download.bytesReceived == parts.reduce(0) { $0 + Int64($1.count) })
                    findings.withLock { $0.append(Finding(requests: server.requests.count, parts: parts)) }
                }
                let file = try await manager.download(url).file()
                #expect(try content.matches(fileAt: file))
                manager.invalidate()
            }
            for finding in findings.withLock({ $0 }) {
                for request in server.requests[finding.requests...] {
                    let numbers = request.fields["Range"]?.dropFirst("bytes=".count).split(separator: "-") ?? ["0"]
                    let bounds = numbers.compactMap { Int64($0) }
                    let range = bounds[0]..<(bounds.count > 1 ? bounds[1] + 1 : Int64(content.size))
                    #expect(!finding.parts.contains { $0.overlaps(range) })
                }
            }
        }
    }

    @Test func aKilledProgramIsBegunAgainWithItsFilesAndWithoutItsMemory() throws {
        let report = try Simulation(4).run { world in
            let laptop = world.computer("laptop")
            let counter = laptop.home.appendingPathComponent("runs")
            try await laptop.run("counter", surprises: .init(kills: 3)) {
                let runs = ((try? Data(contentsOf: counter)) ?? Data()) + [1]
                try runs.write(to: counter)
                for _ in 0..<600 { try await world.sleep(for: .milliseconds(1)) }
                #expect(runs.count <= 4)
            }
            #expect(try Data(contentsOf: counter).count == 4)
        }
        #expect(report.lines.count { $0.hasSuffix("laptop/counter: is killed") } == 3)
    }
}

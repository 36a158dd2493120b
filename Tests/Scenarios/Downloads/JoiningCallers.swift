import Foundation
import Purl
import PurlDownloads
import PurlHTTP
import PurlSimulation
import PurlTesting

extension Scenario {
    /// Callers who ask a manager for the same file at any moment, and expect different digests: each is told by its own.
    static let joiningCallers = Scenario("joining-callers") { world in
        let dice = Dice(world.seed, "joining-callers")
        let content = GeneratedContent(size: dice.number(1...60_000), seed: 4)
        let right = SHA256.hexadecimal(of: content.data.bytes)
        let wrong = String(repeating: "07", count: 32)
        let url = world.server("mirror.example").route("/film", .generated(content).entityTag("\"v1\""))
        let home = world.computer("desk").home
        let manager = DownloadManager(
            configuration: DownloadConfiguration(in: home))
        // Who expects nothing has the end of the others.
        let first = manager.download(url, sha256: dice.oneIn(2) ? right : nil)
        var callers: [(downloader: Downloader, isRight: Bool)] = []
        for _ in 0..<dice.number(2...5) {
            // Mostly close to the end, which is a moment of many steps.
            if dice.oneIn(2) { await first.hasReceived(Int64(content.size)) }
            if dice.oneIn(2) { try await world.sleep(for: .microseconds(dice.number(1...2_000))) }
            let isRight = dice.oneIn(2) || !callers.contains { $0.isRight }
            callers.append((manager.download(url, sha256: isRight ? right : wrong), isRight))
        }
        for (number, caller) in callers.enumerated() {
            do {
                let file = try await caller.downloader.file()
                try require(caller.isRight, "caller \(number) has a file whose digest it does not expect")
                try require(try content.matches(fileAt: file), "caller \(number) has another file")
            } catch let error as URLError {
                try require(!caller.isRight, "caller \(number): \(error.code) \(error.localizedDescription)")
                try require(error.unexpectedSHA256 == right, "caller \(number) is not told the digest")
            }
        }
        await manager.waitUntilIdle()
        let file = try manager.finishedFile(for: url) ?? { throw Unmet("the finished file is gone") }()
        try require(try content.matches(fileAt: file), "the finished file is another one")
    }
}

extension Downloader {
    /// Returns when so many bytes are on disk, or the download is over.
    fileprivate func hasReceived(_ count: Int64) async {
        for await event in events {
            if case .progress(let received, _) = event, received >= count { return }
        }
    }
}

import Foundation
import Purl
import PurlDownloads
import PurlTesting
import Testing

@testable import PurlSimulation

@Suite struct PowerLossTests {
    @Test(arguments: Seeds.some(8))
    func aFileThatASinkHasCompletedIsThereAfterALossOfPower(seed: Seed) throws {
        try Simulation(seed).run { world in
            let content = GeneratedContent(size: 20_000, seed: 3)
            let url = world.server("mirror.example").route("/film", .generated(content).entityTag("\"v1\""))
            let laptop = world.computer("laptop")
            let file = laptop.home.appendingPathComponent("film")
            let mark = laptop.home.appendingPathComponent("complete")
            try await laptop.run("player", surprises: .init(powerLosses: 3)) {
                if !FileManager.default.fileExists(atPath: mark.path) {
                    let recorder = RecordingDelegate()
                    let session = URLSession(configuration: .ephemeral, delegate: recorder, delegateQueue: nil)
                    session.dataTask(with: url, writingTo: FileHandleSink(fileAt: file)).resume()
                    await recorder.completion()
                    #expect(recorder.error == nil)
                    try Data().write(to: mark)
                    session.finishTasksAndInvalidate()
                }
                for _ in 0..<300 { try await world.sleep(for: .milliseconds(1)) }
            }
            #expect(try content.matches(fileAt: file))
        }
    }

    @Test(arguments: Seeds.some(8))
    func aDownloadThatHasFinishedIsThereAfterALossOfPower(seed: Seed) throws {
        try Simulation(seed).run { world in
            let content = GeneratedContent(size: 20_000, seed: 3)
            let url = world.server("mirror.example").route("/film", .generated(content).entityTag("\"v1\""))
            let laptop = world.computer("laptop")
            let home = laptop.home
            let file = try await laptop.run("center") {
                let manager = DownloadManager(
                    configuration: DownloadConfiguration(
                        finishedDirectory: home.appendingPathComponent("Films", isDirectory: true),
                        unfinishedDirectory: home.appendingPathComponent("Unfinished", isDirectory: true)))
                return try await manager.download(url).file()
            }
            laptop.disk.losePower()
            #expect(try content.matches(fileAt: file))
        }
    }
}

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

    @Test(arguments: Seeds.some(10))
    func filesKeepTheTimeOfTheSimulatedCalendar(seed: Seed) throws {
        try Simulation(seed).run { world in
            let url = world.server("mirror.example").route(
                "/film", .generated(size: 60_000).entityTag("\"v1\"").inPieces(of: 4_000))
            let laptop = world.computer("laptop")
            try? await laptop.run("player", surprises: .init(powerLosses: 3)) {
                let (file, _) = try await URLSession.shared.download(from: url)
                try FileManager.default.moveItem(at: file, to: laptop.home.appendingPathComponent("film"))
            }
            laptop.damage(laptop.home.appendingPathComponent("film"))
            let folder = laptop.home.path
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
                let values = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)
                guard values[.type] as? FileAttributeType == .typeRegular else { continue }
                let written = try #require(values[.modificationDate] as? Date)
                #expect(abs(world.date.timeIntervalSince(written)) < 86_400, "\(name) is of \(written)")
            }
        }
    }

    @Test func whatIsNotOnTheComputerIsNotDamaged() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("purl-\(UUID().uuidString)")
        try Data("mine".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try Simulation(1).run { world in
            let laptop = world.computer("laptop")
            #expect(laptop.damage(file) == nil)
            #expect(laptop.damage(laptop.home.appendingPathComponent("../" + file.lastPathComponent)) == nil)
        }
        #expect(try Data(contentsOf: file) == Data("mine".utf8))
    }
}

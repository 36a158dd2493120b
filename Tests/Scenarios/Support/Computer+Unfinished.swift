import Foundation
import PurlDownloads
import PurlSimulation

extension Computer {
    /// Fails when a manager in the computer's home has left unfinished files.
    ///
    /// - Parameter surprises: What the manager's process had to bear. When the power goes right behind its last step, the name
    ///   of an item that was removed can be there again: the next manager removes it.
    func requireNothingUnfinished(after surprises: Surprises) async throws {
        let home = home
        if surprises.powerLosses > 0 {
            try await run("next-center") {
                let manager = DownloadManager(configuration: DownloadConfiguration(in: home))
                manager.resumeAll()
                await manager.waitUntilIdle()
            }
        }
        let left = (try? FileManager.default.contentsOfDirectory(atPath: home.path + "/Unfinished")) ?? []
        try require(left.isEmpty, "left behind: \(left.sorted())")
    }
}

import Foundation
import PurlDownloads
import PurlSimulation

extension Downloader {
    /// Starts the download every thirty seconds until its file is there.
    ///
    /// - Parameter attempts: How often at most.
    func file(within attempts: Int, in world: World) async throws -> URL {
        for _ in 0..<attempts {
            start()
            if let file = try? await file() { return file }
            try await world.sleep(for: .seconds(30))
        }
        throw Unmet("\(url.lastPathComponent) does not arrive: \(state)")
    }
}

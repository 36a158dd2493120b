import Foundation
import Purl
import PurlDownloads
import PurlTesting

/// A server and the two folders of one test, which are removed with it.
final class DownloadFixture: Sendable {
    let server: LoopbackServer
    let folder: URL

    init() throws {
        server = try LoopbackServer()
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("downloads-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    var finished: URL { folder.appendingPathComponent("finished", isDirectory: true) }
    var unfinished: URL { folder.appendingPathComponent("unfinished", isDirectory: true) }

    /// A configuration with retry delays of a few milliseconds.
    func configuration(limit: Int = 4, retries: Int = 3) -> DownloadConfiguration {
        var configuration = DownloadConfiguration(finishedDirectory: finished, unfinishedDirectory: unfinished)
        configuration.maximumConcurrentDownloads = limit
        configuration.retryPolicy.maximumRetries = retries
        configuration.retryPolicy.initialDelay = .milliseconds(1)
        configuration.retryPolicy.maximumDelay = .milliseconds(4)
        return configuration
    }

    func manager(limit: Int = 4, retries: Int = 3) -> DownloadManager {
        DownloadManager(configuration: configuration(limit: limit, retries: retries))
    }

    func downloader(_ url: URL, sha256: String? = nil, retries: Int = 3) -> Downloader {
        Downloader(url: url, sha256: sha256, configuration: configuration(retries: retries))
    }

    func names(in folder: URL) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }

    /// The `Range` fields of the requests, in order; empty for a request without one.
    var ranges: [String] { server.requests.map { $0.fields["Range"] ?? "" } }

    /// The partial file of a download; its record and item lie beside it.
    func partial(_ downloader: Downloader) -> URL { unfinished(downloader, "part") }

    func record(_ downloader: Downloader) -> URL { unfinished(downloader, "resume") }

    func item(_ downloader: Downloader) -> URL { unfinished(downloader, "item") }

    private func unfinished(_ downloader: Downloader, _ type: String) -> URL {
        let name = [downloader.key, downloader.url.pathExtension, type].filter { !$0.isEmpty }.joined(separator: ".")
        return unfinished.appendingPathComponent(name)
    }

    /// A response that stops soon when it is that for the whole or its rest, so that there is a share for each connection.
    ///
    /// - Parameter ranges: Changes the response to a request for a part.
    static func held(
        _ reply: Reply, by gate: ServerGate, _ ranges: @escaping @Sendable (Reply) -> Reply = { $0 }
    ) -> Reply {
        .computed { request in
            guard let range = request.fields["Range"], !range.hasSuffix("-") else {
                return reply.stalled(afterBytes: 1000, until: gate)
            }
            return ranges(reply)
        }
    }

    /// Downloads the first `count` bytes of `url` and pauses, as a process that ended would leave them.
    func leave(_ count: Int, of url: URL, gate: ServerGate) async throws {
        let downloader = downloader(url)
        downloader.start()
        await gate.reached()
        await downloader.hasReceived(Int64(count))
        downloader.pause()
        await downloader.waitUntilIdle()
        server.forgetRequests()
    }
}

extension Downloader {
    /// Returns when so many bytes are on disk, or the download is over.
    func hasReceived(_ count: Int64) async {
        for await event in events {
            if case .progress(let received, _) = event, received >= count { return }
        }
    }

    /// Waits for the end and returns the error; `nil` for a finished download.
    func failure() async -> URLError? {
        do {
            _ = try await file()
            return nil
        } catch {
            return error as? URLError
        }
    }
}

extension Downloader.Event {
    /// The event as short text, for comparison.
    var text: String {
        switch self {
        case .totalSize(let size): "total \(size)"
        case .progress(let received, let total): "progress \(received)/\(total.map { String($0) } ?? "?")"
        case .state(let state): state.kind.rawValue
        case .succeeded(_, let size): "succeeded \(size)"
        case .failed: "failed for good"
        }
    }
}

extension ReceivedRequest {
    /// The bytes that it asks for, of content of that size.
    func bytes(ofContentOf size: Int) -> Range<Int64> {
        let bounds = (fields["Range"] ?? "").dropFirst("bytes=".count).split(separator: "-").compactMap { Int64($0) }
        return (bounds.first ?? 0)..<(bounds.count > 1 ? bounds[1] + 1 : Int64(size))
    }
}

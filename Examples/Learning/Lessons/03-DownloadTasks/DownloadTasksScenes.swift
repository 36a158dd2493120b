import Foundation
import Purl
import PurlTesting

extension Lesson {
    static let downloadTasks = Lesson(
        number: 3, name: "DownloadTasks", scenes: [.fileWithProgress, .unknownLength, .fileTakenTooLate])
}

extension Scene {
    /// A file of which a third arrives first.
    fileprivate static let fileWithProgress = Scene("file-with-progress", "A file and its progress") { stage in
        let gate = ServerGate()
        let reply = Reply.generated(size: 3000).field("Content-Disposition", "attachment; filename=\"report.pdf\"")
        let url = stage.server.route("/documents/7", reply.stalled(afterBytes: 1000, until: gate))
        try await download(url, pausedAt: gate, delegate: saver(on: stage), on: stage)
    }

    /// A file whose length the server does not send.
    fileprivate static let unknownLength = Scene("unknown-length", "A file of unknown length") { stage in
        let gate = ServerGate()
        let reply = Reply.generated(size: 2000).chunked(size: 1000)
        let url = stage.server.route("/export.csv", reply.stalled(afterBytes: 1000, until: gate))
        try await download(url, pausedAt: gate, delegate: saver(on: stage), on: stage)
    }

    /// A delegate that looks for the file in the last call.
    fileprivate static let fileTakenTooLate = Scene("file-taken-too-late", "A file that is taken too late") { stage in
        let url = stage.server.route("/documents/7", .generated(size: 3000))
        let delegate = LateSaver { stage.print($0 ? "the file is there" : "the file is gone") }
        try await download(url, pausedAt: nil, delegate: delegate, on: stage)
    }

    @MainActor
    private static func download(
        _ url: URL, pausedAt gate: ServerGate?, delegate: any URLSessionDownloadDelegate, on stage: Stage
    ) async throws {
        let session = URLSession(configuration: stage.configuration, delegate: delegate, delegateQueue: nil)
        let task = session.downloadTask(with: url)

        stage.turnClock(by: .milliseconds(10))
        task.resume()
        if let gate {
            await stage.waitFor(.didWriteData)
            stage.turnClock(by: .milliseconds(40))
            gate.open()
        }
        await stage.waitFor(.didComplete)
        session.finishTasksAndInvalidate()
    }

    @MainActor
    private static func saver(on stage: Stage) -> FileSaver {
        FileSaver(folder: stage.folder) { progress in
            stage.print(progress.fraction.map { "\(Int($0 * 100)) %" } ?? "\(progress.received) bytes")
        } onEnd: { outcome in
            switch outcome {
            case .saved(let place): stage.print("saved as \(place.lastPathComponent)")
            case .refused(let status): stage.print("refused, status \(status)")
            case .failed(let error): stage.print("failed: \(error.localizedDescription)")
            }
        }
    }
}

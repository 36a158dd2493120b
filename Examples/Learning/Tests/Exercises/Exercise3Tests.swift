import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import LearningExercises

@Suite("Exercise 3: a delegate that saves files", .timeLimit(.minutes(1)))
final class Exercise3Tests {
    private let server: LoopbackServer
    private let folder: URL

    init() throws {
        server = try LoopbackServer(.memory)
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("purl-exercise-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Downloads these, one after the other, with one delegate.
    private func download(_ urls: [URL]) async -> (fractions: [Double?], names: [String?]) {
        let fractions = Shared<[Double?]>([])
        let (ends, continuation) = AsyncStream.makeStream(of: String?.self)
        let onProgress: @Sendable (Double?) -> Void = { fraction in fractions.change { $0.append(fraction) } }
        let onEnd: @Sendable (String?) -> Void = { continuation.yield($0) }
        let delegate: any URLSessionDownloadDelegate =
            Exercises.areMine
            ? Exercise3(folder: folder, onProgress: onProgress, onEnd: onEnd)
            : Solution3(folder: folder, onProgress: onProgress, onEnd: onEnd)
        let configuration = Exercises.configuration(for: server)
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        var names: [String?] = []
        var iterator = ends.makeAsyncIterator()
        for url in urls {
            session.downloadTask(with: url).resume()
            if let name = await iterator.next() { names.append(name) }
        }
        session.finishTasksAndInvalidate()
        return (fractions.value, names)
    }

    private var savedNames: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }

    @Test("A file is saved under the name that the server suggests")
    func name() async throws {
        let content = GeneratedContent(size: 5000)
        let url = server.route(
            "/7", .generated(content).field("Content-Disposition", "attachment; filename=\"report.pdf\""))
        #expect(
            await download([url]).names == ["report.pdf"],
            "The file has the name that the response suggests.")
        #expect(
            try content.matches(fileAt: folder.appendingPathComponent("report.pdf")),
            "The saved file holds what the server sent.")
    }

    @Test("Files of the same name get numbers, and keep their contents")
    func sameName() async throws {
        let contents = (1...3).map { GeneratedContent(size: 1000 * $0) }
        let urls = contents.indices.map { server.route("/\($0)/report.pdf", .generated(contents[$0])) }
        let names = ["report.pdf", "report 2.pdf", "report 3.pdf"]
        #expect(
            await download(urls).names == names,
            "A name that is taken gets a number: “report 2.pdf”, then “report 3.pdf”.")
        #expect(
            try savedNames == names.sorted(),
            "Each download has a file of its own.")
        for (name, content) in zip(names, contents) where try savedNames.contains(name) {
            #expect(
                try content.matches(fileAt: folder.appendingPathComponent(name)),
                "“\(name)” holds what its own download received.")
        }
    }

    @Test("The fractions rise to 1")
    func fractions() async throws {
        let url = server.route("/film", .generated(size: 200_000).inPieces(of: 50_000))
        let fractions = await download([url]).fractions.compactMap(\.self)
        #expect(
            !fractions.isEmpty,
            "Progress is reported at least once.")
        #expect(
            fractions == fractions.sorted(),
            "A fraction is never less than the one before it: it is of all bytes so far, not of the last piece.")
        #expect(
            fractions.last == 1,
            "The last fraction is 1, when everything has arrived.")
        #expect(
            try savedNames == ["film"],
            "The file is saved under the last part of the URL.")
    }

    @Test("There is no fraction of an unknown length")
    func unknownLength() async {
        let url = server.route("/film", .generated(size: 20_000).chunked())
        let fractions = await download([url]).fractions
        #expect(
            !fractions.isEmpty,
            "Progress is reported even if the length is unknown.")
        #expect(
            fractions.allSatisfy { $0 == nil },
            "There is no fraction of a length that is unknown: it is nil.")
    }

    @Test("An error page is not saved")
    func errorPage() async throws {
        let url = server.route("/film", .text("There is no such film.").status(404))
        #expect(
            await download([url]).names == [nil],
            "The end of a task without a saved file is reported with nil.")
        #expect(
            try savedNames == [],
            "A page with the status 404 is not a file to keep.")
    }
}

/// A value that several threads change.
private final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) {
        state = Mutex(value)
    }

    var value: Value { state.withLock { $0 } }

    func change(_ body: @Sendable (inout Value) -> Void) {
        state.withLock { body(&$0) }
    }
}

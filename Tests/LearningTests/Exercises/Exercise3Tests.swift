import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import Learning

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
        #expect(await download([url]).names == ["report.pdf"])
        #expect(try content.matches(fileAt: folder.appendingPathComponent("report.pdf")))
    }

    @Test("Files of the same name get numbers, and keep their contents")
    func sameName() async throws {
        let contents = (1...3).map { GeneratedContent(size: 1000 * $0) }
        let urls = contents.indices.map { server.route("/\($0)/report.pdf", .generated(contents[$0])) }
        let names = ["report.pdf", "report 2.pdf", "report 3.pdf"]
        #expect(await download(urls).names == names)
        #expect(try savedNames == names.sorted())
        for (name, content) in zip(names, contents) where try savedNames.contains(name) {
            #expect(try content.matches(fileAt: folder.appendingPathComponent(name)))
        }
    }

    @Test("The fractions rise to 1")
    func fractions() async throws {
        let url = server.route("/film", .generated(size: 200_000).inPieces(of: 50_000))
        let fractions = await download([url]).fractions.compactMap(\.self)
        #expect(!fractions.isEmpty)
        #expect(fractions == fractions.sorted())
        #expect(fractions.last == 1)
        #expect(try savedNames == ["film"])
    }

    @Test("There is no fraction of an unknown length")
    func unknownLength() async {
        let url = server.route("/film", .generated(size: 20_000).chunked())
        let fractions = await download([url]).fractions
        #expect(!fractions.isEmpty)
        #expect(fractions.allSatisfy { $0 == nil })
    }

    @Test("An error page is not saved")
    func errorPage() async throws {
        let url = server.route("/film", .text("There is no such film.").status(404))
        #expect(await download([url]).names == [nil])
        #expect(try savedNames == [])
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

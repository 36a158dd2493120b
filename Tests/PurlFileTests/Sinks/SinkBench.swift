import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

/// The sinks that write to files.
enum SinkKind: CaseIterable, Sendable {
    case fileHandle, outputStream

    func sink(at file: URL, recordAt record: URL? = nil) -> any BodySink {
        switch self {
        case .fileHandle: FileHandleSink(fileAt: file, recordAt: record)
        case .outputStream: OutputStreamSink(fileAt: file, recordAt: record)
        }
    }
}

/// A file that data tasks write to, and the server they load it from.
struct SinkBench {
    static let tag = "\"v1\""
    let kind: SinkKind
    let server: LoopbackServer
    let sandbox: Sandbox
    let content = GeneratedContent(size: 300_000, seed: 3)

    init(_ kind: SinkKind) throws {
        self.kind = kind
        server = try LoopbackServer()
        sandbox = Sandbox()
    }

    var url: URL { server.url("/file") }
    var file: URL { sandbox.file("movie") }
    var record: URL { sandbox.file("movie.resume") }
    /// The whole resource under a strong tag.
    var good: Reply { .generated(content).entityTag(Self.tag) }
    var bytes: Data? { try? Data(contentsOf: file) }

    func answer(_ reply: Reply) {
        server.route("/file", reply)
    }

    /// The record's entries; nil without a readable record.
    var recorded: [String: Any]? {
        (try? Data(contentsOf: record)).flatMap { try? Tampering.entries(of: $0) }
    }

    /// Runs one task into the file, and returns its outcome. The server's list of requests is emptied before.
    @discardableResult
    func run(
        into sink: (any BodySink)? = nil, request: URLRequest? = nil,
        disposition: URLSession.ResponseDisposition = .allow
    ) async -> Outcome {
        server.forgetRequests()
        let witness = Witness(disposition: disposition)
        let session = sandbox.session(witness)
        let task = session.dataTask(
            with: request ?? URLRequest(url: url), writingTo: sink ?? kind.sink(at: file))
        task.resume()
        await witness.completion()
        session.invalidateAndCancel()
        return Outcome(
            events: witness.events.filter { $0 != .invalid }, data: witness.data(of: task),
            error: witness.error(of: task), status: (task.response as? HTTPURLResponse)?.statusCode,
            received: task.countOfBytesReceived)
    }

    struct Outcome {
        let events: [Witness.Event]
        let data: Data
        let error: URLError?
        let status: Int?
        let received: Int64
    }

    /// Loads the first 100,000 bytes, then the connection is cut.
    func writeTheBeginning(_ reply: Reply? = nil) async {
        answer((reply ?? good).cut(afterBytes: 100_000))
        let outcome = await run()
        expectError(outcome.error, .networkConnectionLost, about: url)
        #expect(outcome.events.last == .completed(.networkConnectionLost))
        #expect(bytes == content.bytes(0..<100_000))
        answer(reply ?? good)
    }

    /// Loads the whole file.
    func writeTheWhole() async {
        answer(good)
        let outcome = await run()
        #expect(outcome.error == nil)
        #expect(bytes == content.data)
    }

    var ranges: [String?] { server.requests.map { $0.fields["Range"] } }
    var conditions: [String?] { server.requests.map { $0.fields["If-Range"] } }
}

import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Uploads whose body cannot be read", .timeLimit(.minutes(5)))
struct UploadFailureTests {
    private let sandbox = Sandbox()

    enum Obstacle: CaseIterable, Sendable {
        case missing, missingFolder, folder, pipe, noFileURL

        var code: URLError.Code {
            switch self {
            case .missing, .missingFolder: .fileDoesNotExist
            case .folder: .fileIsDirectory
            case .pipe, .noFileURL: .cannotOpenFile
            }
        }

        func put(in sandbox: Sandbox) throws -> URL {
            let url = sandbox.file("upload")
            switch self {
            case .missing: break
            case .missingFolder: return url.appendingPathComponent("deeper")
            case .folder: try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
            case .pipe: mkfifo(url.path, 0o600)
            case .noFileURL: return try #require(URL(string: "http://127.0.0.1/upload"))
            }
            return url
        }
    }

    @Test("An upload from an unreadable file sends no request and fails", arguments: Obstacle.allCases)
    func file(obstacle: Obstacle) async throws {
        let server = try LoopbackServer()
        let url = server.url("/file")
        let file = try obstacle.put(in: sandbox)
        let witness = Witness()
        let session = sandbox.session(witness)
        let task = session.uploadTask(with: Upload.request(url), fromFile: file).resumed()
        await witness.completion()
        let awaited = await #expect(throws: URLError.self) {
            try await session.upload(for: Upload.request(url), fromFile: file)
        }
        let handled = await withCheckedContinuation { continuation in
            session.uploadTask(with: Upload.request(url), fromFile: file) { _, _, error in
                continuation.resume(returning: error as? URLError)
            }.resume()
        }
        session.finishTasksAndInvalidate()
        await witness.wait { $0.last == .invalid }
        #expect(witness.events == [.completed(obstacle.code), .invalid])
        for error in [task.error as? URLError, awaited, handled] {
            #expect(error?.code == obstacle.code)
            #expect(error?.failingURL == url)
        }
        #expect(server.acceptedConnections == 0)
    }

    @Test("An upload from a file that shrinks fails with requestBodyStreamExhausted")
    func shorter() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        let url = server.route("/file", .text("done").takingBody(after: gate))
        let upload = try Upload(.file, GeneratedContent(size: Upload.blockedSize))
        let session = upload.sandbox.session(upload.witness)
        let task = session.uploadTask(with: Upload.request(url), fromFile: upload.file).resumed()
        await gate.reached()
        truncate(upload.file.path, 1000)
        gate.open()
        await upload.witness.completion()
        #expect((task.error as? URLError)?.code == .requestBodyStreamExhausted)
        #expect((task.error as? URLError)?.failingURL == url)
        await server.waitUntilDisconnected()
        #expect(server.requests.map(\.isComplete) == [false])
    }

    @Test("An upload from a file that grows sends the original length")
    func longer() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        let url = server.route("/file", .text("done").takingBody(after: gate))
        let upload = try Upload(.file, GeneratedContent(size: 16 << 20, seed: 4))
        let session = upload.sandbox.session(upload.witness)
        let task = session.uploadTask(with: Upload.request(url), fromFile: upload.file).resumed()
        await gate.reached()
        await upload.witness.wait { !$0.isEmpty }
        let handle = try FileHandle(forWritingTo: upload.file)
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("more".utf8))
        gate.open()
        await upload.witness.completion()
        #expect(task.error == nil)
        #expect(server.requests.map { $0.body.isSame(as: upload.content.data) } == [true])
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let code: URLError.Code
        let sentence: String
        let length: String?
        let make: @Sendable () -> ScriptedStream
    }

    static let size = 600_000
    static let streams: [Row] = [
        Row(
            testDescription: "fails", code: .requestBodyStreamExhausted, sentence: "stream failed", length: nil
        ) { ScriptedStream(GeneratedContent(size: size), then: .failure) },
        Row(
            testDescription: "fails, though its length was known", code: .requestBodyStreamExhausted,
            sentence: "stream failed", length: "600001"
        ) { ScriptedStream(GeneratedContent(size: size), then: .failure) },
        Row(
            testDescription: "fails at once", code: .requestBodyStreamExhausted, sentence: "stream failed", length: nil
        ) { ScriptedStream(GeneratedContent(size: 0), then: .failure) },
        Row(
            testDescription: "is too short", code: .requestBodyStreamExhausted, sentence: "600001 bytes",
            length: "600001"
        ) { ScriptedStream(GeneratedContent(size: size)) },
        Row(
            testDescription: "is too long", code: .dataLengthExceedsMaximum, sentence: "599999 bytes", length: "599999"
        ) { ScriptedStream(GeneratedContent(size: size)) },
    ]

    @Test(
        "An upload fails when its stream", arguments: streams,
        [LoadForm.dataDelegate, .dataHandler, .dataAsync, .downloadDelegate])
    func stream(row: Row, form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("done"))
        var request = Upload.request(url)
        let stream = row.make()
        request.httpBodyStream = stream
        request.setValue(row.length, forHTTPHeaderField: "Content-Length")
        let outcome = try await form.load(request)
        outcome.expectFailure(row.code, at: url)
        #expect(outcome.sentence.contains(row.sentence))
        await stream.history.waitUntilClosed()
        #expect(stream.history.closings == 1)
        await server.waitUntilDisconnected()
        // No request was complete for the server.
        #expect(server.requests.allSatisfy { !$0.isComplete })
    }

    @Test("A streamed upload without a stream fails with requestBodyStreamExhausted")
    func noStream() async throws {
        let server = try LoopbackServer()
        let witness = Witness()
        let session = sandbox.session(witness)
        session.uploadTask(withStreamedRequest: Upload.request(server.url("/file"))).resume()
        await witness.completion()
        #expect(witness.events == [.neededStream, .completed(.requestBodyStreamExhausted)])
        #expect(server.acceptedConnections == 0)
    }

    @Test("A stream that another task has read fails with requestBodyStreamExhausted")
    func sharedStream() async throws {
        let server = try LoopbackServer()
        var request = Upload.request(server.route("/file", .text("done")))
        request.httpBodyStream = ScriptedStream(GeneratedContent(size: 1000))
        try await LoadForm.dataAsync.load(request).expectSuccess(Data("done".utf8))
        try await LoadForm.dataAsync.load(request).expectFailure(.requestBodyStreamExhausted, at: request.url)
        #expect(server.requests.count == 1)
    }
}

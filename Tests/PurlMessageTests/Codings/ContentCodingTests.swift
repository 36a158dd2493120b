import Foundation
import Purl
import PurlHTTP
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("Content codings (RFC 9110 §8.4)", .timeLimit(.minutes(5)))
struct ContentCodingTests {
    private let sandbox = Sandbox()

    /// The content that `gzip` decodes to.
    private static let greeting = Data("hello, hello, hello".utf8)
    private static let gzip = Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJ11HIQKIAn6HKCRMAAAA=") ?? Data()

    /// A raw deflate stream without the zlib header, which many servers send as "deflate".
    private static func deflated(_ data: Data) -> Data {
        var encoder = DeflateEncoder()
        var coded: [UInt8] = []
        data.withUnsafeBytes { encoder.encode($0.bytes, into: &coded) }
        encoder.finish(into: &coded)
        return Data(coded)
    }

    private static let text = Data((0..<60_000).flatMap { "\($0 % 977) ".utf8 })
    private static let deflatedText = deflated(text)
    /// Decodes to many times its size.
    private static let bomb = Data(count: 4 << 20)
    private static let deflatedBomb = deflated(bomb)

    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    private func answer(_ body: Data, _ coding: String, _ change: (Reply) -> Reply = { $0 }) -> URL {
        server.route("/file", change(.bytes(body).field("Content-Encoding", coding)))
    }

    // MARK: Decoding

    @Test("A coded body is decoded in every form of loading", arguments: LoadForm.allCases)
    func decoded(form: LoadForm) async throws {
        let outcome = try await form.load(answer(Self.gzip, "gzip"))
        outcome.expectSuccess(Self.greeting)
        #expect(outcome.response?.value(forHTTPHeaderField: "Content-Encoding") == "gzip")
        #expect(outcome.response?.expectedContentLength == NSURLSessionTransferSizeUnknown)
    }

    @Test("A large coded body is decoded in every framing and in pieces of any size", arguments: LoadForm.allCases)
    func large(form: LoadForm) async throws {
        let framings: [(Reply) -> Reply] = [{ $0 }, { $0.chunked() }, { $0.untilClose() }, { $0.inPieces(of: 777) }]
        for framing in framings {
            let outcome = try await form.load(answer(Self.deflatedText, "deflate", framing))
            outcome.expectSuccess(Self.text)
        }
    }

    @Test("A body of an unknown coding, of identity, or of a part is delivered as it was sent")
    func handedOn() async throws {
        for coding in ["br", "identity", "gzip, zstd"] {
            try await LoadForm.dataAsync.load(answer(Self.gzip, coding)).expectSuccess(Self.gzip)
        }
        var request = URLRequest(url: answer(Self.gzip, "gzip") { $0.entityTag("\"v1\"") })
        request.setValue("bytes=2-9", forHTTPHeaderField: "Range")
        try await LoadForm.dataAsync.load(request).expectSuccess(Self.gzip[2..<10])
    }

    @Test("A coded body of no bytes is complete", arguments: ["GET", "HEAD"])
    func empty(method: String) async throws {
        var request = URLRequest(url: answer(method == "HEAD" ? Self.gzip : Data(), "gzip"))
        request.httpMethod = method
        try await LoadForm.dataDelegate.load(request).expectSuccess(Data())
    }

    @Test("A data task that becomes a download writes the decoded body to its file")
    func becomesDownload() async throws {
        let witness = Witness(disposition: .becomeDownload)
        sandbox.session(witness).dataTask(with: answer(Self.gzip, "gzip")).resume()
        await witness.completion()
        #expect(witness.events.contains(.file(Self.greeting.count)))
    }

    // MARK: Failures

    static let damaged: [(what: String, body: Data)] = [
        ("cut off", gzip.dropLast(3)), ("cut off in its header", gzip.prefix(5)), ("not coded at all", greeting),
        ("a wrong checksum", gzip.prefix(gzip.count - 8) + Data(count: 4) + gzip.suffix(4)),
        ("a wrong length", gzip.dropLast() + Data([1])),
    ]

    @Test("A damaged coded body fails with cannotDecodeContentData", arguments: LoadForm.allCases, damaged.map(\.what))
    func broken(form: LoadForm, what: String) async throws {
        let body = try #require(Self.damaged.first { $0.what == what }?.body)
        let url = answer(Data(body), "gzip")
        try await form.load(url).expectFailure(.cannotDecodeContentData, at: url)
    }

    // MARK: Memory

    @Test(
        "A small body that decodes to a large one is decoded no further ahead than the limit", arguments: [false, true])
    func decompressionBomb(isWholeAtOnce: Bool) async throws {
        let taken = Mutex(0)
        let mostAhead = Mutex<Int64>(0)
        let witness = Witness(hook: { task, event in
            guard case .data(let count) = event else { return }
            let before = taken.withLock { taken in
                defer { taken += count }
                return taken
            }
            mostAhead.withLock { $0 = max($0, task.countOfBytesReceived - Int64(before)) }
        })
        let url = answer(Self.deflatedBomb, "deflate") { isWholeAtOnce ? $0 : $0.inPieces(of: 5_000) }
        let session = sandbox.session(witness) { $0.limits.bufferedBytesPerTask = 1 << 20 }
        session.dataTask(with: url).resume()
        await witness.completion()
        #expect(witness.events == [.response(200), .data(Self.bomb.count), .completed(nil)])
        // One portion may be queued when the limit is reached, and one in delivery.
        #expect(mostAhead.withLock { $0 } <= (2 << 20) + 2 * 65_536)
    }

    @Test("A task that is cancelled while it decodes ends with cancelled")
    func cancelled() async throws {
        let witness = Witness(hook: { task, event in
            if case .data = event { task.cancel() }
        })
        let session = sandbox.session(witness)
        let task = session.dataTask(with: answer(Self.deflatedBomb, "deflate")).resumed()
        await witness.completion()
        #expect(witness.events.last == .completed(.cancelled))
        #expect(witness.data(of: task).count < Self.bomb.count)
        session.finishTasksAndInvalidate()
        await witness.wait { $0.last == .invalid }
    }

    // MARK: Accept-Encoding

    @Test(
        "Accept-Encoding names gzip and deflate, identity for a range, or the request's own value",
        arguments: [
            ("a data task", nil, nil, "gzip, deflate"), ("a range", "Range", "bytes=0-1", "identity"),
            ("a request's own", "Accept-Encoding", "br", "br"),
        ] as [(String, String?, String?, String)])
    func acceptEncoding(what: String, name: String?, value: String?, expected: String) async throws {
        var request = URLRequest(url: answer(Self.greeting, "identity"))
        if let name { request.setValue(value, forHTTPHeaderField: name) }
        _ = try await LoadForm.dataAsync.load(request)
        #expect(server.requests.map { $0.fields["Accept-Encoding"] } == [expected])
    }

    @Test("Downloads and sinks ask for identity, so that they can be resumed")
    func acceptEncodingOfFiles() async throws {
        let url = answer(Self.greeting, "identity")
        _ = try await LoadForm.downloadAsync.load(url)
        let witness = Witness()
        sandbox.session(witness).dataTask(with: url, writingTo: FileHandleSink(fileAt: sandbox.file("file"))).resume()
        await witness.completion()
        #expect(server.requests.map { $0.fields["Accept-Encoding"] } == ["identity", "identity"])
    }
}

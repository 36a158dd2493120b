import Foundation
import Purl
import PurlTesting
import Testing

/// Resume data is untrusted input: what Purl would not have written is refused, whatever it says stays inside the
/// partials folder, and no byte of it can make a wrong file.
@Suite(.timeLimit(.minutes(5))) struct TamperedResumeDataTests {
    private let secret = Data("do not touch".utf8)

    /// Goes on with `blob` and expects that it is refused before anything happens.
    private func expectRefusal(of blob: Data, _ paused: PausedDownload) async throws {
        let victim = paused.sandbox.file("victim")
        try secret.write(to: victim)
        let before = try Data(contentsOf: paused.partial)
        let outcome = await paused.resume(blob)
        expectError(outcome.error, .cannotDecodeRawData, about: nil)
        #expect(outcome.error?.downloadTaskResumeData == nil)
        #expect(outcome.events == [.completed(.cannotDecodeRawData)])
        #expect(paused.server.requests.isEmpty)
        #expect(try Data(contentsOf: victim) == secret)
        #expect(try Data(contentsOf: paused.partial) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: paused.sandbox.folder.path).count == 2)
    }

    @Test(arguments: Tampering.refused) func whatWasNeverWrittenIsRefused(_ tampering: Tampering) async throws {
        let paused = try await PausedDownload()
        try await expectRefusal(of: tampering.apply(to: paused.blob), paused)
    }

    @Test(arguments: [
        Data(), Data([0]), Data("bplist00".utf8), Data("<?xml version=\"1.0\"?>".utf8), Data("{}".utf8),
        Data("<plist version=\"1.0\"><array/></plist>".utf8), Data("<plist><dict><key>version</key>".utf8),
        Data("<plist version=\"1.0\"><integer>1</integer></plist>".utf8), Data(repeating: 0xFF, count: 4_096),
    ])
    func whatIsNoPropertyListIsRefused(blob: Data) async throws {
        try await expectRefusal(of: blob, PausedDownload())
    }

    /// Foundation's parser ends the process at such a number.
    @Test(arguments: ["bytesReceived", "totalBytes", "version"])
    func aNumberThatIsNotUTF8IsRefused(key: String) async throws {
        let paused = try await PausedDownload()
        for bytes in [[0xFF], [0xC3], [0x20, 0xF0, 0x9F], Array(repeating: 0xFF, count: 111)] as [[UInt8]] {
            var blob = paused.blob
            let start = try #require(blob.range(of: Data("<key>\(key)</key>".utf8)))
            let tag = try #require(blob.range(of: Data("<integer>".utf8), in: start.upperBound..<blob.endIndex))
            blob.insert(contentsOf: bytes, at: tag.upperBound)
            try await expectRefusal(of: blob, paused)
        }
    }

    @Test func theCompletionHandlerHearsOfItToo() async throws {
        let sandbox = try Sandbox()
        let session = sandbox.session()
        let error = await withCheckedContinuation { continuation in
            session.downloadTask(withResumeData: Data()) { location, response, error in
                #expect(location == nil && response == nil)
                continuation.resume(returning: error)
            }.resume()
        }
        expectError(error, .cannotDecodeRawData, about: nil)
        let thrown = await #expect(throws: URLError.self) { try await session.download(resumeFrom: Data([1])) }
        expectError(thrown, .cannotDecodeRawData, about: nil)
        session.invalidateAndCancel()
    }

    /// Purl writes XML, which a person can read.
    @Test func theBinaryFormIsRefused() async throws {
        let paused = try await PausedDownload()
        try await expectRefusal(of: Tampering("as it was") { _ in }.apply(to: paused.blob, format: .binary), paused)
    }

    @Test(arguments: Tampering.accepted)
    func theSameSaidDifferentlyGoesOn(_ tampering: Tampering) async throws {
        let paused = try await PausedDownload()
        paused.answer(paused.sameResource)
        let outcome = await paused.resume(try tampering.apply(to: paused.blob))
        #expect(outcome.file == paused.content.data)
        #expect(outcome.resumedAt == [100_000])
    }

    @Test(arguments: Tampering.startingOver) func countsAndDigestsThatLieStartOver(_ tampering: Tampering) async throws
    {
        let paused = try await PausedDownload()
        paused.answer(paused.sameResource)
        let outcome = await paused.resume(try tampering.apply(to: paused.blob))
        #expect(outcome.file == paused.content.data)
        #expect(outcome.resumedAt == [0])
        #expect(paused.ranges == [nil])
    }

    /// The partials folder may be one in which other things lie.
    @Test(arguments: ["notes.txt", ".hidden", "purl-notes.txt", "purl-.partial"])
    func filesThatAreNoPartialsAreLeftAlone(name: String) async throws {
        let paused = try await PausedDownload()
        paused.answer(paused.sameResource)
        let notes = paused.sandbox.partials.appendingPathComponent(name)
        let text = Data(repeating: 0x61, count: 200_000)
        try text.write(to: notes)
        let outcome = await paused.resume(try Tampering("partialName", name).apply(to: paused.blob))
        #expect(outcome.error?.code == .cannotDecodeRawData || outcome.file == paused.content.data)
        #expect(try Data(contentsOf: notes) == text)
    }

    /// Field lines cannot be smuggled in through the request that is kept.
    @Test(arguments: ["line\r\nX-Evil: 1", "line\nX-Evil: 1", "nul\u{1}"])
    func brokenFieldsNeverReachTheWire(value: String) async throws {
        let paused = try await PausedDownload()
        paused.answer(paused.sameResource)
        let blob = try Tampering("headers") { entries in
            var request = entries["originalRequest"] as? [String: Any] ?? [:]
            request["headers"] = ["X-Note": value]
            entries["originalRequest"] = request
        }.apply(to: paused.blob)
        let outcome = await paused.resume(blob)
        #expect(outcome.error != nil)
        #expect(paused.server.requests.allSatisfy { $0.fields["X-Evil"] == nil })
        #expect(outcome.file == nil)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, -1, 1e300])
    func absurdTimeOutsDoNoHarm(seconds: Double) async throws {
        let paused = try await PausedDownload()
        paused.answer(paused.sameResource)
        let blob = try Tampering("timeoutInterval") { entries in
            var request = entries["originalRequest"] as? [String: Any] ?? [:]
            request["timeoutInterval"] = seconds
            entries["originalRequest"] = request
        }.apply(to: paused.blob)
        let outcome = await paused.resume(blob)
        #expect(outcome.file == nil || outcome.file == paused.content.data)
    }

    /// A parser that descends into itself must not use up the stack.
    @Test(arguments: ["array", "dict"]) func deepNestingIsSurvived(element: String) async throws {
        await #expect(processExitsWith: .success) { [element] in
            let opening = element == "array" ? "<array>" : "<dict><key>version</key>"
            var text = "<?xml version=\"1.0\"?><plist version=\"1.0\">"
            for _ in 0..<(1_000_000 / opening.utf8.count) { text += opening }
            let session = URLSession(configuration: .default)
            await #expect(throws: URLError.self) { try await session.download(resumeFrom: Data(text.utf8)) }
        }
    }

    /// 100,000 arrays, each the only element of the one before.
    @Test func deepNestingInTheBinaryFormIsSurvived() async throws {
        await #expect(processExitsWith: .success) {
            let depth = 100_000
            func bytes(_ number: Int, _ count: Int) -> [UInt8] {
                (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
            }
            var blob = Data("bplist00".utf8)
            for index in 1..<depth { blob += [0xA1] + bytes(index, 3) }
            blob += [0xA0]
            let table = blob.count
            for index in 0..<depth { blob += bytes(8 + index * 4, 3) }
            blob += [0, 0, 0, 0, 0, 0, 3, 3] + bytes(depth, 8) + bytes(0, 8) + bytes(table, 8)
            let session = URLSession(configuration: .default)
            await #expect(throws: URLError.self) { try await session.download(resumeFrom: blob) }
        }
    }

    /// An array that holds itself.
    @Test func cyclesAreSurvived() async throws {
        await #expect(processExitsWith: .success) {
            var blob = Data("bplist00".utf8)
            // Object 0: an array of one element, which is object 0. Then the offset table and the trailer.
            blob += [0xA1, 0x00, 0x08]
            blob += [0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10]
            let session = URLSession(configuration: .default)
            await #expect(throws: URLError.self) { try await session.download(resumeFrom: blob) }
        }
    }
}

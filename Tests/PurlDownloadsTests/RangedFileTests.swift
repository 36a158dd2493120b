import Foundation
import Purl
import PurlIO
import PurlTesting
import Synchronization
import Testing

@testable import PurlDownloads

private let mebi: Int64 = 1 << 20

@Suite("The file that several connections fill")
final class RangedFileTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ranged-\(UUID().uuidString)")
    let content = GeneratedContent(size: 8 << 20, seed: 3)

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    var place: URL { folder.appendingPathComponent("f") }

    /// Opens the file as another process would, in this boot of the machine.
    func open(
        _ boot: String = "a", writingUpTo limit: Int64 = .max, failingRead: Int? = nil,
        checking: PieceChecking = .found, losses: TestedFiles.Losses = TestedFiles.Losses()
    ) -> RangedFile {
        let files = TestedFiles(boot: boot, limit: limit, failingRead: failingRead, losses: losses)
        return RangedFile(
            FileHandleSink(fileAt: place, recordAt: nil, completion: .safe, through: files), checking: checking)
    }

    func piece(_ range: Range<Int64>) -> Data { content.bytes(Int(range.lowerBound)..<Int(range.upperBound)) }

    /// Writes what a killed process has not recorded any more.
    private func writeUnrecorded(_ range: Range<Int64>) throws {
        let handle = try FileHandle(forWritingTo: place)
        defer { try? handle.close() }
        try handle.seek(toOffset: UInt64(range.lowerBound))
        try handle.write(contentsOf: piece(range))
    }

    /// A file with the first bytes of the resource and the record of a task that writes it, divided for four connections.
    func divided(_ file: RangedFile) async throws -> RangedFile.Generation {
        let server = try LoopbackServer()
        let gate = ServerGate()
        let url = server.route(
            "/f", Reply.generated(content).entityTag("\"v1\"").stalled(afterBytes: 1000, until: gate))
        let session = URLSession(configuration: .ephemeral)
        let task = session.dataTask(with: url, writingTo: file)
        let generation = Mutex<RangedFile.Generation?>(nil)
        let end = TaskEnd()
        task.delegate = end
        file.notifyLeader(
            onFirstBytes: {
                let split = try? file.split(over: 4)
                generation.withLock { $0 = split?.1 }
                // Nothing changes behind the test's back.
                task.cancel()
            }, onOver: {})
        task.resume()
        await end.reached()
        gate.open()
        return try #require(generation.withLock { $0 })
    }

    /// Divides the file, and places 3000 bytes of another part.
    ///
    /// - Returns: How many bytes it has at the beginning.
    private func placeBehind(_ first: RangedFile) async throws -> Int64 {
        let generation = try await divided(first)
        let range = try #require(first.assign(1, in: generation))
        let part = range.lowerBound..<range.lowerBound + 3000
        #expect(try first.place(piece(part), by: 1, in: generation) == .continues)
        return try first.length
    }

    /// Leaves such a file, closed.
    ///
    /// - Returns: How many bytes it has at the beginning.
    private func closedFile() async throws -> Int64 {
        let first = open()
        let length = try await placeBehind(first)
        try first.close()
        return length
    }

    @Test("A killed process loses nothing that it has written")
    func kill() async throws {
        let first = open()
        let generation = try await divided(first)
        let range = try #require(first.assign(1, in: generation))
        #expect(range.count > 1 << 20)
        let part = range.lowerBound..<range.lowerBound + 3000
        #expect(try first.place(piece(part), by: 1, in: generation) == .continues)
        let length = try first.length
        // A write that was not recorded any more.
        try writeUnrecorded(part.upperBound..<part.upperBound + 500)

        let copy = try relocated(first)
        #expect(try copy.length == length)
        #expect(copy.isRanged)
        #expect(copy.presentCount == length + 3500)
    }

    @Test("A file that cannot be read for the moment keeps its ranges")
    func unreadable() async throws {
        let length = try await closedFile()
        // The record, the end of what it counts, the two pages of ranges, and what is behind them.
        for read in 0..<5 {
            let file = open(failingRead: read)
            #expect(throws: (any Error).self, "read \(read)") { try file.length }
            #expect(try file.length == length, "read \(read)")
            #expect(file.isRanged && file.presentCount == length + 3000, "read \(read)")
            try file.close()
        }
    }

    @Test("A kill while the next record is written costs none of the ranges")
    func killWithinRecord() async throws {
        let length = try await closedFile()
        // The one before expected the bytes to follow one another.
        let record = place.appendingPathExtension("resume")
        let name = Data("stopped".utf8)
        var older = try Data(contentsOf: record)
        older.replaceSubrange(try #require(older.firstRange(of: name)), with: Data("writing".utf8))
        try older.write(to: record)
        try Data().write(to: record.appendingPathExtension("new"))

        let second = open()
        #expect(try second.length == length)
        #expect(second.presentCount == length + 3000)
        #expect(
            ResumeRecord(contentsOf: record, of: place, through: TestedFiles(boot: "a"))?.bytesReceived == length + 3000
        )
    }

    @Test("A kill before a new part's first byte is recorded leaves the gap before it missing")
    func killAtStart() async throws {
        let first = open()
        let generation = try await divided(first)
        first.forget(RangedFile.leader, in: generation)
        let before = try #require(first.assign(1, in: generation))
        let front = before.upperBound - 1000
        #expect(try first.place(piece(before.lowerBound..<front), by: 1, in: generation) == .continues)
        let after = try #require(first.assign(2, in: generation))
        #expect(after.lowerBound == before.upperBound)
        try writeUnrecorded(after.lowerBound..<after.lowerBound + 500)

        let copy = try relocated(first)
        #expect(try copy.length == front)
        #expect(copy.presentCount == front + 500)
    }

    @Test("Bytes that count as those of another server's version keep all ranges")
    func adoption() async throws {
        let first = open()
        let length = try await placeBehind(first)
        try first.synchronize()
        let url = try #require(URL(string: "http://mirror.example/f"))
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: "HTTP/1.1",
                headerFields: ["ETag": "\"other\"", "Content-Length": "\(content.size)"]))
        for boot in ["a", "b"] {
            let copy = try relocated(first)
            let copied = try #require(copy.fileURL)
            try copy.close()
            let handle = FileHandleSink(
                fileAt: copied, recordAt: nil, completion: .safe, through: TestedFiles(boot: "a"))
            try handle.adopt(url, asVersionOf: response, .decoded)
            try handle.close()
            let reopened = RangedFile(
                FileHandleSink(fileAt: copied, recordAt: nil, completion: .safe, through: TestedFiles(boot: boot)))
            #expect(try reopened.length == length)
            #expect(reopened.presentCount == length + 3000)
        }
    }

    @Test("A task requests hole after hole, and what others bring is not requested")
    func gaps() async throws {
        let first = open()
        let generation = try await divided(first)
        let ranges = (1...2).compactMap { first.assign($0, in: generation) }
        #expect(ranges.count == 2)
        for (reader, range) in ranges.enumerated() {
            let part = range.lowerBound..<range.lowerBound + 10
            #expect(try first.place(piece(part), by: reader + 1, in: generation) == .continues)
        }
        let copy = try relocated(first)
        var missing: [Range<Int64>] = []
        _ = try copy.length
        let (_, divided) = try #require(try copy.split(over: 1))
        while case .range(let gap) = try copy.nextGap() {
            missing.append(gap)
            #expect(try copy.place(piece(gap), by: RangedFile.leader, in: divided) == .over)
        }
        #expect(try copy.nextGap() == .none)
        #expect(missing.count == 3)
        #expect(missing[0].upperBound == ranges[0].lowerBound)
        #expect(missing[1] == ranges[0].lowerBound + 10..<ranges[1].lowerBound)
        #expect(missing[2] == ranges[1].lowerBound + 10..<Int64(content.size))

        #expect(try first.nextGap() == .range(Int64(try first.length)..<ranges[0].lowerBound))
        let last = try #require(first.assign(3, in: generation))
        #expect(last.upperBound == Int64(content.size))
        first.forget(RangedFile.leader, in: generation)
        #expect(first.assign(4, in: generation)?.lowerBound == missing[0].lowerBound)
        #expect(try first.nextGap() == .ofOthers)
    }

    @Test("What has not been synchronised is known")
    func unsafeBytes() async throws {
        let file = open()
        let generation = try await divided(file)
        try file.synchronize()
        #expect(!file.hasUnsafeBytes)
        let range = try #require(file.assign(1, in: generation))
        #expect(try file.place(piece(range.lowerBound..<range.lowerBound + 10), by: 1, in: generation) == .continues)
        #expect(file.hasUnsafeBytes)
        try file.makeSynchronization()()
        #expect(!file.hasUnsafeBytes)
    }

    @Test("After a power loss only what had been synchronised counts")
    func powerLoss() async throws {
        let first = open()
        let generation = try await divided(first)
        let range = try #require(first.assign(1, in: generation))
        let bound = range.lowerBound + 3000
        #expect(try first.place(piece(range.lowerBound..<bound), by: 1, in: generation) == .continues)
        let length = try first.length
        try first.synchronize()
        #expect(try first.place(piece(bound..<bound + 1000), by: 1, in: generation) == .continues)

        let copy = try relocated(first, boot: "b")
        #expect(try copy.length == length)
        #expect(copy.presentCount == length + 3000)
    }

    /// Places all bytes that are missing.
    func fill(_ file: RangedFile, in generation: RangedFile.Generation) throws {
        var reader = 0
        while let range = file.assign(reader + 1, in: generation) {
            reader += 1
            #expect(try file.place(piece(range), by: reader, in: generation) == .over)
        }
    }

    @Test("A complete file has the resource's length, also where its record was removed", arguments: [true, false])
    func joining(hasRecord: Bool) async throws {
        let file = open()
        let generation = try await divided(file)
        #expect(try file.join() == .incomplete)
        file.forget(RangedFile.leader, in: generation)
        try fill(file, in: generation)
        if !hasRecord { try FileManager.default.removeItem(at: place.appendingPathExtension("resume")) }
        #expect(try file.join() == .complete)
        #expect(!file.isRanged)
        #expect(try file.length == Int64(content.size))
        #expect(try content.matches(fileAt: place))
    }

    @Test("A file is not complete when the disk has lost bytes of it, until it starts over")
    func lostBytes() async throws {
        let losses = TestedFiles.Losses()
        let file = open(losses: losses)
        let generation = try await divided(file)
        file.forget(RangedFile.leader, in: generation)
        try fill(file, in: generation)
        losses.add()
        // The disk tells of it only once.
        for _ in 0..<2 { #expect(throws: (any Error).self) { try file.synchronize() } }
        #expect(!file.hasUnsafeBytes)
        for _ in 0..<2 { #expect(throws: (any Error).self) { try file.join() } }
        #expect(file.isRanged)
        try file.truncate(to: 0)
        try file.synchronize()
    }

    @Test("After the disk has lost bytes only what had been synchronised counts, in the same boot as well")
    func lostRanges() async throws {
        let losses = TestedFiles.Losses()
        let first = open(losses: losses)
        let generation = try await divided(first)
        let range = try #require(first.assign(1, in: generation))
        let bound = range.lowerBound + 3000
        #expect(try first.place(piece(range.lowerBound..<bound), by: 1, in: generation) == .continues)
        let length = try first.length
        try first.synchronize()
        #expect(try first.place(piece(bound..<bound + 1000), by: 1, in: generation) == .continues)
        losses.add()
        #expect(throws: (any Error).self) { try first.synchronize() }
        // What follows is not safe either.
        #expect(try first.place(piece(bound + 1000..<bound + 2000), by: 1, in: generation) == .continues)

        let copy = try relocated(first)
        #expect(try copy.length == length)
        #expect(copy.presentCount == length + 3000)
    }

    @Test("What is found lost when the file would be complete is not forgotten")
    func lostBytesAtEnd() async throws {
        let losses = TestedFiles.Losses()
        let file = open(losses: losses)
        let generation = try await divided(file)
        file.forget(RangedFile.leader, in: generation)
        try fill(file, in: generation)
        losses.add()
        for _ in 0..<2 { #expect(throws: (any Error).self) { try file.join() } }
    }

    @Test("What one connection has lost is still lost when others write as well")
    func lostBytesBefore() async throws {
        let losses = TestedFiles.Losses()
        let file = open(losses: losses)
        try file.append(piece(0..<1000))
        losses.add()
        for _ in 0..<2 { #expect(throws: (any Error).self) { try file.synchronize() } }
    }

    @Test("What is dropped with a version does not come back")
    func truncation() async throws {
        let file = open()
        let generation = try await divided(file)
        let range = try #require(file.assign(1, in: generation))
        #expect(try file.place(piece(range.lowerBound..<range.lowerBound + 10), by: 1, in: generation) == .continues)
        try file.truncate(to: 0)
        #expect(try file.length == 0)
        #expect(try file.place(piece(0..<10), by: 1, in: generation) == .outdated)
        #expect(file.assign(2, in: generation) == nil)
        #expect(try file.length == 0)
        #expect(!file.isRanged)
    }

    @Test(
        "Where the first page is damaged, the second one counts, and without both the beginning",
        arguments: [0, 20, 60, 120])
    func damage(offset: UInt64) async throws {
        let first = open()
        let generation = try await divided(first)
        let length = try first.length
        try first.synchronize()
        let range = try #require(first.assign(1, in: generation))
        #expect(try first.place(piece(range.lowerBound..<range.lowerBound + 10), by: 1, in: generation) == .continues)
        let page = UInt64(RangeJournal.place(behind: Int64(content.size)))
        try changeByte(at: page + offset)
        let copy = try relocated(first)
        #expect(try copy.length == length)
        #expect(copy.presentCount == length)

        try changeByte(at: page + 4096 + offset)
        let other = try relocated(first)
        _ = try other.length
        #expect(!other.isRanged)
    }

    func changeByte(at offset: UInt64) throws {
        let handle = try FileHandle(forUpdating: place)
        try handle.seek(toOffset: offset)
        let old = try #require(try handle.read(upToCount: 1))
        try handle.seek(toOffset: offset)
        try handle.write(contentsOf: Data([old[0] ^ 1]))
        try handle.close()
    }

    @Test("A full disk ends the connection that meets it, and nothing is counted that is not there")
    func fullDisk() async throws {
        let file = open(writingUpTo: 6 * mebi)
        let generation = try await divided(file)
        let ranges = (1...3).compactMap { file.assign($0, in: generation) }
        let last = try #require(ranges.last)
        let before = file.presentCount
        #expect(throws: (any Error).self) {
            try file.place(piece(last.lowerBound..<last.lowerBound + 10), by: 3, in: generation)
        }
        #expect(file.presentCount == before)
        #expect(
            try file.place(piece(ranges[0].lowerBound..<ranges[0].lowerBound + 10), by: 1, in: generation) == .continues
        )
    }

    /// A copy of the files, as they are while the first process still has them open.
    func relocated(
        _ file: RangedFile, boot: String = "a", checking: PieceChecking = .found
    ) throws -> RangedFile {
        let other = folder.appendingPathComponent("copy-\(UUID().uuidString)")
        try FileManager.default.copyItem(at: file.fileURL ?? place, to: other)
        let record = try #require(try file.loadRecord())
        try record.write(to: other.appendingPathExtension("resume"))
        return RangedFile(
            FileHandleSink(fileAt: other, recordAt: nil, completion: .safe, through: TestedFiles(boot: boot)),
            checking: checking)
    }
}

@Suite("What proves a range")
struct RangeProofTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let status: Int
        let fields: [String: String]
        let verdict: RangeProof.Verdict

        var testDescription: String { "\(status) \(fields.sorted { $0.key < $1.key })" }
    }

    private static let right = ["ETag": "\"v1\"", "Content-Range": "bytes 100-199/1000", "Content-Length": "100"]

    private static func changed(_ name: String, _ value: String?) -> [String: String] {
        var fields = right
        fields[name] = value
        return fields
    }

    static let cases = [
        Case(status: 206, fields: right, verdict: .proven),
        Case(status: 206, fields: changed("Content-Length", nil), verdict: .proven),
        Case(status: 206, fields: changed("Content-Range", "bytes 100-199/*"), verdict: .proven),
        Case(status: 206, fields: changed("ETag", "\"v2\""), verdict: .otherVersion),
        Case(status: 206, fields: changed("ETag", "W/\"v1\""), verdict: .otherVersion),
        Case(status: 206, fields: changed("ETag", nil), verdict: .unproven),
        Case(status: 206, fields: changed("Content-Range", "bytes 100-199/1001"), verdict: .otherVersion),
        Case(status: 206, fields: changed("Content-Range", "bytes 99-199/1000"), verdict: .unproven),
        Case(status: 206, fields: changed("Content-Range", "bytes 101-199/1000"), verdict: .unproven),
        Case(status: 206, fields: changed("Content-Range", "bytes 100-198/1000"), verdict: .unproven),
        Case(status: 206, fields: changed("Content-Range", "bytes 100-200/1000"), verdict: .unproven),
        Case(status: 206, fields: changed("Content-Range", nil), verdict: .unproven),
        Case(status: 206, fields: changed("Content-Length", "99"), verdict: .unproven),
        Case(status: 206, fields: changed("Content-Encoding", "gzip"), verdict: .unproven),
        Case(status: 200, fields: ["ETag": "\"v1\"", "Content-Length": "1000"], verdict: .unproven),
        Case(status: 200, fields: ["ETag": "\"v2\"", "Content-Length": "1000"], verdict: .otherVersion),
        Case(status: 200, fields: [:], verdict: .unproven),
        Case(status: 416, fields: ["Content-Range": "bytes */50"], verdict: .otherVersion),
        Case(status: 416, fields: ["Content-Range": "bytes */1000"], verdict: .unproven),
        Case(status: 429, fields: [:], verdict: .busy),
        Case(status: 503, fields: right, verdict: .busy),
        Case(status: 302, fields: right, verdict: .refused),
        Case(status: 403, fields: right, verdict: .refused),
        Case(status: 404, fields: right, verdict: .refused),
        Case(status: 502, fields: [:], verdict: .refused),
    ]

    @Test("Only the range that was asked for, of the version and length that were found", arguments: cases)
    func verdict(example: Case) throws {
        let url = try #require(URL(string: "http://example.org/"))
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: example.status, httpVersion: "HTTP/1.1", headerFields: example.fields))
        let proof = RangeProof(validator: "\"v1\"", total: 1000)
        #expect(proof.verdict(on: response, to: 100..<200) == example.verdict)
    }

    @Test("The request names the range and the version, and no other condition")
    func request() throws {
        var whole = URLRequest(url: try #require(URL(string: "http://example.org/")))
        whole.setValue("\"old\"", forHTTPHeaderField: "If-None-Match")
        whole.setValue("gzip", forHTTPHeaderField: "Accept-Encoding")
        whole.setValue("yes", forHTTPHeaderField: "X-Own")
        let request = RangeProof(validator: "\"v1\"", total: 1000).request(for: 100..<200, like: whole)
        #expect(
            request.allHTTPHeaderFields == [
                "Range": "bytes=100-199", "If-Range": "\"v1\"", "Accept-Encoding": "identity", "X-Own": "yes",
            ])
    }
}

@Suite("How many connections there are")
struct ConnectionGrowthTests {
    @Test(
        "One more as long as the last one has made the whole a tenth faster",
        arguments: [
            ([10, 20, 30, 40, 50, 60], 6), ([10, 20, 21], 2), ([10, 10.9], 1), ([10, 11.1, 12], 2), ([0, 0, 0], 1),
        ])
    func growth(rates: [Double], connections: Int) {
        var growth = ConnectionGrowth(maximum: 6)
        var count = 1
        for round in 0..<10 {
            for _ in 0..<ConnectionGrowth.measurements {
                if let next = growth.connections(at: rates[min(round, rates.count - 1)], open: count) { count = next }
            }
        }
        #expect(count == connections)
    }

    @Test("None is added after the server has refused one")
    func refused() {
        var growth = ConnectionGrowth(maximum: 6)
        growth.stop()
        for _ in 0..<100 { #expect(isNil(growth.connections(at: 1, open: 1))) }
    }

    private func isNil(_ value: Int?) -> Bool { value == nil }

    @Test("Numbers are from 1 to 64", arguments: [(0, 1), (-5, 1), (1, 1), (8, 8), (64, 64), (65, 64), (Int.max, 64)])
    func number(given: Int, number: Int) {
        #expect(ConnectionCount(given).number == number)
        #expect(ConnectionCount.adaptive.number == nil)
    }
}

@Suite("What is learnt of a server")
struct ServerExperienceTests {
    @Test("Ranges are given up after three refusals without a range between them")
    func refusals() {
        let experience = ParallelTransfer.Experience()
        for _ in 0..<10 {
            experience.addRefusal()
            experience.addRefusal()
            #expect(!experience.refusesRanges)
            experience.addRange()
        }
        for _ in 0..<3 { experience.addRefusal() }
        #expect(experience.refusesRanges)
    }

    @Test("After a range that failed the next leader requests everything, until a range has arrived")
    func distrust() {
        let experience = ParallelTransfer.Experience()
        #expect(!experience.distrustsRanges)
        experience.addFailure()
        #expect(experience.distrustsRanges)
        #expect(!experience.refusesRanges)
        experience.addRange()
        #expect(!experience.distrustsRanges)
        experience.addRefusal()
        #expect(experience.distrustsRanges)
    }

    @Test("A version may change once; a response that proves to be no range is enough")
    func versions() {
        let experience = ParallelTransfer.Experience()
        experience.addOtherVersion()
        #expect(!experience.refusesRanges)
        experience.addOtherVersion()
        #expect(experience.refusesRanges)
        let other = ParallelTransfer.Experience()
        other.addUnproven()
        #expect(other.refusesRanges)
    }

    @Test("Leaders that bring nothing follow one another three times")
    func leaders() {
        let experience = ParallelTransfer.Experience()
        for _ in 0..<3 { #expect(experience.allowsLeader(hasProgress: false)) }
        #expect(experience.allowsLeader(hasProgress: true))
        for _ in 0..<3 { #expect(experience.allowsLeader(hasProgress: false)) }
        #expect(!experience.allowsLeader(hasProgress: false))
    }

    @Test("A connection is opened again after a while, and after twice that while when it is refused again")
    func recovery() {
        var recovery = ConnectionRecovery()
        check(recovery.adds(after: .seconds(100), isComplete: false), false)
        recovery.refused()
        check(recovery.adds(after: .seconds(3), isComplete: false), false)
        check(recovery.adds(after: .seconds(1), isComplete: true), false)
        check(recovery.adds(after: .seconds(1), isComplete: false), true)
        check(recovery.adds(after: .seconds(1), isComplete: false), false)
        recovery.refused()
        check(recovery.adds(after: .seconds(7), isComplete: false), false)
        check(recovery.adds(after: .seconds(1), isComplete: false), true)
    }

    @Test("The server is left alone for as long as it has asked for")
    func retryAfter() {
        var recovery = ConnectionRecovery()
        recovery.refused(asking: .seconds(60))
        check(recovery.adds(after: .seconds(63), isComplete: false), false)
        check(recovery.adds(after: .seconds(1), isComplete: false), true)
    }

    private func check(_ value: Bool, _ expected: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(value == expected, sourceLocation: sourceLocation)
    }
}

/// Waits for the end of a task.
private final class TaskEnd: NSObject, URLSessionDataDelegate {
    private let stream = AsyncStream<Void>.makeStream()

    func reached() async {
        for await _ in stream.stream {}
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        stream.continuation.finish()
    }
}

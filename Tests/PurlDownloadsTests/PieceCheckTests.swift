import Foundation
import Purl
import PurlHTTP
import PurlTesting
import Synchronization
import Testing

@testable import PurlDownloads

private let mebi: Int64 = 1 << 20

private func check<Value: Equatable>(
    _ value: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(value == expected, sourceLocation: sourceLocation)
}

@Suite("Which pieces are digested")
struct PieceChecksTests {
    private static let pieces = FilePieces(total: 45, pieceLength: 10)
    private static let list = PieceList(
        pieceLength: 10, length: 45, digests: (0..<5).map { [UInt8](repeating: $0, count: 32) })

    struct Case: Sendable, CustomTestStringConvertible {
        let checking: PieceChecking
        /// Pieces that are complete, in the order in which they are digested, of bytes that were there before.
        let found: [Int]
        /// Of bytes that are placed.
        let placed: [Int]
        /// Whether the file waits for these.
        let waits: Bool

        var testDescription: String {
            switch checking {
            case .found: "found"
            case .recorded: "recorded"
            case .delivered: "delivered"
            case .listed: "listed"
            }
        }
    }

    @Test(
        "Known ones always, the others where that is wanted, and the file waits for what its owner needs",
        arguments: [
            Case(checking: .found, found: [1], placed: [], waits: false),
            Case(checking: .recorded, found: [0, 2, 1], placed: [3], waits: false),
            Case(checking: .delivered, found: [0, 2, 1], placed: [3], waits: true),
            Case(checking: .listed(list), found: [0, 2, 1], placed: [3], waits: true),
        ])
    func lines(item: Case) {
        var checks = PieceChecks(item.checking, of: Self.pieces)
        checks.find([0..<35]) { $0.contains(1) ? [1..<2] : [] }
        #expect(checks.isPending)
        var digested: [Int] = []
        while let piece = checks.next() {
            #expect(checks.isPending || piece != 1)
            digested.append(piece)
            checks.keep()
        }
        #expect(digested == item.found)
        #expect(!checks.isPending)
        let plan = RangePlan(total: 45, present: [0..<42])
        checks.place(35..<42, by: 1, in: plan)
        #expect(checks.isPending == item.waits)
        check(checks.next(), item.placed.first)
        check(checks.next(), nil)
        #expect(checks.isPending == item.waits)
        checks.putBack()
        check(checks.next(), item.placed.first)
        checks.keep()
        #expect(!checks.isPending && !checks.hasNext)
    }

    @Test("Pieces that arrive too fast are not digested for a later attempt, but for this one they are")
    func backlog() {
        let pieces = FilePieces(total: 1000, pieceLength: 10)
        for (checking, digests) in [(PieceChecking.recorded, false), (.delivered, true)] {
            var checks = PieceChecks(checking, of: pieces)
            checks.place(0..<320, by: 1, in: RangePlan(total: 1000, present: [0..<320]))
            #expect(checks.hasNext)
            checks.place(320..<330, by: 1, in: RangePlan(total: 1000, present: [0..<330]))
            #expect(checks.hasNext == digests)
            checks.place(330..<340, by: 1, in: RangePlan(total: 1000, present: [0..<340]))
            #expect(checks.hasNext == digests)
        }
    }

    @Test("All who have brought a byte of a wrong piece are named, the one before the attempt too")
    func origins() {
        var checks = PieceChecks(.listed(Self.list), of: Self.pieces)
        checks.find([0..<15]) { _ in [] }
        check(checks.next(), 0)
        check(checks.drop(), [])
        checks.place(15..<18, by: 1, in: RangePlan(total: 45, present: [0..<18]))
        checks.place(18..<22, by: 2, in: RangePlan(total: 45, present: [0..<22]))
        check(checks.next(), 1)
        check(checks.drop(), [PieceChecks.earlier, 1, 2])
        checks.place(22..<30, by: 3, in: RangePlan(total: 45, present: [0..<10, 20..<30]))
        check(checks.next(), 2)
        check(checks.drop(), [2, 3])
        checks.place(20..<30, by: 4, in: RangePlan(total: 45, present: [0..<10, 20..<30]))
        check(checks.next(), 2)
        check(checks.drop(), [4])
        #expect(checks.dropped == 4)
    }
}

@Suite("Bytes of the plan that are dropped")
struct RangeDropTests {
    @Test("are one rest that no connection reads, and what lies behind is kept")
    func middle() {
        var plan = RangePlan(total: 100, present: [0..<60], share: 1)
        plan.assignLeader(0)
        plan.drop(20..<30)
        #expect(plan.present == [0..<20, 30..<60])
        #expect(plan.rest(of: 0) == 60..<100)
        #expect(plan.prefix == 20)
        check(plan.assign(1), 20..<30)
        #expect(plan.placement(of: 5, by: 0) == RangePlan.Placement(skipped: 0, offset: 60, count: 5))
        check(plan.place(10, by: 1), true)
        #expect(plan.present == [0..<60])
    }

    @Test("are one rest also where several connections have brought them")
    func severalSegments() {
        var plan = RangePlan(total: 90, share: 1)
        plan.spread(over: 9)
        for reader in 0..<9 {
            _ = plan.assignUnread(reader)
            check(plan.place(10, by: reader), true)
        }
        #expect(plan.isComplete)
        plan.drop(25..<55)
        #expect(plan.present == [0..<25, 55..<90])
        check(plan.assignUnread(9), 25..<55)
    }

    @Test("are no more than the journal has room for, until some of them have come again")
    func many() {
        var plan = RangePlan(total: 10_000, present: [0..<10_000], share: 1)
        var holes = 0
        while plan.hasRoomToDrop, holes < 500 {
            plan.drop(Int64(holes * 20)..<Int64(holes * 20 + 10))
            holes += 1
        }
        #expect(holes == 240)
        #expect(plan.segments.count <= RangeJournal.maximumRanges)
        #expect(plan.presentCount == 10_000 - 2400)
        for reader in 1...holes {
            check(plan.assignUnread(reader)?.count, 10)
            check(plan.place(10, by: reader), true)
            #expect(plan.hasRoomToDrop)
        }
        #expect(plan.isComplete)
    }

    @Test(
        "Whatever is dropped, the segments cover the file, and what is there is what was not dropped",
        arguments: 0..<200)
    func random(seed: UInt64) {
        var random = SeededNumbers(seed: seed)
        var plan = RangePlan(total: 200, share: 1)
        plan.spread(over: .random(in: 1...6, using: &random))
        var expected = Set<Int64>()
        for _ in 0..<300 where !plan.isComplete {
            let reader = Int.random(in: 0..<5, using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0: plan.forget(reader)
            case 1:
                guard let part = plan.present.randomElement(using: &random) else { break }
                let start = Int64.random(in: part, using: &random)
                let range = start..<Int64.random(in: start + 1...part.upperBound, using: &random)
                plan.drop(range)
                expected.subtract(range)
            default:
                if plan.rest(of: reader) == nil {
                    plan.release(reader)
                    _ = plan.assign(reader)
                }
                let count = Int.random(in: 1...20, using: &random)
                guard let placement = plan.placement(of: count, by: reader) else { break }
                expected.formUnion(placement.offset..<placement.offset + Int64(placement.count))
                if plan.place(count, by: reader) { plan.release(reader) }
            }
            #expect(plan.segments.first?.start == 0 && plan.segments.last?.end == 200)
            #expect(zip(plan.segments, plan.segments.dropFirst()).allSatisfy { $0.end == $1.start })
            #expect(plan.segments.allSatisfy { $0.start <= $0.front && $0.front <= $0.end })
            #expect(Set(plan.present.flatMap { $0 }) == expected)
            #expect(plan.present.allSatisfy(plan.has))
            #expect(plan.presentCount == Int64(expected.count))
        }
    }
}

/// Numbers whose sequence a seed decides.
private struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &+ 1 }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ (state >> 29)
    }
}

extension RangedFileTests {
    /// What came of the pieces, one after another.
    private struct Results {
        let values: AsyncStream<PieceResult>
        private let continuation: AsyncStream<PieceResult>.Continuation

        init(_ file: RangedFile) {
            (values, continuation) = AsyncStream<PieceResult>.makeStream()
            file.startChecks { [continuation] in continuation.yield($0) }
        }

        func next() async -> PieceResult? {
            for await value in values { return value }
            return nil
        }

        /// The bytes that are dropped next.
        func dropped() async -> Range<Int64>? {
            for await value in values {
                if case .dropped(let bytes, _) = value { return bytes }
            }
            return nil
        }
    }

    /// A file in which connection 1 has brought all of its share, of which at least one piece is digested.
    private func digested(_ checking: PieceChecking = .recorded) async throws -> (
        RangedFile, RangedFile.Generation, Int64
    ) {
        let file = open(checking: checking)
        let generation = try await divided(file)
        let range = try #require(file.assign(1, in: generation))
        let results = Results(file)
        #expect(try file.place(piece(range), by: 1, in: generation) == .over)
        guard case .right = await results.next() else { throw CocoaError(.featureUnsupported) }
        return (file, generation, (range.lowerBound + mebi - 1) / mebi * mebi)
    }

    @Test("A byte that has changed since its piece was digested costs the next attempt this piece alone")
    func damagedPiece() async throws {
        let (first, _, start) = try await digested()
        let count = first.presentCount
        try changeByte(at: UInt64(start) + 12_345)
        for checking in [PieceChecking.found, .recorded, .delivered] {
            let copy = try relocated(first, checking: checking)
            _ = try copy.length
            #expect(await Results(copy).dropped() == start..<start + mebi)
            #expect(copy.presentCount == count - mebi)
            #expect(copy.droppedPieces == 1)
        }
    }

    @Test("A piece that was dropped is missing after a kill, too, and is right when it has come again")
    func droppedAndKilled() async throws {
        let (first, _, start) = try await digested()
        try changeByte(at: UInt64(start))
        let second = try relocated(first)
        let length = try second.length
        #expect(await Results(second).dropped() == start..<start + mebi)
        let third = try relocated(second)
        #expect(try third.length == length)
        #expect(third.presentCount == first.presentCount - mebi)
        let (_, generation) = try #require(try third.split(over: 1))
        try fill(third, in: generation)
        let results = Results(third)
        while try third.join() == .checking {
            guard case .right = await results.next() else { throw CocoaError(.featureUnsupported) }
        }
        #expect(try content.matches(fileAt: #require(third.fileURL)))
    }

    /// A complete file as a killed process has left it, whose pieces are digested, and one of them is damaged.
    private func damagedFile() async throws -> RangedFile {
        let first = open(checking: .recorded)
        let generation = try await divided(first)
        first.forget(RangedFile.leader, in: generation)
        let results = Results(first)
        try fill(first, in: generation)
        for _ in 0..<8 { _ = await results.next() }
        try changeByte(at: UInt64(3 * mebi + 12_345))
        return try relocated(first)
    }

    /// How an attempt ends whose leader has ended without a response that was accepted.
    private func end(_ error: URLError?, of file: RangedFile) async -> ParallelTransfer.End {
        let transfer = ParallelTransfer(file, 1, session: .shared, ParallelTransfer.Experience())
        let end = await withCheckedContinuation { continuation in
            transfer.leaderEnded(error) { continuation.resume(returning: $0) }
        }
        return withExtendedLifetime(transfer) { end }
    }

    @Test("Another leader follows one that has found a damaged piece, and none at once one that was refused")
    func refusedLeader() async throws {
        let file = try await damagedFile()
        _ = try file.length
        let first = await end(nil, of: file)
        guard case .again(nil, nil) = first else {
            Issue.record("\(first)")
            return
        }
        #expect(file.droppedPieces == 1)
        let second = await end(URLError(.cancelled), of: file)
        guard case .leader(let error?) = second else {
            Issue.record("\(second)")
            return
        }
        #expect((error as? URLError)?.code == .cancelled)
    }

    @Test("A server that refuses the piece which is missing again is left alone for as long as it asks")
    func refusedPiece() async throws {
        let place = try #require(try await damagedFile().fileURL)
        let fixture = try DownloadFixture()
        let arrivals = Mutex<[ContinuousClock.Instant]>([])
        let reply = Reply.generated(content).entityTag("\"v1\"")
        let url = fixture.server.route(
            "/f",
            .computed { _ in
                let count = arrivals.withLock { arrivals in
                    arrivals.append(.now)
                    return arrivals.count
                }
                return count == 1 ? .status(503).field("Retry-After", "1") : reply
            })
        let configuration = fixture.configuration(retries: 1)
        configuration.session.files = TestedFiles(boot: "a")
        let download = Downloader(url: url, configuration: configuration)
        try FileManager.default.createDirectory(at: fixture.unfinished, withIntermediateDirectories: true)
        try FileManager.default.moveItem(at: place, to: fixture.partial(download))
        try FileManager.default.moveItem(at: place.appendingPathExtension("resume"), to: fixture.record(download))
        download.start()
        #expect(try content.matches(fileAt: try await download.file()))
        #expect(fixture.ranges == Array(repeating: "bytes=3145728-4194303", count: 2))
        let times = arrivals.withLock { $0 }
        try #require(times.count == 2)
        #expect(times[1] - times[0] >= .seconds(1))
    }

    @Test("A digest in the ledger that is damaged itself costs a request, and not a second one")
    func damagedDigest() async throws {
        let (first, _, start) = try await digested()
        let place = RangeJournal.place(behind: Int64(content.size)) + 2 * 4096 + 64
        try changeByte(at: UInt64(place + start / mebi * 32 + 7))
        let copy = try relocated(first, checking: .recorded)
        _ = try copy.length
        let results = Results(copy)
        #expect(await results.dropped() == start..<start + mebi)
        let (_, generation) = try #require(try copy.split(over: 1))
        let range = try #require(copy.plan(in: generation)?.present.last)
        #expect(range.lowerBound == start + mebi)
        try fill(copy, in: generation)
        while try copy.join() == .checking { _ = await results.next() }
        #expect(copy.droppedPieces == 0)
        #expect(try content.matches(fileAt: #require(copy.fileURL)))
    }

    @Test("A ledger's head that is damaged means that nothing is known")
    func damagedHead() async throws {
        let (first, _, start) = try await digested()
        try changeByte(at: UInt64(RangeJournal.place(behind: Int64(content.size)) + 2 * 4096 + 17))
        try changeByte(at: UInt64(start))
        let copy = try relocated(first)
        _ = try copy.length
        #expect(copy.presentCount == first.presentCount)
        #expect(copy.isRanged)
    }

    @Test("A piece that a list does not have is missing at once, and the connection is named that has brought it")
    func wrongPiece() async throws {
        var digests = try await listed()
        digests[3][0] ^= 1
        let list = PieceList(pieceLength: mebi, length: nil, digests: digests)
        let file = open(checking: .listed(list))
        let generation = try await divided(file)
        var reader = 0
        while let range = file.assign(reader + 1, in: generation) {
            reader += 1
            #expect(try file.place(piece(range), by: reader, in: generation) == .over)
            file.forget(RangedFile.leader, in: generation)
        }
        // From here on, or else a connection of the loop could be assigned what is dropped.
        let results = Results(file)
        for await result in results.values {
            guard case .dropped(let bytes, let readers) = result else { continue }
            #expect(bytes == 3 * mebi..<4 * mebi)
            #expect(!readers.isEmpty && readers.isSubset(of: 1...reader))
            break
        }
        #expect(file.assign(99, in: generation) == 3 * mebi..<4 * mebi)
    }

    private func listed() async throws -> [[UInt8]] {
        (0..<8).map { index in
            var digest = SHA256()
            digest.update(piece(Int64(index) * mebi..<Int64(index + 1) * mebi).bytes)
            return digest.finalize()
        }
    }

    @Test("The digests of all pieces are known when the file is complete, whoever has brought which part of them")
    func delivered() async throws {
        let file = open(checking: .delivered)
        let generation = try await divided(file)
        file.forget(RangedFile.leader, in: generation)
        let results = Results(file)
        try fill(file, in: generation)
        while try file.join() == .checking { _ = await results.next() }
        let expected = try await listed()
        #expect(file.checkedPieces == .digested(FilePieces(total: 8 * mebi), Array(expected.joined())))
        #expect(try content.matches(fileAt: place))
    }

    @Test("One connection for which nothing is asked digests nothing")
    func nothingAsked() async throws {
        let file = open()
        _ = try await divided(file)
        #expect(!file.checksPieces)
        #expect(ConnectionCount(1).checking == .found)
        #expect(ConnectionCount(2).checking == .recorded)
        #expect(ConnectionCount.adaptive.checking == .recorded)
    }

    @Test("A version that is dropped while a piece is digested gets no digest")
    func truncated() async throws {
        let (file, _, _) = try await digested()
        try file.truncate(to: 0)
        try file.append(piece(0..<10))
        #expect(try file.length == 10)
        #expect(try Data(contentsOf: place) == piece(0..<10))
    }
}

import Foundation
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("The ledger of a file's pieces")
struct PieceLedgerTests {
    private static let mebi: Int64 = 1 << 20

    @Test(
        "The last piece has what is left",
        arguments: [
            (0, 10, 0, 0), (1, 10, 1, 1), (10, 10, 1, 10), (11, 10, 2, 1), (Int64.max, 1 << 20, 1 << 43, (1 << 20) - 1),
        ]
            as [(Int64, Int64, Int, Int)])
    func last(total: Int64, pieceLength: Int64, count: Int, length: Int) {
        let pieces = FilePieces(total: total, pieceLength: pieceLength)
        #expect(pieces.count == count)
        guard count > 0 else { return }
        #expect(pieces.bytes(of: count - 1).count == length)
        #expect(pieces.bytes(of: count - 1).upperBound == total)
    }

    @Test(
        "Bytes touch pieces, and cover those of which they have every byte",
        arguments: [
            (0..<0, 0..<0, 0..<0), (0..<1, 0..<1, 0..<0), (0..<10, 0..<1, 0..<1), (5..<25, 0..<3, 1..<2),
            (10..<30, 1..<3, 1..<3), (5..<9, 0..<1, 1..<1), (30..<35, 3..<4, 3..<4), (31..<35, 3..<4, 4..<4),
            (29..<35, 2..<4, 3..<4),
        ] as [(Range<Int64>, Range<Int>, Range<Int>)])
    func ranges(bytes: Range<Int64>, touched: Range<Int>, covered: Range<Int>) {
        let pieces = FilePieces(total: 35, pieceLength: 10)
        #expect(pieces.touched(by: bytes) == touched)
        #expect(pieces.covered(by: bytes) == covered)
    }

    @Test(
        "Pieces that are too many, too short or too long have none",
        arguments: [
            (Int64.max, mebi, false), (1 << 41, mebi, true), (1 << 41 + 1, mebi, false), (mebi, 1 << 16, true),
            (mebi, 65_535, false), (1 << 30, 64 << 20, true), (1 << 30, (64 << 20) + 1, false),
        ] as [(Int64, Int64, Bool)])
    func bounds(total: Int64, pieceLength: Int64, hasLedger: Bool) {
        #expect((PieceLedger(FilePieces(total: total, pieceLength: pieceLength)) != nil) == hasLedger)
    }

    @Test("A head is read as it was written, for a resource of this length alone, and with no byte changed")
    func head() throws {
        let ledger = try #require(PieceLedger(FilePieces(total: 5 * Self.mebi)))
        #expect(PieceLedger(head: Data(ledger.head), total: 5 * Self.mebi) == ledger)
        #expect(PieceLedger(head: Data(ledger.head), total: 5 * Self.mebi + 1) == nil)
        #expect(PieceLedger(head: Data(ledger.head.dropLast()), total: 5 * Self.mebi) == nil)
        #expect(PieceLedger(head: Data(count: 64), total: 5 * Self.mebi) == nil)
        for index in ledger.head.indices {
            var head = ledger.head
            head[index] ^= 1
            #expect(PieceLedger(head: Data(head), total: 5 * Self.mebi) == nil)
        }
    }

    /// A file with pages, so that a ledger has a place behind them.
    private func file(_ total: Int64) throws -> (FileHandleSink, URL) {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("ledger-\(UUID().uuidString)")
        let sink = FileHandleSink(fileAt: url)
        try sink.saveRanges(RangeJournal(total: total, version: .init(validator: "\"1\""), filled: []), .written)
        return (sink, url)
    }

    @Test("Digests are where they were put, and nothing is known of the others")
    func digests() throws {
        let (sink, url) = try file(3 * Self.mebi)
        defer { try? FileManager.default.removeItem(at: url) }
        let ledger = try #require(PieceLedger(FilePieces(total: 3 * Self.mebi)))
        #expect(try sink.ledger(behind: 3 * Self.mebi) == nil)
        try sink.begin(ledger)
        #expect(try sink.ledger(behind: 3 * Self.mebi) == ledger)
        try sink.save([UInt8](repeating: 7, count: 32), of: 1, in: ledger)
        let zeros = [UInt8](repeating: 0, count: 32)
        #expect(try sink.digests(of: 0..<3, in: ledger) == zeros + [UInt8](repeating: 7, count: 32) + zeros)
        #expect(try sink.digests(of: 2..<2, in: ledger).isEmpty)

        try sink.begin(ledger)
        #expect(try sink.digests(of: 1..<2, in: ledger).first == 7)
        let other = try #require(PieceLedger(FilePieces(total: 3 * Self.mebi, pieceLength: 1 << 16)))
        try sink.begin(other)
        #expect(try sink.ledger(behind: 3 * Self.mebi) == other)
        #expect(try sink.digests(of: 0..<48, in: other).allSatisfy { $0 == 0 })
    }

    @Test("The ranges of a file with a ledger count", arguments: [0, 64, 32 * 3 + 64])
    func pages(count: Int) throws {
        let total = 3 * Self.mebi
        let resume = RangeJournal.fileLength(total) + Int64(count)
        #expect(RangeJournal.isBehind(total, in: try Self.pagesOnly(total, length: resume)))
    }

    private static func pagesOnly(_ total: Int64, length: Int64) throws -> Data {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("pages-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: url) }
        let sink = FileHandleSink(fileAt: url)
        try sink.saveRanges(RangeJournal(total: total, version: .init(validator: "\"1\""), filled: []), .written)
        try sink.close()
        let handle = try FileHandle(forWritingTo: url)
        try handle.truncate(atOffset: UInt64(length))
        try handle.close()
        return try Data(contentsOf: url)
    }
}

import Foundation
import PurlTesting
import Testing

@Suite("Generated content")
struct GeneratedContentTests {
    @Test(
        "The bytes of a range equal that range of the whole",
        arguments: [
            0..<0, 0..<1, 262_138..<262_140, 262_143..<262_146, 500_000..<1_000_000, 999_999..<1_000_000, 0..<1_000_000,
        ])
    func ranges(range: Range<Int>) {
        let content = GeneratedContent(size: 1_000_000, seed: 3)
        #expect(content.bytes(range) == content.data[range])
        #expect(content.matches(content.bytes(range), at: range.lowerBound))
    }

    @Test("Ranges beyond the end are clamped; negative sizes are empty")
    func limits() {
        #expect(GeneratedContent(size: 10).bytes(5..<100).count == 5)
        #expect(GeneratedContent(size: -5).data.isEmpty)
        #expect(GeneratedContent(size: .max).bytes((.max - 3)..<(.max)).count == 3)
    }

    @Test("Contents with different seeds differ")
    func seeds() {
        let beginnings = Set((0..<2_000).map { GeneratedContent(size: 64, seed: $0).data })
        #expect(beginnings.count == 2_000)
    }

    @Test("Bytes of another offset do not match", arguments: [1, 512, 4_096, 65_536, 262_144, 1 << 20])
    func misplaced(distance: Int) {
        let content = GeneratedContent(size: 4 << 20)
        #expect(!content.matches(content.bytes(distance..<(distance + 4_096)), at: 0))
    }

    @Test("The first difference is found at any position", arguments: [0, 1, 262_139, 262_144, 699_999])
    func difference(position: Int) {
        let content = GeneratedContent(size: 1_000_000)
        var data = content.bytes(300_000..<1_000_000)
        data[position] ^= 1
        #expect(content.firstDifference(from: data, at: 300_000) == position)
    }

    @Test("Bytes beyond the end differ")
    func surplus() {
        let content = GeneratedContent(size: 10)
        #expect(content.firstDifference(from: content.data + [0]) == 10)
        #expect(content.firstDifference(from: Data([0]), at: 11) == 0)
        #expect(content.firstDifference(from: Data([0]), at: -1) == 0)
    }

    @Test("A file matches only with all of the content and nothing else")
    func files() throws {
        let content = GeneratedContent(size: 700_000, seed: 9)
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: url) }
        try content.data.write(to: url)
        #expect(try content.matches(fileAt: url))
        try content.data.dropLast().write(to: url)
        #expect(try !content.matches(fileAt: url))
        try (content.data + [1]).write(to: url)
        #expect(try !content.matches(fileAt: url))
    }
}

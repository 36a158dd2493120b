import PurlHTTP
import Testing

@Suite("Content codings (RFC 9110 §8.4)")
struct ContentDecoderTests {
    @Test("A body is decoded, however it is cut", arguments: CodedSample.short)
    func everyCut(sample: CodedSample) {
        let expected = Decoded(content: sample.expected)
        for pieces in everySplit(of: sample.coded) { #expect(decoded(sample.codings, pieces) == expected) }
    }

    @Test("A long body is decoded, in pieces of any size and as much at a time as wanted", arguments: CodedSample.long)
    func long(sample: CodedSample) {
        let coded = sample.coded
        let expected = Decoded(content: sample.expected)
        for size in [1, 3, 100, coded.count] {
            let pieces = stride(from: 0, to: coded.count, by: size).map {
                Array(coded[$0..<min(coded.count, $0 + size)])
            }
            for limit in [997, 65_536, .max] { #expect(decoded(sample.codings, pieces, limit: limit) == expected) }
        }
    }

    @Test("No call gives more than its limit, and nothing is lost by it", arguments: CodedSample.short, [1, 2, 7, 200])
    func limits(sample: CodedSample, limit: Int) {
        #expect(decoded(sample.codings, [sample.coded], limit: limit) == Decoded(content: sample.expected))
        #expect(
            decoded(sample.codings, sample.coded.map { [$0] }, limit: limit) == Decoded(content: sample.expected))
    }

    @Test("A limit of nothing takes nothing")
    func noLimit() throws {
        var decoder = try #require(ContentDecoder(codings: ["gzip"]))
        var output: [UInt8] = []
        #expect(try decoder.decode([0x1F, 0x8B].span.bytes, into: &output, limit: 0) == 0)
        #expect(decoder.stoppedAtLimit)
    }

    /// Those after whose first complete end nothing else counts.
    static let single = CodedSample.short.filter { !$0.name.contains("after it") && !$0.name.contains("three") }

    @Test("A body that stops before its end is truncated", arguments: single + CodedSample.long.prefix(1))
    func truncated(sample: CodedSample) {
        guard ContentDecoder(codings: sample.codings)?.isIdentity == false else { return }
        let coded = sample.coded
        for count in 1..<coded.count {
            let result = decoded(sample.codings, [Array(coded[..<count])])
            #expect(result.error == .truncated)
            #expect(sample.expected.starts(with: result.content))
        }
    }

    @Test("Of several gzip members each must be whole")
    func truncatedMember() throws {
        let member = try #require(CodedSample.short.first).coded
        for count in 2..<member.count {
            #expect(decoded(["gzip"], [member + member[..<count]]).error == .truncated)
        }
        #expect(decoded(["gzip"], [member + member[..<1]]).error == nil)
    }

    @Test(
        "A body of no bytes is complete, whatever its coding",
        arguments: [["gzip"], ["deflate"], ["gzip", "deflate"], []])
    func empty(codings: [String]) {
        #expect(decoded(codings, []) == Decoded())
        #expect(decoded(codings, [[], []]) == Decoded())
    }

    static let unknown: [[String]] = [
        ["br"], ["zstd"], ["compress"], ["gzip", "br"], ["x-deflate"], ["gzip;q=1"],
        Array(repeating: "gzip", count: 6),
    ]

    @Test("Unknown codings, and too many of them, are refused", arguments: unknown)
    func refuses(codings: [String]) {
        #expect(ContentDecoder(codings: codings) == nil)
    }

    @Test("A small body that means very much comes out in small parts")
    func bomb() throws {
        // Three million zeros, compressed twice.
        let coded = try #require(
            Base64.decode(
                "H4sIAAAAAAACA5Pv5mAAASbmtwcZGYGMJoX/6/M8HBgZRsEoGAWjYBSMglEwCkbBKBgFVAD6bKmLGH0PHNNlAACqklIQfQsAAA=="
                    .utf8))
        var decoder = try #require(ContentDecoder(codings: ["gzip", "gzip"]))
        var offset = 0
        var total = 0
        var largest = 0
        repeat {
            var part: [UInt8] = []
            offset += try decoder.decode(
                coded.span.bytes.extracting(droppingFirst: offset), into: &part, limit: 50_000)
            total += part.count
            largest = max(largest, part.count)
        } while offset < coded.count || decoder.stoppedAtLimit
        try decoder.finish()
        #expect(total == 3_000_000)
        #expect(largest == 50_000)
    }

    @Test("What was not taken out yet is missed at the end")
    func unfinished() throws {
        let sample = try #require(CodedSample.short.first)
        var decoder = try #require(ContentDecoder(codings: sample.codings))
        var output: [UInt8] = []
        _ = try decoder.decode(sample.coded.span.bytes, into: &output, limit: 3)
        #expect(decoder.stoppedAtLimit)
        #expect(throws: DecodeError.truncated) { try decoder.finish() }
    }

    @Test("A copy goes its own way")
    func copies() throws {
        let sample = try #require(CodedSample.short.first { $0.name == "dynamic codes" })
        let coded = sample.coded
        var first = try #require(ContentDecoder(codings: sample.codings))
        var (left, right): ([UInt8], [UInt8]) = ([], [])
        let half = try first.decode(coded.span.bytes.extracting(first: 150), into: &left, limit: .max)
        var second = first
        right = left
        _ = try second.decode([0xFF, 0xFF, 0xFF].span.bytes, into: &right, limit: .max)
        _ = try first.decode(coded.span.bytes.extracting(droppingFirst: half), into: &left, limit: .max)
        try first.finish()
        #expect(left == sample.expected)
    }

    @Test("Every error says in a sentence what is wrong, and none says the same as another")
    func descriptions() {
        let errors: [DecodeError] = [
            .truncated, .invalidHeader, .headerChecksumMismatch, .presetDictionary, .invalidBlockType,
            .storedLengthMismatch, .invalidCodeLengths, .invalidSymbol, .distanceTooFar, .checksumMismatch,
            .lengthMismatch,
        ]
        #expect(Set(errors.map(\.description)).count == errors.count)
        for error in errors { #expect(error.description.hasSuffix(".")) }
    }
}

import PurlHTTP
import Testing

@Suite("Content codings (RFC 9110 §8.4)")
struct ContentDecoderTests {
    @Test("A body is decoded, however it is cut", arguments: CodedSample.short)
    func everyCut(sample: CodedSample) {
        let expected = Decoded(content: sample.expected)
        for pieces in everySplit(of: sample.coded) { #expect(decoded(sample.codings, pieces) == expected) }
    }

    @Test("A long body is decoded in pieces of any size and with any limit", arguments: CodedSample.long)
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

    @Test("No call gives more than its limit, and no byte is lost", arguments: CodedSample.short, [1, 2, 7, 200])
    func limits(sample: CodedSample, limit: Int) {
        #expect(decoded(sample.codings, [sample.coded], limit: limit) == Decoded(content: sample.expected))
        #expect(
            decoded(sample.codings, sample.coded.map { [$0] }, limit: limit) == Decoded(content: sample.expected))
    }

    @Test("A limit of 0 takes no bytes")
    func noLimit() throws {
        var decoder = try #require(ContentDecoder(codings: ["gzip"]))
        var output: [UInt8] = []
        #expect(try decoder.decode([0x1F, 0x8B].span.bytes, into: &output, limit: 0) == 0)
        #expect(decoder.stoppedAtLimit)
    }

    /// The samples without bytes after their first complete end.
    static let single = CodedSample.short.filter { !$0.name.contains("after it") && !$0.name.contains("three") }

    @Test("A body that stops before its end fails as truncated", arguments: single + CodedSample.long.prefix(1))
    func truncated(sample: CodedSample) {
        guard ContentDecoder(codings: sample.codings)?.isIdentity == false else { return }
        let coded = sample.coded
        for count in 1..<coded.count {
            let result = decoded(sample.codings, [Array(coded[..<count])])
            #expect(result.error == .truncated)
            #expect(sample.expected.starts(with: result.content))
        }
    }

    @Test("Each of several gzip members must be complete")
    func truncatedMember() throws {
        let member = try #require(CodedSample.short.first).coded
        for count in 2..<member.count {
            #expect(decoded(["gzip"], [member + member[..<count]]).error == .truncated)
        }
        #expect(decoded(["gzip"], [member + member[..<1]]).error == nil)
    }

    @Test(
        "An empty body is complete in any coding",
        arguments: [["gzip"], ["deflate"], ["gzip", "deflate"], []])
    func empty(codings: [String]) {
        #expect(decoded(codings, []) == Decoded())
        #expect(decoded(codings, [[], []]) == Decoded())
    }

    static let unknown: [[String]] = [
        ["br"], ["zstd"], ["compress"], ["gzip", "br"], ["x-deflate"], ["gzip;q=1"],
        Array(repeating: "gzip", count: 6),
    ]

    @Test("Unknown codings, and too many codings, are rejected", arguments: unknown)
    func rejects(codings: [String]) {
        #expect(ContentDecoder(codings: codings) == nil)
    }

    @Test("A decompression bomb is decoded in small parts")
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

    @Test("A body whose bytes were not all delivered fails at the end")
    func unfinished() throws {
        let sample = try #require(CodedSample.short.first)
        var decoder = try #require(ContentDecoder(codings: sample.codings))
        var output: [UInt8] = []
        _ = try decoder.decode(sample.coded.span.bytes, into: &output, limit: 3)
        #expect(decoder.stoppedAtLimit)
        #expect(throws: DecodeError.truncated) { try decoder.finish() }
    }

    @Test("A copy is independent of the original")
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

    @Test("Each error has a sentence of its own")
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

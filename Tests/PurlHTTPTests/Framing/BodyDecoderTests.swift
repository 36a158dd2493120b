import PurlHTTP
import Testing

@Suite("Bodies without a transfer coding")
struct BodyDecoderTests {
    @Test(
        "An empty body ends at once, on empty input too", arguments: [BodyFraming.none, .length(0), .length(-1)])
    func empty(framing: BodyFraming) throws {
        var decoder = BodyDecoder(framing)
        var offset = 0
        #expect(!decoder.isComplete)
        #expect(try decoder.decode([UInt8]().span.bytes, from: &offset) == .end(trailers: [:]))
        #expect(decoder.isComplete)
        #expect(body(framing, ["next".bytes]).found == [Body(trailers: [:], leftOver: 4)])
        #expect(body(framing, [], atEnd: true).found == [Body(trailers: [:])])
    }

    @Test("A body with a length has exactly that many bytes")
    func length() {
        for pieces in everySplit(of: "hellonext".bytes) {
            #expect(body(.length(5), pieces).found == [Body(content: "hello", trailers: [:], leftOver: 4)])
        }
        for pieces in everySplit(of: "hello".bytes) {
            #expect(body(.length(5), pieces, atEnd: true).found == [Body(content: "hello", trailers: [:])])
            #expect(body(.length(6), pieces).found == [Body(content: "hello")])
            #expect(body(.length(6), pieces, atEnd: true).error == .prematureEnd)
            #expect(body(.length(.max), pieces, atEnd: true).error == .prematureEnd)
        }
    }

    @Test("A body until close ends when the peer closes")
    func untilClose() {
        for pieces in everySplit(of: "hello".bytes) {
            #expect(body(.untilClose, pieces).found == [Body(content: "hello")])
            #expect(body(.untilClose, pieces, atEnd: true) == Outcome(found: [Body(content: "hello", trailers: [:])]))
        }
        #expect(body(.untilClose, [], atEnd: true).found == [Body(trailers: [:])])
    }

    @Test("The rest of a plain body may bypass the decoder, in part or whole")
    func skipping() throws {
        var decoder = BodyDecoder(.length(10))
        var offset = 0
        #expect(decoder.plainRemainder == 10)
        #expect(try decoder.decode("abc".bytes.span.bytes, from: &offset) == .bytes(0..<3))
        decoder.skip(5)
        #expect(decoder.plainRemainder == 2)
        decoder.skip(2)
        #expect(decoder.plainRemainder == nil)
        #expect(try decoder.decode([UInt8]().span.bytes, from: &offset) == .end(trailers: [:]))
    }

    @Test("Other bodies have no known remainder", arguments: [BodyFraming.none, .chunked, .untilClose])
    func noPlainRemainder(framing: BodyFraming) {
        var decoder = BodyDecoder(framing)
        decoder.skip(1)
        #expect(decoder.plainRemainder == nil)
    }

    @Test("Events carry ranges of the input, and the end follows the last byte")
    func events() throws {
        var decoder = BodyDecoder(.length(5))
        let input = "..hello..".bytes
        var offset = 2
        #expect(try decoder.decode(input.span.bytes, from: &offset) == .bytes(2..<7))
        #expect(!decoder.isComplete)
        #expect(offset == 7)
        #expect(try decoder.decode(input.span.bytes, from: &offset) == .end(trailers: [:]))
        #expect(decoder.isComplete)
        #expect(try decoder.decode(input.span.bytes, from: &offset) == nil)
        #expect(offset == 7)
        #expect(try decoder.endOfStream() == .end(trailers: [:]))
    }

    @Test("An offset outside the input takes no bytes", arguments: [-1, 100, Int.min, Int.max])
    func strangeOffsets(offset: Int) throws {
        for framing in [BodyFraming.length(5), .chunked, .untilClose] {
            var decoder = BodyDecoder(framing)
            var moving = offset
            #expect(try decoder.decode("hello".bytes.span.bytes, from: &moving) == nil)
            #expect(moving == offset)
        }
    }
}

import PurlHTTP
import Testing

@Suite("Masking (RFC 6455 §5.3)")
struct MaskingTests {
    @Test("The RFC's example is masked")
    func example() {
        var writer = WebSocketWriter(role: .client)
        #expect(
            written("Hello".bytes, isText: true, by: &writer, key: 0x3D21_FA37)
                == [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
        var server = WebSocketWriter(role: .server)
        #expect(written("Hello".bytes, isText: true, by: &server) == [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
    }

    @Test("Masking word by word equals masking byte by byte, at every length and offset")
    func words() {
        let key: [UInt8] = [0x9A, 0x01, 0xFE, 0x57]
        let word = key.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        for count in 0...80 {
            for start in 0...9 {
                for offset in 0...4 {
                    let content = CodedSample.noise(start + count)
                    var masked = content
                    WebSocketMask.apply(word, offset: offset, to: &masked, from: start)
                    let expected = content.enumerated().map { place, byte in
                        place < start ? byte : byte ^ key[(place - start + offset) % 4]
                    }
                    #expect(masked == expected)
                }
            }
        }
    }

    @Test("Each frame has a key of its own, and each is undone", arguments: [0, 1, 125, 126, 65_535, 65_536, 200_001])
    func keys(size: Int) {
        var writer = WebSocketWriter(role: .client)
        var keys: [UInt32] = []
        var output: [UInt8] = []
        let content = CodedSample.noise(size)
        for number in 0..<3 as Range<UInt32> {
            var position = 0
            while !writer.write(
                content.span.bytes, isText: false, from: &position,
                makeKey: {
                    keys.append(0x0102_0304 &* (number + 1))
                    return keys[keys.count - 1]
                }, into: &output)
            {}
        }
        writer.write(.ping, "p".bytes, makeKey: { 7 }, into: &output)
        #expect(keys.count == 3)
        #expect(
            webSocketEvents([output], role: .server)
                == WebSocketOutcome([.binary(content), .binary(content), .binary(content), .ping("p".bytes)]))
    }
}

import PurlHTTP

/// What a decoder made of its whole input.
struct Decoded: Equatable, Sendable {
    var content: [UInt8] = []
    var error: DecodeError?
}

/// Decodes a body that comes in pieces, `limit` bytes at a time. `atEnd`: the body ends with the last piece.
func decoded(
    _ codings: [String], _ pieces: [[UInt8]], limit: Int = .max, atEnd: Bool = true
) -> Decoded {
    var result = Decoded()
    guard var decoder = ContentDecoder(codings: codings) else { return result }
    do throws(DecodeError) {
        for piece in pieces {
            var offset = 0
            repeat {
                let before = result.content.count
                offset += try decoder.decode(
                    piece.span.bytes.extracting(droppingFirst: offset), into: &result.content, limit: limit)
                // Never more than was asked for.
                if limit < .max, result.content.count - before > limit { return Decoded() }
            } while offset < piece.count || decoder.stoppedAtLimit
        }
        if atEnd { try decoder.finish() }
    } catch {
        result.error = error
    }
    return result
}

/// Writes the bits of compressed blocks one by one.
struct BitWriter {
    private(set) var bytes: [UInt8] = []
    private var used = 0

    /// A number, its lowest bit first.
    func number(_ value: Int, _ count: Int) -> BitWriter {
        (0..<count).reduce(self) { $0.bit(value >> $1 & 1) }
    }

    /// A Huffman code, its highest bit first.
    func code(_ value: Int, _ count: Int) -> BitWriter {
        (0..<count).reversed().reduce(self) { $0.bit(value >> $1 & 1) }
    }

    private func bit(_ bit: Int) -> BitWriter {
        var copy = self
        if copy.used == 0 { copy.bytes.append(0) }
        copy.bytes[copy.bytes.count - 1] |= UInt8(bit << copy.used)
        copy.used = (copy.used + 1) % 8
        return copy
    }
}

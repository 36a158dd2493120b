/// Undoes one content coding: deflate compression with what `gzip` or `deflate` put around it.
///
/// Theory of operation:
/// ```
/// gzip      gzipHeader   header                     → body
///           body         compressed bytes           → trailer
///           trailer      checksum and length        → nextMember
///           nextMember   1F 8B                      → gzipHeader
///                        anything else              → ended
/// deflate   zlibHeader   first two bytes: zlib      → body → trailer (checksum) → ended
///                        anything else: no wrapping → body → ended
/// ```
/// Bytes after the end are skipped, as browsers do: servers pad with zeros.
struct CompressedStream: Sendable {
    /// The codings that this undoes.
    enum Coding {
        case gzip
        case deflate
    }

    /// What surrounds the compressed bytes.
    private enum Wrapping {
        case gzip(CRC32)
        case zlib(Adler32)
        case none
    }

    private enum State {
        case gzipHeader(GzipHeaderReader)
        case zlibHeader(first: UInt8?)
        case body
        case trailer(value: UInt64, count: Int)
        case nextMember(sawFirst: Bool)
        case ended
    }

    private var state: State
    private var wrapping = Wrapping.none
    private var inflater = Inflater()
    /// Decoded bytes of this member, as gzip counts them.
    private var length: UInt32 = 0
    private var isUntouched = true

    init(_ coding: Coding) {
        switch coding {
        case .gzip: state = .gzipHeader(GzipHeaderReader())
        case .deflate: state = .zlibHeader(first: nil)
        }
    }

    /// Takes bytes from `position` on and appends the decoded ones until `output` has `goal` bytes.
    /// Fewer mean that all input is taken and no decoded bytes are held.
    mutating func decode(
        _ input: RawSpan, from position: inout Int, into output: inout [UInt8], upTo goal: Int
    ) throws(DecodeError) {
        if position < input.byteCount { isUntouched = false }
        while true {
            inflater.window.deliver(into: &output, upTo: goal)
            guard output.count < goal else { return }
            if case .body = state {
                guard try decodeBody(input, &position) else {
                    inflater.window.deliver(into: &output, upTo: goal)
                    return
                }
            } else {
                guard position < input.byteCount else { return }
                try take(Span<UInt8>(_bytes: input), &position)
            }
        }
    }

    /// Ends the stream after all its bytes were delivered. Throws when it is not complete. A body without any bytes
    /// counts as complete: servers name a coding for those too.
    func finish() throws(DecodeError) {
        guard !inflater.window.hasUndelivered else { throw .truncated }
        switch state {
        case .ended, .nextMember: return
        case .gzipHeader, .zlibHeader, .body, .trailer:
            guard isUntouched else { throw .truncated }
        }
    }

    /// Takes the next byte of what surrounds the compressed bytes.
    private mutating func take(_ bytes: Span<UInt8>, _ position: inout Int) throws(DecodeError) {
        let byte = bytes[position]
        position += 1
        switch state {
        case .gzipHeader(var reader):
            if try reader.take(byte) {
                beginBody(in: .gzip(CRC32()))
            } else {
                state = .gzipHeader(reader)
            }
        case .zlibHeader(nil):
            state = .zlibHeader(first: byte)
        case .zlibHeader(let first?):
            try takeZlibHeader(first, byte)
        case .body:
            break
        case .trailer(let value, let count):
            try takeTrailer(value | UInt64(byte) << UInt64(8 * count), count + 1)
        case .nextMember(sawFirst: false):
            state = byte == 0x1F ? .nextMember(sawFirst: true) : .ended
        case .nextMember(sawFirst: true):
            guard byte == 0x8B else {
                state = .ended
                return
            }
            var reader = GzipHeaderReader()
            _ = try reader.take(0x1F)
            _ = try reader.take(0x8B)
            state = .gzipHeader(reader)
        case .ended:
            position = bytes.count
        }
    }

    private mutating func takeZlibHeader(_ first: UInt8, _ second: UInt8) throws(DecodeError) {
        // RFC 1950 §2.2: method 8, a window of up to 32 KiB, and a number that 31 divides.
        if first & 0x0F == 8, first >> 4 <= 7, (UInt16(first) << 8 | UInt16(second)) % 31 == 0 {
            guard second & 0x20 == 0 else { throw .presetDictionary }
            beginBody(in: .zlib(Adler32()))
            return
        }
        // RFC 9110 §8.4.1.2: some send the compressed bytes without the zlib format around them.
        beginBody(in: .none)
        let held = [first, second]
        var position = 0
        _ = try decodeBody(RawSpan(_elements: held.span), &position)
    }

    private mutating func beginBody(in wrapping: Wrapping) {
        self.wrapping = wrapping
        length = 0
        inflater.reset()
        state = .body
    }

    /// False when it needs more input.
    private mutating func decodeBody(_ input: RawSpan, _ position: inout Int) throws(DecodeError) -> Bool {
        let stop = try inflater.inflate(input, from: &position)
        let fresh = inflater.window.undelivered
        length &+= UInt32(truncatingIfNeeded: fresh.count)
        let isFinished = stop == .finished
        switch wrapping {
        case .gzip(var checksum):
            checksum.update(RawSpan(_elements: inflater.window.bytes.span.extracting(fresh)))
            wrapping = .gzip(checksum)
            if isFinished { state = .trailer(value: 0, count: 0) }
        case .zlib(var checksum):
            checksum.update(RawSpan(_elements: inflater.window.bytes.span.extracting(fresh)))
            wrapping = .zlib(checksum)
            if isFinished { state = .trailer(value: 0, count: 0) }
        case .none:
            if isFinished { state = .ended }
        }
        return stop != .needsInput
    }

    /// `value`: the first `count` bytes, the first the least significant.
    private mutating func takeTrailer(_ value: UInt64, _ count: Int) throws(DecodeError) {
        state = .trailer(value: value, count: count)
        switch wrapping {
        case .gzip(let checksum):
            guard count == 8 else { return }
            guard UInt32(truncatingIfNeeded: value) == checksum.value else { throw .checksumMismatch }
            guard UInt32(truncatingIfNeeded: value >> 32) == length else { throw .lengthMismatch }
            state = .nextMember(sawFirst: false)
        case .zlib(let checksum):
            guard count == 4 else { return }
            guard UInt32(truncatingIfNeeded: value).byteSwapped == checksum.value else { throw .checksumMismatch }
            state = .ended
        case .none:
            state = .ended
        }
    }
}

/// Reads the header of a gzip member (RFC 1952 §2.3) from input that comes in pieces. It keeps none of it.
struct GzipHeaderReader: Sendable {
    private enum Part {
        /// The ten bytes every header has.
        case fixed(index: Int)
        case extraLength(index: Int)
        case extra
        case name
        case comment
        case checksum(index: Int)
    }

    private var part = Part.fixed(index: 0)
    private var flags: UInt8 = 0
    private var extraLength = 0
    private var checksum = CRC32()
    private var expected: UInt32 = 0

    /// Takes the next byte. True: it was the last of the header.
    mutating func take(_ byte: UInt8) throws(DecodeError) -> Bool {
        if case .checksum = part {} else { checksum.update(byte) }
        switch part {
        case .fixed(let index):
            try check(byte, at: index)
            guard index == 9 else {
                part = .fixed(index: index + 1)
                return false
            }
            return begin(after: 0)
        case .extraLength(let index):
            extraLength |= Int(byte) << (8 * index)
            guard index == 1 else {
                part = .extraLength(index: 1)
                return false
            }
            guard extraLength == 0 else {
                part = .extra
                return false
            }
            return begin(after: Flag.extra)
        case .extra:
            extraLength -= 1
            return extraLength == 0 && begin(after: Flag.extra)
        case .name:
            return byte == 0 && begin(after: Flag.name)
        case .comment:
            return byte == 0 && begin(after: Flag.comment)
        case .checksum(let index):
            expected |= UInt32(byte) << UInt32(8 * index)
            guard index == 1 else {
                part = .checksum(index: 1)
                return false
            }
            guard checksum.value & 0xFFFF == expected else { throw .headerChecksumMismatch }
            return true
        }
    }

    private mutating func check(_ byte: UInt8, at index: Int) throws(DecodeError) {
        switch index {
        case 0: guard byte == 0x1F else { throw .invalidHeader }
        case 1: guard byte == 0x8B else { throw .invalidHeader }
        // 8 is deflate, the only method defined.
        case 2: guard byte == 8 else { throw .invalidHeader }
        case 3:
            // RFC 1952 §2.3.1.2: a reserved flag may mean that data follows which cannot be understood.
            guard byte & 0xE0 == 0 else { throw .invalidHeader }
            flags = byte
        // Time, speed and system.
        default: break
        }
    }

    /// Goes to the next part there is, in the order of the header, or ends.
    private mutating func begin(after flag: UInt8) -> Bool {
        if flag < Flag.extra, flags & Flag.extra != 0 {
            part = .extraLength(index: 0)
        } else if flag < Flag.name, flags & Flag.name != 0 {
            part = .name
        } else if flag < Flag.comment, flags & Flag.comment != 0 {
            part = .comment
        } else if flags & Flag.checksum != 0 {
            part = .checksum(index: 0)
        } else {
            return true
        }
        return false
    }

    /// The bits of the flag byte.
    private enum Flag {
        static let checksum: UInt8 = 0x02
        static let extra: UInt8 = 0x04
        static let name: UInt8 = 0x08
        static let comment: UInt8 = 0x10
    }
}

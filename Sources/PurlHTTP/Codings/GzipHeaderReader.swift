/// Reads the header of a gzip member (RFC 1952 §2.3) from input that comes in pieces. Nothing of it is kept.
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
        // 8 is deflate, the only method there is.
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

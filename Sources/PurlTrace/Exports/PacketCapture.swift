public import Foundation
public import Purl

/// A trace as a file of packets (pcapng), which Wireshark and `tshark -r` open without privileges.
///
/// The packets are made up, since the recorder sees messages and not the network: for each connection one with SYN, heads and
/// bodies as TCP segments with right sequence numbers and checksums, and FIN or RST. Requests, statuses and the numbers of bytes
/// are those of the transfer. Of bodies whose bytes were not kept (`TransferTrace.Options.maximumContent`) the packets are
/// cut, as those of a capture with a limit are: their length is right, and their bytes are missing. A body that was sent in
/// chunks is in chunks again, one for each piece. Redacted values are as long as what they replace.
///
/// TLS is left out: the packets of a secure connection show what has passed within it, in the open. Frames of WebSockets, bytes
/// of stream tasks and look-ups of names are left out, too.
public struct PacketCapture: Sendable {
    private let recording: TransferTrace.Recording

    /// The packets of a trace so far.
    public init(_ trace: TransferTrace) {
        self.init(trace.recording)
    }

    /// The packets of a recording.
    public init(_ recording: TransferTrace.Recording) {
        self.recording = recording.bounded
    }

    /// The file.
    public var data: Data {
        var file = CaptureFile(startDate: recording.startDate)
        let exchanges = TracedExchange.all(in: recording)
        var packets: [(nanoseconds: Int64, packet: CaptureFile.Packet)] = []
        for connection in Set(exchanges.map(\.connection)).sorted() {
            var conversation = TCPConversation(
                connection, exchanges.first { $0.connection == connection && $0.link != nil }?.link)
            for exchange in exchanges where exchange.connection == connection { conversation.add(exchange) }
            conversation.close()
            packets += conversation.packets
        }
        for (_, entry) in packets.enumerated().sorted(by: {
            ($0.element.nanoseconds, $0.offset) < ($1.element.nanoseconds, $1.offset)
        }) {
            file.add(entry.packet, at: entry.nanoseconds)
        }
        return file.data
    }
}

/// Writes the blocks of draft-ietf-opsawg-pcapng.
private struct CaptureFile {
    /// A frame, of which the last bytes may be missing.
    struct Packet {
        var bytes: [UInt8]
        /// How long it is in full.
        var length: Int
    }

    private(set) var data = Data()
    private let start: UInt64

    init(startDate: Date) {
        start = UInt64(max(0, startDate.timeIntervalSince1970) * 1e9)
        // A section header: byte order, version 1.0, length unknown.
        addBlock(0x0A0D_0D0A) { body in
            body.append(little: UInt32(0x1A2B_3C4D))
            body.append(little: UInt16(1))
            body.append(little: UInt16(0))
            body.append(little: UInt64.max)
        }
        // An interface description: Ethernet, no limit, times in nanoseconds (if_tsresol 9).
        addBlock(1) { body in
            body.append(little: UInt16(1))
            body.append(little: UInt16(0))
            body.append(little: UInt32(0))
            body.append(little: UInt16(9))
            body.append(little: UInt16(1))
            body += [9, 0, 0, 0]
            body.append(little: UInt32(0))
        }
    }

    /// An enhanced packet block.
    mutating func add(_ packet: Packet, at nanoseconds: Int64) {
        let time = start &+ UInt64(max(0, nanoseconds))
        addBlock(6) { body in
            body.append(little: UInt32(0))
            body.append(little: UInt32(time >> 32))
            body.append(little: UInt32(truncatingIfNeeded: time))
            body.append(little: UInt32(packet.bytes.count))
            body.append(little: UInt32(packet.length))
            body += packet.bytes
        }
    }

    private mutating func addBlock(_ type: UInt32, _ fill: (inout [UInt8]) -> Void) {
        var body: [UInt8] = []
        fill(&body)
        body += [UInt8](repeating: 0, count: (4 - body.count % 4) % 4)
        var block: [UInt8] = []
        block.append(little: type)
        block.append(little: UInt32(body.count + 12))
        block += body
        block.append(little: UInt32(body.count + 12))
        data += block
    }
}

/// The segments of one connection.
private struct TCPConversation {
    private enum Flag {
        static let fin: UInt8 = 1
        static let syn: UInt8 = 2
        static let push: UInt8 = 8
        static let acknowledgement: UInt8 = 16
    }

    /// As long as the content of one packet of IPv4 may be, and of IPv6.
    private static let segmentLimit = 65_000
    /// So many segments stand for bytes that one event is about, 16 MB: no transfer moves more at once, but a recording that was
    /// made by hand may say so.
    private static let segmentsOfEvent = 256

    private(set) var packets: [(nanoseconds: Int64, packet: CaptureFile.Packet)] = []
    private let client: Address
    private let server: Address
    /// The next sequence number of each end.
    private var clientNext: UInt32
    private var serverNext: UInt32
    private var isOpen = false
    private var latest: Int64 = 0
    private var identification: UInt16 = 0
    /// Whether the client ends it.
    private var clientCloses = true

    init(_ number: Int, _ link: TransferTrace.Connection?) {
        if let local = Address(link?.local), let remote = Address(link?.remote), local.isVersion6 == remote.isVersion6 {
            (client, server) = (local, remote)
        } else {
            // A local socket has neither address nor port.
            client = Address(version4: [127, 0, 0, 1], port: UInt16(truncatingIfNeeded: 49_152 + number))
            server = Address(version4: [127, 0, 0, 1], port: 80)
        }
        // A later connection may have the same ports, and readers take it for the earlier one if its numbers begin as that one's
        // did. The factor is odd: no two of 2^32 connections begin alike.
        let first = UInt32(truncatingIfNeeded: number) &* 0x9E37_79B1
        (clientNext, serverNext) = (first, ~first)
    }

    mutating func add(_ exchange: TracedExchange) {
        if !isOpen {
            isOpen = true
            let start = min(exchange.dialling ?? exchange.start, exchange.start)
            let established = max(start, min(exchange.connected ?? exchange.start, exchange.start))
            segment(fromClient: true, flags: Flag.syn, at: start)
            segment(fromClient: false, flags: Flag.syn | Flag.acknowledgement, at: established)
            segment(fromClient: true, flags: Flag.acknowledgement, at: established)
        }
        let request = exchange.passages.filter(\.isSent)
        let response = exchange.passages.filter { !$0.isSent }
        let isSent = exchange.requestEnd != nil
        send(
            Message(
                head: WireHead.bytes(of: exchange.request), start: exchange.start,
                isChunked: Self.isChunked(exchange.request.fields), passages: request, isComplete: isSent,
                end: exchange.requestEnd ?? exchange.end),
            fromClient: true)
        for interim in exchange.interim {
            send(WireHead.bytes(of: interim.head), fromClient: false, at: interim.nanoseconds)
        }
        if let head = exchange.response {
            var isComplete = false
            if case .complete = exchange.ending { isComplete = true }
            send(
                Message(
                    head: WireHead.bytes(of: head), start: exchange.responseStart ?? exchange.end,
                    isChunked: Self.isChunked(head.fields), passages: response, isComplete: isComplete,
                    end: exchange.end),
                fromClient: false)
        }
        if case .failed = exchange.ending { clientCloses = false } else { clientCloses = true }
        latest = max(latest, exchange.end)
    }

    /// A head and its body.
    private struct Message {
        let head: [UInt8]
        let start: Int64
        let isChunked: Bool
        let passages: [TracedExchange.Passage]
        let isComplete: Bool
        let end: Int64

        /// All of its bytes are known.
        var isKnown: Bool { isComplete && passages.allSatisfy { $0.piece.content?.count ?? 0 == $0.piece.count } }
    }

    /// Readers put a message together before they show it, and one of which bytes are missing never. So its head is in one
    /// packet with the beginning of the body, and that packet is cut: then they show it at once.
    private mutating func send(_ message: Message, fromClient: Bool) {
        var passages = message.passages[...]
        if !message.isKnown, let first = passages.first, first.piece.count > 0 {
            passages = passages.dropFirst()
            let frame = message.isChunked ? Array("\(String(first.piece.count, radix: 16))\r\n".utf8) : []
            let lead = message.head + frame
            let end = message.isChunked ? 2 : 0
            let known = lead + (first.piece.content ?? Data()).prefix(min(first.piece.count, 1000) - 1)
            send(known, length: lead.count + first.piece.count + end, fromClient: fromClient, at: message.start)
        } else {
            send(message.head, fromClient: fromClient, at: message.start)
        }
        for passage in passages { send(passage, isChunked: message.isChunked) }
        if message.isChunked, message.isComplete {
            send(Array("0\r\n\r\n".utf8), fromClient: fromClient, at: message.end)
        }
    }

    /// Ends the connection: both ends have sent what they had.
    mutating func close() {
        guard isOpen else { return }
        segment(fromClient: clientCloses, flags: Flag.fin | Flag.acknowledgement, at: latest)
        segment(fromClient: !clientCloses, flags: Flag.fin | Flag.acknowledgement, at: latest)
        segment(fromClient: clientCloses, flags: Flag.acknowledgement, at: latest)
    }

    private static func isChunked(_ fields: [TransferTrace.Field]) -> Bool {
        fields.value(of: "Transfer-Encoding")?.lowercased().contains("chunked") == true
    }

    private mutating func send(_ passage: TracedExchange.Passage, isChunked: Bool) {
        let piece = passage.piece
        let (isSent, time) = (passage.isSent, passage.nanoseconds)
        guard piece.count > 0 else { return }
        if isChunked { send(Array("\(String(piece.count, radix: 16))\r\n".utf8), fromClient: isSent, at: time) }
        send([UInt8](piece.content ?? Data()), length: piece.count, fromClient: isSent, at: time)
        if isChunked { send(Array("\r\n".utf8), fromClient: isSent, at: time) }
    }

    /// Sends bytes, of which those after the first may be unknown. Too many of them are a gap, as packets are that were not
    /// captured.
    private mutating func send(_ bytes: [UInt8], length: Int? = nil, fromClient: Bool, at nanoseconds: Int64) {
        let length = length ?? bytes.count
        var offset = 0
        while offset < length {
            let count = min(Self.segmentLimit, length - offset)
            let known = Array(bytes.dropFirst(offset).prefix(count))
            segment(
                fromClient: fromClient, flags: Flag.acknowledgement | Flag.push, known, length: count, at: nanoseconds)
            offset += count
            if offset == Self.segmentsOfEvent * Self.segmentLimit, offset < length {
                let gap = UInt32(truncatingIfNeeded: length - offset)
                if fromClient { clientNext &+= gap } else { serverNext &+= gap }
                return
            }
        }
    }

    private mutating func segment(
        fromClient: Bool, flags: UInt8, _ content: [UInt8] = [], length: Int = 0, at nanoseconds: Int64
    ) {
        latest = max(latest, nanoseconds)
        identification &+= 1
        let (source, target) = fromClient ? (client, server) : (server, client)
        let (sequence, acknowledged) = fromClient ? (clientNext, serverNext) : (serverNext, clientNext)
        var tcp: [UInt8] = []
        tcp.append(big: source.port)
        tcp.append(big: target.port)
        tcp.append(big: sequence)
        tcp.append(big: flags & Flag.acknowledgement == 0 ? 0 : acknowledged)
        tcp += [5 << 4, flags]
        tcp.append(big: UInt16(65_535))
        tcp += [0, 0, 0, 0]
        // Bytes that are not known count as zeros. The checksum is not checked where a packet is cut.
        let sum = InternetChecksum.of(
            source.bytes + target.bytes + [0, 6] + UInt16(truncatingIfNeeded: tcp.count + length).bigEndianBytes + tcp
                + content)
        (tcp[16], tcp[17]) = (UInt8(sum >> 8), UInt8(truncatingIfNeeded: sum))
        let header = Ethernet.header(isVersion6: source.isVersion6, fromClient: fromClient)
        let network = source.header(to: target, payload: tcp.count + length, identification: identification)
        packets.append(
            (
                latest,
                CaptureFile.Packet(
                    bytes: header + network + tcp + content,
                    length: header.count + network.count + tcp.count + length)
            ))
        let advance = UInt32(truncatingIfNeeded: length) &+ (flags & (Flag.syn | Flag.fin) == 0 ? 0 : 1)
        if fromClient { clientNext &+= advance } else { serverNext &+= advance }
    }
}

/// Heads as they were on the wire, from what the trace has of them, and as long.
private enum WireHead {
    static func bytes(of head: TransferTrace.RequestHead) -> [UInt8] {
        bytes("\(head.method) \(head.target) HTTP/1.1", head.fields, count: head.byteCount)
    }

    static func bytes(of head: TransferTrace.ResponseHead) -> [UInt8] {
        bytes("HTTP/1.1 \(head.status) \(head.reason)", head.fields, count: head.byteCount)
    }

    private static func bytes(_ line: String, _ fields: [TransferTrace.Field], count: Int) -> [UInt8] {
        let values = fields.map { Array($0.value.utf8) }
        let length =
            line.utf8.count + 4
            + zip(fields, values).reduce(0) { $0 + $1.0.name.utf8.count + $1.1.count + 4 }
        var difference = count - length
        var bytes = Array(line.utf8) + [13, 10]
        for (position, (field, value)) in zip(fields, values).enumerated() {
            var value = value
            let isLast = position == fields.count - 1
            if let mark = value.firstRange(of: Array(TransferTrace.redacted.utf8)) {
                if difference < 0 {
                    let shorter = min(mark.count - 1, -difference)
                    value.removeSubrange((mark.upperBound - shorter)..<mark.upperBound)
                    difference += shorter
                } else {
                    // A secret that was longer.
                    value.insert(contentsOf: [UInt8](repeating: 42, count: difference), at: mark.upperBound)
                    difference = 0
                }
            } else if isLast, difference > 0 {
                // Blanks of the original that do not count.
                value.insert(contentsOf: [UInt8](repeating: 32, count: difference), at: 0)
                difference = 0
            }
            bytes += Array(field.name.utf8) + (difference < 0 ? [58] : [58, 32])
            if difference < 0 { difference += 1 }
            bytes += value + [13, 10]
        }
        return bytes + [13, 10]
    }
}

/// One end of a connection.
private struct Address {
    let bytes: [UInt8]
    let port: UInt16

    var isVersion6: Bool { bytes.count == 16 }

    init(version4 bytes: [UInt8], port: UInt16) {
        self.bytes = bytes
        self.port = port
    }

    /// `nil` for a local socket.
    init?(_ address: TransferTrace.Address?) {
        guard case .network(_, let bytes, let port)? = address, [4, 16].contains(bytes.count) else { return nil }
        self.bytes = bytes
        self.port = port
    }

    /// The header of a packet of IP.
    func header(to target: Address, payload: Int, identification: UInt16) -> [UInt8] {
        var header: [UInt8] = []
        if isVersion6 {
            header += [0x60, 0, 0, 0]
            header.append(big: UInt16(truncatingIfNeeded: payload))
            header += [6, 64]
            return header + bytes + target.bytes
        }
        header += [0x45, 0]
        header.append(big: UInt16(truncatingIfNeeded: payload + 20))
        header.append(big: identification)
        header += [0x40, 0, 64, 6, 0, 0]
        header += bytes + target.bytes
        let sum = InternetChecksum.of(header)
        (header[10], header[11]) = (UInt8(sum >> 8), UInt8(truncatingIfNeeded: sum))
        return header
    }
}

private enum Ethernet {
    static func header(isVersion6: Bool, fromClient: Bool) -> [UInt8] {
        let ends: [[UInt8]] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]]
        return (fromClient ? ends[1] + ends[0] : ends[0] + ends[1]) + (isVersion6 ? [0x86, 0xDD] : [0x08, 0x00])
    }
}

/// The checksum of RFC 1071.
private enum InternetChecksum {
    static func of(_ bytes: [UInt8]) -> UInt16 {
        var sum: UInt32 = 0
        var position = 0
        while position + 1 < bytes.count {
            sum += UInt32(bytes[position]) << 8 | UInt32(bytes[position + 1])
            position += 2
        }
        if position < bytes.count { sum += UInt32(bytes[position]) << 8 }
        while sum > 0xFFFF { sum = sum & 0xFFFF + sum >> 16 }
        return ~UInt16(truncatingIfNeeded: sum)
    }
}

extension FixedWidthInteger {
    fileprivate var bigEndianBytes: [UInt8] {
        (0..<(Self.bitWidth / 8)).reversed().map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) }
    }
}

extension [UInt8] {
    fileprivate mutating func append(big value: some FixedWidthInteger) { self += value.bigEndianBytes }
    fileprivate mutating func append(little value: some FixedWidthInteger) { self += value.bigEndianBytes.reversed() }
}

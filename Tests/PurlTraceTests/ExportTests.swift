import Foundation
import Purl
import PurlTesting
import PurlTrace
import Testing

@Suite("Traces for other tools", .timeLimit(.minutes(5)))
struct ExportTests {
    private func traced() throws -> TracedSession {
        var options = TransferTrace.Options()
        options.maximumContent = 1 << 20
        return try TracedSession(options)
    }

    private func archive(_ trace: TransferTrace) throws -> [[String: Any]] {
        let object = try JSONSerialization.jsonObject(with: HTTPArchive(trace).data) as? [String: Any]
        let log = try #require(object?["log"] as? [String: Any])
        #expect(log["version"] as? String == "1.2")
        return try #require(log["entries"] as? [[String: Any]])
    }

    @Test("An archive has an entry for each request, with sizes, content, and times that add up")
    func entries() async throws {
        let traced = try traced()
        let next = traced.server.route("/next", .text("hello"))
        let url = traced.server.route("/first", .redirect(to: next.absoluteString))
        var request = URLRequest(url: try #require(URL(string: url.absoluteString + "?a=b&c=%20d")))
        request.httpMethod = "POST"
        request.httpBody = Data("question".utf8)
        _ = await traced.run(request)
        let entries = try archive(traced.trace)
        #expect(entries.count == 2)
        #expect(
            "\(HTTPArchive(traced.trace))"
                == "POST \(url.absoluteString)?a=b&c=%20d 302\nGET \(next.absoluteString) 200")
        let (first, second) = (try #require(entries.first), try #require(entries.last))
        for entry in entries {
            let timings = try #require(entry["timings"] as? [String: Double])
            let sum = timings.values.filter { $0 > 0 }.reduce(0, +)
            #expect(abs(sum - (entry["time"] as? Double ?? -1)) < 0.000_1)
        }
        let asked = try #require(first["request"] as? [String: Any])
        #expect(asked["method"] as? String == "POST")
        #expect(asked["bodySize"] as? Int == 8)
        #expect((asked["postData"] as? [String: Any])?["text"] as? String == "question")
        #expect(
            (asked["queryString"] as? [[String: String]]) == [
                ["name": "a", "value": "b"], ["name": "c", "value": " d"],
            ])
        let redirect = try #require(first["response"] as? [String: Any])
        #expect(redirect["status"] as? Int == 302)
        #expect(redirect["redirectURL"] as? String == next.absoluteString)
        let response = try #require(second["response"] as? [String: Any])
        let content = try #require(response["content"] as? [String: Any])
        #expect(response["status"] as? Int == 200)
        #expect(response["bodySize"] as? Int == 5)
        #expect(content["size"] as? Int == 5)
        #expect(content["text"] as? String == "hello")
        #expect(second["connection"] as? String == first["connection"] as? String)
        #expect(second["serverIPAddress"] as? String == "127.0.0.1")
    }

    @Test("Packets have a connection's segments in sequence, with right checksums and the bytes of the wire")
    func packets() async throws {
        let traced = try traced()
        let url = traced.server.route("/note", .text("hello"))
        _ = await traced.run(URLRequest(url: url))
        let packets = try CapturedPacket.all(in: PacketCapture(traced.trace).data)
        #expect(packets.map(\.flags) == [2, 18, 16, 24, 24, 24, 17, 17, 16])
        var next: [UInt16: UInt32] = [:]
        for packet in packets {
            #expect(packet.hasRightChecksums)
            #expect(packet.sequence == next[packet.source] ?? packet.sequence)
            next[packet.source] = packet.sequence &+ UInt32(packet.content.count) &+ (packet.flags & 3 == 0 ? 0 : 1)
        }
        let text = packets.map { String(decoding: $0.content, as: UTF8.self) }
        #expect(text[3].hasPrefix("GET /note HTTP/1.1\r\n"))
        #expect(text[3].hasSuffix("\r\n\r\n"))
        #expect(text[4].hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(text[5] == "hello")
        for event in traced.trace.events {
            if case .requestHead(let head) = event.kind { #expect(packets[3].content.count == head.byteCount) }
            if case .responseHead(let head) = event.kind { #expect(packets[4].content.count == head.byteCount) }
        }
    }

    @Test(
        "A redacted head has the length that it had on the wire",
        arguments: ["x", "a long secret, longer than its mark"])
    func redactedLength(secret: String) async throws {
        let traced = try traced()
        let url = traced.server.route("/note", .text("hello"))
        var request = URLRequest(url: url)
        request.setValue(secret, forHTTPHeaderField: "Authorization")
        _ = await traced.run(request)
        let packets = try CapturedPacket.all(in: PacketCapture(traced.trace).data)
        for event in traced.trace.events {
            if case .requestHead(let head) = event.kind { #expect(packets[3].content.count == head.byteCount) }
        }
    }

    @Test("Bytes that were not kept count in the length of their packet")
    func cutPackets() async throws {
        let traced = try TracedSession()
        let url = traced.server.route("/note", .text("hello"))
        _ = await traced.run(URLRequest(url: url))
        let packets = try CapturedPacket.all(in: PacketCapture(traced.trace).data)
        let cut = packets.filter { $0.missing > 0 }
        #expect(cut.map(\.missing) == [5])
    }

    @Test(
        "A recording with impossible numbers has all forms", arguments: TraceFormat.allCases,
        [Int.min, -1, 0, 1 << 40, Int.max])
    func impossibleNumbers(format: TraceFormat, number: Int) throws {
        let head = TransferTrace.ResponseHead(status: number, reason: "", fields: [], byteCount: number)
        let piece = TransferTrace.Piece(count: number, wireCount: number)
        let link = TransferTrace.Connection(
            local: nil, remote: .network(host: "a", bytes: [1], port: 0), lookUp: Int64(number), connect: Int64(number))
        let frame = TransferTrace.WebSocketFrame(form: .text, count: number, closeCode: number)
        let call = TransferTrace.DelegateCall(
            number: number, method: .didWriteData,
            arguments: .progress(bytes: Int64(number), total: Int64(number), expected: Int64(number)))
        let kinds: [TransferTrace.Kind] = [
            .made(method: "GET", url: "http://a.example"), .waiting(host: "a"), .dialling(host: "a"),
            .handshake(host: "a"), .connected(link),
            .requestHead(TransferTrace.RequestHead(url: "", method: "", target: "", fields: [], byteCount: number)),
            .bodySent(piece), .bodySent(piece), .interimHead(head), .responseHead(head), .bodyReceived(piece),
            .bodyReceived(piece), .decoded(piece), .decoded(piece), .frameSent(frame), .frameReceived(frame),
            .streamSent(number), .streamReceived(number), .storing(offset: Int64(number)), .written(number),
            .written(number), .file(.write(number)), .queued(call), .began(call), .ended(call), .held(.full),
            .released(.full), .switched(status: number), .responseEnd(connectionStays: true), .replaced(by: number),
        ]
        let events = [Int64.min, 0, .max].flatMap { time in
            kinds.map {
                TransferTrace.Event(
                    nanoseconds: time, lane: .network, task: number, exchange: number, connection: number, kind: $0)
            }
        }
        let recording = TransferTrace.Recording(
            startDate: Date(timeIntervalSince1970: Double(number)), events: events, droppedEvents: number,
            droppedBytes: number)
        #expect(try format.data(of: recording).count > 100)
    }

    @Test("Packets of an impossible number of bytes are few")
    func manyBytes() throws {
        let link = TransferTrace.Connection(local: nil, remote: nil)
        let head = TransferTrace.ResponseHead(status: 200, reason: "OK", fields: [], byteCount: 19)
        let kinds: [TransferTrace.Kind] = [
            .connected(link),
            .requestHead(TransferTrace.RequestHead(url: "", method: "GET", target: "/", fields: [], byteCount: 18)),
            .requestEnd, .responseHead(head), .bodyReceived(.init(count: 1 << 31)), .bodyReceived(.init(count: 5)),
            .responseEnd(connectionStays: true),
        ]
        let events = kinds.map {
            TransferTrace.Event(nanoseconds: 0, lane: .network, task: 1, exchange: 1, connection: 1, kind: $0)
        }
        let capture = PacketCapture(TransferTrace.Recording(startDate: Date(timeIntervalSince1970: 0), events: events))
        #expect(try CapturedPacket.all(in: capture.data).count < 300)
    }

    @Test("Of connections between the same ports each begins with a sequence number of its own")
    func samePorts() throws {
        let client = TransferTrace.Address.network(host: "127.0.0.1", bytes: [127, 0, 0, 1], port: 50_000)
        let server = TransferTrace.Address.network(host: "127.0.0.1", bytes: [127, 0, 0, 1], port: 80)
        let kinds: [TransferTrace.Kind] = [
            .connected(TransferTrace.Connection(local: client, remote: server)),
            .requestHead(TransferTrace.RequestHead(url: "", method: "GET", target: "/", fields: [], byteCount: 18)),
            .requestEnd,
        ]
        let events = (1...300).flatMap { number in
            kinds.map {
                TransferTrace.Event(
                    nanoseconds: Int64(number), lane: .network, task: number, exchange: number, connection: number,
                    kind: $0)
            }
        }
        let capture = PacketCapture(TransferTrace.Recording(startDate: Date(timeIntervalSince1970: 0), events: events))
        let packets = try CapturedPacket.all(in: capture.data)
        for port: UInt16 in [50_000, 80] {
            let begins = packets.filter { $0.source == port && $0.flags & 2 != 0 }.map(\.sequence)
            #expect(begins.count == 300 && Set(begins).count == 300)
        }
    }

    @Test(
        "Counts of bytes have three digits at most",
        arguments: [
            (0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (99_999, "99.9 kB"),
            (100_000, "100 kB"), (999_999, "999 kB"), (1_000_000, "1.0 MB"), (4_294_967_295, "4.2 GB"),
        ])
    func counts(count: Int, words: String) {
        #expect(
            TextTrace(recording(.bodyReceived(TransferTrace.Piece(count: count)))).text.contains("receives \(words)\n"))
    }

    @Test("A server may announce any length")
    func announcement() {
        let call = TransferTrace.DelegateCall(
            number: 1, method: .didWriteData, arguments: .progress(bytes: 5, total: 5, expected: .max))
        #expect(
            Diagram(recording(.queued(call), .began(call), .ended(call))).svg.contains("5 of 9,223,372,036,854,775,807")
        )
    }

    private func recording(_ kinds: TransferTrace.Kind...) -> TransferTrace.Recording {
        TransferTrace.Recording(
            startDate: Date(timeIntervalSince1970: 0),
            events: kinds.map { TransferTrace.Event(nanoseconds: 0, lane: .delegateQueue, task: 1, kind: $0) })
    }

    @Test("The extension of a file's name decides its form", arguments: TraceFormat.allCases)
    func forms(format: TraceFormat) async throws {
        let traced = try TracedSession()
        let url = traced.server.route("/note", .text("hello"))
        _ = await traced.run(URLRequest(url: url))
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("a.\(format.rawValue)")
        try traced.trace.write(to: file)
        #expect(try Data(contentsOf: file).count > 100)
        #expect(throws: CocoaError.self) { try traced.trace.write(to: folder.url.appendingPathComponent("a.doc")) }
    }
}

/// A packet of a file of packets, as a reader without knowledge of the writer takes it apart.
private struct CapturedPacket {
    let source: UInt16
    let sequence: UInt32
    let flags: UInt8
    let content: [UInt8]
    let missing: Int
    let hasRightChecksums: Bool

    static func all(in file: Data) throws -> [CapturedPacket] {
        let bytes = [UInt8](file)
        var packets: [CapturedPacket] = []
        var offset = 0
        while offset < bytes.count {
            let type = little(bytes, offset)
            let length = little(bytes, offset + 4)
            #expect(length % 4 == 0 && little(bytes, offset + length - 4) == length)
            if type == 6 {
                let captured = little(bytes, offset + 20)
                packets.append(
                    CapturedPacket(
                        Array(bytes[(offset + 28)..<(offset + 28 + captured)]), length: little(bytes, offset + 24)))
            }
            offset += length
        }
        return packets
    }

    private init(_ frame: [UInt8], length: Int) {
        let packet = Array(frame.dropFirst(14))
        let tcp = Array(packet.dropFirst(20))
        source = UInt16(tcp[0]) << 8 | UInt16(tcp[1])
        sequence = tcp[4..<8].reduce(0) { $0 << 8 | UInt32($1) }
        flags = tcp[13]
        content = Array(tcp.dropFirst(20))
        missing = length - frame.count
        let pseudo: [UInt8] = Array(packet[12..<20]) + [0, 6, UInt8(tcp.count >> 8), UInt8(tcp.count & 255)]
        hasRightChecksums =
            Self.sum(Array(packet.prefix(20))) == 0xFFFF && (missing > 0 || Self.sum(pseudo + tcp) == 0xFFFF)
    }

    private static func sum(_ bytes: [UInt8]) -> Int {
        var sum = 0
        for (position, byte) in bytes.enumerated() { sum += position % 2 == 0 ? Int(byte) << 8 : Int(byte) }
        while sum > 0xFFFF { sum = sum & 0xFFFF + sum >> 16 }
        return sum
    }

    private static func little(_ bytes: [UInt8], _ offset: Int) -> Int {
        (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << ($1 * 8) }
    }
}

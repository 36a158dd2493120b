import Foundation
import PurlIO
import Testing

@testable import PurlTesting

@Suite("A connection in memory behaves as one of TCP")
struct MemoryStreamTests {
    private let client: MemoryStream
    private let server: MemoryStream

    init() {
        (client, server) = MemoryStream.pair()
    }

    @Test("Bytes arrive in order, in both directions, and the stream ends when its writer has finished")
    func bytes() throws {
        #expect(try write("one ", client) == 4)
        #expect(try write("two", client) == 3)
        #expect(try write("three", server) == 5)
        client.finishWriting()
        #expect(try read(server, 2) == "on")
        #expect(try read(server) == "e two")
        #expect(try read(server) == "")
        #expect(try read(client) == "three")
        #expect(try read(client) == nil)
        #expect(try write("four", server) == 4, "the other direction is open")
    }

    @Test("A direction takes so many bytes, and signals when it takes more")
    func backPressure() throws {
        let signals = Signals()
        client.start(signals.signal)
        let piece = String(repeating: "x", count: MemoryStream.capacity)
        #expect(try write(piece, client) == MemoryStream.capacity)
        #expect(try write("y", client) == 0)
        #expect(try read(server, 10)?.count == 10)
        #expect(signals.raised == [.write])
        #expect(try write(piece, client) == 10)
    }

    @Test("Closing ends the stream after what was written")
    func close() throws {
        #expect(try write("last", server) == 4)
        server.close()
        #expect(try read(client) == "last")
        #expect(try read(client) == "")
        #expect(try write("lost", client) == 4, "as TCP takes what the other side then refuses")
        #expect(throws: POSIXError(.EPIPE)) { try write("lost", client) }
        #expect(try read(client) == "")
    }

    @Test("Closing with something unread resets the connection, as a reset does", arguments: [true, false])
    func reset(isExplicit: Bool) throws {
        #expect(try write("sent before", server) == 11)
        #expect(try write("never read", client) == 10)
        if isExplicit { server.reset() } else { server.close() }
        #expect(try read(client) == "sent before")
        #expect(throws: POSIXError(.ECONNRESET)) { try read(client) }
        #expect(throws: POSIXError(.EPIPE)) { try write("x", client) }
    }

    @Test("Each end learns of what the other does")
    func signals() throws {
        let (near, far) = (Signals(), Signals())
        client.start(near.signal)
        server.start(far.signal)
        _ = try write("a", client)
        client.finishWriting()
        server.close()
        #expect(far.raised == [.read, .read])
        #expect(near.raised == [.write, .read])
    }

    private func write(_ text: String, _ stream: MemoryStream) throws -> Int {
        try Array(text.utf8).withUnsafeBytes { try stream.write($0) }
    }

    private func read(_ stream: MemoryStream, _ count: Int = 1 << 17) throws -> String? {
        var buffer = [UInt8](repeating: 0, count: count)
        let read = try buffer.withUnsafeMutableBytes { try stream.read(into: $0) }
        return read.map { String(decoding: buffer[..<$0], as: UTF8.self) }
    }
}

private final class Signals: Sendable {
    private let events = Monitor<[TransportInterest]>([])

    var raised: [TransportInterest] { events.value }
    var signal: TransportSignal { TransportSignal { event in self.events.update { $0.append(event) } } }
}

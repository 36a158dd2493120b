import PurlIO
import Testing

@testable import PurlConnections

@Suite("Content over a transport of records", .timeLimit(.minutes(1)))
@NetworkActor
struct SecureTransportTests {
    /// Content that is not encrypted, of which a read takes no more than a record.
    private final class PlainSide: SecurityConnection {
        private var arrived: ArraySlice<UInt8> = []

        func handshake() throws -> Void? { () }

        func receiveCiphertext(_ bytes: UnsafeRawBufferPointer) { arrived += bytes }

        func sendCiphertext(into buffer: UnsafeMutableRawBufferPointer) -> Int { 0 }

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> SecureRead {
            if arrived.isEmpty { return .waiting }
            let piece = arrived.prefix(min(buffer.count, 16_384))
            buffer.copyBytes(from: piece)
            arrived.removeFirst(piece.count)
            return .content(piece.count)
        }

        func write(_ content: UnsafeRawBufferPointer) throws -> Int { content.count }

        func finishWriting() {}
    }

    /// Sends what the transport takes of so many bytes; returns how many those were.
    private func fill(_ transport: any LoopTransport, upTo count: Int) throws -> Int {
        var sent = 0
        while sent < count, case let taken = try transport.send([UInt8](repeating: 7, count: 16_384), 0..<16_384),
            taken > 0
        {
            sent += taken
        }
        return sent
    }

    @Test(
        "All that has arrived comes in one piece, as long as there is room for it",
        arguments: [16_384, 65_536, 163_840])
    func pieces(size: Int) throws {
        let (near, far) = try StreamSocket.pair()
        defer { far.close() }
        let secure = SecureTransport(over: near, PlainSide(), CiphertextQueue())
        defer { secure.close() }
        let sent = try fill(far, upTo: size)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
        defer { buffer.deallocate() }
        #expect(try secure.receive(into: buffer) == sent)
        #expect(sent == size)
        #expect(try secure.receive(into: buffer) == nil)
        #expect(secure.isQuiet)
    }

    @Test("What does not fit comes with the next read")
    func rest() throws {
        let (near, far) = try StreamSocket.pair()
        defer { far.close() }
        let secure = SecureTransport(over: near, PlainSide(), CiphertextQueue())
        defer { secure.close() }
        let sent = try fill(far, upTo: 98_304)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
        defer { buffer.deallocate() }
        #expect(try secure.receive(into: buffer) == 65_536)
        #expect(try secure.receive(into: buffer) == sent - 65_536)
        #expect(try secure.receive(into: buffer) == nil)
    }
}
